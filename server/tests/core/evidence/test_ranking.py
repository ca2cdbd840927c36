"""From words to places."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.question import terms_of
from live_memory.core.evidence.ranking import (
    Collection,
    FileKindWeights,
    Posting,
    by_rank,
    covering,
    emphasis,
    factor,
    factors,
    file_scores,
    leaning_of,
    least_factor,
    most_factor,
    name_bonus,
    place_factor,
    pointing,
    unit_scores,
    worth,
)
from live_memory.core.evidence.units import Traits
from live_memory.core.values import RelPath

# Units 1 to 4 of two files; unit 0 never exists.
FOUR = Collection(owners=[0, 1, 1, 2, 2], live=4)
PLAIN = Traits(branching=0.0, comment=0.0, is_list=False, is_test=False)
IMPORTS = replace(PLAIN, is_list=True)
PROGRAM, TEST, PROSE = RelPath("src/a.py"), RelPath("tests/test_a.py"), RelPath("docs/a.md")


def _leaning(question: str) -> FileKindWeights:
    return leaning_of(terms_of(question))


def _factor(path: RelPath, traits: Traits, leaning: FileKindWeights, *, is_main: bool) -> float:
    is_list, is_test = traits.is_list, traits.is_test
    of_place = place_factor(path, leaning.asks, is_list=is_list, is_test=is_test, is_main=is_main)
    return of_place * pointing(path, leaning)


def _value(path: RelPath, question: str, *, traits: Traits = PLAIN, is_main: bool = True) -> float:
    return _factor(path, traits, _leaning(question), is_main=is_main)


def test_rare_words_are_worth_more_and_weights_multiply() -> None:
    rare, common = Posting("a", 1.0, [1], [1]), Posting("b", 1.0, [1, 2, 3], [1, 1, 1])
    assert worth(FOUR, rare) > worth(FOUR, common) > 0
    assert worth(FOUR, Posting("a", 2.0, [1], [1])) == 2 * worth(FOUR, rare)


def test_what_weighs_more_in_a_place_scores_higher_and_no_word_without_end() -> None:
    scores = unit_scores(FOUR, [Posting("a", 1.0, [1, 2, 4], [16, 48, 10**9])])
    assert scores[4] > scores[2] > scores[1] > 0
    assert scores[4] < 4 * scores[1]
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
    assert file_scores(values, owners, count=4) == [0, 8.0 + 0.7 * 4.0 + 0.5 * 2.0, 5.0, 0]


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
        assert factor(path, leaning) >= least_factor()


def test_a_file_of_the_program_comes_before_what_shows_it_again_unless_that_is_asked_for() -> None:
    leaning = leaning_of(terms_of("where is the cookie saved?"))
    program = factor(RelPath("src/a.py"), leaning)
    for name in ("examples/a.py", "vendor/a.py", "dist/a.py", "doc/examples/a.ipynb"):
        assert factor(RelPath(name), leaning) < program, name
        assert factors(RelPath(name), leaning)["copy"] < 1
    asked = leaning_of(terms_of("is there an example of a cookie?"))
    assert factor(RelPath("examples/a.py"), asked) == factor(RelPath("src/a.py"), asked)


def test_a_place_of_the_program_comes_before_others_unless_they_are_asked_for() -> None:
    question = "where is the cookie saved?"
    others = "tests/a.py examples/a.py vendor/a.py dist/a.js docs/ja/a.md CHANGELOG.md a.json a.md"
    for name in others.split():
        assert _value(PROGRAM, question) > _value(RelPath(name), question) > 0, name
    assert _value(TEST, "where is the cookie tested?") == 1
    assert _value(RelPath("examples/a.py"), "is there an example of a cookie?") == 1


def test_a_reason_may_stand_in_prose_and_what_changed_in_the_changelog() -> None:
    where, why = "where is the cookie removed?", "why was the cookie removed?"
    changelog = RelPath("CHANGELOG.md")
    assert _value(PROSE, why) > _value(PROSE, where)
    assert _value(changelog, why) > _value(changelog, where)
    assert _value(changelog, why) > _value(changelog, "why is the cookie signed?")


def test_how_people_work_on_the_project_stands_in_guides_and_build_files() -> None:
    question = "how do I run the tests?"
    order = ("CONTRIBUTING.md", "Makefile", "docs/api.md", "src/a.py", "vendor/a.py")
    values = [_value(RelPath(name), question) for name in order]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == len(values)


def test_imports_tests_beside_the_program_and_languages_used_beside_step_back() -> None:
    question, in_test = "where is it saved?", replace(PLAIN, is_test=True)
    plain = _value(PROGRAM, question)
    assert _value(PROGRAM, question, traits=IMPORTS) < plain
    assert _value(PROGRAM, question, traits=in_test) < plain
    assert _value(PROGRAM, "where is it tested?", traits=in_test) == plain
    assert _value(PROGRAM, question, is_main=False) < plain
    assert _value(RelPath("completions/a.sh"), question) < plain


def test_files_for_settings_or_automation_come_forward_where_those_are_asked_for() -> None:
    config, workflow = RelPath("src/config.py"), RelPath(".github/workflows/test.yml")
    default, plain = "what is the default limit?", "where is it saved?"
    assert _value(config, default) > _value(PROGRAM, default)
    assert _value(config, plain) == _value(PROGRAM, plain)
    automated = "which checks does continuous integration do?"
    assert _value(workflow, automated) > _value(RelPath("Makefile"), automated)
    assert _value(workflow, plain) == _value(RelPath("Makefile"), plain)


def test_a_place_in_a_file_that_is_written_out_or_was_edited_comes_forward() -> None:
    assert _value(PROGRAM, "what is in src/a.py?") > _value(RelPath("b.py"), "what is in src/a.py?")
    edited = replace(_leaning("how is it kept?"), edited=frozenset({PROGRAM}))
    assert _factor(PROGRAM, PLAIN, edited, is_main=True) > _value(PROGRAM, "how is it kept?")


def test_what_holds_more_of_the_question_is_worth_more() -> None:
    assert covering(4.0, held=1.0) == 4.0
    assert 0 < covering(4.0, held=0.1) < covering(4.0, held=0.9)


def test_what_decides_comes_before_what_only_tells() -> None:
    asks = _leaning("where is the cookie saved?").asks
    decides, tells = replace(PLAIN, branching=1.0), replace(PLAIN, comment=1.0)
    assert emphasis(decides, asks) > emphasis(PLAIN, asks) > emphasis(tells, asks)
    why = _leaning("why is the cookie signed?").asks
    assert emphasis(tells, why) >= emphasis(PLAIN, why)


def test_ranks_are_worth_less_and_less() -> None:
    values = [by_rank(at) for at in range(50)]
    assert values == sorted(values, reverse=True)
    assert values[0] < 2 * values[10]
