"""After a storm of questions that no model answers, a server is as small as before (C01)."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.scripted_endpoint import Raw, ScriptedEndpoint, serving
from tests.support.server import RunningServer, running_server

_QUESTIONS, _NOTICES, _WORKSPACES = 50, 200, 20
# The shortest that may be asked for.
_TIMEOUT_S = 5
# What the kernel counts in whole pages and threads of a pool: these few are no leak.
_FEW = 3


@dataclass(frozen=True, slots=True)
class _Size:
    """What a process holds, as the kernel counts it."""

    threads: int
    descriptors: int
    children: int
    resident_kib: int

    def is_within(self, before: "_Size") -> bool:
        """Whether it is back where it was, and a tenth."""
        return (
            self.threads <= before.threads * 1.1 + _FEW
            and self.descriptors <= before.descriptors * 1.1 + _FEW
            and self.children <= before.children
            and self.resident_kib <= before.resident_kib * 1.1
        )


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with serving() as opened:
        yield opened


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_questions_without_an_answer_leave_nothing_behind(
    tmp_path: Path, endpoint: ScriptedEndpoint
) -> None:
    channel = endpoint.open(*[Raw([b""], then="stall")] * (_QUESTIONS + _WORKSPACES))
    projects = [_project(tmp_path, number) for number in range(_WORKSPACES)]
    with running_server(
        tmp_path / "server",
        LIVE_MEMORY_PROVIDER="openai",
        LIVE_MEMORY_BASE_URL=f"{channel.base_url}/v1",
        LIVE_MEMORY_API_KEY="sk-test-not-a-real-key-0001",
        LIVE_MEMORY_MODEL="gpt-5-mini",
    ) as server:
        # Workspaces that are open, threads that wait for work, and the MCP library, which comes
        # with its first request, are no leak.
        server.request("POST", "/mcp", {})
        _storm(server, projects, questions=_WORKSPACES, notices=_WORKSPACES)
        before = _size(server.pid)
        _storm(server, projects, questions=_QUESTIONS, notices=_NOTICES)
        _wait_for(
            lambda: _at_rest(server, projects[0]).is_within(before),
            lambda: (before, _size(server.pid)),
        )
        health = server.request("GET", "/health").json

    assert health["status"] == "ok", health


def _storm(server: RunningServer, projects: list[Path], *, questions: int, notices: int) -> None:
    """Everything at once; every caller is answered all the same."""
    with ThreadPoolExecutor(32) as pool:
        asked = [
            pool.submit(
                server.ask,
                f"Where is LIMIT_{number} set?",
                projects[number % len(projects)],
                timeout=_TIMEOUT_S,
            )
            for number in range(questions)
        ]
        told = [
            pool.submit(_notify, server, projects[number % len(projects)], number)
            for number in range(notices)
        ]
        answers = [each.result() for each in asked]
        assert {each.result() for each in told} == {202}
    modes = [_mode(answer) for answer in answers]
    assert set(modes) == {"evidence"}, modes


def _at_rest(server: RunningServer, project: Path) -> _Size:
    """Threads that were idle for a while end when the next one is needed: need one."""
    server.request("GET", f"/stats?cwd={project}")
    return _size(server.pid)


def _mode(answer: dict[str, object]) -> object:
    inner = answer.get("answer", answer)
    return inner["mode"] if isinstance(inner, dict) else answer


def _notify(server: RunningServer, project: Path, number: int) -> int:
    payload = {
        "hook_event_name": "PostToolUse",
        "session_id": "s",
        "cwd": str(project),
        "tool_name": "Read",
        "tool_input": {"file_path": str(project / f"module_{number % 5}.py")},
        "tool_response": {"file": {"startLine": 1, "numLines": 1, "totalLines": 1}},
    }
    return server.request("POST", "/notify", payload).status


def _project(tmp_path: Path, number: int) -> Path:
    folder = tmp_path / f"project_{number}"
    folder.mkdir()
    for module in range(5):
        (folder / f"module_{module}.py").write_text(f"LIMIT_{module} = {number}\n")
    return folder


def _size(pid: int) -> _Size:
    process = Path(f"/proc/{pid}")
    status = dict(
        line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line
    )
    children = [
        each
        for task in (process / "task").iterdir()
        for each in (task / "children").read_text().split()
    ]
    return _Size(
        threads=int(status["Threads"]),
        descriptors=len(list((process / "fd").iterdir())),
        children=len(children),
        resident_kib=int(status["VmRSS"].split()[0]),
    )


def _wait_for(condition: Callable[[], bool], told: Callable[[], object]) -> None:
    """Until it holds, at most the 30 s of the case."""
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until, told()
        time.sleep(0.25)
