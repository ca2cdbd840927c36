"""A real server, and a repository that takes another one's path while it is away (S31)."""

import shutil
from pathlib import Path

import pytest

from tests.contracts.sandbox_worlds import git, make_repository, write
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.real("git")]
_QUESTION = "Where is RETRY_LIMIT set?"
_FILES = {"limits.py": b"RETRY_LIMIT = 3\n"}
_LATER = {"GIT_AUTHOR_DATE": "1800000000 +0000"}


@pytest.mark.promise("workspaces-never-mix")
def test_another_repository_at_the_same_path_gets_no_old_answer(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "project"
    make_repository(root, [("one", _FILES)])
    with running_server(tmp_path / "server") as server:
        server.ask(_QUESTION, root)
        assert _answers(server, root) == 1
    first = root.rename(root.with_name("first"))

    root.mkdir()
    git(root, "init", "-q")
    write(root, _FILES)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "other", env=_LATER)
    with running_server(tmp_path / "server") as server:
        assert _answers(server, root) == 0
        reasons = server.request("GET", "/health").json["reasons"]
        assert "is another repository than before" in str(reasons)

    shutil.rmtree(root)
    first.rename(root)
    with running_server(tmp_path / "server") as server:
        assert _answers(server, root) == 1


def _answers(server: RunningServer, project: Path) -> int:
    found = server.request("GET", f"/v1/answers?cwd={project}").json["answers"]
    assert isinstance(found, list)
    return len(found)
