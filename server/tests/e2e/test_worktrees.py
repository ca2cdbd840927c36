"""Linked work trees of one repository: each learns what happens in it, from any session (C23)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.sandbox_worlds import git, make_repository
from tests.support.learning import entries, figure, notify, tool, wait_for, wait_until_known
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.real("git"), pytest.mark.promise("workspaces-never-mix")]
_QUESTION = "What is TIMEOUT set to?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def main(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "main"
    make_repository(root, [("start", {"config.py": b"TIMEOUT = 30\n", "same.py": b"SAME = 1\n"})])
    return root


@pytest.fixture
def linked(main: Path) -> Path:
    root = main.parent / "linked"
    git(main, "worktree", "add", "-q", "-b", "other", str(root))
    (root / "config.py").write_text("TIMEOUT = 60\n")
    return root


def said(server: RunningServer, root: Path) -> str:
    """The answer's text, or the error."""
    reply = server.ask(_QUESTION, root)
    answer = reply.get("answer")
    return str(answer["answer"]) if isinstance(answer, dict) else str(reply)


def says(server: RunningServer, root: Path, value: int, other: int) -> bool:
    """Whether the answer shows this value of TIMEOUT, and not the other."""
    text = said(server, root)
    return f"TIMEOUT = {value}" in text and f"TIMEOUT = {other}" not in text


def test_each_work_tree_answers_from_its_own_bytes(
    server: RunningServer, main: Path, linked: Path
) -> None:
    notify(server, main, tool(main, "Read", file_path=f"{main}/config.py"))
    wait_for(server, main, "known_files", 1)
    assert says(server, main, 30, 60)
    assert says(server, linked, 60, 30)
    assert figure(server, linked, "known_files") == 0


@pytest.mark.parametrize("place", ["beside", "within"])
def test_what_a_session_does_in_another_work_tree_is_learned_there(
    server: RunningServer, main: Path, place: str
) -> None:
    """The agent's project is the main work tree; it reads and edits in a linked one, and back."""
    linked = main.parent / "linked" if place == "beside" else main / ".claude/worktrees/other"
    git(main, "worktree", "add", "-q", "-b", "other", str(linked))
    (linked / "config.py").write_text("TIMEOUT = 60\n")
    notify(
        server,
        main,
        tool(main, "Read", file_path=f"{linked}/config.py"),
        tool(main, "Bash", command=f"cat {linked}/same.py && cd {linked} && cat new.py"),
        tool(main, "Read", file_path=f"{main}/same.py"),
    )
    wait_for(server, linked, "known_files", 2)
    wait_for(server, main, "known_files", 1)
    assert {entry["path"] for entry in entries(server, main)} == {"same.py"}
    assert {entry["path"] for entry in entries(server, linked)} == {"same.py", "config.py"}
    assert (figure(server, main, "hook_events"), figure(server, linked, "hook_events")) == (3, 0)

    (linked / "config.py").write_text("TIMEOUT = 61\n")
    notify(server, main, tool(main, "Edit", file_path=f"{linked}/config.py"))
    notify(server, linked, tool(linked, "Write", file_path=f"{main}/config.py"))
    wait_until_known(server, main, "config.py")
    wait_for(server, linked, "entries", 3)
    assert says(server, main, 30, 61)
    assert says(server, linked, 61, 30)


def test_what_a_session_does_in_a_repository_within_is_learned_there(
    server: RunningServer, main: Path
) -> None:
    """N03: a clone that nothing ignores, one that is ignored, and one that cannot be."""
    (main / ".gitignore").write_text("services/\n")
    clones = [main / "libs/pay", main / "services/orders"]
    for clone in clones:
        make_repository(clone, [("start", {"config.py": b"TIMEOUT = 90\n"})])
    (main / "odd/.git").mkdir(parents=True)
    (main / "odd/own.py").write_text("TIMEOUT = 7\n")
    notify(
        server,
        main,
        *(tool(main, "Read", file_path=f"{clone}/config.py") for clone in clones),
        tool(main, "Bash", command="cat same.py libs/pay/config.py odd/own.py"),
    )
    for clone in clones:
        wait_for(server, clone, "known_files", 1)
        assert {entry["path"] for entry in entries(server, clone)} == {"config.py"}
        assert says(server, clone, 90, 30)
    wait_for(server, main, "known_files", 2)
    assert {entry["path"] for entry in entries(server, main)} == {"same.py", "odd/own.py"}
    assert says(server, main, 30, 90)


def test_removing_a_work_tree_harms_nothing(
    server: RunningServer, main: Path, linked: Path
) -> None:
    for root in (main, linked):
        notify(server, root, tool(root, "Read", file_path=f"{root}/config.py"))
        wait_for(server, root, "known_files", 1)
    git(main, "worktree", "remove", "--force", str(linked))
    late = [
        tool(main, "Read", file_path=f"{linked}/config.py"),
        tool(main, "Edit", file_path=f"{linked}/same.py"),
        tool(main, "Bash", command=f"git worktree remove {linked}"),
        tool(main, "Read", file_path=f"{main}/same.py"),
    ]
    notify(server, main, *late)
    wait_for(server, main, "known_files", 2)
    assert says(server, main, 30, 60)
    assert "not an existing folder" in said(server, linked)
    assert server.request("GET", "/health").status == 200
    git(main, "worktree", "add", "-q", "-B", "again", str(linked))
    assert says(server, linked, 30, 60)


def test_a_made_up_event_opens_no_other_folder(server: RunningServer, main: Path) -> None:
    other = main.parent / "private"
    make_repository(other, [("start", {"secret.py": b"CANARY = 1\n"})])
    before = server.request("GET", "/v1/timeline?cwd=" + str(main)).json
    forged = [
        tool(main, "Read", file_path=f"{other}/secret.py"),
        tool(other, "Read", file_path=f"{other}/secret.py"),
        tool(main, "Bash", command=f"cd {other} && cat secret.py && grep -rn CANARY ."),
    ]
    notify(server, main, *forged, tool(main, "Read", file_path=f"{main}/same.py"))
    wait_for(server, main, "known_files", 1)
    assert before["entries"] == []
    assert {entry["path"] for entry in entries(server, main)} == {"same.py"}
    kept = [file.read_bytes() for file in server.data_dir.rglob("*") if file.is_file()]
    # The name may wait in the journal, as it was sent; what stands there was never read.
    assert not any(b"CANARY = 1" in data for data in kept)
