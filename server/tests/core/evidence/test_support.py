"""Whether there is an answer at all."""

import pytest

from live_memory.core.asking.answer import Citation, CitationStatus, Why
from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import Candidates, Evidence, OpenedFile, RankedFile
from live_memory.core.evidence.question import terms_of
from live_memory.core.evidence.support import Standing, Support, explain, support
from live_memory.core.values import ContentHash, RelPath

PATH, SHA = RelPath("a.py"), ContentHash.of(b"")


def _support(question: str, text: str, elsewhere: str = "") -> Support:
    """A workspace of one open file, and words that other files have."""
    present = {word for word, _ in terms_of(f"{text} {elsewhere}").weights}
    asked = terms_of(question)
    worth = {word: weight for word, weight in asked.weights if word in present}
    held = frozenset(word for word, _ in terms_of(text).weights if word in worth)
    candidates = Candidates((RankedFile(PATH, SHA, 1.0, held),), (), worth)
    files = {PATH: OpenedFile(PATH, SHA, text.splitlines(), ())}
    return support(question, asked, Evidence(candidates, files))


def test_a_short_question_whose_words_are_there_is_supported() -> None:
    found = _support("Where is the cookie saved?", "save cookie")
    assert found == Support(Standing.ENOUGH, (), ("cookie", "saved"))


@pytest.mark.promise("grounded-or-says-so")
def test_a_short_question_about_something_else_is_not_and_its_words_are_named() -> None:
    found = _support("Where is the payment refund retried?", "retry cookie")
    assert (found.standing, found.unknown) == (Standing.NONE, ("payment", "refund"))


def test_words_spread_over_files_are_no_support() -> None:
    found = _support("background email queue", "queue", elsewhere="background email")
    assert found.standing is Standing.NONE


def test_a_name_that_occurs_nowhere_is_named_even_if_the_rest_is_there() -> None:
    for name in ("GraphQL", "Kafka"):
        found = _support(f"Where does {name} save the cookie session?", "save cookie session")
        assert (found.standing, found.unknown) == (Standing.ENOUGH, (name,))


@pytest.mark.promise("grounded-or-says-so")
def test_a_thing_that_occurs_nowhere_is_named_in_lower_case_too() -> None:
    found = _support("where is the graphql cookie saved?", "save cookie")
    assert (found.standing, found.unknown) == (Standing.ENOUGH, ("graphql",))
    found = _support("how are database cookies saved?", "save cookie")
    assert found.unknown == ("database",)


def test_what_is_done_with_a_thing_is_no_name() -> None:
    found = _support("how are picked cookies saved?", "save cookie")
    assert (found.standing, found.unknown) == (Standing.ENOUGH, ())


def test_a_plain_word_that_no_code_has_is_no_reservation() -> None:
    found = _support("How does it decide to save the cookie session?", "save cookie session")
    assert (found.standing, found.unknown) == (Standing.ENOUGH, ())


@pytest.mark.parametrize(
    ("held", "standing"), [(10, Standing.ENOUGH), (4, Standing.THIN), (1, Standing.NONE)]
)
def test_a_long_question_needs_less_of_its_words(held: int, standing: Standing) -> None:
    words = [f"word{letter}x" for letter in "abcdefghijklmnopqrst"]
    assert _support(" ".join(words), " ".join(words[:held])).standing is standing


def test_a_question_without_words_has_no_support() -> None:
    assert _support("What is it?", "cookie").standing is Standing.NONE


def test_a_ranked_file_that_could_not_be_opened_supports_nothing() -> None:
    held = frozenset({"cooki"})
    candidates = Candidates((RankedFile(PATH, SHA, 1.0, held),), (), {"cooki": 1.0})
    found = support("cookie", terms_of("cookie"), Evidence(candidates, {}))
    assert found.standing is Standing.NONE


def test_a_cited_file_says_what_raised_it_in_the_words_of_the_question() -> None:
    question = "How does `save_session` write cookies?"
    program, test, other = RelPath("cookies.py"), RelPath("tests/test_it.py"), RelPath("b.py")
    lines = ["class Session:", "    def save_session(self):", "        pass"]
    worth = {"cooki": 1.0, "writ": 3.0, "save_session": 2.0, "sav": 2.5}
    ranked = [(program, {"cooki", "save_session"}), (other, {"cooki"}), (test, set(worth))]
    files = tuple(RankedFile(path, SHA, 4.5, frozenset(words)) for path, words in ranked)
    evidence = Evidence(
        Candidates(files, (), worth),
        {program: OpenedFile(program, SHA, lines, outline(program, lines))},
    )
    cited = [Citation(path, 1, 1, CitationStatus.VERIFIED) for path in (test, program)]

    why = explain(question, terms_of(question), evidence, [*cited, *cited])

    assert list(why) == [program, test]
    assert why[program] == Why(
        4.5, ("save_session", "cookies"), ("Session.save_session",), {"name": 1.15}
    )
    assert why[test] == Why(4.5, ("write", "save_session", "cookies"), (), {"test": 0.6})


def test_how_code_might_write_a_hyphenated_name_is_not_missed() -> None:
    found = _support("Where is max-size parsed?", "max size")
    assert found.standing is Standing.ENOUGH
