"""What answers spare is counted against reading, and is negative where they cost more."""

import pytest

from live_memory.core.answer import Answer, Citation, CitationStatus, Grounding, Mode, Usage
from live_memory.core.companion.chat import Payment, Spend
from live_memory.core.savings import saving_of
from live_memory.core.values import Instant, RelPath, StatSignature

SIZES = {
    RelPath(f"{name}.py"): StatSignature(size, 0, 0, 0, 0)
    for name, size in (("a", 4_000), ("b", 8_000), ("c", 400), ("d", 40_000), ("huge", 900_000))
}


def _answer(*names: str, text: str = "", usage: Usage | None = None) -> Answer:
    good = CitationStatus.VERIFIED
    places = tuple(Citation(RelPath(f"{name}.py"), 1, 1, good) for name in names)
    return Answer(text, Mode.EVIDENCE, Grounding.VERIFIED, places, usage=usage or Usage())


@pytest.mark.parametrize(
    ("answer", "saved"),
    [
        (_answer("a"), 1_000),
        (_answer("a", "a", "b"), 3_000),
        (_answer("a", "b", "c", "d"), 3_100),
        (_answer("gone"), 0),
        (_answer("huge"), 25_000),
        (_answer("a", text="x" * 400), 900),
        (_answer("a", usage=Usage(input_tokens=5_000, output_tokens=100)), -4_100),
        (_answer(text="x" * 40), -10),
    ],
)
def test_reading_less_the_answer_less_the_model(answer: Answer, saved: int) -> None:
    assert saving_of(answer, SIZES).tokens == saved


def test_a_place_that_does_not_hold_saves_nothing() -> None:
    place = Citation(RelPath("a.py"), 1, 1, CitationStatus.UNSUPPORTED)
    answer = Answer("", Mode.COMPANION, Grounding.UNGROUNDED, (place,))
    assert saving_of(answer, SIZES).tokens == 0


def test_a_day_is_told_by_its_hours_the_last_one_last() -> None:
    now = Instant(100_000.0)
    paid = [(0.0, 1), (3_599.0, 2), (3_600.0, 4), (86_399.0, 8), (86_400.0, 16), (-5.0, 32)]
    spend = Spend().with_earlier(Payment(Instant(now - ago), n, n / 100) for ago, n in paid)
    hours = spend.of_day(now)
    assert [hour.tokens for hour in hours] == [8, *[0] * 21, 4, 3]
    assert hours[-1].cost_usd == pytest.approx(0.03)
    assert (hours[0].at, hours[-1].at) == (now - 86_400, now - 3_600)
