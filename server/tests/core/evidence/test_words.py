"""Words of code and of English."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.words import (
    base_name,
    is_compound,
    stem,
    tokens,
    unique,
    vocabulary,
    words_of,
)


@pytest.mark.parametrize(
    "forms",
    [
        "register registers registered registering",
        "cookie cookies",
        "class classes",
        "validate validates validated validating validator validation",
        "redirect redirects redirected redirection",
        "serialize serializer serialization",
        "parse parses parsed parser parsing",
        "proxy proxies",
        "match matches matching",
        "run runs running",
        "process processes processing",
        "use used uses using",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("pair", ["string str", "status stat", "need new", "index indent"])
def test_words_that_only_look_alike_stay_apart(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)


def test_an_identifier_is_whole_and_in_its_parts() -> None:
    assert tokens("getHTTPResponse") == ["gethttprespons", "get", "http", "respons"]
    assert tokens("_got_registered_once") == ["got_registered_onc", "got", "regist", "onc"]
    assert tokens("SESSION_COOKIE") == ["session_cooki", "sess", "cooki"]
    assert tokens("utf8 x 404") == ["utf8", "utf", "404"]


def test_a_name_that_ends_in_a_digit_is_itself_and_not_only_its_letters() -> None:
    assert tokens("step_3") == ["step_3", "step"]
    assert tokens("S3") == ["s3"]
    assert set(tokens("step_3")) & set(tokens("step_4")) == {"step"}


def test_an_identifier_has_the_same_tokens_however_it_is_spelt() -> None:
    assert set(tokens("save_session")) >= {"sav", "sess"} <= set(tokens("saveSession"))
    assert tokens("SameSite")[0] == tokens("samesite")[0]


def test_what_hyphens_join_is_also_one_word() -> None:
    assert tokens("a max-size, set") == ["max", "siz", "set", "max_siz"]
    assert tokens("max-size")[-1] == tokens("max_size")[0]


def test_scripts_without_spaces_are_cut_in_pairs() -> None:
    assert tokens("用户登录") == ["用户", "户登", "登录"]
    assert tokens("用") == ["用"]
    assert tokens("naïve Größe") == ["naïve", "größe"] or len(tokens("naïve Größe")) >= 2


def test_runs_of_data_are_no_words() -> None:
    assert tokens("A" * 81) == []


@given(st.text(max_size=200) | st.from_regex(r"[a-z]{1,3}(-[a-zA-Z_]{1,4}){0,3}", fullmatch=True))
def test_any_text_has_tokens_and_its_vocabulary_is_the_same_without_order(text: str) -> None:
    found = tokens(text)
    assert set(found) == vocabulary(text)
    assert all(token and not token.isspace() for token in found)
    assert tokens("\n".join(words_of(text))) == found or "-" in text


@given(st.from_regex(r"[a-z]{1,20}", fullmatch=True))
def test_a_stem_is_a_beginning_of_its_word_save_for_one_letter(word: str) -> None:
    assert word.startswith(stem(word)[:-1])
    assert stem(word)


@pytest.mark.parametrize(
    ("qualified", "base"),
    [
        ("SecureCookie.save_session", "save_session"),
        ("(*Engine).handle", "handle"),
        ("Foo::bar", "bar"),
        ("plain", "plain"),
        ("ok?", "ok"),
        ("...", "..."),
    ],
)
def test_the_base_of_a_name_is_its_last_part(qualified: str, base: str) -> None:
    assert base_name(qualified) == base


def test_only_code_writes_compound_words() -> None:
    assert all(map(is_compound, ["save_session", "saveSession", "HTTPError", "eTag"]))
    assert not any(map(is_compound, ["Session", "session", "HTTP", "_private"]))


def test_unique_keeps_the_first_of_each() -> None:
    assert unique(["b", "a", "b"]) == ("b", "a")
