"""What a person looks at: places as they are now, why a fact stands, what was saved."""

from collections.abc import Sequence

import anyio
import pytest

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.core.errors import InvalidRequest, StoreUnavailable
from live_memory.core.evidence.places import Place
from live_memory.core.memory.ledger import Fact, FactId, Source
from live_memory.core.memory.window import Compacted, Concluded, FactPinned, FileChanged
from live_memory.core.reading.redaction import KnownSignatures
from live_memory.core.values import Author, ContentHash, Instant, RelPath, WorkspaceKey
from live_memory.flow.inspect_memory import (
    MOST_PLACES,
    asked_with_savings,
    learned_lately,
    open_places,
    reasons_of,
)
from live_memory.flow.jobs import silent
from live_memory.flow.workspace import known_signatures
from tests.support.memory import a_question, app_house

CONFIG = RelPath("app/config.py")
TEXT = b'"""Settings."""\n\n\nRETRY_LIMIT = 3\n'


def _fact(name: str, *, conclusion: str = "", at: float = 0.0, line: int = 4) -> Fact:
    source = Source(CONFIG, ContentHash.of(TEXT), line, line)
    text = "`RETRY_LIMIT` is `3`."
    return Fact(FactId(name), text, (source,), Author.AGENT, Instant(at), conclusion=conclusion)


async def test_places_are_shown_as_they_are_now_with_lines_around_them() -> None:
    house = app_house()
    house.sandbox.put(CONFIG.text, TEXT)
    house.sandbox.put("long.py", b"x = 1\n" * 500)
    async with house.hub() as hub:
        memory = await hub.opened("/app")
        shown, long, beyond, gone = await open_places(
            memory,
            [
                Place(CONFIG, 4, 4),
                Place(RelPath("long.py"), 10, 400),
                Place(CONFIG, 9, 9),
                Place(RelPath("gone.py"), 1, 1),
            ],
        )
        with pytest.raises(InvalidRequest, match="send less"):
            await open_places(memory, [Place(CONFIG, 1, 1)] * (MOST_PLACES + 1))
    assert (shown.first, shown.lines) == (1, ('"""Settings."""', "", "", "RETRY_LIMIT = 3"))
    assert not shown.is_cut
    assert (long.first, len(long.lines), long.is_cut) == (7, 80, True)
    assert beyond.problem == "it has 4 lines now"
    assert gone.problem is not None
    assert "gone" in gone.problem


@pytest.mark.promise("never-falsely-fresh")
async def test_a_fact_is_held_against_the_lines_that_are_there_now() -> None:
    house = app_house()
    house.sandbox.put(CONFIG.text, TEXT)
    async with house.hub() as hub:
        memory = await hub.opened("/app")
        await memory.record(Concluded((_fact("f1", conclusion="c"),)))
        standing = await reasons_of(memory, FactId("f1"))
        house.sandbox.put(CONFIG.text, TEXT.replace(b"3", b"9"))
        fallen = await reasons_of(memory, FactId("f1"))
        with pytest.raises(InvalidRequest, match="forgotten"):
            await reasons_of(memory, FactId("f2"))
    assert standing.standing is not None
    assert standing.places[0].lines[-1] == "RETRY_LIMIT = 3"
    assert fallen.standing is None
    assert fallen.places[0].lines[-1] == "RETRY_LIMIT = 9"


async def test_what_was_understood_together_is_told_once_the_newest_first() -> None:
    house = app_house()
    async with house.hub() as hub:
        memory = await hub.opened("/app")
        assert learned_lately(memory, most=5) == []
        facts = [
            _fact("a", conclusion="one", at=1.0),
            _fact("b", conclusion="one", at=1.0),
            _fact("c", at=2.0),
            _fact("d", conclusion="two", at=3.0),
        ]
        await memory.record(Compacted(frozenset(), tuple(facts)))
        told = learned_lately(memory, most=5)
        assert [(each.at, each.facts) for each in told] == [(3.0, 1), (2.0, 1), (1.0, 2)]
        assert [each.at for each in learned_lately(memory, most=2)] == [3.0, 2.0]


async def test_savings_of_all_questions_are_those_of_the_figures() -> None:
    house = app_house()
    async with house.hub() as hub:
        for text in ("Where is RETRY_LIMIT set?", "Where is the KafkaConsumerPool rebalanced?"):
            await hub.ask("/app", a_question(text), progress=silent)
        memory = await hub.opened("/app")
        newest, oldest = await asked_with_savings(memory)
        stats = await hub.stats("/app")
    assert oldest[1].reading > 0
    assert newest[1].tokens < 0
    assert stats.tokens_saved == newest[1].tokens + oldest[1].tokens
    assert sum(stats.window_parts.values()) == stats.window_tokens


async def test_savings_are_known_before_anything_is_listed_and_without_an_index() -> None:
    house = app_house()
    async with house.hub() as hub:
        await hub.ask("/app", a_question(), progress=silent)
        memory = await hub.opened("/app")
        before = (await hub.stats("/app")).tokens_saved
        memory.indexer.signatures = {}
        assert (await hub.stats("/app")).tokens_saved == before
        whole, memory.indexer.index = memory.indexer.index, _NoIndex.in_memory()
        assert await known_signatures(memory) == {}
        await memory.indexer.index.aclose()
        memory.indexer.index = whole


class _NoIndex(SqliteIndex):
    """It cannot be read."""

    async def known(self) -> KnownSignatures:
        raise StoreUnavailable("the disk is away")


async def test_all_workspaces_are_listed_and_found_by_their_keys_without_being_opened() -> None:
    house = app_house()
    async with house.hub() as hub:
        await hub.ask("/app", a_question(), progress=silent)
        (row,) = await hub.workspaces()
        assert row.here is not None
        key = row.identity.key
        assert await hub.root_of(key) == "/app"
    opened = house.opened
    async with house.hub() as hub:
        (row,) = await hub.workspaces()
        assert (row.identity.key, row.identity.root, row.here) == (key, "/app", None)
        assert row.saved_at is not None
        assert await hub.root_of(key) == "/app"
        with pytest.raises(InvalidRequest, match="no such workspace"):
            await hub.root_of(WorkspaceKey.of_root("/elsewhere"))
    assert house.opened == opened


async def test_the_pulse_changes_where_something_happens_and_nowhere_else() -> None:
    house = app_house()
    async with house.hub() as hub:
        memory = await hub.opened("/app")
        await memory.record(Concluded((_fact("f1", conclusion="c"),)))
        with anyio.fail_after(5):
            await memory.indexer.caught_up()
        before = dict(hub.pulse)
        assert dict(hub.pulse) == before
        await memory.record(FactPinned(FactId("f1")))
        assert dict(hub.pulse) != before


async def test_what_was_told_of_files_outlives_its_entries() -> None:
    house = app_house()
    async with house.hub() as hub:
        memory = await hub.opened("/app")
        changed = FileChanged(CONFIG, ContentHash.of(b"1"), Instant(1.0))
        await memory.record(changed)
        await memory.record(FactPinned(FactId("none")))
        numbers = frozenset(entry.number for entry in memory.window.entries)
        await memory.record(Compacted(numbers, ()))
        assert memory.window.entries == ()
        assert _told(memory.heard) == [changed]


def _told(events: Sequence[object] | object) -> list[object]:
    assert hasattr(events, "__iter__")
    return [*events]


async def test_much_is_counted_as_little_is() -> None:
    house = app_house()
    async with house.hub() as hub:
        memory = await hub.opened("/app")
        facts = tuple(_fact(f"f{n}", conclusion="c") for n in range(5_001))
        ledger = memory.window.ledger.with_facts(facts)
        object.__setattr__(memory.window, "ledger", ledger)
        stats = await hub.stats("/app")
    assert (stats.facts, stats.findings, stats.stale_facts) == (5_001, 5_001, 0)
