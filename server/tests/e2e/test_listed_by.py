"""How a workspace was listed is told: in its figures, and in an answer where it matters."""

import os
from pathlib import Path

import pytest

from tests.contracts.sandbox_worlds import make_repository, write
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.real("git")


def _asked(server: RunningServer, project: Path, question: str) -> str:
    body = {"cwd": str(project), "question": question}
    return str(server.request("POST", "/v1/ask", body).lines[-1]["text"])


def _listing(server: RunningServer, project: Path) -> object:
    return server.request("GET", f"/stats?cwd={project}").json["listing"]


def test_what_its_user_excludes_everywhere_is_in_no_answer(tmp_path: Path) -> None:
    """N06, from the file that a person has to the answer."""
    project = tmp_path / "ws"
    make_repository(project, [("start", {"a.py": b"def shown_thing():\n    return 1\n"})])
    write(project, {"diary.private.py": b"def hidden_thing():\n    return 'CANARY'\n"})
    home = tmp_path / "home"
    write(home, {".gitconfig": b"[core]\n\texcludesFile = ~/e\n", "e": b"*.private.py\n"})
    with running_server(tmp_path, HOME=str(home)) as server:
        assert "CANARY" not in _asked(server, project, "Where is hidden_thing defined?")
        assert "a.py:1" in _asked(server, project, "Where is shown_thing defined?")
        assert _listing(server, project) == {"way": "git", "problem": None}


def test_an_absence_names_what_only_git_could_have_listed(tmp_path: Path) -> None:
    project = tmp_path / "ws"
    make_repository(project, [("start", {"a.py": b"def shown_thing():\n    return 1\n"})])
    (project / ".git" / "index").write_bytes(os.urandom(1_000))
    with running_server(tmp_path) as server:
        said = _asked(server, project, "Where is absent_thing defined?")
        assert "tracked files that ignore rules name (an index cannot be read)" in said
        assert _listing(server, project) == {
            "way": "walk",
            "problem": "git cannot list: its index is damaged, or of a form it does not know",
        }
