"""Whether there is an answer at all."""

import pytest

from live_memory.core.answer import Citation, CitationStatus, Why
from live_memory.core.evidence.grounding import Sufficiency, Support, explain, held_by, support
from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import Candidates, Evidence, RankedFile, RankedFileText
from live_memory.core.evidence.question import terms_of
from live_memory.core.values import ContentHash, RelPath

PATH, SHA = RelPath("a.py"), ContentHash.of(b"")


def _support(question: str, *places: str, elsewhere: str = "") -> Support:
    """A workspace with these places, the best one first, and words that stand elsewhere."""
    present = held_by("\n".join((elsewhere, *places)))
    asked = terms_of(question)
    worth = {word: weight for word, weight in asked.weights if word in present}
    return support(question, asked, worth, [held_by(place) for place in places])


def test_a_question_whose_words_all_stand_at_the_places_is_supported() -> None:
    found = _support("Where is the cookie saved?", "save cookie")
    assert found == Support(Sufficiency.ENOUGH, (), (), ("cookie", "saved"))


def test_words_may_stand_at_several_places_together() -> None:
    found = _support("background email queue", "queue", "background", "email")
    assert found.standing is Sufficiency.ENOUGH


def test_words_that_stand_at_no_place_are_named_as_the_question_writes_them() -> None:
    found = _support("Where is the Cookie saved?", "save", elsewhere="cookie")
    assert (found.standing, found.unknown, found.missing) == (Sufficiency.THIN, (), ("Cookie",))


@pytest.mark.promise("grounded-or-says-so")
def test_a_question_about_something_else_is_not_supported_and_its_words_are_named() -> None:
    found = _support("Where is the payment refund retried?", "retry cookie")
    assert (found.standing, found.unknown) == (Sufficiency.NONE, ("payment",))
    assert found.missing == ("payment", "refund")
    assert found.sought == ("payment", "refund", "retried")


@pytest.mark.promise("grounded-or-says-so")
@pytest.mark.parametrize("name", ["GraphQL", "Kafka", "graphql", "`kafka`"])
def test_a_name_that_stands_nowhere_is_named_even_if_the_rest_is_there(name: str) -> None:
    found = _support(f"Where is the {name} session cookie saved?", "save cookie session")
    assert (found.standing, found.unknown) == (Sufficiency.THIN, (name.strip("`"),))


def test_what_is_done_with_a_thing_is_no_name() -> None:
    found = _support("how are picked cookies saved?", "save cookie")
    assert found.unknown == ()
    found = _support("how are database cookies saved?", "save cookie")
    assert found.unknown == ("database",)


def test_a_plain_word_that_nothing_holds_is_missing_but_no_name() -> None:
    found = _support("How does it quickly save the cookie session?", "save cookie session")
    assert (found.standing, found.unknown, found.missing) == (Sufficiency.THIN, (), ("quickly",))


@pytest.mark.parametrize("word", ["decide to", "even", "somewhere", "not want to, doesn't it,"])
def test_what_may_be_asked_of_anything_is_not_missed(word: str) -> None:
    found = _support(f"How does it {word} save the cookie session?", "save cookie session")
    assert (found.standing, found.missing, found.sought) == (
        Sufficiency.ENOUGH,
        (),
        ("save", "cookie", "session"),
    )


def test_who_gives_a_name_that_is_here_is_not_told_that_nothing_is() -> None:
    words = " ".join(f"notion{letter}" for letter in "abcdefghijklm")
    question = f"Why does save_session determine {words}?"
    assert _support(question, "def save_session(): pass").standing is Sufficiency.THIN
    assert _support(question, "save", elsewhere="session").standing is Sufficiency.NONE


def test_a_word_that_stands_nowhere_may_be_said_in_others() -> None:
    """Unless most of the question is such."""
    question, place = "where are the columns of the help wrapped to the terminal", "help"
    one = _support(question, place, elsewhere="columns wrapped")
    assert (one.standing, one.unknown) == (Sufficiency.THIN, ("terminal",))
    assert _support(question, place, elsewhere="columns").standing is Sufficiency.THIN
    most = _support(f"{question} screen", place)
    assert most.standing is Sufficiency.NONE


@pytest.mark.parametrize("word", ["URL", "TTL", "JSON"])
def test_a_word_in_capitals_is_held_in_any_case(word: str) -> None:
    found = _support(f"Which {word} does charge post to?", f"charge post {word.lower()}")
    assert found.standing is Sufficiency.ENOUGH


@pytest.mark.parametrize(
    ("held", "standing"), [(20, Sufficiency.ENOUGH), (10, Sufficiency.THIN), (1, Sufficiency.NONE)]
)
def test_the_best_place_must_hold_a_share_of_a_long_question(
    held: int, standing: Sufficiency
) -> None:
    words = [f"word{letter}x" for letter in "abcdefghijklmnopqrst"]
    question, place = f"where is the {' '.join(words)}", " ".join(words[:held])
    assert _support(question, place, elsewhere=question).standing is standing


def test_what_is_asked_for_as_one_thing_must_stand_in_one_place() -> None:
    question = "is there a retry of the email queue worker"
    together = _support(question, "retry email queue worker")
    assert (together.standing, together.is_scattered) == (Sufficiency.ENOUGH, False)
    apart = _support(question, "retry email worker", "queue")
    assert (apart.standing, apart.is_scattered, apart.missing) == (Sufficiency.THIN, True, ())


def test_a_question_in_another_language_is_answered_by_the_names_it_holds() -> None:
    words = "wo wird denn die Datei gespeichert"
    found = _support(f"{words}, save_session", "save_session")
    assert (found.standing, found.unknown) == (Sufficiency.THIN, ())
    found = _support(f"{words}, load_session", "save_session")
    assert found.unknown == ("load_session",)


def test_a_common_word_that_the_places_do_not_hold_takes_nothing_away() -> None:
    asked = terms_of("where is the rare common")
    found = support(
        "where is the rare common", asked, {"rar": 5.0, "common": 0.1}, [frozenset({"rar"})]
    )
    assert (found.standing, found.missing) == (Sufficiency.ENOUGH, ())


@pytest.mark.parametrize("name", ["KafkaConsumer", "consume_kafka", "EmailConsumer"])
def test_parts_of_a_name_that_stands_nowhere_are_no_trace_of_it(name: str) -> None:
    """Kafka stands nowhere, so what consumes something is none of its classes."""
    found = _support(f"where is the {name} class", "class consumer consume")
    assert (found.standing, found.unknown) == (Sufficiency.NONE, (name,))


def test_a_name_that_is_written_otherwise_is_held_by_its_parts() -> None:
    found = _support("where is sessionSaver called", "save session session_saver call")
    assert found.standing is Sufficiency.THIN


@pytest.mark.parametrize("name", ["Sentry", "Redis", "Stripe"])
def test_a_name_that_stands_elsewhere_alone_is_not_there(name: str) -> None:
    asked = f"Where is the {name} upload of crashes configured?"
    assert _support(asked, "configured", elsewhere=asked).standing is Sufficiency.NONE
    assert _support(asked, f"{name} configured", elsewhere=asked).standing is Sufficiency.THIN


def test_one_thing_that_stands_in_no_place_alone_is_not_verified() -> None:
    found = _support("Where is the redis session backend", "redis backend", "session backend")
    assert (found.standing, found.is_scattered) == (Sufficiency.THIN, True)
    assert found.lacking == ("session",)
    found = _support("Where is the redis session backend", "session", "redis session backend")
    assert (found.standing, found.lacking) == (Sufficiency.ENOUGH, ())


def test_a_reason_asked_for_by_one_word_is_vague() -> None:
    assert _support("why is it slow", "slow").is_vague
    assert not _support("slow", "slow").is_vague
    assert not _support("why is the cache slow", "slow cache").is_vague


def test_nothing_supports_a_question_without_words_or_without_places() -> None:
    assert _support("What is it?", "cookie").standing is Sufficiency.NONE
    assert _support("cookie", elsewhere="cookie").standing is Sufficiency.NONE


def test_how_code_might_write_a_hyphenated_name_is_not_missed() -> None:
    found = _support("Where is max-size parsed?", "max size parse")
    assert (found.standing, found.missing) == (Sufficiency.ENOUGH, ())


def test_a_cited_file_says_what_raised_it_in_the_words_of_the_question() -> None:
    question = "How does `save_session` write cookies?"
    program, test, other = RelPath("cookies.py"), RelPath("tests/test_it.py"), RelPath("b.py")
    lines = ["class Session:", "    def save_session(self):", "        pass"]
    worth = {"cooki": 1.0, "writ": 3.0, "save_session": 2.0, "sav": 2.5}
    ranked = [(program, {"cooki", "save_session"}), (other, {"cooki"}), (test, set(worth))]
    files = tuple(RankedFile(path, SHA, 4.5, frozenset(words)) for path, words in ranked)
    evidence = Evidence(
        Candidates(files, (), worth),
        {program: RankedFileText(program, SHA, lines, outline(program, lines))},
    )
    cited = [Citation(path, 1, 1, CitationStatus.VERIFIED) for path in (test, program)]

    why = explain(question, terms_of(question), evidence, [*cited, *cited])

    assert list(why) == [program, test]
    assert why[program] == Why(
        4.5, ("save_session", "cookies"), ("Session.save_session",), {"name": 1.15}
    )
    assert why[test] == Why(4.5, ("write", "save_session", "cookies"), (), {"test": 0.6})
