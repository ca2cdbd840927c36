"""What a question is about."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.question import (
    asked_for_a_way,
    asked_for_uses,
    hyphenated,
    joined_forms,
    terms_of,
)


def _weights(question: str) -> dict[str, float]:
    return dict(terms_of(question).weights)


def test_words_of_asking_point_nowhere() -> None:
    assert _weights("What is the mechanism of this, and how does it work?") == {}
    assert _weights("Where is the cookie set?") == {"cooki": 1.0, "set": 1.0}


def test_a_repeated_word_counts_one_plus_its_logarithm() -> None:
    assert _weights("cookie cookies, a Cookie") == {"cooki": 1 + math.log(3)}


def test_the_first_line_of_a_long_text_counts_three_times() -> None:
    """A pasted issue: its title says what it is about."""
    weights = _weights("Redirect loses header\n\n" + "Some other words here. " * 20 + "header")
    assert weights["redirect"] == 1 + math.log(3)
    assert weights["head"] == 1 + math.log(4)


def test_the_lines_of_a_short_question_count_the_same() -> None:
    assert set(_weights("redirect header\ncookie").values()) == {1.0}


def test_a_pasted_log_is_bounded() -> None:
    assert len(terms_of(" ".join(f"word{n}x" for n in range(2_000))).weights) == 120


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("How does save_session work?", "save_session"),
        ("How does saveSession work?", "saveSession"),
        ("Who raises HTTPError?", "HTTPError"),
        ("What does `prepare` do?", "prepare"),
        ("What does 'view cache' mean?", "view cache"),
        ("What does render() give?", "render"),
        ("What is in src/flask/app.py?", "src/flask/app.py"),
        ("What does c.Abort do?", "c.Abort"),
        ("What does Session.send do?", "Session.send"),
        ("Is JSON sorted?", "JSON"),
    ],
)
def test_names_are_what_is_written_as_one(question: str, name: str) -> None:
    assert name in terms_of(question).names


def test_plain_english_has_no_names() -> None:
    assert terms_of("Where is the retry limit of a session configured?").names == ()


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What calls resolve_redirects?", "resolve_redirects"),
        ("who calls `Session.send`?", "Session.send"),
        ("Which functions invoke app.handle()", "app.handle"),
        ("callers of save_session", "save_session"),
        ("Show all references to MAX_SIZE.", "MAX_SIZE"),
        ("Where is resolve_redirects used?", "resolve_redirects"),
        ("where are helpers.url_for actually called", "helpers.url_for"),
        ("What imports flask.sessions?", "flask.sessions"),
    ],
)
def test_a_question_for_callers_is_known_by_its_form(question: str, name: str) -> None:
    assert asked_for_uses(question) == name


@pytest.mark.parametrize(
    "question", ["How are redirects resolved?", "What uses the session?", "Where is it called?"]
)
def test_other_questions_ask_for_no_callers(question: str) -> None:
    assert asked_for_uses(question) is None


@pytest.mark.parametrize(
    ("question", "ends"),
    [
        (
            "How does a request get from wsgi_app to dispatch_request?",
            ("wsgi_app", "dispatch_request"),
        ),
        (
            "trace the path from `Flask.run` through the server into `wsgi_app`",
            ("Flask.run", "wsgi_app"),
        ),
        ("What lies between ServeHTTP and handleHTTPRequest?", ("ServeHTTP", "handleHTTPRequest")),
        (
            "how does full_dispatch_request finally reach save_session",
            ("full_dispatch_request", "save_session"),
        ),
    ],
)
def test_a_question_for_a_way_is_known_by_its_two_ends(
    question: str, ends: tuple[str, str]
) -> None:
    assert asked_for_a_way(question) == ends


@pytest.mark.parametrize("question", ["Where is it saved?", "from here", "How does it work?"])
def test_other_questions_ask_for_no_way(question: str) -> None:
    assert asked_for_a_way(question) is None


@given(st.text(max_size=400))
def test_any_text_is_a_question(question: str) -> None:
    terms = terms_of(question)
    assert all(weight >= 1 for _, weight in terms.weights)
    assert len(terms.names) == len(set(terms.names))
    asked_for_uses(question)
    asked_for_a_way(question)


def test_a_hyphenated_name_is_also_sought_as_code_writes_it() -> None:
    weights = _weights("Where is max-size parsed?")
    assert {"max", "size"} - set(weights) <= {"size"}
    assert set(joined_forms("max-size")) == {"max_siz", "maxsiz"}
    assert set(joined_forms("max-size")) <= set(weights)
    assert hyphenated("max-size, a/b-c, --flag-name, x-1") == ("max-size",)


def test_what_happens_when_something_is_called_asks_for_no_callers() -> None:
    assert asked_for_uses("What happens when a route calls halt?") is None
    assert asked_for_uses("What calls halt?") == "halt"
