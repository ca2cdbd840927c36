"""The window only grows, and loses only what an event names."""

from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.answer import Answer, Grounding, Mode, Question
from live_memory.core.compaction.plan import superseded
from live_memory.core.memory.ledger import Fact, FactId, Source
from live_memory.core.memory.notebook import Note, NoteCategory, Writer, note_id
from live_memory.core.memory.window import (
    Compacted,
    EntryNumber,
    FactPinned,
    FileChanged,
    FileGone,
    FileObserved,
    Forgotten,
    MemoryEvent,
    NoteTold,
    NoteWritten,
    QuestionAnswered,
    Window,
    apply,
    current_hashes,
    questions,
)
from live_memory.core.values import Author, ContentHash, Instant, Origin, RelPath
from tests.support import strategies as given_a

A, B = RelPath("a.py"), RelPath("b.py")
ONE, TWO = ContentHash.of(b"1"), ContentHash.of(b"2")
NOW = Instant(1.0)


def _seen(path: RelPath, sha: ContentHash) -> FileObserved:
    return FileObserved(path, sha, 1, 1, 1, Origin.READ, NOW)


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
@given(given_a.windows, given_a.compacted | given_a.concluded | given_a.forgotten)
def test_no_compaction_touches_what_was_told(window: Window, event: MemoryEvent) -> None:
    note = Note(note_id("Two."), "Two.", NoteCategory.DECISION, Writer(Author.PERSON), NOW)
    window = apply(window, NoteTold(note))
    assert apply(window, event).notebook is window.notebook


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
def test_a_fact_is_stale_when_a_source_has_other_bytes_and_fresh_when_all_are_as_they_were(
    window: Window,
) -> None:
    now = current_hashes(window)
    for fact in apply(window, Compacted(frozenset(), window.ledger.facts)).ledger.facts:
        if any(now.get(s.path, s.sha) != s.sha for s in fact.sources):
            assert fact.is_stale
        elif all(source.path in now for source in fact.sources):
            assert not fact.is_stale


def _looked_at(event: MemoryEvent) -> dict[RelPath, ContentHash | None]:
    match event:
        case FileObserved() | FileChanged():
            return {event.path: event.sha}
        case FileGone():
            return {event.path: None}
        case _:
            return {}


@st.composite
def summarised(draw: st.DrawFn) -> Compacted:
    """A summary of some bytes of each file, whatever was known of it before."""
    read = {path: draw(given_a.hashes) for path in map(RelPath, ["a.py", "src/b.py"])}
    facts = tuple(
        Fact(fact_id, "holds", tuple(Source(path, read[path], 1, 1) for path in paths))
        for fact_id in draw(st.lists(given_a.fact_ids, max_size=2, unique=True))
        for paths in [draw(st.lists(st.sampled_from(list(read)), min_size=1, max_size=2))]
    )
    covers = draw(st.frozensets(given_a.entry_numbers, max_size=8))
    return Compacted(covers, facts)


@pytest.mark.promise("never-falsely-fresh")
@given(st.lists(given_a.appending | given_a.pinned | summarised(), max_size=25))
def test_the_bytes_of_the_last_look_are_known_whatever_was_compacted_since(
    happened: list[MemoryEvent],
) -> None:
    window, seen = Window(), dict[RelPath, ContentHash | None]()
    for each in happened:
        event = each
        if isinstance(each, Compacted):  # every plan covers what later looks replaced
            event = replace(each, covers=each.covers | superseded(window))
        window = apply(window, event)
        seen.update(_looked_at(event))
        now = current_hashes(window)
        # That a file is gone is known until its entry goes; nothing is said of it then.
        assert {path: now.get(path) for path in seen} == seen
        if isinstance(event, Compacted):
            seen = {path: sha for path, sha in seen.items() if sha is not None}
            assert all(isinstance(sha, ContentHash) for sha in window.settled.values())
        for fact in window.ledger.facts:
            has_changed = any(now.get(s.path, s.sha) != s.sha for s in fact.sources)
            assert fact.is_stale or not has_changed


@pytest.mark.promise("never-falsely-fresh")
@given(given_a.windows, summarised())
def test_every_file_that_a_new_fact_rests_on_is_known_from_then_on(
    window: Window, summary: Compacted
) -> None:
    """Else nothing would compare it with the disk before a question."""
    before, after = current_hashes(window), apply(window, replace(summary, covers=frozenset()))
    written = {source.path: source.sha for fact in summary.facts for source in fact.sources}
    assert current_hashes(after) == {**written, **before}


@pytest.mark.promise("never-falsely-fresh")
def test_a_summary_of_other_bytes_than_the_last_look_does_not_decide_what_is_current() -> None:
    window = apply(Window(), Compacted(frozenset(), (_fact("f", A, ONE),)))
    window = apply(window, Compacted(frozenset(), (_fact("g", A, TWO),)))
    assert current_hashes(window) == {A: ONE}
    assert {fact.id: fact.is_stale for fact in window.ledger.facts} == {"f": False, "g": True}


@pytest.mark.promise("never-falsely-fresh")
@given(st.lists(st.builds(FileChanged, given_a.paths, given_a.hashes, st.just(NOW)), min_size=1))
def test_no_fact_is_fresh_again_because_the_look_that_made_it_stale_was_forgotten(
    looks: list[FileChanged],
) -> None:
    path, last = looks[-1].path, looks[-1].sha
    facts = tuple(_fact(f"f{n}", path, ContentHash.of(b"%d" % n)) for n in range(1, 4))
    window = apply(Window(), Compacted(frozenset(), facts))
    for look in looks:
        window = apply(window, look)
    entries = frozenset(entry.number for entry in window.entries)
    forgot = apply(window, Forgotten(entries, frozenset()))
    assert current_hashes(forgot)[path] == last
    after = apply(forgot, Compacted(frozenset(), ()))
    assert after.ledger == window.ledger


@pytest.mark.promise("never-falsely-fresh")
def test_no_compaction_makes_a_fact_fresh_again_only_a_look_does() -> None:
    window = apply(Window(), Compacted(frozenset(), (_fact("f", A, ONE),)))
    for event in (_seen(A, ONE), FileChanged(A, TWO, NOW)):
        window = apply(window, event)
    window = apply(window, Forgotten(frozenset({EntryNumber(2)}), frozenset()))
    after = apply(window, Compacted(frozenset(), (_fact("g", B, ONE),)))
    assert {fact.id: fact.is_stale for fact in after.ledger.facts} == {"f": True, "g": False}
    assert not apply(after, FileChanged(A, ONE, NOW)).ledger.facts[0].is_stale


@pytest.mark.promise("never-falsely-fresh")
def test_a_forgotten_change_of_one_file_keeps_a_fact_of_two_stale() -> None:
    sources = (Source(A, ONE, 1, 1), Source(B, ONE, 1, 1))
    window = apply(Window(), Compacted(frozenset(), (Fact(FactId("f"), "A uses B", sources),)))
    for event in (FileChanged(A, TWO, NOW), Forgotten(frozenset({EntryNumber(1)}), frozenset())):
        window = apply(window, event)
    for sha in (TWO, ONE):
        window = apply(window, FileChanged(B, sha, NOW))
        assert window.ledger.facts[0].is_stale
    gone = apply(
        apply(window, FileGone(A, NOW)), Forgotten(frozenset({EntryNumber(4)}), frozenset())
    )
    assert A not in current_hashes(gone)
    assert apply(gone, FileChanged(B, ONE, NOW)).ledger.facts[0].is_stale


@pytest.mark.promise("never-falsely-fresh")
def test_a_fact_of_two_files_is_fresh_again_only_when_both_are() -> None:
    sources = (Source(A, ONE, 1, 1), Source(B, ONE, 1, 1))
    window = apply(Window(), Compacted(frozenset(), (Fact(FactId("f"), "A uses B", sources),)))
    states = []
    for path, sha in ((A, TWO), (B, ONE), (B, TWO), (A, ONE), (B, ONE)):
        window = apply(window, FileChanged(path, sha, NOW))
        states.append(window.ledger.facts[0].is_stale)
    assert states == [True, True, True, True, False]


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


@pytest.mark.promise("nothing-lost")
@given(st.lists(given_a.answered, max_size=8), st.sets(st.integers(1, 8).map(EntryNumber)))
def test_answers_survive_the_compaction_of_their_entries(
    answered: list[QuestionAnswered], covers: set[EntryNumber]
) -> None:
    window = apply(given_a.fold(list(answered)), Compacted(frozenset(covers), ()))
    assert sorted(map(repr, questions(window))) == sorted(map(repr, answered))


def test_a_fact_that_was_forgotten_does_not_come_back() -> None:
    fact = _fact("f", A, ONE)
    window = apply(Window(), Compacted(frozenset(), (fact,)))
    window = apply(window, Forgotten(frozenset(), frozenset({fact.id})))
    assert window.ledger.facts == ()
    assert apply(window, Compacted(frozenset(), (fact,))).ledger.facts == ()


def test_a_compaction_counts_what_was_not_admitted_and_leaves_what_it_does_not_name() -> None:
    first = Compacted(frozenset(), (_fact("f", A, ONE),), rejected=3)
    window = apply(apply(Window(), first), NoteWritten("n", NOW))
    after = apply(window, Compacted(frozenset(), (_fact("g", B, ONE),), rejected=2))
    assert after.ledger.rejected == 5
    assert [fact.id for fact in after.ledger.facts] == ["f", "g"]
    assert after.entries == window.entries


def test_the_newest_thousand_answers_outlive_their_entries_oldest_first() -> None:
    answer = Answer("a", Mode.EVIDENCE, Grounding.VERIFIED, ())
    asked = [QuestionAnswered(Question(f"q{n}", NOW), answer, 0) for n in range(1_003)]
    archived = Window(archive=tuple(asked[:1_000]))
    happened: list[MemoryEvent] = [*asked[1_000:], NoteWritten("n", NOW)]
    window = reduce(apply, happened, archived)
    assert [entry.number for entry in window.entries] == [1, 2, 3, 4]
    assert questions(window) == tuple(asked)
    after = apply(window, Compacted(frozenset(map(EntryNumber, (1, 2, 4))), ()))
    assert questions(after) == tuple(asked[2:])
