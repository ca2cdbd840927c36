"""Token estimates: by hand, by rule, and corrected by usage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.tokens import Calibration, Family, estimate, family_of
from live_memory.core.values import TokenCount

# One joint can change what a word or a run at the edge counts as.
_JOINT = 6
_CODE = st.text(st.sampled_from("aZbQ19_ \t\n.,(){}='é日🙂\r\0"), max_size=60)
_FAMILY = st.sampled_from(list(Family))


@pytest.mark.parametrize(
    ("text", "family", "tokens"),
    [
        ("", Family.O200K, 0),
        ("word", Family.O200K, 2),  # 1.049
        ("return self", Family.O200K, 3),  # 2 words; one blank is free: 2.098
        ("interpretation", Family.CLAUDE_4_8, 3),  # 1.557 + 8 x 0.151 = 2.765
        ("HTTP_2", Family.CLAUDE_4_8, 6),  # 1.557 + 4 x 0.556 + 0.906 + 0.557 = 5.244
        ("x = 42\n", Family.O200K, 5),  # 1.049 + 0.755 + 2 x 0.762 + 0.993 = 4.321
        ("a\n    b", Family.CLAUDE_3, 5),  # 2 x 1.155 + 1.561 + 4 x 0.047 = 4.059
        ("a  b", Family.QWEN3, 4),  # 2 x 1.040 + 1.252 = 3.332
        ("f()", Family.CL100K, 2),  # 1.080 + 0.702 + 0.072 = 1.854
        ("日本é", Family.DEEPSEEK, 2),  # 2 x 0.694 + 0.412 = 1.8
    ],
)
def test_an_estimate_is_the_sum_of_its_twelve_features(
    text: str, family: Family, tokens: int
) -> None:
    assert estimate(text, family=family) == tokens


@given(_CODE, _CODE, _FAMILY)
def test_text_that_is_joined_costs_what_its_parts_cost(a: str, b: str, family: Family) -> None:
    both = estimate(a + b, family=family)
    assert abs(both - estimate(a, family=family) - estimate(b, family=family)) <= _JOINT
    assert both >= estimate(a, family=family) - _JOINT


@given(st.text(), _FAMILY)
def test_an_estimate_is_never_negative_and_that_of_a_word_never_nothing(
    text: str, family: Family
) -> None:
    assert estimate(text, family=family) >= 0
    assert estimate(f"{text} word", family=family) > 0


def test_a_model_that_is_not_known_counts_as_the_one_with_most_tokens() -> None:
    text = "def answer(question: str) -> Answer:\n    return Answer(question, cites=[])\n" * 20
    assert estimate(text) == max(estimate(text, family=family) for family in Family)
    assert family_of("somebody-elses-model") is Family.CLAUDE_4_8


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-mini", Family.O200K),
        ("openai/gpt-5.2", Family.O200K),
        ("o3-mini", Family.O200K),
        ("gpt-4-turbo", Family.CL100K),
        ("claude-3-5-haiku-20241022", Family.CLAUDE_3),
        ("claude-sonnet-4-20250514", Family.CLAUDE_3),
        ("claude-haiku-4-5-20251001", Family.CLAUDE_3),
        ("anthropic/claude-sonnet-4.5", Family.CLAUDE_3),
        ("claude-opus-4-6", Family.CLAUDE_3),
        ("claude-opus-4-8", Family.CLAUDE_4_8),
        ("claude-sonnet-5", Family.CLAUDE_4_8),
        ("Qwen/Qwen2.5-Coder-1.5B", Family.QWEN3),
        ("deepseek-chat", Family.DEEPSEEK),
    ],
)
def test_a_model_belongs_to_a_family_by_its_name(model: str, family: Family) -> None:
    assert family_of(model) is family


def test_usage_corrects_later_estimates_of_the_same_model_only() -> None:
    learned = Calibration().observed("m", estimated=TokenCount(1_000), used=TokenCount(1_200))
    assert learned.applied("m", TokenCount(1_000)) == 1_200
    assert learned.applied("n", TokenCount(1_000)) == 1_000


def test_one_odd_report_moves_the_ratio_by_a_fifth_of_a_bounded_step() -> None:
    usual = Calibration().observed("m", estimated=TokenCount(1_000), used=TokenCount(1_000))
    odd = usual.observed("m", estimated=TokenCount(1_000), used=TokenCount(90_000))
    assert odd.applied("m", TokenCount(1_000)) == 1_200


def test_what_is_too_small_to_tell_teaches_nothing() -> None:
    new = Calibration()
    assert new.observed("m", estimated=TokenCount(499), used=TokenCount(900)) is new
    assert new.observed("m", estimated=TokenCount(900), used=TokenCount(0)) is new


@given(st.lists(st.tuples(st.integers(500, 10**7), st.integers(1, 10**7)), min_size=1))
def test_a_ratio_stays_within_its_bounds(reports: list[tuple[int, int]]) -> None:
    calibration = Calibration()
    for estimated, used in reports:
        calibration = calibration.observed(
            "m", estimated=TokenCount(estimated), used=TokenCount(used)
        )
    ((_, ratio),) = calibration.ratios
    assert 0.5 <= ratio <= 2.0
