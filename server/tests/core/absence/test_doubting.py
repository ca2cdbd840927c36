"""What is found beside a question is not taken for an answer to it."""

import pytest

from live_memory.core.evidence.absence import Held, asking_part, doubted, is_in_one_place
from live_memory.core.evidence.grounding import Sufficiency, Support, held_by, support
from live_memory.core.evidence.question import terms_of
from live_memory.core.values import RelPath

CODE, TEST, DATA = RelPath("src/a.py"), RelPath("tests/test_a.py"), RelPath("a.json")


def _doubted(
    question: str, *places: str, elsewhere: str = "", paths: tuple[RelPath, ...] = ()
) -> Support:
    """A workspace with these places, the best one first, and words that stand elsewhere."""
    present = held_by("\n".join((elsewhere, *places)))
    asked = terms_of(question)
    worth = {word: weight for word, weight in asked.weights if word in present}
    every = [*paths, *[CODE] * (len(places) - len(paths))]
    held = [Held(path, held_by(place)) for path, place in zip(every, places, strict=True)]
    about = support(question, asked, worth, [each.words for each in held])
    return doubted(about, question, asked, worth, held)


WHETHER = "is there an email queue worker retry"
REST = "email queue worker retry"


@pytest.mark.promise("grounded-or-says-so")
def test_who_asks_whether_there_is_such_a_thing_is_told_where_its_words_stand_apart() -> None:
    apart = _doubted(WHETHER, "retry", "queue", elsewhere=REST)
    assert (apart.standing, apart.unknown, apart.is_scattered) == (Sufficiency.APART, (), True)
    assert apart.lacking == ("email", "queue", "worker")
    assert _doubted(WHETHER, "queue retry", elsewhere=REST).standing is Sufficiency.THIN
    assert _doubted(WHETHER, "retry", "email queue worker").standing is Sufficiency.THIN
    assert _doubted(WHETHER, REST).standing is Sufficiency.ENOUGH


@pytest.mark.promise("grounded-or-says-so")
def test_a_word_that_stands_nowhere_is_denied_where_it_is_asked_if_there_is_such_a_thing() -> None:
    place = "email queue"
    unheard = _doubted(WHETHER, place, elsewhere="retry")
    assert (unheard.standing, unheard.unknown) == (Sufficiency.NONE, ("worker",))
    assert _doubted(WHETHER, place, elsewhere=REST).standing is Sufficiency.THIN
    assert _doubted(WHETHER, "email queue retry").standing is Sufficiency.THIN


@pytest.mark.parametrize("name", ["GNU", "Redis"])
def test_a_name_that_no_place_holds_counts_as_one_that_stands_nowhere(name: str) -> None:
    question = f"can it open a {name} split screen"
    apart = _doubted(question, "open split", elsewhere=question)
    assert apart.standing is Sufficiency.APART
    assert _doubted(question.lower(), "open split", elsewhere=question).standing is Sufficiency.THIN


@pytest.mark.promise("grounded-or-says-so")
@pytest.mark.parametrize(
    "question",
    [
        "where is the limit of pending uploads a minute",
        "We pay for each of them. Where is the limit of pending uploads a minute?",
    ],
)
def test_who_asks_where_a_thing_is_is_told_where_its_words_stand_apart(question: str) -> None:
    rest = "limit pending uploads minute pay"
    apart = _doubted(question, "limit", "pending", elsewhere=rest)
    assert apart.standing is Sufficiency.APART
    assert apart.lacking == ("pending", "uploads", "minute")
    half = _doubted(question, "limit uploads", "pending", elsewhere=rest)
    assert half.standing is Sufficiency.THIN


@pytest.mark.parametrize(
    "question",
    [
        "how does the limit of pending uploads work a minute",
        "where are those pending uploads a minute limited",
        "where is it decided that pending uploads a minute are limited",
        "where are pending uploads limited to pictures, and what happens each minute",
    ],
)
def test_what_whoever_asks_has_seen_is_not_doubted(question: str) -> None:
    is_doubted = "pictures" in question
    found = _doubted(question, "limit", "pending", elsewhere="uploads minute pictures")
    assert (found.standing is Sufficiency.APART) is is_doubted


LONG = "chain propagate state order release buffer visitor"


def test_a_long_description_is_not_doubted() -> None:
    """Nearly every word of it is another than the code's."""
    asked, place = f"where is the pool limit {LONG}", "pool limit"
    assert _doubted(asked, place, elsewhere=asked).standing is Sufficiency.THIN
    short = "where is the pool limit chain propagated"
    assert _doubted(short, "limit", elsewhere=short).standing is Sufficiency.APART


def test_who_gives_a_name_that_is_here_is_not_doubted() -> None:
    asked = "where does evict_all propagate pool state"
    place = "def evict_all(): pass"
    assert _doubted(asked, place, elsewhere=asked).standing is Sufficiency.THIN
    bare = asked.replace("evict_all", "it")
    assert _doubted(bare, "pool", elsewhere=asked).standing is Sufficiency.APART


def test_one_or_two_words_may_be_said_in_others() -> None:
    found = _doubted("where are links broken", "link", elsewhere="broken")
    assert found.standing is Sufficiency.THIN


def test_what_is_asked_of_anything_neither_helps_nor_hurts() -> None:
    question = "is there a way to set a queue option, or is it possible to configure a setting"
    assert (
        _doubted(question, "queue", elsewhere="way set option setting").standing is Sufficiency.THIN
    )


def test_tests_and_data_do_not_speak_for_the_program() -> None:
    for path in (TEST, DATA):
        places = ("retry", "email queue worker")
        assert _doubted(WHETHER, *places, paths=(CODE, path)).standing is Sufficiency.APART
    asked = f"is there a test of an {REST}"
    found = _doubted(asked, "retry", f"test {REST}", paths=(CODE, TEST))
    assert found.standing is Sufficiency.THIN


def test_a_name_that_is_guessed_costs_nothing() -> None:
    found = _doubted("where is the view run by `kafka_pool`", "view run")
    assert (found.standing, found.unknown) == (Sufficiency.THIN, ("kafka_pool",))


def test_a_question_in_another_language_is_not_doubted() -> None:
    found = _doubted("kann man hier irgendwo die Datei speichern, save_file", "save_file")
    assert found.standing is Sufficiency.THIN


def test_the_sentence_that_asks_is_told_from_its_story() -> None:
    asked = "Is there an option that writes them as json?"
    assert asking_part(f"Nobody reads it at night. {asked} Thanks!") == asked
    assert asking_part("It is slow. How does it work?") == "It is slow. How does it work?"


def test_what_answers_a_question_stands_in_one_place() -> None:
    question = "where does the email queue worker retry"
    terms = terms_of(question)
    worth = dict(terms.weights)
    together = [Held(CODE, held_by("email queue worker"))]
    assert is_in_one_place(question, terms, worth, together)
    apart = [Held(CODE, held_by("email")), Held(CODE, held_by("queue worker"))]
    assert not is_in_one_place(question, terms, worth, apart)
    assert not is_in_one_place(question, terms, worth, [])
