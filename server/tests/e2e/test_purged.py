"""What is purged is in no byte of the data folder, while the server runs and after it ended."""

import json
import signal
from pathlib import Path

import pytest

from tests.support.learning import notify, tool, wait_until_known
from tests.support.server import RunningServer, running_server

CANARY = "kanarienvogel"


def told(server: RunningServer, project: Path, path: str, **fields: object) -> dict[str, object]:
    reply = server.request("POST", path, {"cwd": str(project), **fields})
    assert reply.status == 200, reply.body
    return reply.json


def records(server: RunningServer, project: Path) -> list[dict[str, object]]:
    lines = server.request("GET", f"/v1/notes/export?cwd={project}").lines
    assert lines[-1] == {"exported": len(lines) - 2}
    return lines[1:-1]


def holding(server: RunningServer, text: str = CANARY) -> list[str]:
    """The files of the data folder, and the log, in whose bytes or names a text is."""
    files = [file for file in (*server.data_dir.rglob("*"), server.log) if file.is_file()]
    return [
        str(file.relative_to(server.data_dir.parent))
        for file in files
        if text.encode() in file.read_bytes().lower() or text in str(file).lower()
    ]


def spool_line(project: Path, said: str) -> str:
    payload = {
        "hook_event_name": "Stop",
        "session_id": "s",
        "cwd": str(project),
        "last_assistant_message": said,
    }
    return json.dumps({"project": str(project), "payload": payload})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    (folder / "birds.py").write_text(f"def {CANARY}_sings():\n    return '{CANARY}'\n")
    (folder / "other.py").write_text("def other():\n    return 1\n")
    return folder


def fill(server: RunningServer, project: Path) -> None:
    """Have the word in whatever is kept."""
    sentence = f"`{CANARY}_sings` in birds.py returns '{CANARY}' (birds.py:1-2)."
    said: dict[str, object] = {
        "hook_event_name": "Stop",
        "session_id": "s",
        "last_assistant_message": sentence,
    }
    notify(server, project, tool(project, "Read", file_path=f"{project}/birds.py"), said)
    wait_until_known(server, project, "birds.py")
    server.ask(f"What does {CANARY}_sings do?", project)
    forms = [
        {"kind": "note", "text": f"The {CANARY} was decided.", "tags": [CANARY]},
        {
            "kind": "note",
            "text": f"The {CANARY} was forgotten.",
            "withdrawn": {
                "by": {"author": "person", "name": "", "host": "", "session": ""},
                "at": 1.0,
                "reason": CANARY,
            },
        },
        {"kind": "handoff", "summary": f"Feed the {CANARY}.", "expires_at": 9e9},
        {"kind": "note", "text": "This one stays."},
    ]
    came = told(server, project, "/v1/notes/import", records=forms)
    assert came["refused"] == []


def test_all_of_a_workspace_is_purged_with_its_index_its_spool_and_what_was_set_aside(
    tmp_path: Path, project: Path
) -> None:
    other = tmp_path.resolve() / "other"
    other.mkdir()
    (other / "a.py").write_text("A = 1\n")
    with running_server(tmp_path / "server") as server:
        fill(server, project)
        told(server, other, "/v1/notes/import", records=[{"text": "Of the other one."}])
        (key,) = [
            file.parent
            for file in (server.data_dir / "workspaces").rglob("journal.jsonl")
            if str(project) in file.read_text()
        ]
        (key / "snapshot.json.unreadable").write_text(CANARY)
        beside = key.with_name(f"{key.name}.0123456789ab")
        beside.mkdir()
        (beside / "snapshot.json").write_text(CANARY)
        lines = [spool_line(project, CANARY), spool_line(project / "below", CANARY)]
        lines.append(spool_line(other, "Of another one."))
        for name in ("spool.jsonl", "spool.old.jsonl", "spool.taken.jsonl"):
            (server.data_dir / name).write_text("\n".join(lines) + "\n")
        found = holding(server)
        for name in ("index.sqlite", "journal.jsonl", "spool.jsonl", "0123456789ab"):
            assert any(name in file for file in found), found
        told(server, project, "/v1/purge", all=True)
        assert holding(server) == []
        assert "Of another one." in (server.data_dir / "spool.jsonl").read_text()
        assert server.stop() == 0
        assert holding(server) == []
    with running_server(tmp_path / "server") as server:
        assert holding(server) == []
        assert records(server, project) == []
        assert [one["text"] for one in records(server, other)] == ["Of the other one."]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_what_is_named_or_was_forgotten_is_purged_and_the_rest_stays(
    tmp_path: Path, project: Path, end: signal.Signals
) -> None:
    (project / "birds.py").write_text("def other_sings():\n    return 2\n")
    with running_server(tmp_path / "server") as server:
        # Asked before, so that a generation of it is on disk beside the journal.
        forms: list[dict[str, object]] = [{"text": f"The {CANARY} was decided."}]
        told(server, project, "/v1/notes/import", records=forms)
        server.ask(f"Was the {CANARY} decided?", project)
        server.stop()
    with running_server(tmp_path / "server") as server:
        forms = [
            {"text": "This one stays."},
            {"kind": "handoff", "summary": f"Feed the {CANARY}.", "expires_at": 9e9},
        ]
        told(server, project, "/v1/notes/import", records=forms)
        kept = records(server, project)
        gone = [str(one["id"]) for one in kept if CANARY in json.dumps(one)]
        asked = server.request("GET", f"/v1/answers?cwd={project}").json["answers"]
        assert isinstance(asked, list)
        gone += [f"q{one['asked_at']!r}" for one in asked]
        assert holding(server)
        purged = told(server, project, "/v1/purge", ids=gone)
        assert purged["unknown"] == []
        assert holding(server) == []
        server.stop(end)
        assert holding(server) == []
    with running_server(tmp_path / "server") as server:
        assert [one["text"] for one in records(server, project)] == ["This one stays."]
        assert holding(server) == []


def test_a_paused_workspace_learns_nothing_from_hooks_nor_from_the_spool(
    tmp_path: Path, project: Path
) -> None:
    with running_server(tmp_path / "server") as server:
        told(server, project, "/v1/pause")
        notify(server, project, tool(project, "Read", file_path=f"{project}/birds.py"))
        assert "other.py" in json.dumps(server.ask("What does other return?", project))
        for scope in ("workspace", "user"):
            fields = {"cwd": str(project), "text": "No.", "category": "todo", "scope": scope}
            reply = server.request("POST", "/v1/remember", fields)
            assert (reply.status, b"live-memory resume" in reply.body) == (400, True)
        stats = server.request("GET", f"/stats?cwd={project}").json
        assert (stats["is_paused"], stats["hook_events"], stats["questions"]) == (True, 0, 0)
        assert stats["entries"] == 0
        server.stop()
        (server.data_dir / "spool.jsonl").write_text(
            spool_line(project, f"`{CANARY}_sings` returns '{CANARY}' (birds.py:1-2).") + "\n"
        )
    with running_server(tmp_path / "server") as server:
        health = server.request("GET", "/health").json
        assert health["status"] == "ok"
        stats = server.request("GET", f"/stats?cwd={project}").json
        assert (stats["is_paused"], stats["findings"]) == (True, 0)
        told(server, project, "/v1/resume")
        notify(server, project, tool(project, "Read", file_path=f"{project}/birds.py"))
        wait_until_known(server, project, "birds.py")


def test_what_a_purge_is_to_remove_has_to_be_said(tmp_path: Path, project: Path) -> None:
    with running_server(tmp_path / "server") as server:
        for fields in ({}, {"all": True, "forgotten": True}, {"ids": "n1"}, {"all": "yes"}):
            reply = server.request("POST", "/v1/purge", {"cwd": str(project), **fields})
            assert reply.status == 400, fields
        reply = server.request("GET", f"/v1/notes/export?cwd={project}&scope=all")
        assert reply.status == 400
        reply = server.request("POST", "/v1/notes/import", {"cwd": str(project)})
        assert reply.status == 400
