"""From words to places."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.question import terms_of
from live_memory.core.evidence.ranking import (
    Collection,
    Posting,
    factor,
    factors,
    file_scores,
    is_test,
    leaning_of,
    most_factor,
    name_bonus,
    unit_scores,
    worth,
)
from live_memory.core.values import RelPath

# Units 1 to 4 of two files; unit 0 never exists.
FOUR = Collection(owners=[0, 1, 1, 2, 2], lengths=[0, 10, 10, 10, 40], live=4, mean_length=17.5)


def test_rare_words_are_worth_more_and_weights_multiply() -> None:
    rare, common = Posting("a", 1.0, [1], [1]), Posting("b", 1.0, [1, 2, 3], [1, 1, 1])
    assert worth(FOUR, rare) > worth(FOUR, common) > 0
    assert worth(FOUR, Posting("a", 2.0, [1], [1])) == 2 * worth(FOUR, rare)


def test_more_mentions_and_shorter_text_score_higher() -> None:
    scores = unit_scores(FOUR, [Posting("a", 1.0, [1, 2, 4], [1, 3, 1])])
    assert scores[2] > scores[1] > scores[4] > 0
    assert scores[3] == scores[0] == 0


postings = st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, unique=True)


@given(postings, postings)
def test_scores_of_words_add_up(one: list[int], other: list[int]) -> None:
    first = Posting("a", 1.0, one, [1] * len(one))
    second = Posting("b", 1.0, other, [2] * len(other))
    both = unit_scores(FOUR, [first, second])
    apart = unit_scores(FOUR, [first]), unit_scores(FOUR, [second])
    assert both == pytest.approx([sum(of_each) for of_each in zip(*apart, strict=True)])


def test_a_file_is_its_best_place_and_parts_of_the_next_two() -> None:
    values, owners = [0, 1.0, 4.0, 2.0, 8.0, 5.0, 0], [0, 1, 1, 1, 1, 2, 3]
    assert file_scores(values, owners, count=4) == [0, 8.0 + 2.0 + 0.5, 5.0, 0]


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.py",
        "a/__tests__/b.js",
        "src/test_x.py",
        "x_test.go",
        "a.spec.ts",
        "conftest.py",
        "Shop.Tests/Cart.cs",
        "test-shop/src/Cart.java",
        "src/CartTest.java",
        "Source/CartTests.swift",
        "src/CartSpec.kt",
        "benchmarks/cart.rb",
    ],
)
def test_tests_are_known_by_their_path(path: str) -> None:
    assert is_test(RelPath(path))


@pytest.mark.parametrize(
    "path", ["src/testimony.py", "latest/a.py", "attest.go", "src/contest.js", "src/Latest.java"]
)
def test_a_word_with_test_in_it_is_no_test(path: str) -> None:
    assert not is_test(RelPath(path))


def test_tests_and_prose_step_back_unless_tests_are_asked_for() -> None:
    plain, on_tests = (
        leaning_of(terms_of("how is it saved?")),
        leaning_of(terms_of("is it tested?")),
    )
    program, test, prose = RelPath("a.py"), RelPath("tests/a.py"), RelPath("a.md")
    assert factor(program, plain) == factor(test, on_tests) == 1.0
    assert factor(test, plain) < 1
    assert factor(prose, plain) < 1


def test_a_file_that_is_named_like_the_question_comes_forward() -> None:
    leaning = leaning_of(terms_of("where are sessions saved?"))
    assert (
        factor(RelPath("sessions.py"), leaning) > factor(RelPath("session_store.py"), leaning) > 1
    )
    assert factor(RelPath(".x"), leaning) > 0


def test_a_name_that_many_share_tells_less() -> None:
    assert name_bonus(1) == 1
    assert name_bonus(4) == 0.5


def test_a_file_that_was_edited_lately_comes_forward_also_before_others_that_were_found() -> None:
    terms = replace(terms_of("how is it kept?"), edited=frozenset({RelPath("a.py")}))
    assert factor(RelPath("a.py"), leaning_of(terms)) > factor(RelPath("b.py"), leaning_of(terms))
    assert factors(RelPath("a.py"), leaning_of(terms)) == {"edited": 1.3}
    assert factors(RelPath("b.py"), leaning_of(terms)) == {}


PATHS = [RelPath(n) for n in ("a.py", "tests/save.py", "docs/save.md", "src/save_cookie.py")]


@given(st.sampled_from(PATHS), st.frozensets(st.sampled_from(PATHS)))
def test_no_file_has_a_factor_above_the_most_and_each_is_told_in_parts(
    path: RelPath, edited: frozenset[RelPath]
) -> None:
    for question in ("save cookie", "is save tested?", "what is in src/save_cookie.py?"):
        leaning = leaning_of(replace(terms_of(question), edited=edited))
        assert factor(path, leaning) <= most_factor(leaning)
        assert factor(path, leaning) == pytest.approx(math.prod(factors(path, leaning).values()))
