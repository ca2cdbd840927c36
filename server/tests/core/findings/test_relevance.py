"""A question finds the text that speaks of it first, in whatever words it was written."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.places import Candidates, Terms
from live_memory.core.evidence.question import terms_of
from live_memory.core.evidence.words import vocabulary
from live_memory.core.findings.relevance import recalled
from live_memory.core.memory.ledger import Fact, FactId, Ledger, Source
from live_memory.core.values import ContentHash, Instant, RelPath
from tests.support import strategies as given_a

NO_TERMS = Terms((), ())
SHA = ContentHash.of(b"1")


def _fact(name: str, text: str, *, of: str = "", path: str = "a.py", task: str = "") -> Fact:
    return Fact(
        FactId(name),
        text,
        (Source(RelPath(path), SHA, 1, 2),),
        conclusion=of,
        questions=(task,) if task else (),
    )


def _asked(**worth: float) -> Candidates:
    """What the index makes of a question when it ranks no place: words by their stems."""
    return Candidates((), (), {stem: worth[word] for word in worth for stem in vocabulary(word)})


def _found(candidates: Candidates, *facts: Fact) -> list[str]:
    return [each.facts[0].id for each in recalled(Ledger(facts), NO_TERMS, candidates)]


RETRY = _fact("retry", "A broken connection is opened again after a pause.", of="r", path="b.py")
CACHE = _fact("cache", "Pages stay in a cache for an hour.", of="c")
LOGIN = _fact("login", "Passwords are hashed before they are stored.", of="l", path="c.py")


def test_the_text_that_holds_the_words_comes_first_among_others() -> None:
    others = [_fact(f"o{n}", f"Part {n} draws a window.", of=f"o{n}") for n in range(50)]
    for right, worth in (
        (RETRY, {"broken": 3.0, "connection": 2.0, "pause": 1.0}),
        (CACHE, {"page": 2.0, "cache": 2.0, "hour": 1.0}),
        (LOGIN, {"password": 3.0, "hash": 2.0}),
    ):
        asked = _asked(**worth)
        assert _found(asked, *others[:25], RETRY, CACHE, LOGIN, *others[25:])[0] == right.id


def test_the_words_of_all_sentences_of_a_text_count_together() -> None:
    one, two = (
        _fact("one", "A connection is opened.", of="both"),
        _fact("two", "Each pause is longer.", of="both"),
    )
    half = _fact("half", "Each pause is longer.", of="half")
    asked = _asked(connection=1.0, pause=1.0)
    (first, *_) = recalled(Ledger((half, one, two)), NO_TERMS, asked)
    assert first.facts == (one, two)
    assert first.fits == (0.5, 0.5)


def test_the_task_that_a_text_was_written_for_counts_too() -> None:
    text = "It is opened again after a while."
    plain = _fact("plain", f"A broken connection. {text}", of="plain")
    asked_so = _fact("asked", text, of="asked", task="Why does a broken connection heal?")
    asked = _asked(broken=2.0, connection=2.0, open=1.0)
    assert _found(asked, plain, asked_so)[0] == "asked"


def test_nothing_is_recalled_where_no_word_is_shared() -> None:
    assert _found(_asked(teapot=5.0), RETRY, CACHE, LOGIN) == []
    assert _found(_asked(), RETRY, CACHE, LOGIN) == []
    assert _found(_asked(connection=1.0)) == []


def test_words_that_no_file_holds_are_found_in_what_was_said() -> None:
    terms = terms_of("Why is a broken connection given a pause?")
    for asked in (_asked(), _asked(cache=1.0)):
        (first, *_) = recalled(Ledger((CACHE, LOGIN, RETRY)), terms, asked)
        assert first.facts == (RETRY,)
    assert recalled(Ledger((CACHE, LOGIN)), terms, _asked()) == ()


def test_a_word_that_is_worth_little_says_little() -> None:
    asked = _asked(open=0.1, password=5.0)
    assert _found(asked, RETRY, LOGIN) == ["login"]


def test_of_texts_that_say_the_same_the_newer_comes_first() -> None:
    newer = replace(RETRY, id=FactId("newer"), conclusion="n", learned_at=Instant(9.0))
    asked = _asked(broken=1.0, connection=1.0, pause=1.0)
    assert _found(asked, RETRY, newer) == _found(asked, newer, RETRY) == ["newer", "retry"]


def test_sentences_of_a_text_stay_in_order_and_can_be_taken_alone() -> None:
    facts = tuple(_fact(f"f{n}", f"The connection has part {n}.", of="t") for n in range(4))
    (found,) = recalled(Ledger(facts), NO_TERMS, _asked(connection=1.0))
    assert found.facts == facts
    assert found.only(facts[1:3]).facts == facts[1:3]
    assert len(found.only(facts[1:3]).fits) == 2


@given(
    st.lists(given_a.facts, max_size=12, unique_by=lambda fact: fact.id),
    st.dictionaries(st.text(max_size=6), st.floats(0.1, 9), max_size=5),
)
def test_what_is_recalled_is_of_the_ledger_bounded_and_in_order(
    facts: list[Fact], worth: dict[str, float]
) -> None:
    asked = Candidates((), (), worth)
    found = recalled(Ledger(tuple(facts)), NO_TERMS, asked)
    assert found == recalled(Ledger(tuple(facts)), NO_TERMS, asked)
    assert len(found) <= 3
    assert [each.score for each in found] == sorted((e.score for e in found), reverse=True)
    told = [fact for each in found for fact in each.facts]
    assert len({fact.id for fact in told}) == len(told)
    assert all(fact in facts for fact in told)
    assert all(len(each.fits) == len(each.facts) for each in found)
    assert all(0 <= fit <= 1.000001 for each in found for fit in each.fits)
