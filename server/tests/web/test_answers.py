"""Answers as they go over HTTP, failures too, and what happens when the caller leaves."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from inline_snapshot import snapshot

from live_memory.core.answer import Answer, Citation, CitationStatus, Grounding, Mode, Usage, Why
from live_memory.core.errors import (
    Busy,
    InvalidRequest,
    LiveMemoryError,
    OutsideWorkspace,
    SnapshotTooNew,
    SnapshotUnreadable,
    StoreUnavailable,
    Unavailable,
)
from live_memory.core.values import RelPath
from live_memory.web.schemas import answer_form, why_form
from live_memory.web.serving import stop
from tests.web.hubs import WORKSPACE, Live, live

QUESTION = {"question": "Where is it?", "cwd": "/somewhere"}


@asynccontextmanager
async def client(at: Live) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=at.base_url, headers=at.authorization) as http:
        yield http


def test_an_answer_goes_over_the_wire_as_the_contract_says() -> None:
    """The fields that clients rely on."""
    answer = Answer(
        text="In `a.py`.\ud800",
        mode=Mode.COMPANION,
        grounding=Grounding.PARTIAL,
        citations=(Citation(RelPath("src/a.py"), 3, 9, CitationStatus.CORRECTED),),
        usage=Usage(100, 80, 20, 1, 2),
        model="small-1",
        elapsed_s=1.23456,
        notice="Partly.",
    )
    assert answer_form(WORKSPACE, answer) == snapshot(
        {
            "answer": "In `a.py`.�",
            "mode": "companion",
            "grounding": "partial",
            "citations": [{"path": "src/a.py", "start": 3, "end": 9, "status": "corrected"}],
            "model": "small-1",
            "elapsed_s": 1.235,
            "cost_usd": 0.0,
            "window_share": 0.0,
            "usage": {
                "input_tokens": 100,
                "cached_tokens": 80,
                "output_tokens": 20,
                "model_calls": 1,
                "tool_calls": 2,
            },
            "stop": "answered",
            "workspace": {"root": "/somewhere", "key": "2059b43ed37a844f4e16cea4c96e59fc"},
            "notice": "Partly.",
            "told": "",
        }
    )


def test_why_files_ranked_goes_over_the_wire_rounded_and_clean() -> None:
    why = Why(12.3456, ("caf\ud800", "basket"), ("Shop.sell",), {"edited": 1.3, "name": 1.0375})
    answer = Answer("", Mode.EVIDENCE, Grounding.PARTIAL, (), why={RelPath("src/a.py"): why})
    assert why_form(answer) == [
        {
            "path": "src/a.py",
            "score": 12.35,
            "words": ["caf\ufffd", "basket"],
            "defines": ["Shop.sell"],
            "factors": {"edited": 1.3, "name": 1.04},
        }
    ]


async def test_an_answer_comes_as_lines_the_last_of_which_holds_it() -> None:
    async with live() as at, client(at) as http:
        at.hub.steps = ("checking", "looking")
        reply = await http.post("/v1/ask", json=QUESTION)
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in reply.text.splitlines()]
    assert lines[:-1] == [{"progress": "checking"}, {"progress": "looking"}]
    assert lines[-1]["answer"]["answer"] == "It is in `a.py`."
    assert lines[-1]["answer"]["why"] == []


async def test_what_may_be_set_arrives_and_what_is_not_set_has_its_default() -> None:
    async with live() as at, client(at) as http:
        await http.post("/v1/ask", json=QUESTION)
        await http.post("/v1/ask", json=QUESTION | {"timeout": 5, "max_answer_tokens": 256})
        await http.post("/v1/ask", json=QUESTION | {"timeout": None, "max_answer_tokens": None})
    budgets = [(asked.budget.timeout_s, asked.budget.answer_tokens) for asked in at.hub.asked]
    assert budgets == [(60.0, 2000), (5, 256), (60.0, 2000)]


async def test_why_files_ranked_is_told_to_who_asks_for_it() -> None:
    async with live() as at, client(at) as http:
        for why in (None, False, True):
            await http.post("/v1/ask", json=QUESTION | {"why": why})
        refused = await http.post("/v1/ask", json=QUESTION | {"why": "yes"})
    assert [asked.wants_why for asked in at.hub.asked] == [False, False, True]
    assert refused.status_code == 400


FAILURES: list[tuple[LiveMemoryError, int, str]] = [
    (InvalidRequest("no"), 400, "invalid"),
    (OutsideWorkspace("no"), 400, "invalid"),
    (Busy("no", retry_after_s=2.4), 429, "limit"),
    (Unavailable("no"), 503, "provider"),
    (StoreUnavailable("no"), 503, "provider"),
    (SnapshotUnreadable("no"), 503, "provider"),
    (SnapshotTooNew("no"), 503, "provider"),
]


async def test_every_failure_has_its_status_and_class() -> None:
    async with live() as at, client(at) as http:
        for problem, status, kind in FAILURES:
            at.hub.problem = problem
            reply = await http.post("/v1/ask", json=QUESTION)
            assert reply.status_code == status
            assert reply.json() == {"error": {"class": kind, "message": "no"}}
            cleared = await http.post("/clear", json={"all": True})
            assert cleared.status_code == status
            assert cleared.headers.get("retry-after") == ("2" if status == 429 else None)


async def test_a_failure_after_the_first_line_is_the_last_line() -> None:
    async with live() as at, client(at) as http:
        at.hub.fails_late = Unavailable("gone")
        reply = await http.post("/v1/ask", json=QUESTION)
    assert reply.status_code == 200
    last = json.loads(reply.text.splitlines()[-1])
    assert last == {"error": {"class": "provider", "message": "gone"}}


async def test_past_answers_are_listed_with_their_questions() -> None:
    async with live() as at, client(at) as http:
        await http.post("/v1/ask", json=QUESTION)
        reply = await http.get("/v1/answers", params={"cwd": "/somewhere"})
    assert reply.json() == snapshot(
        {
            "answers": [
                {
                    "question": "Where is it?",
                    "asked_at": 1800000000.0,
                    "answer": "It is in `a.py`.",
                    "mode": "evidence",
                    "grounding": "verified",
                    "citations": [],
                    "model": None,
                    "elapsed_s": 0.0,
                    "cost_usd": 0.0,
                    "window_share": 0.0,
                    "usage": {
                        "input_tokens": 0,
                        "cached_tokens": 0,
                        "output_tokens": 0,
                        "model_calls": 0,
                        "tool_calls": 0,
                    },
                    "stop": "answered",
                    "workspace": {"root": "/somewhere", "key": "2059b43ed37a844f4e16cea4c96e59fc"},
                    "notice": None,
                    "told": "",
                }
            ]
        }
    )


async def test_a_caller_that_leaves_cancels_the_question() -> None:
    """C22 of the benchmark's clients, and the reason the guard hands on what follows a body."""
    async with live() as at:
        at.hub.waits = True
        body = json.dumps(QUESTION).encode()
        head = (
            f"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1:{at.port}\r\n"
            f"Authorization: {at.authorization['Authorization']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        stream = await anyio.connect_tcp("127.0.0.1", at.port)
        async with stream:
            await stream.send(head.encode() + body)
            with anyio.fail_after(5):
                await at.hub.is_waiting.wait()
            assert at.app.drain.questions_in_flight == 1
        with anyio.fail_after(5):
            await at.hub.was_cancelled.wait()
        assert at.app.drain.questions_in_flight == 0


async def test_a_server_that_stops_lets_a_question_finish_and_takes_no_other() -> None:
    replies: list[httpx2.Response] = []
    async with live() as at, client(at) as http:
        at.hub.waits = True

        async def ask() -> None:
            replies.append(await http.post("/v1/ask", json=QUESTION))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            with anyio.fail_after(5):
                await at.hub.is_waiting.wait()
            tasks.start_soon(stop, at.app, at.server)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(OSError, match="connect"):
                await anyio.connect_tcp("127.0.0.1", at.port)
            assert at.app.drain.questions_in_flight == 1
            at.hub.let_go.set()
    assert "answer" in json.loads(replies[0].text.splitlines()[-1])


async def test_a_request_that_only_waits_is_ended_with_a_reply() -> None:
    """Nothing of ours waits without a question; a client's open stream does."""
    async with live() as at, client(at) as http:
        at.hub.stats_wait = True
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                reply = await http.get("/stats?cwd=/somewhere")
                assert reply.status_code == 503

            tasks.start_soon(ask)
            with anyio.fail_after(5):
                await at.hub.is_waiting.wait()
            tasks.start_soon(at.app.drain.finish)


async def test_why_a_server_is_degraded_is_told_to_those_with_the_token() -> None:
    """S03: a reason may name a path."""
    async with live() as at, client(at) as http:
        at.hub.troubles = ("the saved memory of /home/me/secret was set aside",)
        known = (await http.get("/health")).json()
        unknown = (await http.get("/health", headers={"Authorization": "Bearer x"})).json()
    assert known["reasons"] == list(at.hub.troubles)
    assert unknown["status"] == known["status"] == "degraded"
    assert unknown["reasons"] == ["see `live-memory doctor`"]
