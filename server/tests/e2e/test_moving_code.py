"""Code that moves between questions: branches, renames, stashes, edits that hide (C26, C27)."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.sandbox_worlds import git, make_repository
from tests.support.learning import notify, tool, wait_for
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.real("git"), pytest.mark.promise("never-falsely-fresh")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def root(tmp_path: Path, server: RunningServer) -> Path:
    """A repository whose one file was read by an agent."""
    found = tmp_path.resolve() / "ws"
    make_repository(found, [("start", {"a.py": b"MAX_RETRIES = 3\n", "c.py": b"OTHER = 1\n"})])
    notify(server, found, tool(found, "Read", file_path=f"{found}/a.py"))
    wait_for(server, found, "known_files", 1)
    return found


def told(server: RunningServer, root: Path) -> tuple[str, str]:
    """Which value the answer gives, and the file it cites first."""
    answer = server.ask("What is MAX_RETRIES set to?", root)["answer"]
    assert isinstance(answer, dict)
    values = [value for value in "3579" if f"MAX_RETRIES = {value}" in answer["answer"]]
    cited = [c["path"] for c in answer["citations"] if c["status"] == "verified"]
    return "".join(values), cited[0] if cited else ""


def test_an_answer_follows_branches_renames_and_stashes(server: RunningServer, root: Path) -> None:
    """C26, with the agent's command told and not told."""

    def ran(*words: str, is_told: bool = True) -> None:
        git(root, *words)
        if is_told:
            notify(server, root, tool(root, "Bash", command=f"git {' '.join(words)}"))

    assert told(server, root) == ("3", "a.py")
    ran("checkout", "-q", "-b", "other")
    ran("mv", "a.py", "b.py", is_told=False)
    (root / "b.py").write_text("# moved\nMAX_RETRIES = 5\n")
    assert told(server, root) == ("5", "b.py")
    ran("commit", "-q", "-a", "-m", "moved")
    ran("checkout", "-q", "main", is_told=False)
    assert told(server, root) == ("3", "a.py")
    ran("checkout", "-q", "other")
    assert told(server, root) == ("5", "b.py")
    (root / "b.py").write_text("MAX_RETRIES = 7\n")
    ran("stash", is_told=False)
    assert told(server, root) == ("5", "b.py")
    ran("stash", "pop")
    assert told(server, root) == ("7", "b.py")
    ran("checkout", "-q", "-f", "main")
    ran("branch", "-q", "-D", "other", is_told=False)
    assert told(server, root) == ("3", "a.py")
    ran("mv", "a.py", "deep.py", is_told=False)
    assert told(server, root) == ("3", "deep.py")
    (root / "deep.py").unlink()
    assert told(server, root) == ("", "")


@pytest.mark.parametrize("is_told", [True, False])
def test_an_edit_that_keeps_size_and_time_is_seen(
    server: RunningServer, root: Path, *, is_told: bool
) -> None:
    """C27: `sed -i` with the modification time put back, and an edit in the same moment."""
    file = root / "a.py"
    assert told(server, root) == ("3", "a.py")
    before = file.stat()
    command = "sed -i s/3/7/ a.py && touch -d '2026-01-01' a.py"
    subprocess.run(command, shell=True, cwd=root, check=True)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    if is_told:
        notify(server, root, tool(root, "Bash", command=command))
    assert told(server, root) == ("7", "a.py")
    for value in "9539":
        file.write_text(f"MAX_RETRIES = {value}\n")
        assert told(server, root) == (value, "a.py")
