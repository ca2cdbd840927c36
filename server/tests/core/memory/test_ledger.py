"""Facts are added, replaced in place, pinned, dropped, and judged by their sources."""

from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.memory.ledger import Fact, FactId, Ledger, Source
from live_memory.core.values import ContentHash, RelPath
from tests.support import strategies as given_a

ONE, TWO = ContentHash.of(b"1"), ContentHash.of(b"2")
A, B = RelPath("a.py"), RelPath("b.py")


def _fact(name: str, text: str = "x") -> Fact:
    return Fact(FactId(name), text, (Source(A, ONE, 1, 2),))


def test_a_fact_with_a_known_id_takes_the_place_of_the_old_one() -> None:
    ledger = Ledger((_fact("f", "old"), _fact("g"))).with_facts((_fact("h"), _fact("f", "new")))
    assert [(fact.id, fact.text) for fact in ledger.facts] == [("f", "new"), ("g", "x"), ("h", "x")]


def test_dropping_leaves_the_others_in_order() -> None:
    ledger = Ledger((_fact("f"), _fact("g"), _fact("h"))).without(frozenset({FactId("g")}))
    assert [fact.id for fact in ledger.facts] == ["f", "h"]


def test_a_file_that_is_not_named_leaves_a_fact_as_it_was() -> None:
    stale = Ledger((_fact("f"),)).checked_against({A: TWO})
    assert stale.checked_against({B: ONE}) == stale
    assert stale.facts[0].is_stale


@given(
    st.lists(given_a.facts, max_size=6).map(tuple), st.dictionaries(given_a.paths, given_a.hashes)
)
def test_checking_twice_against_the_same_bytes_changes_nothing_more(
    facts: tuple[Fact, ...], current: dict[RelPath, ContentHash]
) -> None:
    once = Ledger(facts).checked_against(dict(current))
    assert once.checked_against(dict(current)) == once
