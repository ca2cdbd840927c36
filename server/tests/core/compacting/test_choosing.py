"""A question finds the facts that it names."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.compaction.relevance import relevant
from live_memory.core.companion.prompt import render_fact
from live_memory.core.evidence.question import terms_of
from live_memory.core.memory.ledger import Fact, FactId, Ledger, Source
from live_memory.core.tokens import estimate
from live_memory.core.values import ContentHash, Instant, RelPath
from tests.support import strategies as given_a

A, B, ONE, NOW = RelPath("a.py"), RelPath("b.py"), ContentHash.of(b"1"), Instant(1.0)
HUGE = 1_000_000
facts = st.lists(given_a.facts, max_size=12, unique_by=lambda fact: fact.id)
ledgers = facts.map(lambda each: Ledger(tuple(each)))


def _fact(name: str, text: str = "`x` is 3.", path: RelPath = A, start: int = 1) -> Fact:
    return Fact(FactId(name), text, (Source(path, ONE, start, start + 1),))


def _found(
    question: str, *known: Fact, near: Sequence[RelPath] = (), most: int = 10, budget: int = HUGE
) -> list[str]:
    chosen = relevant(Ledger(known), terms_of(question), near, most=most, budget_tokens=budget)
    return [fact.id for fact in chosen]


def test_what_fits_exactly_is_chosen_and_what_is_a_token_too_long_is_not() -> None:
    ledger = Ledger((_fact("a", "`send_it` is 3."), _fact("b", "`send_it` is 4.")))
    room = sum(estimate(render_fact(fact)) for fact in ledger.facts)
    for budget, expected in ((room, ["b", "a"]), (room - 1, ["b"]), (0, [])):
        assert _found("What is `send_it`?", *ledger.facts, budget=budget) == expected


def test_a_name_alone_is_reason_enough_for_a_fact_of_another_file() -> None:
    known = [_fact("name", "`go` waits."), _fact("words", "Cookies expire with the session.")]
    asked = "How do cookies expire with the session, and does `go` matter?"
    assert _found(asked, *known) == ["name", "words"]
    assert _found("How does `go()` work?", _fact("code", "`go` waits.")) == ["code"]


def test_only_what_can_be_nothing_but_a_name_is_one_without_marks() -> None:
    known = [
        _fact("plain", "All go on with cookies of the session."),
        _fact("written", "A retry of send_it waits."),
    ]
    asked = "What do `send_it` and `go` do with cookies of the session?"
    assert _found(asked, *known) == ["written", "plain"]


def test_a_name_of_the_question_weighs_more_than_its_words_and_both_more_than_a_near_file() -> None:
    known = [
        _fact("near", "`other` is 3.", path=B),
        _fact("words", "The session keeps cookies of each request and response."),
        _fact("name", "`send_it` is 3."),
        _fact("nothing", "`unrelated` is 3."),
    ]
    asked = "How does `send_it` treat cookies of the session and the request?"
    assert _found(asked, *known, near=[RelPath("c.py"), B]) == ["name", "words", "near"]
    assert _found(asked, *known) == ["name", "words"]
    assert _found(asked, *known, most=1) == ["name"]
    assert _found("", *known) == []


def test_rare_words_weigh_more_than_those_that_all_facts_share() -> None:
    known = [_fact(f"f{n}", "The session sends a request.") for n in range(9)]
    known.append(_fact("rare", "The cookie expires."))
    assert _found("session request cookie", *known)[0] == "rare"


def test_one_common_word_is_no_reason_for_a_fact_of_another_file() -> None:
    known = [_fact("one", "The request waits."), _fact("two", "Cookies expire with the session.")]
    known.append(_fact("three", "The proxy adapter redirects a stream."))
    asked = "request cookies expire session adapter proxy redirect stream"
    assert _found(asked, *known) == ["three", "two"]
    assert _found(asked, *known, near=[A]) == ["three", "two", "one"]


def test_files_are_near_in_the_order_of_evidence_and_newer_facts_come_first() -> None:
    known = [_fact("b1", path=B), _fact("b2", path=B), _fact("a", path=A)]
    known.append(replace(known[0], id=FactId("both"), sources=known[0].sources + known[2].sources))
    assert _found("nothing of it", *known, near=[B, A]) == ["both", "b2", "b1", "a"]
    assert _found("nothing of it", *known, near=[A, B]) == ["both", "a", "b2", "b1"]


def test_names_are_found_with_what_is_around_them() -> None:
    known = [_fact("dotted", "`Session.send_it` is 3."), _fact("other", "`resend_it` is 3.")]
    assert _found("Where is `Client.send_it()`?", *known) == ["dotted"]


def test_a_stale_fact_is_for_no_question() -> None:
    assert _found("`x`?", replace(_fact("f"), is_stale=True), near=[A]) == []


@given(
    ledgers,
    st.text(max_size=60) | st.sampled_from(["`x` a.py", "ab 12"]),
    st.lists(given_a.paths, max_size=3, unique=True),
    st.integers(0, 6),
    st.integers(0, 200),
)
def test_what_is_relevant_is_current_bounded_and_the_same_each_time(
    ledger: Ledger, question: str, near: list[RelPath], most: int, budget: int
) -> None:
    terms = terms_of(question)
    found = relevant(ledger, terms, near, most=most, budget_tokens=budget)
    assert found == relevant(ledger, terms, near, most=most, budget_tokens=budget)
    assert len(found) <= most
    assert len({fact.id for fact in found}) == len(found)
    assert not any(fact.is_stale for fact in found)
    assert sum(estimate(render_fact(fact)) for fact in found) <= budget


@pytest.mark.timeout(30)
def test_ten_thousand_facts_are_searched() -> None:
    known = [
        _fact(
            f"f{n}", f"`name_{n}` keeps value {n} of session {n % 7} for `Class{n % 50}.run_{n}`."
        )
        for n in range(10_000)
    ]
    ledger, terms = Ledger(tuple(known)), terms_of("Where is `run_77` for session values kept?")
    found = relevant(ledger, terms, [A], most=20, budget_tokens=2_000)
    assert found[0].id == "f77"
    assert len(found) == 20
