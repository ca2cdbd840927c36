"""More repositories than a process has descriptors for: each is answered, and none is denied."""

import json
import resource
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.server import RunningServer, running_server

# What macOS gives a process by default, with no way to ask for more.
_FEW = ("sh", "-c", 'ulimit -Sn 256 && ulimit -Hn 256 && exec "$@"', "sh")


def _repositories(folder: Path, count: int) -> Sequence[Path]:
    """Repositories of one file, as git makes them."""
    made = []
    for number in range(count):
        root = folder / f"repository_{number}"
        for name in ("refs/heads", "objects"):
            (root / ".git" / name).mkdir(parents=True)
        (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (root / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
        (root / "limits.py").write_text(f"LIMIT_{number} = {number}\n")
        made.append(root)
    return made


def _is_answered(server: RunningServer, root: Path) -> bool:
    number = root.name.rpartition("_")[2]
    return f"LIMIT_{number} = {number}" in str(server.ask(f"Where is LIMIT_{number} set?", root))


def _events(server: RunningServer) -> Sequence[str]:
    lines = server.log.read_text().splitlines()
    return [json.loads(line)["event"] for line in lines if line.startswith("{")]


@pytest.mark.promise("always-something-true", "nothing-lost")
def test_eighty_repositories_are_answered_with_256_descriptors(tmp_path: Path) -> None:
    """N01: from the 38th on everything was denied, also what had been answered before."""
    roots = _repositories(tmp_path, 80)
    with running_server(tmp_path / "server", within=_FEW) as server:
        assert all(_is_answered(server, root) for root in roots)
        held = len(list(Path(f"/proc/{server.pid}/fd").iterdir())) if Path("/proc").exists() else 0
        assert held < 200
        # Those that rest are opened again unseen, with what was asked and heard before.
        event = {
            "hook_event_name": "PostToolUse",
            "cwd": str(roots[0]),
            "tool_name": "Read",
            "tool_input": {"file_path": str(roots[0] / "limits.py")},
        }
        assert server.request("POST", "/notify", event).status == 202
        assert all(_is_answered(server, root) for root in roots[1:20])
        stats = server.request("GET", f"/stats?cwd={roots[0]}").json
        assert (stats["questions"], stats["hook_events"]) == (1, 1)
        assert server.request("GET", "/health").json["status"] == "ok"
        assert set(_events(server)) == {"WorkspaceOpened", "QuestionFinished"}


@pytest.mark.promise("always-something-true")
def test_repositories_that_are_asked_at_once_take_turns(tmp_path: Path) -> None:
    roots = _repositories(tmp_path, 40)
    with (
        running_server(tmp_path / "server", within=_FEW) as server,
        ThreadPoolExecutor(len(roots)) as pool,
    ):
        assert all(pool.map(lambda root: _is_answered(server, root), roots))
        assert "WorkspaceFailed" not in _events(server)


def test_a_server_takes_as_many_descriptors_as_it_may(tmp_path: Path) -> None:
    """The limit that a shell sets softly is no reason to do with less."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    softly = ("sh", "-c", 'ulimit -Sn 128 && exec "$@"', "sh")
    with running_server(tmp_path / "server", within=softly) as server:
        limits = Path(f"/proc/{server.pid}/limits")
        if not limits.exists():
            pytest.skip("reads /proc")
        (line,) = (row for row in limits.read_text().splitlines() if "open files" in row)
        assert int(line.split()[3]) == min(4_096, hard)
