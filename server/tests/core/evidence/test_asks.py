"""What kind of question it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.words import Asks, Kind, asks_of


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Where is the cookie saved?", Kind.PLACES),
        ("How does the router match a path?", Kind.PLACES),
        ("Why is the cookie signed?", Kind.WHY),
        ("What is the rationale for the cache?", Kind.WHY),
        ("How do I run the tests?", Kind.PROJECT),
        ("How do we cut a release?", Kind.PROJECT),
        ("Which Python versions are supported?", Kind.PROJECT),
        ("What does this project do?", Kind.PROJECT),
        ("How do I run app.handle() twice?", Kind.PLACES),
        ("How do I build a query_set?", Kind.PLACES),
    ],
)
def test_a_question_asks_for_places_for_a_reason_or_how_people_work(
    question: str, kind: Kind
) -> None:
    assert asks_of(question).kind is kind


@pytest.mark.parametrize(
    "question",
    [
        "Is there a retry for uploads?",
        "Does it support websockets?",
        "Can I set the timeout?",
        "I have a large file. Can it be streamed?",
        "Which flag turns colours off?",
        "Is gzip compression supported?",
    ],
)
def test_who_asks_if_there_is_such_a_thing_may_be_told_no(question: str) -> None:
    assert asks_of(question).is_on_existence


@pytest.mark.parametrize(
    "question", ["Where is the timeout set?", "How does it retry?", "What can be streamed?"]
)
def test_who_asks_where_a_thing_is_takes_it_to_be_there(question: str) -> None:
    assert not asks_of(question).is_on_existence


def test_the_files_a_question_is_on_show_in_its_words() -> None:
    assert asks_of("How is the cookie tested?").is_on_tests
    assert asks_of("Is there an example of a plugin?").is_on_examples
    assert asks_of("When was the option removed?").is_on_history
    assert asks_of("Which dependencies does it install?").is_on_build
    plain = asks_of("Where are cookies saved?")
    assert plain == Asks()


def test_a_word_with_another_in_it_is_not_that_word() -> None:
    asks = asks_of("Where are latest contests resampled and preadded?")
    assert asks == Asks()


def test_a_question_on_settings_on_automation_or_on_all_of_it_is_known() -> None:
    assert asks_of("What is the default timeout?").is_on_settings
    assert asks_of("Which checks run in CI?").is_on_ci
    assert asks_of("What is this project about?").is_on_what_it_is
    assert not asks_of("What is this project doing with cookies?").is_on_what_it_is


def test_only_a_sentence_can_be_in_another_language() -> None:
    assert not asks_of("wo wird denn die Datei gespeichert").is_english
    assert asks_of("where are files saved at last").is_english
    assert asks_of("retry backoff").is_english


@given(st.text(max_size=300))
def test_any_text_asks_something_of_a_kind(question: str) -> None:
    assert asks_of(question).kind in Kind
    assert asks_of(question) == asks_of(question)


@pytest.mark.parametrize(
    "word", ["how do i ", "how often does ", "is a b c d ", "which x ", "the ", "what is "]
)
def test_a_question_without_end_is_read_in_no_time(word: str) -> None:
    assert asks_of(word * 20_000).kind in Kind


@pytest.mark.parametrize(
    "question",
    ["What is this project about?", "What is this library and how do I run its tests?",
     "what does this tool do, and who releases it"],
)  # fmt: skip
def test_what_something_is_may_be_asked_beside_more(question: str) -> None:
    assert asks_of(question).is_on_what_it_is
    assert not asks_of("What is this tool written in?").is_on_what_it_is


@pytest.mark.parametrize(
    "question",
    ["What is the default of --jobs?", "what does --prepare do", "--depth, its default?"],
)
def test_what_a_flag_does_and_its_default_are_told_from_its_other_uses(question: str) -> None:
    assert asks_of(question).is_on_flags
    assert not asks_of("how does --popup relaunch it?").is_on_flags


def test_who_asks_where_the_thing_is_asks_for_one() -> None:
    assert asks_of("Where is the Redis session backend configured?").is_on_one_thing
    assert not asks_of("Where do numbers become doubles?").is_on_one_thing


@pytest.mark.parametrize(
    ("question", "is_on_tested"),
    [
        ("Where is save_session implemented and tested?", True),
        ("Where is it tested, and where is it defined?", True),
        ("Show the code and the tests of save_session", True),
        ("Which tests cover save_session?", False),
        ("Where is save_session implemented and used?", False),
    ],
)
def test_who_joins_the_program_and_its_tests_asks_for_both(
    question: str, is_on_tested: bool
) -> None:
    assert asks_of(question).is_on_tested is is_on_tested


REPORT = """Orders are shipped twice after a timeout

It is possible to ship one twice. The worker stops and the order is sent again.
{more}

```
Is there any retry --verbose? default 3
pytest 8.1 on ci, release 2.0
```
"""


def test_a_report_asks_in_its_first_line_and_in_its_questions() -> None:
    text = REPORT.format(more="Installed version 2.0, tests pass on CI.\n" * 6)
    assert asks_of(text) == Asks(is_report=True)
    asked = text.replace("It is", "Why is it shipped twice? It is")
    assert asks_of(asked) == Asks(kind=Kind.WHY, is_report=True)
    assert asks_of(text.replace("Orders", "Tests")).is_on_tests


def test_a_report_tells_of_what_is_there() -> None:
    text = REPORT.format(more="Can it be told not to? Is there a flag for it?\n" * 6)
    assert not asks_of(text).is_on_existence
    assert asks_of("Is there a flag for it?\nOr a setting?").is_on_existence
