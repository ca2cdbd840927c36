"""What is told in one workspace is heard in no other, whatever the words, also after a restart."""

import json
from itertools import permutations
from pathlib import Path

import pytest

from tests.support.server import RunningServer, running_server

Fields = dict[str, object]
_SAID = "We retry 7 times (limits.py:1), decided for {}."
_LEFT = "The retries are half done in {}."


def _project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "limits.py").write_text("MAX_RETRIES = 7\n")
    return folder


def _sent(server: RunningServer, path: str, fields: Fields, **more: str) -> Fields:
    reply = server.request("POST", path, fields, headers=more)
    assert reply.status == 200, reply.body
    return reply.json


def _heard(server: RunningServer, project: Path) -> str:
    """All that a workspace tells of itself."""
    cwd = str(project)
    told: list[object] = [
        _sent(server, "/v1/recall", {"text": "retries", "cwd": cwd, "limit": 100}),
        _sent(server, "/v1/recall", {"cwd": cwd, "kinds": ["note", "handoff", "question"]}),
        _sent(server, "/v1/handoff", {"action": "list", "all": True, "cwd": cwd}),
        server.ask("Why is MAX_RETRIES 7?", cwd),
        server.request("GET", f"/v1/notes/export?cwd={cwd}").body.decode(),
        server.request("GET", f"/v1/answers?cwd={cwd}").json,
    ]
    return json.dumps(told)


def _are_apart(server: RunningServer, *projects: Path) -> None:
    heard = {project: _heard(server, project) for project in projects}
    for project, text in heard.items():
        (other,) = (one for one in projects if one != project)
        assert _SAID.format(project.name) in text
        assert _LEFT.format(project.name) in text
        assert other.name not in text.replace(str(project), "")


@pytest.mark.promise("workspaces-never-mix")
def test_the_same_words_in_two_workspaces_stay_apart(tmp_path: Path) -> None:
    ours, theirs = _project(tmp_path / "ours"), _project(tmp_path / "theirs")
    orders = list(permutations(("cwd", "text", "category", "tags")))
    with running_server(tmp_path / "server") as server:
        for n, order in enumerate(orders):
            for project in (ours, theirs) if n % 2 else (theirs, ours):
                fields: Fields = {
                    "cwd": str(project),
                    "text": f"{_SAID.format(project.name)} {n}",
                    "category": "decision",
                    "tags": [project.name],
                }
                _sent(server, "/v1/remember", {name: fields[name] for name in order})
        ids = {}
        for project in (theirs, ours):
            left: Fields = {"summary": _LEFT.format(project.name), "cwd": str(project)}
            reply = _sent(server, "/v1/handoff", {**left, "action": "leave"})
            assert isinstance(reply["handoff"], dict)
            ids[project] = reply["handoff"]["id"]
        # An id of the other one is none, wherever it is named.
        elsewhere: Fields = {"id": ids[ours], "action": "claim", "cwd": str(theirs)}
        assert server.request("POST", "/v1/handoff", elsewhere).status == 400
        forgot = _sent(server, "/v1/forget", {"ids": [ids[ours]], "cwd": str(theirs)})
        assert forgot["unknown"] == [ids[ours]]
        named = _sent(server, "/v1/recall", {"ids": [ids[ours]], "cwd": str(theirs)})
        assert named["found"] == []
        # The project that the client names counts, and no folder beside it.
        beside = {"X-Live-Memory-Project": str(ours)}
        out: Fields = {"cwd": str(theirs), "text": "x", "category": "todo"}
        assert server.request("POST", "/v1/remember", out, headers=beside).status == 400
        _are_apart(server, ours, theirs)
        assert server.stop() == 0
    with running_server(tmp_path / "server") as server:
        _are_apart(server, theirs, ours)
