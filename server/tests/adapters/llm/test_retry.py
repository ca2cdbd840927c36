"""Retries and the shared pace, on two event loops, one of them with a clock that jumps."""

from collections.abc import Iterator
from itertools import pairwise

import anyio
import pytest
import trio.testing

from live_memory.adapters.llm.retry import MOST_TRIES, Pace, Retrying
from live_memory.core.companion.chat import ModelReply
from live_memory.core.errors import (
    ModelLacksTools,
    ModelOverloaded,
    ModelRefused,
    ModelSilent,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
)
from tests.support.asking_models import ASKED
from tests.support.doubles.scripted import Fails, Says, Scripted, Stalls, Turn

SILENT = Fails(ModelSilent("empty"))
BUSY, BROKEN = Fails(ModelOverloaded("busy")), Fails(ModelUnreachable("broken"))
FINE = Says(("fine",))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Time jumps to the next thing that happens."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


def _pace(*numbers: float) -> Pace:
    """A pace with these random numbers, the last one for ever."""
    left = iter(numbers)
    return Pace(random=lambda: next(left, numbers[-1] if numbers else 0.0))


def _busy(seconds: float) -> Fails:
    return Fails(ModelOverloaded("busy", retry_after_s=seconds))


async def _timed(model: Retrying) -> tuple[ModelReply | ModelUnavailable, float]:
    start = anyio.current_time()
    try:
        outcome: ModelReply | ModelUnavailable = await model.complete(ASKED)
    except ModelUnavailable as problem:
        outcome = problem
    return outcome, anyio.current_time() - start


@pytest.mark.parametrize("failure", [BUSY, BROKEN])
async def test_a_passing_failure_is_not_seen(failure: Fails) -> None:
    """S37: 529 twice, then an answer."""
    model = Retrying(Scripted([failure, failure, FINE]), pace=_pace())
    outcome, elapsed = await _timed(model)
    assert isinstance(outcome, ModelReply)
    assert elapsed == 1.5


async def test_pauses_grow_and_differ() -> None:
    """S37: full jitter between one step and the next."""
    times: list[float] = []

    def busy(_request: object) -> Turn:
        times.append(anyio.current_time())
        return BUSY

    await _timed(Retrying(Scripted(busy), pace=_pace(0.9, 0.0, 0.5)))
    gaps = [round(after - before, 3) for before, after in pairwise(times)]
    assert gaps == [0.95, 1.0, 3.0]
    assert len(times) == MOST_TRIES


@pytest.mark.parametrize(
    "error", [ModelRefused("key"), PromptTooLong("long"), ModelLacksTools("none")]
)
async def test_what_asking_again_cannot_help_is_not_repeated(error: ModelUnavailable) -> None:
    inner = Scripted([Fails(error), FINE])
    outcome, elapsed = await _timed(Retrying(inner, pace=_pace()))
    assert (outcome, elapsed, len(inner.requests)) == (error, 0, 1)


@pytest.mark.parametrize(
    ("before", "calls"), [([], 2), ([BROKEN], 3), ([BUSY, BUSY, BROKEN], MOST_TRIES)]
)
async def test_a_model_that_says_nothing_is_asked_once_more(before: list[Turn], calls: int) -> None:
    """B12 of security-2; whatever failed before, and whatever fails then."""
    for then in (SILENT, BROKEN):
        inner = Scripted([*before, SILENT, then, then, then])
        outcome, _ = await _timed(Retrying(inner, pace=_pace()))
        assert isinstance(outcome, ModelUnreachable)
        assert len(inner.requests) == calls
    fine = Retrying(Scripted([SILENT, FINE]), pace=_pace())
    assert isinstance((await _timed(fine))[0], ModelReply)


async def test_a_wait_that_was_asked_for_is_kept() -> None:
    inner = Scripted([_busy(20), FINE])
    with anyio.fail_after(60):
        outcome, elapsed = await _timed(Retrying(inner, pace=_pace()))
    assert isinstance(outcome, ModelReply)
    assert elapsed == 20


@pytest.mark.promise("deadline-kept")
@pytest.mark.parametrize("seconds", [59.5, 3_600, 1e9])
async def test_nobody_sleeps_past_the_deadline(seconds: float) -> None:
    """C34: a wait that leaves no time for another try is an answer at once."""
    inner = Scripted([_busy(seconds), FINE])
    with anyio.fail_after(60):
        outcome, elapsed = await _timed(Retrying(inner, pace=_pace()))
    assert isinstance(outcome, ModelOverloaded)
    assert (elapsed, len(inner.requests)) == (0, 1)


async def test_without_a_deadline_patience_ends_too() -> None:
    outcome, elapsed = await _timed(Retrying(Scripted([_busy(61), FINE]), pace=_pace()))
    assert isinstance(outcome, ModelOverloaded)
    assert elapsed == 0


async def _all_at_once(model: Retrying, count: int, *, timeout_s: float) -> list[float]:
    ends: list[float] = []

    async def ask() -> None:
        start = anyio.current_time()
        with anyio.move_on_after(timeout_s):
            await _timed(model)
        ends.append(anyio.current_time() - start)

    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(ask)
    return ends


@pytest.mark.parametrize("answers_after_s", [0.0, 1.0])
async def test_twenty_questions_at_an_endpoint_out_of_quota_cost_three_calls(
    answers_after_s: float,
) -> None:
    """C34: 429 with `retry-after: 3600`, also where a question went well before."""
    refusal = Fails(ModelOverloaded("busy", retry_after_s=3_600), answers_after_s)
    turns: Iterator[Turn] = iter([FINE])
    inner = Scripted(lambda _request: next(turns, refusal))
    model = Retrying(inner, pace=_pace())
    await model.complete(ASKED)
    ends = await _all_at_once(model, 20, timeout_s=60)
    assert len(inner.requests) - 1 <= 3
    assert max(ends) <= 5


async def test_after_a_quiet_time_an_endpoint_has_to_show_again_that_it_works() -> None:
    """C34: what it carried an hour ago says nothing of its quota now."""
    slow, refusal = Says(("fine",), pause_s=1.0), _busy(3_600)
    turns: Iterator[Turn] = iter([slow] * 32)
    inner = Scripted(lambda _request: next(turns, refusal))
    model = Retrying(inner, pace=_pace())
    await _all_at_once(model, 32, timeout_s=60)
    await _all_at_once(model, 20, timeout_s=60)
    assert len(inner.requests) - 32 <= 3


async def test_room_that_nobody_waited_for_is_not_given() -> None:
    """Two questions that overlap for a while show nothing about twenty."""
    turns: Iterator[Turn] = iter([Says(("fine",), pause_s=1.0)] * 8)
    inner = Scripted(lambda _request: next(turns, _busy(3_600)))
    model = Retrying(inner, pace=_pace())

    async def keep_asking(delay_s: float) -> None:
        await anyio.sleep(delay_s)
        for _ in range(4):
            await model.complete(ASKED)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep_asking, 0.0)
        tasks.start_soon(keep_asking, 0.5)
        await anyio.sleep(3.9)
        await _all_at_once(model, 20, timeout_s=30)
    assert len(inner.requests) - 8 <= 3


async def test_the_pause_outlives_the_question_and_ends() -> None:
    inner = Scripted([_busy(3_600), FINE])
    model = Retrying(inner, pace=_pace())
    await _timed(model)
    outcome, _ = await _timed(model)
    assert isinstance(outcome, ModelOverloaded)
    assert outcome.retry_after_s == 3_600
    assert len(inner.requests) == 1
    await anyio.sleep(3_600)
    outcome, _ = await _timed(model)
    assert isinstance(outcome, ModelReply)


async def test_an_endpoint_busy_for_ever_is_asked_ever_less_often() -> None:
    inner = Scripted(lambda _request: BUSY)
    ends = await _all_at_once(Retrying(inner, pace=_pace()), 20, timeout_s=60)
    assert len(inner.requests) <= 12
    assert max(ends) <= 60


async def test_one_broken_connection_does_not_slow_the_others() -> None:
    pace = _pace()
    broken, fine = Scripted([BROKEN, FINE]), Scripted(lambda _request: FINE)
    ends: list[float] = []

    async def ask() -> None:
        ends.append((await _timed(Retrying(fine, pace=pace)))[1])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_timed, Retrying(broken, pace=pace))
        for _ in range(8):
            tasks.start_soon(ask)
    assert max(ends) == 0


async def test_a_stalled_call_holds_up_nobody_for_long() -> None:
    """S38."""
    pace = _pace()
    stalled, fine = Scripted(lambda _request: Stalls()), Scripted(lambda _request: FINE)

    async def stall() -> None:
        with anyio.move_on_after(60):
            await Retrying(stalled, pace=pace).complete(ASKED)

    ends: list[float] = []
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(stall)
        await anyio.sleep(1)
        ends += [(await _timed(Retrying(fine, pace=pace)))[1] for _ in range(8)]
    assert max(ends) <= 5


async def test_working_endpoints_get_more_at_once() -> None:
    slow = Says(("fine",), pause_s=1.0)
    model = Retrying(Scripted(lambda _request: slow), pace=_pace())
    ends = await _all_at_once(model, 32, timeout_s=60)
    assert max(ends) <= 5


async def test_cancelling_a_wait_leaves_room_for_others() -> None:
    pace = _pace()
    model = Retrying(Scripted([BROKEN, FINE]), pace=pace)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(model.complete, ASKED)
        await anyio.sleep(0.1)
        tasks.cancel_scope.cancel()
    outcome, elapsed = await _timed(model)
    assert isinstance(outcome, ModelReply)
    assert elapsed == 0


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_it_works_the_same_on_the_loop_of_production() -> None:
    reply = await Retrying(Scripted([BUSY, FINE]), pace=Pace(random=lambda: 0.0)).complete(ASKED)
    assert reply.turn.text == "fine"
