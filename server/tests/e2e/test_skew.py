"""Older and newer versions meet in one data folder, seen from outside (C07, S50)."""

import json
from pathlib import Path

import pytest

from live_memory.core.saving.snapshot import VERSION, sealed
from tests.support.learning import make_project, notify, tool, wait_until_known
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.real("git")]
_QUESTION = "Where is RETRY_LIMIT set?"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path.resolve() / "project", limits__py="RETRY_LIMIT = 3\n")


def test_an_event_of_a_newer_hook_is_learned_by_what_we_know_of_it(
    tmp_path: Path, project: Path
) -> None:
    """C07: unknown fields, and a schema that we never heard of."""
    event = tool(project, "Read", file_path=str(project / "limits.py"), depth={"new": [1]})
    newer = {
        **event,
        "schema": 99,
        "from_the_future": {"a": [None, 1.5]},
        "tool_response": {"x": 1},
    }
    with running_server(tmp_path / "server") as server:
        notify(server, project, newer)
        wait_until_known(server, project, "limits.py")
        health = server.request("GET", "/health").json

    assert (health["status"], health["reasons"]) == ("ok", [])


@pytest.mark.promise("no-overwrite-of-unreadable", "nothing-lost")
def test_a_downgrade_leaves_the_newer_memory_and_an_upgrade_finds_it_again(
    tmp_path: Path, project: Path
) -> None:
    snapshot = _answered_once(tmp_path, project)
    ours = snapshot.read_bytes()
    form = json.loads(ours)
    del form["checksum"]
    newer = sealed({**form, "version": VERSION + 1, "from_the_future": True})
    snapshot.write_bytes(newer)
    with running_server(tmp_path / "server") as server:
        before = _answers(server, project)
        server.ask(_QUESTION, project)
        health = server.request("GET", "/health").json
    apart = snapshot.read_bytes()
    snapshot.write_bytes(ours)
    with running_server(tmp_path / "server") as server:
        again = _answers(server, project)

    assert before == 0
    assert health["status"] == "degraded"
    assert f"version {VERSION + 1}" in str(health["reasons"])
    assert apart == newer
    assert again >= 1


@pytest.mark.promise("no-overwrite-of-unreadable")
def test_a_snapshot_with_a_missing_key_is_set_aside_whole_and_reported(
    tmp_path: Path, project: Path
) -> None:
    snapshot = _answered_once(tmp_path, project)
    form = json.loads(snapshot.read_bytes())
    del form["checksum"], form["window"]["next_number"]
    damaged = sealed(form)
    snapshot.write_bytes(damaged)
    with running_server(tmp_path / "server") as server:
        answer = server.ask(_QUESTION, project)
        health = server.request("GET", "/health").json

    assert "answer" in answer
    assert health["status"] == "degraded"
    kept = [file.read_bytes() for file in snapshot.parent.iterdir() if file.is_file()]
    assert damaged in kept


def _answered_once(tmp_path: Path, project: Path) -> Path:
    """The snapshot of a server that answered a question and ended."""
    with running_server(tmp_path / "server") as server:
        server.ask(_QUESTION, project)
        assert _answers(server, project) == 1
    (snapshot,) = (tmp_path / "server/data").glob("workspaces/*/snapshot.json")
    return snapshot


def _answers(server: RunningServer, project: Path) -> int:
    found = server.request("GET", f"/v1/answers?cwd={project}").json["answers"]
    assert isinstance(found, list)
    return len(found)
