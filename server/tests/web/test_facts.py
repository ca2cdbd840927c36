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
