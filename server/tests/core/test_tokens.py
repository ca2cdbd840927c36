"""Token estimates: by hand, by rule, and corrected by usage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.tokens import Calibration, estimate
from live_memory.core.values import TokenCount

# One joint can change what a word or a run at the edge counts as.
_JOINT = 6
_CODE = st.text(st.sampled_from("aZbQ19_ \t\n.,(){}='é日🙂\r\0"), max_size=60)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("word", 2),  # 1.557
        ("return self", 4),  # 2 words; one blank is free: 3.114
        ("interpretation", 3),  # 1.557 + 8 x 0.151 = 2.765
        ("HTTP_2", 6),  # 1.557 + 4 x 0.556 + 0.906 + 0.557 = 5.244
        ("x = 42\n", 6),  # 1.557 + 1.206 + 2 x 0.557 + 1.817 = 5.694
        ("a\n    b", 6),  # 2 x 1.557 + 1.817 + 4 x 0.020 = 5.011
        ("a  b", 4),  # 2 x 1.557 + 0.878 = 3.992
        ("f()", 4),  # 1.557 + 1.206 + 0.343 = 3.106
        ("日本é", 3),  # 2 x 1.107 + 0.524 = 2.738
    ],
)
def test_an_estimate_is_the_sum_of_its_twelve_features(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


@given(_CODE, _CODE)
def test_text_that_is_joined_costs_what_its_parts_cost(a: str, b: str) -> None:
    both = estimate(a + b)
    assert abs(both - estimate(a) - estimate(b)) <= _JOINT
    assert both >= estimate(a) - _JOINT


@given(st.text())
def test_an_estimate_is_never_negative_and_that_of_a_word_never_nothing(text: str) -> None:
    assert estimate(text) >= 0
    assert estimate(f"{text} word") > 0


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
