"""What a question is about."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.question import (
    asked_for_a_way,
    asked_for_uses,
    asked_of_impact,
    hyphenated,
    is_on_a_subject,
    is_plain,
    joined_forms,
    terms_of,
)
from live_memory.core.evidence.words import tokens


def _weights(question: str) -> dict[str, float]:
    return dict(terms_of(question).weights)


def test_words_of_asking_point_nowhere() -> None:
    assert _weights("What is the mechanism of this, and how does it work?") == {}
    assert _weights("Where is the cookie set?") == {"cooki": 1.0, "set": 1.0}


@pytest.mark.parametrize("ending", ["py", "go", "swift"])
@pytest.mark.parametrize("word", ["a", "is", "one", "where", "Use", "works"])
def test_a_word_that_calls_a_file_is_no_word_of_asking(word: str, ending: str) -> None:
    asked = f"{word}.{ending}"
    called = {*tokens(word), *tokens(ending)} if len(word) > 1 else {*tokens(ending)}
    for question in (f"What does {asked} do?", f"Explain src/{asked}.", f"Is it in `{asked}`?"):
        assert called - {"go"} <= _weights(question).keys(), question
        assert _weights(question)


@pytest.mark.parametrize(
    "text", ["Is it so, e.g. in this? Or not.", "And/or is it this.", "How does it work. Why...so"]
)
def test_a_word_at_the_end_of_a_sentence_calls_no_file(text: str) -> None:
    assert _weights(text) == {}


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
        ("Where is step_3 defined?", "step_3"),
        ("What does get_TTL do?", "get_TTL"),
    ],
)
def test_names_are_what_is_written_as_one(question: str, name: str) -> None:
    assert name in terms_of(question).names


@pytest.mark.parametrize("word", ["URL", "TTL", "TLS", "SDK", "XML", "JSON"])
def test_a_word_in_capitals_is_a_word_and_no_name(word: str) -> None:
    terms = terms_of(f"Which {word} does charge post to?")
    assert terms.names == ()
    assert terms.weights == terms_of(f"Which {word.lower()} does charge post to?").weights


@pytest.mark.parametrize(
    "word",
    [
        "theme",
        "themes",
        "server",
        "user",
        "owner",
        "worker",
        "note",
        "notes",
        "noted",
        "outer",
        "inner",
    ],
)
def test_a_word_that_only_begins_like_a_word_of_asking_stays(word: str) -> None:
    assert len(_weights(f"Where is the {word} kept?")) == 2


@pytest.mark.parametrize("word", ["uses", "using", "gives", "making", "happened", "Needs", "does"])
def test_the_forms_of_a_word_of_asking_point_nowhere_either(word: str) -> None:
    assert is_plain(word)


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
    assert len(asked_of_impact(question)) <= 12


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What calls save_session?", "save_session"),
        ("What depends on Session.send?", "Session.send"),
        ("If I change parse, what breaks?", "parse"),
        ("Which functions are affected if I change render()?", "render"),
        ("I want to change `flush`, who relies on it?", "flush"),
        ("What uses the jar?", "jar"),
        ("callers of walk", "walk"),
    ],
)
def test_who_asks_what_a_change_breaks_means_what_is_changed(question: str, name: str) -> None:
    """And not `change` or `calls`, which code may define as well."""
    assert asked_of_impact(question)[0] == name
    told = {"change", "calls", "callers", "breaks", "affected", "depends", "relies", "functions"}
    assert told.isdisjoint(asked_of_impact(question))


@pytest.mark.parametrize(
    "question", ["Where is the session saved?", "How does parse work?", "What is a jar?"]
)
def test_other_questions_ask_for_no_impact(question: str) -> None:
    assert asked_of_impact(question) == ()


def test_of_a_long_question_only_what_is_written_as_a_name_is_what_is_changed() -> None:
    many = " ".join(f"word{letter}x" for letter in "abcdefghijklmnop")
    assert asked_of_impact(f"who calls save_session where {many}?") == ("save_session",)


def test_a_hyphenated_name_is_also_sought_as_code_writes_it() -> None:
    weights = _weights("Where is max-size parsed?")
    assert {"max", "size"} - set(weights) <= {"size"}
    assert set(joined_forms("max-size")) == {"max_siz", "maxsiz"}
    assert set(joined_forms("max-size")) <= set(weights)
    assert hyphenated("max-size, a/b-c, --flag-name, x-1") == ("max-size",)


def test_what_happens_when_something_is_called_asks_for_no_callers() -> None:
    assert asked_for_uses("What happens when a route calls halt?") is None
    assert asked_for_uses("What calls halt?") == "halt"


def test_a_long_question_is_on_a_subject() -> None:
    assert not is_on_a_subject(terms_of("where is the cookie saved?"))
    assert is_on_a_subject(terms_of(" ".join(f"word{letter}x" for letter in "abcdefghijklmn")))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ('dims=("x", "y") and {"a": (1, "b"), "total": 2}', ("total",)),
        ("What is the difference between `x` and `y`, or `zoom`?", ("zoom",)),
        ("Is 'a' or 'b' the default, or is it 'auto'?", ("auto",)),
        ("The role ``ref`` and the role ``doc``, not ``", ("ref", "doc")),
        ('An empty one, "", and then "full"', ("full",)),
        ("Some of them, e.g. this or i.e. that", ()),
    ],
)
def test_what_stands_between_two_quotations_is_no_name(
    question: str, names: tuple[str, ...]
) -> None:
    assert terms_of(question).names == names


@pytest.mark.parametrize(
    ("question", "telling"),
    [
        ("Where is OTHER set?", "other"),
        ("What reads `x` and MAKE?", "mak"),
        ("which module has UNDER_ in EACH", "each"),
    ],
)
def test_a_word_in_capitals_is_a_constant_whatever_it_says_in_small_letters(
    question: str, telling: str
) -> None:
    assert telling in dict(terms_of(question).weights)


@pytest.mark.parametrize(
    "question", ["Does it NOT work?", "WHERE IS THE OTHER SET?", "ONLY the port"]
)
def test_stressed_words_and_a_question_in_capitals_name_nothing(question: str) -> None:
    assert not {"not", "other", "only", "where"} & dict(terms_of(question).weights).keys()
