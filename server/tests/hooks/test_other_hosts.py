"""The hook as hosts besides Claude Code run it: what leaves it, and what it waits for."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live_memory.client import hook, one_form
from live_memory.web.identity import RunningServer as Published
from live_memory.web.identity import publish
from tests.core.reading.corpus import TWELVE
from tests.hooks.test_hook import Desk, Outcome, desk, entries_of, is_silent  # noqa: F401
from tests.support.server import RunningServer, a_free_port, running_server
from tests.support.slowness import slowness

_CLIENT = Path(__file__).parents[2] / "live_memory/client"
_SLOW = float(os.environ.get("LM_TEST_SLOW", "1"))
_SAID = "The limit is 3 (`a.py`:1)."
Payload = dict[str, object]


def run(desk: Desk, payload: object, host: str, **environ: str) -> Outcome:  # noqa: F811
    """Run the hook as `live-memory hook HOST` does."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(_CLIENT / "hook.py"), host],
        input=data,
        # Cursor runs hooks in a folder of its own.
        cwd=desk.folder if host == "cursor" else desk.project,
        env={"PATH": "/usr/bin", "HOME": str(desk.folder)}
        | {"LIVE_MEMORY_DATA_DIR": str(desk.data_dir), **environ},
        capture_output=True,
        timeout=30,
        check=False,
    )
    return Outcome(done.returncode, done.stdout + done.stderr, time.monotonic() - started)


def patch(desk: Desk, text: str, **fields: object) -> Payload:  # noqa: F811
    """A patch, as Codex tells of it."""
    return {
        "session_id": "s", "turn_id": "t", "cwd": str(desk.project), "tool_use_id": "c",
        "hook_event_name": "PostToolUse", "tool_name": "apply_patch",
        "tool_input": {"command": f"*** Begin Patch\n{text}*** End Patch\n"},
        "tool_response": "Success", **fields,
    }  # fmt: skip


def shell(desk: Desk, command: str, **fields: object) -> Payload:  # noqa: F811
    """A command, as Codex tells of it."""
    return patch(desk, "", tool_name="Bash", tool_input={"command": command}, **fields)


def cursors(desk: Desk, name: str, **fields: object) -> Payload:  # noqa: F811
    """An event, as Cursor tells of it."""
    roots = [str(desk.project)]
    return {"conversation_id": "k", "hook_event_name": name, "workspace_roots": roots, **fields}


def sent(payload: Payload, host: str) -> Payload:
    """What the hook sends of a payload."""
    found = hook.event_of(payload, host)
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget of a hook that is run in this process."""
    monkeypatch.setattr(hook, "UNTIL", time.monotonic() + 60)


# Patches and diffs.

_FILE = "a\nb\n\nc\nd\na\nb\ne\n"
PLACES: dict[str, tuple[str, list[tuple[int, int]]]] = {
    "one line": ("@@\n-x\n+c\n", [(4, 1)]),
    "with context": ("@@ def f():\n b\n \n-x\n+c\n d\n", [(2, 4)]),
    "a blank line without its space": ("@@\n b\n\n+c\n", [(2, 3)]),
    "no mark before the first": (" b\n+e\n", [(7, 2)]),
    "two, the second is sought after the first": ("@@\n+c\n@@\n a\n+b\n", [(4, 1), (6, 2)]),
    "the same twice": ("@@\n a\n+b\n@@\n a\n+b\n", [(1, 2), (6, 2)]),
    "the first is not there": ("@@\n+nowhere\n@@\n+e\n", [(8, 1)]),
    "only lines that are gone": ("@@\n-x\n", []),
    "nothing": ("", []),
    "to the end of the file": ("@@\n b\n+e\n*** End of File\n", [(7, 2)]),
}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", PLACES)
def test_the_lines_of_a_patch_are_found_in_the_file(desk: Desk, name: str, line_end: str) -> None:  # noqa: F811
    """It has no numbers."""
    (desk.project / "a.py").write_bytes(_FILE.replace("\n", line_end).encode())
    hunks, places = PLACES[name]
    found = sent(patch(desk, f"*** Update File: a.py\n{hunks}"), "codex")
    lines = [{"newStart": first, "newLines": count} for first, count in places]
    one = {"file_path": "a.py", "change": "update", "structuredPatch": lines}
    assert found["tool_input"] == {"files": [one]}


def test_a_patch_of_several_files_leaves_as_their_names(desk: Desk) -> None:  # noqa: F811
    (desk.project / "b.py").write_text("a\nCANARY\n")
    text = (
        "*** Add File: new.py\n+CANARY\n*** Delete File: src/old.py\n"
        "*** Update File: a.py\n*** Move to: b.py\n@@\n a\n+CANARY\n"
    )
    found = sent(patch(desk, text), "codex")
    files = found["tool_input"]["files"]  # type: ignore[index]
    assert [(one["change"], one["file_path"]) for one in files] == [
        ("add", "new.py"), ("delete", "src/old.py"), ("delete", "a.py"), ("update", "b.py"),
    ]  # fmt: skip
    assert files[-1]["structuredPatch"] == [{"newStart": 1, "newLines": 2}]
    assert "CANARY" not in json.dumps(found)


@pytest.mark.parametrize("name", ["command", "input", "patchText", "patch"])
@pytest.mark.parametrize("tool", ["apply_patch", "patch", "ApplyPatch"])
@pytest.mark.parametrize("host", ["claude_code", "codex", "vscode", "opencode", "gemini", "vim"])
def test_no_host_s_patch_leaves_as_text(desk: Desk, host: str, tool: str, name: str) -> None:  # noqa: F811
    text = "*** Begin Patch\n*** Add File: n.py\n+CANARY\n*** End Patch"
    payload = patch(desk, "", tool_name=tool, tool_input={name: text, "explanation": "CANARY"})
    found = sent(payload, host)
    assert "CANARY" not in json.dumps(found)
    assert found["tool_input"] == {"files": [{"file_path": "n.py", "change": "add"}]}


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link", "gone", "large", "NUL"])
def test_what_is_no_plain_file_is_not_looked_into(desk: Desk, kind: str) -> None:  # noqa: F811
    file = desk.project / "a.py"
    file.unlink()
    name = {"device": "/dev/zero", "NUL": "a\0.py"}.get(kind, "a.py")
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "link":
            (desk.folder / "secret").write_text("+CANARY\n")
            file.symlink_to(desk.folder / "secret")
        case "large":
            file.write_text("b\n" * 1_000_000)
    started = time.monotonic()
    found = sent(patch(desk, f"*** Update File: {name}\n@@\n+b\n"), "codex")
    one = {"file_path": name, "change": "update", "structuredPatch": []}
    assert found["tool_input"] == {"files": [one]}
    assert time.monotonic() - started < 1 * _SLOW


@pytest.mark.promise("hook-never-blocks")
@pytest.mark.parametrize(
    "text",
    [
        "*** Update File: a.py\n@@\n" + "+x\n" * 2_000_000,
        "*** Update File: a.py\n@@\n+x\n" * 300_000,
        "*** Update File: a.py\n" + "@@\n a\n+b\n" * 50_000,
        "*** Update File: " + "a/" * 3_900_000 + "\n@@\n+b\n",
        "*** Move to: a\n" * 500_000,
    ],
    ids=range(5),
)
def test_a_patch_of_megabytes_is_as_quick_and_names_a_few_files(desk: Desk, text: str) -> None:  # noqa: F811
    (desk.project / "a.py").write_text("a\n" * 400_000)
    publish(desk.data_dir, Published("127.0.0.1", a_free_port(), 1, "0"))
    before = slowness()
    outcome = run(desk, patch(desk, text), "codex")
    assert is_silent(outcome)
    # Reading that much costs more than the budget, which ends what comes after.
    assert outcome.elapsed_s < 1 * max(before, slowness())
    for line in desk.spooled():
        assert len(json.dumps(line)) < 32 * 1024


def test_a_diff_with_numbers_leaves_as_lines() -> None:
    diff = (
        "--- a\n+++ b\n@@ -1,3 +1,4 @@\n CANARY\n@@ -9 +10 @@ CANARY\n"
        "-@@ -1 +5,5 @@\n@@ -3,4 +3,0 @@\n"
    )
    assert one_form.ranges_of(diff) == [
        {"newStart": 1, "newLines": 4}, {"newStart": 10, "newLines": 1},
        {"newStart": 3, "newLines": 0},
    ]  # fmt: skip
    assert len(one_form.ranges_of("@@ -1 +1 @@\n" * 100_000)) == 33


# Who calls, and about which project.


def test_each_host_is_named_in_what_is_sent_and_written_down(desk: Desk) -> None:  # noqa: F811
    for host in ("codex", "gemini", "opencode", "vscode", "cursor"):
        assert is_silent(run(desk, shell(desk, "cat a.py"), host))
    assert is_silent(run(desk, shell(desk, "cat a.py"), "claude_code"))
    assert is_silent(desk.run(desk.read()))
    hosts = [one["payload"]["host"] for one in desk.spooled()]  # type: ignore[index]
    assert hosts == ["codex", "gemini", "opencode", "vscode", "cursor", "codex", "claude_code"]


def test_the_project_is_the_one_that_the_host_means(desk: Desk) -> None:  # noqa: F811
    roots = ["/w/lib", "/w/app", "/w/app/inner"]
    here = os.getcwd()  # noqa: PTH109
    for host, event, project in (
        ("codex", {"cwd": "/elsewhere"}, here),
        ("gemini", {"cwd": "/w"}, "/w"),
        ("opencode", {"cwd": ["/w"]}, here),
        ("vscode", {}, here),
        ("cursor", {"workspace_roots": roots}, "/w/lib"),
        ("cursor", {"workspace_roots": roots, "file_path": "/w/app/a.py"}, "/w/app"),
        ("cursor", {"workspace_roots": roots, "file_path": "/w/app/inner/a"}, "/w/app/inner"),
        ("cursor", {"workspace_roots": roots, "file_path": "/w/application/a"}, "/w/lib"),
        ("cursor", {"workspace_roots": roots, "tool_input": {"path": "/w/app/a"}}, "/w/app"),
        ("cursor", {"workspace_roots": [5], "cwd": "/w"}, "/w"),
    ):
        assert hook.project_of(event, host) == project


def test_cursor_s_copy_of_claude_code_s_hooks_is_silent_where_it_has_its_own(desk: Desk) -> None:  # noqa: F811
    payload = cursors(desk, "postToolUse", tool_name="Read", tool_input={"path": "a.py"})
    assert is_silent(run(desk, payload, "claude_code"))
    assert len(desk.spooled()) == 1
    for folder in (desk.folder, desk.project):
        file = folder / ".cursor/hooks.json"
        file.parent.mkdir()
        file.write_text(json.dumps({"hooks": {"stop": [{"command": "live-memory hook cursor"}]}}))
        assert is_silent(run(desk, payload, "claude_code"))
        assert len(desk.spooled()) == 1
        file.write_text(json.dumps({"hooks": {"stop": [{"command": "say done"}]}}))
    assert is_silent(run(desk, payload, "claude_code"))
    assert len(desk.spooled()) == 2
    assert is_silent(run(desk, payload, "cursor"))
    assert len(desk.spooled()) == 3


def test_a_pipe_where_cursor_has_its_hooks_is_not_waited_for(desk: Desk) -> None:  # noqa: F811
    (desk.project / ".cursor").mkdir()
    os.mkfifo(desk.project / ".cursor/hooks.json")
    payload = cursors(desk, "postToolUse", tool_name="Read", tool_input={"path": "a.py"})
    outcome = run(desk, payload, "claude_code")
    assert is_silent(outcome)
    assert len(desk.spooled()) == 1


@pytest.mark.parametrize("payload", [b"", b"[]", b"5", b"{}", b"\xff", b'{"tool_input": [1]}'])
@pytest.mark.parametrize("host", ["codex", "gemini", "opencode", "vscode", "cursor", "vim", "a\nb"])
def test_junk_is_nothing_for_any_host(desk: Desk, host: str, payload: bytes) -> None:  # noqa: F811
    assert is_silent(run(desk, payload, host))


# What is written down where no server is.

_ASKED: dict[str, Payload] = {
    "codex": {"hook_event_name": "UserPromptSubmit", "turn_id": "t", "prompt": "CANARY?"},
    "gemini": {"hook_event_name": "BeforeAgent", "prompt": "CANARY?"},
    "opencode": {"hook_event_name": "chat.message", "prompt": "CANARY?"},
    "vscode": {"hookEventName": "UserPromptSubmit", "prompt": "CANARY?"},
    "cursor": {"hook_event_name": "beforeSubmitPrompt", "prompt": "CANARY?"},
}
_CONCLUDED: dict[str, Payload] = {
    "codex": {"hook_event_name": "Stop", "last_assistant_message": _SAID},
    "gemini": {"hook_event_name": "AfterAgent", "prompt": "CANARY", "prompt_response": _SAID},
    "opencode": {"hook_event_name": "session.idle", "last_assistant_message": _SAID},
    "cursor": {"hook_event_name": "subagentStop", "task": "CANARY", "summary": _SAID},
}


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize("host", _CONCLUDED)
def test_a_conclusion_waits_with_its_task_and_without_secrets(desk: Desk, host: str) -> None:  # noqa: F811
    assert is_silent(run(desk, _ASKED[host], host))
    secret, parts = next(iter(TWELVE.values()))
    concluded = {
        name: f"{_SAID}\n{secret}\n{_SAID}" if text == _SAID else text
        for name, text in _CONCLUDED[host].items()
    }
    assert is_silent(run(desk, concluded, host))
    off = {"LIVE_MEMORY_REMEMBER_CONCLUSIONS": "off"}
    assert is_silent(run(desk, concluded, host, **off))
    asked, one = desk.spooled()
    assert asked["payload"]["prompt"]  # type: ignore[index]
    assert one["payload"]["last_assistant_message"] == f"{_SAID}\n{_SAID}"  # type: ignore[index]
    beside = {**one["payload"], "prompt": ""}  # type: ignore[dict-item]
    assert "CANARY" not in json.dumps(beside)
    assert not any(part in json.dumps(one) for part in parts)


@pytest.mark.promise("no-secrets")
def test_commands_and_names_that_may_hold_secrets_are_not_written_down(desk: Desk) -> None:  # noqa: F811
    token = "ghp_" + "Aa1Bb2Cc3" * 4
    for host, payload in (
        ("cursor", cursors(desk, "afterShellExecution", command=f"curl -H {token}")),
        ("codex", shell(desk, f"curl -H {token}")),
        ("codex", patch(desk, f"*** Add File: src/{token}.py\n+x\n")),
        ("cursor", cursors(desk, "beforeReadFile", file_path=f"/p/{token}.py")),
        ("vscode", {"hookEventName": "PostToolUse", "tool_name": "multi_replace_string_in_file"}
                   | {"tool_input": {"replacements": [{"filePath": f"/p/{token}"}]}}),
    ):  # fmt: skip
        assert is_silent(run(desk, payload, host))
    lines = desk.spooled()
    assert token not in json.dumps(lines)
    assert [one.get("dropped") for one in lines] == [None, None, 1, 1, 1]


# With a real server.


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        running.ask("Where is anything?", running.data_dir.parent)  # past its imports
        yield running


@pytest.mark.promise("hook-never-blocks")
def test_what_other_hosts_tell_is_known_and_nothing_outside_of_the_project_is(
    server: RunningServer,
    desk: Desk,  # noqa: F811
) -> None:
    environ = {"LIVE_MEMORY_DATA_DIR": str(server.data_dir)}
    outside = desk.folder / "outside.py"
    for name in ("b.py", "c.py", "../outside.py"):
        (desk.project / name).write_text("x = 1\ny = 2\n")
    read = cursors(desk, "beforeReadFile", content="CANARY")
    for host, payload in (
        ("cursor", {**read, "file_path": str(outside)}),
        ("cursor", {**read, "file_path": f"{desk.project}/../outside.py"}),
        ("cursor", {**read, "file_path": f"{desk.project}/a.py"}),
        ("gemini", {"hook_event_name": "AfterTool", "tool_name": "read_file"}
                   | {"cwd": str(desk.project), "tool_input": {"file_path": "c.py"}}),
        ("claude_code", patch(desk, "*** Update File: b.py\n@@\n-CANARY\n+y = 2\n")),
    ):  # fmt: skip
        assert is_silent(run(desk, {**payload, "cwd": str(desk.project)}, host, **environ))
    seen = entries_of(server, desk.project, count=3)
    assert {entry["path"] for entry in seen} == {"a.py", "b.py", "c.py"}
    everything = b"".join(f.read_bytes() for f in server.data_dir.rglob("*") if f.is_file())
    assert b"CANARY" not in everything
