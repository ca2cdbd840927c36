"""Every host that tells the end of a session leaves a handoff then: from what it sends, through the
hook, to what is left.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from live_memory.adapters.hooks.every_host import EveryHost
from live_memory.client import hook
from live_memory.core.hosts.registrations import REGISTERED, hook_entries
from live_memory.core.memory.notebook import Handoff
from tests.flow.test_ingest import listening
from tests.flow.test_session_diary import left
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.memory import House

_TESTS = Path(__file__).parents[1]
_CLAUDES = _TESTS / "hosts/payloads/claude-code"
_ENDS = ("SessionEnd", "sessionEnd")
Payload = dict[str, object]


def _recorded(host: str) -> list[Payload]:
    """What a host sent in a session, with its end at the end."""
    if host == "claude_code":
        of = ("SessionStart", "UserPromptSubmit", "PostToolUse-Edit", "PostToolUse-Write",
              "PostToolUseFailure-Bash", "SubagentStop", "Stop", "SessionEnd")  # fmt: skip
        return [json.loads((_CLAUDES / f"{name}-2.1.332.json").read_text()) for name in of]
    folder = "hosts" if host == "cursor" else "hosts_real"
    text = (_TESTS / f"{folder}/payloads/{host}.jsonl").read_text()
    payloads: list[Payload] = [json.loads(line) for line in text.splitlines()]
    ends = [one for one in payloads if hook.name_of(one) in _ENDS]
    return [*(one for one in payloads if one not in ends), *ends[:1]]


@pytest.fixture(autouse=True)
def _hook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its budget begins when it is loaded, and conclusions are wanted."""
    monkeypatch.setattr(hook, "UNTIL", time.monotonic() + 60)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


async def _left(host: str, *roots: str) -> dict[str, Sequence[Handoff]]:
    """What is left in each of these projects by all that the hook sends."""
    house = House({root: InMemorySandbox({"a.py": b"A = 1\n"}) for root in roots})
    async with listening(house, dialect=EveryHost()) as at:
        for payload in _recorded(host):
            event = hook.event_of(payload, host)
            if event is not None:
                project = roots[0] if host == "claude_code" else hook.project_of(event, host)
                sent = json.loads(json.dumps(event))
                await at.reception.take([sent], project=project if project in roots else roots[0])
        return {root: await left(at, cwd=root) for root in roots}


@pytest.mark.parametrize(
    ("host", "roots", "files", "words"),
    [
        (
            "claude_code",
            ("/home/dev/app",),
            ("b.py", "a.py:4-11"),
            ('"Where is RETRY_LIMIT set?"', '- "cat missing.py"'),
        ),
        (
            "codex",
            ("/home/user/project",),
            ("sender.py", "notes.md", "settings.py"),
            ('"Raise the limit."',),
        ),
        (
            "gemini",
            ("/home/user/project",),
            ("notes.md", "settings.py:1-4"),
            ('"Raise the limit."', '- "cat missing.py"'),
        ),
        (
            "cursor",
            ("/home/dev/lib", "/home/dev/app"),
            ("src/cart.py",),
            ("Files it edited: 1",),
        ),
    ],
)
async def test_a_session_of_each_host_leaves_what_it_did(
    host: str, roots: tuple[str, ...], files: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """Of a window with two projects, in the one that it worked in."""
    found = await _left(host, *roots)
    ((one,),) = [some for some in found.values() if some]
    assert found[roots[-1]] == (one,)
    assert one.files == files
    assert [word for word in words if word not in one.summary] == []
    assert one.writer.host == host.replace("_", "-")
    assert one.writer.session
    # What a helper was asked.
    assert "Look at the settings" not in one.summary
    assert "Find the rounding" not in one.summary


def test_hosts_that_tell_no_end_are_those_that_are_said_to() -> None:
    without = [host for host in REGISTERED if not set(_ENDS) & hook_entries(host).keys()]
    assert without == ["vscode"]
    page = (_TESTS.parents[1] / "docs/hosts.md").read_text()
    assert "opencode and VS Code tell no end of a session" in page
