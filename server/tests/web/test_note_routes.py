"""Notes and handoffs over HTTP, in a real server: told, found, forgotten, handed over once."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.support.server import RunningServer

# JSON values, also such as no client should send.
Form = dict[str, Any]
AGENT = {"X-Live-Memory-Host": "codex", "X-Live-Memory-Session": "s-1"}


def post(
    server: RunningServer,
    route: str,
    cwd: Path | None,
    *,
    headers: Mapping[str, str] = AGENT,
    **fields: Any,
) -> Form:
    """The form that comes back; a refusal as `{"error": ...}`."""
    where = {} if cwd is None else {"cwd": str(cwd)}
    reply = server.request("POST", f"/v1/{route}", {**where, **fields}, headers=headers)
    form: Form = reply.json
    assert (reply.status == 200) == ("error" not in form), form
    return form


def refusal(server: RunningServer, route: str, cwd: Path | None, **fields: Any) -> str:
    """Why a request is refused."""
    error = post(server, route, cwd, **fields)["error"]
    assert error["class"] == "invalid"
    said: str = error["message"]
    return said


@pytest.fixture
def folder(project: Path, tmp_path: Path) -> Path:
    """A workspace of one test."""
    (tmp_path / "pay.py").write_bytes((project / "pay.py").read_bytes())
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".git" / "objects").mkdir()
    (tmp_path / ".git" / "refs").mkdir()
    return tmp_path


def test_a_note_is_told_once_found_and_read_in_full_by_its_id(
    server: RunningServer, folder: Path
) -> None:
    note: Form = {
        "text": "Cards are charged twice on purpose, see pay.py:2 and gone.py:7.",
        "category": "decision",
        "tags": ["billing"],
        "pin": True,
        "expires": "7d",
    }
    told = post(server, "remember", folder, **note)
    assert (told["new"], told["redacted"], told["not_found"]) == (True, 0, ["gone.py:7"])
    form = told["note"]
    writer = {"author": "agent", "name": "", "host": "codex", "session": "s-1"}
    assert form["writer"] == writer
    assert (form["kind"], form["category"], form["tags"]) == ("note", "decision", ["billing"])
    assert [(s["path"], s["start"], s["end"]) for s in form["sources"]] == [("pay.py", 2, 2)]
    assert form["pinned"]
    assert 6.9 < (form["expires_at"] - form["told_at"]) / 86_400 < 7.1
    again = post(server, "remember", folder, **note, headers={})
    assert (again["new"], again["note"]) == (False, form)
    (found,) = post(server, "recall", folder, text="charged twice")["found"]
    assert (found["id"], found["text"], found["category"]) == (
        form["id"],
        note["text"],
        "decision",
    )
    assert (found["writer"], found["scope"], found["changed"]) == (writer, "workspace", [])
    assert "record" not in found
    (folder / "pay.py").write_text("def charge_card(amount):\n    return amount\n")
    (whole,) = post(server, "recall", folder, ids=[form["id"]])["found"]
    assert (whole["record"], whole["changed"]) == (form, ["pay.py:2"])


def test_what_is_forgotten_is_gone_and_says_by_whom_where_it_is_asked_for(
    server: RunningServer, folder: Path
) -> None:
    note = post(server, "remember", folder, text="It is blue.", category="insight")["note"]
    person = {"X-Live-Memory-Author": "person"}
    ids = [note["id"], "n0"]
    done = post(server, "forget", folder, ids=ids, reason="it is red", headers=person)
    assert done == {"forgotten": [note["id"]], "before": [], "unknown": ["n0"]}
    assert post(server, "recall", folder)["found"] == []
    (whole,) = post(server, "recall", folder, ids=[note["id"]])["found"]
    withdrawn = whole["record"]["withdrawn"]
    assert (withdrawn["by"]["author"], withdrawn["reason"]) == ("person", "it is red")
    assert "it is red" in refusal(
        server, "remember", folder, text="It is blue.", category="insight"
    )
    assert post(server, "forget", folder, ids=ids)["before"] == [note["id"]]


def test_what_a_person_likes_is_known_in_every_folder(
    server: RunningServer, folder: Path, project: Path
) -> None:
    text = f"Small commits, please ({uuid4()})."
    fields: Form = {"text": text, "category": "preference", "scope": "user"}
    note = post(server, "remember", folder, **fields)["note"]
    for where in (folder, project):
        (found,) = post(server, "recall", where, text=text)["found"]
        assert (found["id"], found["scope"]) == (note["id"], "user")
        assert post(server, "recall", where, text=text, scope="workspace")["found"] == []
    assert post(server, "forget", folder, ids=[note["id"]])["forgotten"] == [note["id"]]


def test_of_sixteen_who_claim_a_handoff_one_has_it_and_the_others_hear_who(
    server: RunningServer, folder: Path
) -> None:
    left = post(
        server,
        "handoff",
        folder,
        action="leave",
        summary="Half of it is done.",
        next_steps=["Test it."],
        open_questions=["Is it fast?"],
        files=["pay.py:1-2"],
        to_agent="codex",
    )["handoff"]
    assert (left["state"], left["automatic"], left["claim"]) == ("open", False, None)
    assert post(server, "handoff", folder, action="list", to_agent="gemini")["handoffs"] == []
    assert post(server, "handoff", folder, action="list")["handoffs"] == [left]

    def claim(n: int) -> Form:
        who = {"X-Live-Memory-Host": f"host-{n}", "X-Live-Memory-Call": f"call-{n}"}
        return post(server, "handoff", folder, action="claim", id=left["id"], headers=who)

    with ThreadPoolExecutor(16) as pool:
        claims = list(pool.map(claim, range(16)))
    (winner,) = [n for n, one in enumerate(claims) if one["claimed"]]
    assert {one["handoff"]["claim"]["by"]["host"] for one in claims} == {f"host-{winner}"}
    assert claim(winner)["claimed"]
    assert post(server, "handoff", folder, action="list")["handoffs"] == []
    (kept,) = post(server, "handoff", folder, action="list", all=True)["handoffs"]
    assert kept["state"] == "claimed"


def test_a_handoff_is_left_once_for_one_call_and_ends_when_it_is_cancelled(
    server: RunningServer, folder: Path
) -> None:
    fields: Form = {"action": "leave", "summary": "To do.", "expires": "2100-01-01T00:00:00+00:00"}
    once = {"X-Live-Memory-Call": "same"}
    first, second = (
        post(server, "handoff", folder, **fields, headers=once)["handoff"] for _ in "12"
    )
    assert first == second
    assert first["expires_at"] == 4_102_444_800.0
    more = post(server, "handoff", folder, **fields)["handoff"]
    assert more["id"] != first["id"]
    done = post(server, "handoff", folder, action="cancel", id=more["id"], reason="done")
    assert done["handoff"]["cancelled"]["reason"] == "done"
    assert "cancelled" in refusal(server, "handoff", folder, action="claim", id=more["id"])


BAD: list[tuple[str, Form, str]] = [
    ("remember", {}, "category is missing: send one of decision, todo"),
    ("remember", {"category": "todo"}, "text is missing"),
    ("remember", {"category": "todo", "text": " "}, "text is missing"),
    ("remember", {"category": "todo", "text": 7}, "text must be text"),
    ("remember", {"category": "todo", "text": "x" * 16_385}, "say it shorter"),
    ("remember", {"category": "rumour", "text": "x"}, "category must be one of decision"),
    ("remember", {"category": ["todo"], "text": "x"}, "category must be one of decision"),
    ("remember", {"category": "todo", "text": "x", "tag": "y"}, "remember takes no 'tag', but"),
    ("remember", {"category": "todo", "text": "x", "tags": "y"}, "tags must be a list"),
    (
        "remember",
        {"category": "todo", "text": "x", "tags": [*"abcdefghijklmnopq"]},
        "tags must be at most",
    ),
    ("remember", {"category": "todo", "text": "x", "pin": 1}, "pin must be true or false"),
    (
        "remember",
        {"category": "todo", "text": "x", "scope": "all"},
        "scope must be one of workspace",
    ),
    ("remember", {"category": "todo", "text": "x", "expires": "soon"}, "expires must be a span"),
    ("remember", {"category": "todo", "text": "x", "expires": "2001-01-01"}, "expires is over"),
    ("remember", {"category": "todo", "text": "x", "expires": "0m"}, "expires is over"),
    ("recall", {"query": "x"}, "recall takes no 'query', but text"),
    ("recall", {"text": "x" * 2_001}, "text has 2001 characters"),
    ("recall", {"kinds": ["note", "file"]}, "kinds must be one of note, handoff"),
    ("recall", {"since": "0000-00-00"}, "since must be a span"),
    ("recall", {"limit": 0}, "limit must be a whole number from 1 to 100"),
    ("recall", {"limit": 101}, "limit must be"),
    ("recall", {"limit": True}, "limit must be"),
    ("recall", {"offset": -1}, "offset must be"),
    ("recall", {"ids": "n1"}, "ids must be a list of texts"),
    ("recall", {"ids": ["n1"] * 101}, "ids must be at most"),
    ("forget", {}, "ids are missing"),
    ("forget", {"ids": []}, "ids are missing"),
    ("forget", {"ids": [7]}, "ids must be a list"),
    ("forget", {"id": "n1"}, "forget takes no 'id', but ids, reason"),
    ("handoff", {}, "action is missing: send one of leave, list, claim, cancel"),
    ("handoff", {"action": "read"}, "action must be one of leave"),
    ("handoff", {"action": "leave"}, "summary is missing"),
    ("handoff", {"action": "leave", "summary": "x" * 8_193}, "say it shorter"),
    ("handoff", {"action": "leave", "summary": "é" * 8_000}, "has 16000 bytes"),
    ("handoff", {"action": "leave", "summary": "x", "files": {}}, "files must be a list"),
    ("handoff", {"action": "list", "summary": "x"}, "handoff with action 'list' takes no 'summ"),
    ("handoff", {"action": "list", "colour": ""}, "takes no 'colour'"),
    ("handoff", {"action": "list", "all": "yes"}, "all must be true or false"),
    ("handoff", {"action": "claim"}, "id is missing"),
    ("handoff", {"action": "claim", "id": "h0"}, "there is no handoff 'h0'"),
]


def test_what_is_not_as_it_must_be_is_refused_with_what_to_send(
    server: RunningServer, folder: Path
) -> None:
    for route, fields, said in BAD:
        assert said in refusal(server, route, folder, **fields), (route, fields)
    assert post(server, "recall", folder)["total"] == 0


def test_what_is_empty_was_not_given(server: RunningServer, folder: Path) -> None:
    """Some clients send every argument that there is."""
    idle: Form = {"tags": [], "pin": False, "expires": "", "scope": None}
    assert post(server, "remember", folder, text="So.", category="progress", **idle)["new"]
    empty: Form = {"id": "", "reason": None, "next_steps": [], "all": False}
    post(server, "handoff", folder, action="leave", summary="So.", **empty)
    assert post(server, "recall", folder, text="", kinds=[], since="1h", ids=None)["total"] == 2


def test_a_folder_must_be_named(server: RunningServer) -> None:
    for route, fields in (
        ("remember", {"text": "x", "category": "todo"}),
        ("recall", {}),
        ("forget", {"ids": ["n1"]}),
        ("handoff", {"action": "list"}),
    ):
        assert "cwd is missing" in refusal(server, route, None, **fields)
