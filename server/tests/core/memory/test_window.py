"""The window only grows, and loses only what an event names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.memory.events import (
    Compacted,
    EntryNumber,
    FactPinned,
    FileChanged,
    FileGone,
    FileObserved,
    Forgotten,
    MemoryEvent,
    NoteWritten,
)
from live_memory.core.memory.ledger import Fact, FactId, Source
from live_memory.core.memory.window import Window, apply, current_hashes, questions
from live_memory.core.reading.observation import RedactedText
from live_memory.core.values import ContentHash, Instant, Origin, RelPath
from tests.support import strategies as given_a

A, B = RelPath("a.py"), RelPath("b.py")
ONE, TWO = ContentHash.of(b"1"), ContentHash.of(b"2")
NOW = Instant(1.0)


def _seen(path: RelPath, sha: ContentHash) -> FileObserved:
    return FileObserved(path, sha, 1, 1, 1, RedactedText("x"), Origin.READ, NOW)


def _fact(name: str, path: RelPath, sha: ContentHash) -> Fact:
    return Fact(FactId(name), f"{name} holds", (Source(path, sha, 1, 1),))


@pytest.mark.promise("append-only")
@given(given_a.windows, st.one_of(given_a.appending, given_a.pinned))
def test_every_event_but_compaction_and_forgetting_leaves_the_entries_before_it_as_they_were(
    window: Window, event: MemoryEvent
) -> None:
    after = apply(window, event)
    assert after.entries[: len(window.entries)] == window.entries


@pytest.mark.promise("nothing-lost")
@given(given_a.windows, st.lists(given_a.appending, max_size=6), st.data())
def test_what_arrives_while_a_compaction_runs_survives_it(
    planned_on: Window, arrived: list[MemoryEvent], data: st.DataObject
) -> None:
    numbers = [entry.number for entry in planned_on.entries]
    covers = frozenset(data.draw(st.sets(st.sampled_from(numbers)))) if numbers else frozenset()
    meanwhile = planned_on
    for event in arrived:
        meanwhile = apply(meanwhile, event)
    after = apply(meanwhile, Compacted(covers, ()))
    assert after.entries == tuple(e for e in meanwhile.entries if e.number not in covers)
    assert [e.content for e in after.entries[len(after.entries) - len(arrived) :]] == arrived


@pytest.mark.promise("nothing-lost")
@given(st.lists(given_a.events, max_size=25))
def test_entry_numbers_rise_and_are_never_used_twice(happened: list[MemoryEvent]) -> None:
    window, used = Window(), set[EntryNumber]()
    for event in happened:
        new = {e.number for e in apply(window, event).entries} - {e.number for e in window.entries}
        assert not new & used
        used |= new
        window = apply(window, event)
    numbers = [entry.number for entry in window.entries]
    assert numbers == sorted(set(numbers))
    assert window.revision == len(happened)


@pytest.mark.promise("never-falsely-fresh")
@given(given_a.windows)
def test_a_fact_is_stale_exactly_when_a_source_that_is_in_view_has_other_bytes(
    window: Window,
) -> None:
    now = current_hashes(window)
    for fact in apply(window, Compacted(frozenset(), window.ledger.facts)).ledger.facts:
        seen = [source for source in fact.sources if source.path in now]
        if seen:
            assert fact.is_stale == any(now[s.path] != s.sha for s in seen)


@pytest.mark.promise("never-falsely-fresh")
@pytest.mark.parametrize("event", [FileChanged(A, TWO, NOW), FileGone(A, NOW), _seen(A, TWO)])
def test_a_fact_steps_back_when_its_source_changes_or_goes(event: MemoryEvent) -> None:
    window = apply(Window(), Compacted(frozenset(), (_fact("f", A, ONE), _fact("g", B, ONE))))
    stale = {fact.id: fact.is_stale for fact in apply(window, event).ledger.facts}
    assert stale == {"f": True, "g": False}


@pytest.mark.promise("never-falsely-fresh")
def test_a_fact_whose_source_changed_during_the_compaction_is_born_stale() -> None:
    window = apply(apply(Window(), _seen(A, ONE)), FileChanged(A, TWO, NOW))
    after = apply(window, Compacted(frozenset({EntryNumber(1)}), (_fact("f", A, ONE),)))
    assert [fact.is_stale for fact in after.ledger.facts] == [True]


def test_bytes_that_come_back_make_a_fact_fresh_again() -> None:
    window = apply(Window(), Compacted(frozenset(), (_fact("f", A, ONE),)))
    window = apply(apply(window, FileChanged(A, TWO, NOW)), FileChanged(A, ONE, NOW))
    assert [fact.is_stale for fact in window.ledger.facts] == [False]


def test_pinning_marks_one_fact_and_keeps_the_rest() -> None:
    window = apply(Window(), Compacted(frozenset(), (_fact("f", A, ONE), _fact("g", B, ONE))))
    facts = apply(window, FactPinned(FactId("g"))).ledger.facts
    assert {fact.id: fact.is_pinned for fact in facts} == {"f": False, "g": True}


def test_forgetting_removes_the_named_entries_and_facts_and_nothing_else() -> None:
    window = apply(Window(), Compacted(frozenset(), (_fact("f", A, ONE), _fact("g", B, ONE))))
    window = apply(apply(window, NoteWritten("one", NOW)), NoteWritten("two", NOW))
    after = apply(window, Forgotten(frozenset({EntryNumber(1)}), frozenset({FactId("f")})))
    assert [entry.number for entry in after.entries] == [2]
    assert [fact.id for fact in after.ledger.facts] == ["g"]


@given(st.lists(given_a.events, max_size=25))
def test_questions_are_listed_in_the_order_in_which_they_were_answered(
    happened: list[MemoryEvent],
) -> None:
    window = given_a.fold(happened)
    assert list(questions(window)) == [
        e.content for e in window.entries if e.content in questions(window)
    ]
