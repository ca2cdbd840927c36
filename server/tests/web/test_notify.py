"""What hosts say comes in at one door: accepted at once or refused as a whole (S32, S33)."""

import json
from pathlib import Path

import pytest

from live_memory.web.routes import MOST_EVENTS
from tests.support.server import RunningServer


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace of its own."""
    (tmp_path / "a.py").write_text("RETRY_LIMIT = 3\n")
    return tmp_path


def read(place: Path, name: str = "a.py", **more: object) -> dict[str, object]:
    given = {"file_path": str(place / name)}
    return {
        "hook_event_name": "PostToolUse",
        "cwd": str(place),
        "tool_name": "Read",
        "tool_input": given,
        **more,
    }


def entries(server: RunningServer, place: Path) -> list[dict[str, object]]:
    """What is learned once nothing waits: asking looks at everything that is in view."""
    found = server.request("GET", f"/v1/timeline?cwd={place}").json["entries"]
    assert isinstance(found, list)
    return found


def learned(server: RunningServer, place: Path, *, count: int) -> list[dict[str, object]]:
    import time

    until = time.monotonic() + 10
    while len(found := entries(server, place)) < count and time.monotonic() < until:
        time.sleep(0.02)  # there is nothing to wait on in another process
    assert len(found) == count
    return found


def test_one_payload_or_many_are_accepted(server: RunningServer, place: Path) -> None:
    (place / "b.py").write_text("x = 1\n")
    (place / "c.py").write_text("x = 1\n")
    reply = server.request("POST", "/notify", read(place))
    assert (reply.status, reply.json) == (202, {"accepted": 1})
    batch = {"events": [read(place, "b.py"), read(place, "c.py")]}
    reply = server.request("POST", "/notify", batch)
    assert (reply.status, reply.json) == (202, {"accepted": 2})
    assert {e["path"] for e in learned(server, place, count=3)} == {"a.py", "b.py", "c.py"}


def test_who_says_so_is_answered_once_it_is_learned(server: RunningServer, place: Path) -> None:
    named = {"X-Live-Memory-Project": str(place)}
    batch = {"events": [read(place)], "wait": True}
    reply = server.request("POST", "/notify", batch, headers=named)
    assert (reply.status, reply.json) == (202, {"accepted": 1, "waiting": 0})
    assert [entry["path"] for entry in entries(server, place)] == ["a.py"]
    again = server.request("POST", "/notify", {"events": [], "wait": True}, headers=named)
    assert (again.status, again.json) == (202, {"accepted": 0, "waiting": 0})


def test_the_timeline_says_where_and_never_what(server: RunningServer, place: Path) -> None:
    server.request("POST", "/notify", read(place))
    (entry,) = learned(server, place, count=1)
    assert entry.keys() == {
        "number",
        "kind",
        "path",
        "sha",
        "start",
        "end",
        "total",
        "origin",
        "at",
    }
    assert "RETRY_LIMIT" not in json.dumps(entry)


def test_the_bytes_on_disk_count_and_not_what_a_request_claims(
    server: RunningServer, place: Path
) -> None:
    """D22: a forged request can at most make us look at a file again."""
    forged = read(
        place,
        contents={str(place / "a.py"): "RETRY_LIMIT = 666"},
        tool_response={"file": {"content": "RETRY_LIMIT = 666", "startLine": 1, "numLines": 9}},
    )
    assert server.request("POST", "/notify", forged).status == 202
    learned(server, place, count=1)
    answer = server.ask("Where is RETRY_LIMIT set?", place)["answer"]
    assert "RETRY_LIMIT = 3" in json.dumps(answer)
    assert "666" not in json.dumps(answer)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"events": {}},
        {"events": "x"},
        {"events": [1]},
        {"events": [None]},
        {"events": [[]]},
        {"events": [{}]},
        {"events": [{"hook_event_name": 5}]},
        {"hook_event_name": None},
        {"hook_event_name": {}},
        {"cwd": "PLACE"},
        {"paths": {}, "contents": {"a": 1}},
    ],
    ids=str,
)
def test_what_is_no_payload_is_told_so(
    server: RunningServer, place: Path, body: dict[str, object]
) -> None:
    """S32."""
    reply = server.request("POST", "/notify", body, headers={"X-Live-Memory-Project": str(place)})
    assert reply.status == 400
    assert entries(server, place) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_input": None},
        {"tool_input": [1]},
        {"tool_input": {"file_path": 5}},
        {"tool_input": {"file_path": "/etc/passwd"}},
        {"tool_input": {"file_path": "../a.py"}},
        {"tool_name": 7},
        {"tool_name": "Teleport"},
        {"tool_response": "gone"},
        {"hook_event_name": "FromTheFuture", "schema": 99},
    ],
    ids=str,
)
def test_a_field_of_another_kind_is_ignored(
    server: RunningServer, place: Path, fields: dict[str, object]
) -> None:
    """S32, C07."""
    reply = server.request("POST", "/notify", {**read(place), **fields})
    assert reply.status == 202


def test_one_bad_event_refuses_its_whole_batch(server: RunningServer, place: Path) -> None:
    batch = {"events": [read(place), {"hook_event_name": "PostToolUse", "cwd": "/nowhere/at/all"}]}
    assert server.request("POST", "/notify", batch).status == 400
    assert entries(server, place) == []


def test_more_events_than_the_limit_are_refused(server: RunningServer, place: Path) -> None:
    """S33."""
    at_limit = {"events": [read(place)] * MOST_EVENTS}
    assert server.request("POST", "/notify", at_limit).status == 202
    over = {"events": [read(place)] * (MOST_EVENTS + 1)}
    reply = server.request("POST", "/notify", over)
    assert (reply.status, reply.json["error"]) != (202, None)
    assert reply.status == 413


def test_an_event_without_any_folder_is_refused(server: RunningServer, place: Path) -> None:
    """S15: a missing folder never means the server's own."""
    fields = read(place)
    del fields["cwd"]
    assert server.request("POST", "/notify", fields).status == 400
    for cwd in ("/", "/etc", server.environment["HOME"], "relative", 5):
        reply = server.request("POST", "/notify", {**fields, "cwd": cwd})
        assert reply.status == 400
    named = {"X-Live-Memory-Project": "${CLAUDE_PROJECT_DIR}"}
    assert server.request("POST", "/notify", fields, headers=named).status == 400
