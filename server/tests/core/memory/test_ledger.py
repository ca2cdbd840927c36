"""Facts are added, replaced in place, pinned, dropped, and judged by their sources."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.memory.ledger import Fact, FactId, Ledger, Source
from live_memory.core.values import ContentHash, Instant, RelPath
from tests.support import strategies as given_a

ONE, TWO = ContentHash.of(b"1"), ContentHash.of(b"2")
A, B = RelPath("a.py"), RelPath("b.py")

Hashes = Mapping[RelPath, ContentHash | None]
fact_lists = st.lists(given_a.facts, max_size=8, unique_by=lambda fact: fact.id).map(tuple)
hashes: st.SearchStrategy[Hashes] = st.dictionaries(
    given_a.paths, st.none() | given_a.hashes, max_size=4
)


def _fact(name: str, text: str = "x") -> Fact:
    return Fact(FactId(name), text, (Source(A, ONE, 1, 2),))


def _of_one_file(fact: Fact) -> Fact:
    path = fact.sources[0].path
    return replace(fact, sources=tuple(replace(source, path=path) for source in fact.sources))


def _judged_plainly(fact: Fact, current: Hashes) -> Fact:
    path = fact.sources[0].path
    if path not in current:
        return fact
    return replace(fact, is_stale=any(current[path] != source.sha for source in fact.sources))


def test_a_fact_with_a_known_id_takes_the_place_of_the_old_one() -> None:
    ledger = Ledger((_fact("f", "old"), _fact("g"))).with_facts((_fact("h"), _fact("f", "new")))
    assert [(fact.id, fact.text) for fact in ledger.facts] == [("f", "new"), ("g", "x"), ("h", "x")]


def test_dropping_leaves_the_others_in_order() -> None:
    ledger = Ledger((_fact("f"), _fact("g"), _fact("h"))).without(frozenset({FactId("g")}))
    assert [fact.id for fact in ledger.facts] == ["f", "h"]


def test_what_was_forgotten_at_different_times_stays_away_together() -> None:
    ledger = Ledger((_fact("f"), _fact("g")))
    for name in ("f", "g"):
        ledger = ledger.without(frozenset({FactId(name)}))
    assert ledger.with_facts((_fact("f"), _fact("g"), _fact("h"))).facts == (_fact("h"),)


def test_a_file_that_is_not_named_leaves_a_fact_as_it_was() -> None:
    stale = Ledger((_fact("f"),)).checked_against({A: TWO})
    assert stale.checked_against({B: ONE}) == stale
    assert stale.facts[0].is_stale


def test_a_fact_is_found_by_its_id() -> None:
    ledger = Ledger((_fact("f"), _fact("g", "y")))
    assert ledger[FactId("g")].text == "y"
    with pytest.raises(KeyError):
        ledger[FactId("h")]


@given(fact_lists)
def test_what_rests_on_a_file_is_what_names_it_as_a_source(facts: tuple[Fact, ...]) -> None:
    ledger = Ledger(facts)
    for path in (A, B, RelPath("src/b.py"), RelPath("src/deep/c.ts"), RelPath("d.md")):
        resting = tuple(f for f in facts if path in {source.path for source in f.sources})
        assert ledger.resting_on(path) == resting
        assert (path in ledger.paths) == bool(resting)


@pytest.mark.promise("never-falsely-fresh")
@given(
    fact_lists.map(lambda facts: tuple(map(_of_one_file, facts))),
    st.lists(hashes, max_size=4),
    st.lists(given_a.fact_ids, max_size=3),
)
def test_facts_are_judged_as_if_each_were_looked_at(
    facts: tuple[Fact, ...], checks: list[Hashes], pins: list[FactId]
) -> None:
    """Whatever happened to the ledger before, its index of sources is that of its facts."""
    ledger = Ledger(facts)
    for current in checks:
        expected = tuple(_judged_plainly(fact, current) for fact in ledger.facts)
        ledger = ledger.checked_against(current)
        assert ledger.facts == expected
        for fact_id in pins:
            ledger = ledger.with_pin(fact_id)
        ledger = ledger.without(frozenset(pins[:1])).with_facts(facts[:2])


@pytest.mark.promise("never-falsely-fresh")
@given(fact_lists, st.lists(hashes, max_size=6))
def test_a_fact_is_fresh_only_while_none_of_its_files_is_known_to_have_changed(
    facts: tuple[Fact, ...], checks: list[Hashes]
) -> None:
    ledger, known = Ledger(facts), dict[RelPath, ContentHash | None]()
    for current in checks:
        ledger = ledger.checked_against(current)
        known.update(current)
        for fact in ledger.facts:
            has_changed = any(known.get(s.path, s.sha) != s.sha for s in fact.sources)
            assert fact.is_stale or not has_changed


@given(fact_lists, hashes)
def test_checking_twice_against_the_same_bytes_changes_nothing_more(
    facts: tuple[Fact, ...], current: Hashes
) -> None:
    once = Ledger(facts).checked_against(current)
    assert once.checked_against(current) is once
    assert [fact.id for fact in once.facts] == [fact.id for fact in facts]


@given(fact_lists, fact_lists, st.frozensets(given_a.fact_ids))
def test_facts_come_in_order_once_each_and_those_forgotten_stay_away(
    known: tuple[Fact, ...], added: tuple[Fact, ...], forgotten: frozenset[FactId]
) -> None:
    before = Ledger(known).without(forgotten)
    after = before.with_facts(added)
    ids = [fact.id for fact in after.facts]
    assert len(set(ids)) == len(ids)
    assert ids[: len(before.facts)] == [fact.id for fact in before.facts]
    assert not forgotten.intersection(ids)
    assert set(ids) == ({f.id for f in known} | {f.id for f in added}) - forgotten
    for fact in added:
        if fact.id not in forgotten:
            old = next((old for old in before.facts if old.id == fact.id), fact)
            assert after[fact.id] == replace(
                fact, is_pinned=fact.is_pinned or old.is_pinned, uses=old.uses
            )


@given(fact_lists, given_a.fact_ids)
def test_a_pin_marks_one_fact_and_stays_when_it_is_learned_again(
    facts: tuple[Fact, ...], fact_id: FactId
) -> None:
    pinned = Ledger(facts).with_pin(fact_id)
    for before, after in zip(facts, pinned.facts, strict=True):
        is_pinned = before.is_pinned or before.id == fact_id
        assert after == replace(before, is_pinned=is_pinned)
    again = pinned.with_facts(replace(fact, is_pinned=False) for fact in facts)
    assert [f.is_pinned for f in again.facts] == [f.is_pinned for f in pinned.facts]


@given(st.lists(st.integers(0, 9)))
def test_what_was_not_admitted_is_counted(counts: list[int]) -> None:
    ledger = Ledger((_fact("f"),))
    for count in counts:
        ledger = ledger.with_rejected(count)
    assert ledger == Ledger((_fact("f"),), rejected=sum(counts))


def test_nothing_new_leaves_the_ledger_itself() -> None:
    ledger = Ledger((_fact("f"),)).without(frozenset({FactId("g")}))
    assert ledger.with_facts((_fact("g"),)) is ledger
    assert ledger.checked_against({A: ONE}) is ledger
    assert ledger.with_rejected(0) is ledger


def test_beyond_a_bound_what_answers_stated_least_goes_the_oldest_first() -> None:
    many = tuple(replace(_fact(f"r{n}"), learned_at=Instant(float(n))) for n in range(4_100))
    others = (
        replace(_fact("pinned"), is_pinned=True),
        replace(_fact("asked"), questions=("Where?",)),
        replace(_fact("stated"), uses=1),
        replace(_fact("stale"), learned_at=Instant(5_000.0), is_stale=True),
    )
    kept = Ledger((*others, *reversed(many))).pruned()
    assert kept.facts == (*others, *reversed(many[104:]))
    assert kept.pruned() is kept
    assert not kept.forgotten


def test_what_is_pinned_stays_also_where_everything_is() -> None:
    many = tuple(replace(_fact(f"r{n}"), is_pinned=True) for n in range(4_100))
    assert Ledger(many).pruned().facts == many


def test_an_answer_that_states_a_fact_is_counted_and_learning_it_again_keeps_the_count() -> None:
    ledger = Ledger((_fact("f"), _fact("g"))).with_uses(["f", "h"]).with_uses(["f", "g"])
    assert [(fact.id, fact.uses) for fact in ledger.facts] == [("f", 2), ("g", 1)]
    assert [fact.uses for fact in ledger.with_facts((_fact("f"),)).facts] == [2, 1]
    assert ledger.with_uses([]) is ledger
    assert ledger.with_uses(["f"]).resting_on(A) == ledger.with_uses(["f"]).facts


def test_a_ledger_that_changed_in_place_knows_what_rests_on_what() -> None:
    ledger = Ledger((_fact("f"), _fact("g")))
    assert ledger.resting_on(A)
    for changed in (ledger.with_pin(FactId("f")), ledger.checked_against({A: None})):
        assert changed != ledger
        assert changed.resting_on(A) == Ledger(changed.facts).resting_on(A)
        assert changed.resting_on(A) != ledger.resting_on(A)
