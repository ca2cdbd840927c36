"""Facts are found by their ids, however many were learned after them."""

from collections.abc import Sequence

import pytest

from live_memory.core.memory.ledger import Fact, FactId, Ledger, Source
from live_memory.core.values import ContentHash, RelPath
from live_memory.web.routes import MOST_FACTS
from tests.web.hubs import live
from tests.web.test_answers import client

_SOURCE = Source(RelPath("a.py"), ContentHash.of(b"a"), 1, 1)
_OLDEST = ("aa01", "aa02", "ab01")


def _learned() -> Ledger:
    """More facts than a reply holds; of the oldest, the second is stale."""
    names = (*_OLDEST, *(f"f{n:05}" for n in range(MOST_FACTS)))
    facts = (Fact(FactId(n), f"`{n}`.", (_SOURCE,), is_stale=n == "aa02") for n in names)
    return Ledger(tuple(facts))


async def _ids(**query: str) -> tuple[Sequence[str], int]:
    async with live() as at, client(at) as http:
        at.hub.learned = _learned()
        reply = await http.get("/v1/facts", params={"cwd": "/", **query})
    form = reply.json()
    return [fact["id"] for fact in form["facts"]], form["total"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"id": "aa01"}, ["aa01"]),
        ({"id": "aa"}, ["aa02", "aa01"]),
        ({"id": "a"}, ["ab01", "aa02", "aa01"]),
        ({"stale": "1"}, ["aa02"]),
        ({"stale": "1", "id": "ab"}, []),
        ({"id": "f04999"}, ["f04999"]),
        ({"id": "none"}, []),
    ],
)
async def test_an_old_fact_is_found_behind_as_many_as_a_reply_holds(
    query: dict[str, str], found: list[str]
) -> None:
    assert await _ids(**query) == (found, MOST_FACTS + len(_OLDEST))


async def test_a_list_holds_the_newest_and_says_how_many_there_are() -> None:
    ids, total = await _ids()
    assert (len(ids), ids[0], total) == (MOST_FACTS, "f04999", MOST_FACTS + len(_OLDEST))


@pytest.mark.parametrize(
    ("query", "found", "matching"),
    [
        ({"limit": "2"}, ["f04999", "f04998"], MOST_FACTS + 3),
        ({"limit": "2", "offset": "1"}, ["f04998", "f04997"], MOST_FACTS + 3),
        ({"limit": "2", "offset": "5002"}, ["aa01"], MOST_FACTS + 3),
        ({"limit": "2", "offset": "9999"}, [], MOST_FACTS + 3),
        ({"limit": "2", "text": "F0000"}, ["f00009", "f00008"], 10),
        ({"limit": "1", "text": "A.PY"}, ["f04999"], MOST_FACTS + 3),
        ({"pinned": "1"}, ["ab01"], 1),
        ({"pinned": "1", "stale": "1"}, [], 0),
    ],
)
async def test_facts_are_told_page_by_page_with_how_many_there_are(
    query: dict[str, str], found: list[str], matching: int
) -> None:
    async with live() as at, client(at) as http:
        at.hub.learned = _learned().with_pin(FactId("ab01"))
        form = (await http.get("/v1/facts", params={"cwd": "/", **query})).json()
    assert ([fact["id"] for fact in form["facts"]], form["matching"]) == (found, matching)


@pytest.mark.parametrize("wrong", ["-1", "x", "1.5", "", "9" * 30, "٣"])
async def test_a_page_that_is_no_number_is_refused(wrong: str) -> None:
    async with live() as at, client(at) as http:
        for name in ("limit", "offset"):
            reply = await http.get("/v1/facts", params={"cwd": "/", name: wrong})
            assert reply.status_code == 400
            assert name in reply.text


async def test_an_answer_is_found_by_the_time_of_its_question() -> None:
    async with live() as at, client(at) as http:
        await http.post("/v1/ask", json={"question": "Where is it?", "cwd": "/somewhere"})
        found = await http.get("/v1/answers", params={"cwd": "/", "at": "1800000000"})
        other = await http.get("/v1/answers", params={"cwd": "/", "at": "1.5"})
        wrong = await http.get("/v1/answers", params={"cwd": "/", "at": "then"})
    assert [len(reply.json()["answers"]) for reply in (found, other)] == [1, 0]
    assert wrong.status_code == 400
