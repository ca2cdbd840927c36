"""A model that failed is left alone for a while that grows; one call finds out for all."""

from contextlib import suppress

import anyio
import pytest

from live_memory.core.errors import (
    LiveMemoryError,
    LoginRefused,
    ModelLacksTools,
    ModelOverloaded,
    ModelRefused,
    ModelResting,
    ModelTimedOut,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
    RequestRefused,
    SpendCapped,
)
from live_memory.flow.model_slot import ModelRest
from tests.support.memory import House

pytestmark = pytest.mark.parametrize("anyio_backend", ["virtual"], indirect=True)


def _tried(rest: ModelRest, problem: LiveMemoryError | None = None) -> None:
    with rest.call():
        if problem is not None:
            raise problem


def _failed(rest: ModelRest, problem: ModelUnavailable | None = None) -> None:
    problem = problem or ModelUnreachable("The endpoint failed (status 500).")
    with pytest.raises(type(problem)):
        _tried(rest, problem)


@pytest.mark.parametrize(
    "problem",
    [
        ModelUnreachable("no connection"),
        ModelOverloaded("busy"),
        ModelRefused("the key is wrong"),
        ModelTimedOut("late"),
    ],
)
async def test_what_the_endpoint_is_at_fault_for_lets_it_rest(problem: ModelUnavailable) -> None:
    rest = ModelRest(clock=House())
    _failed(rest, problem)
    with pytest.raises(ModelResting, match=r"before \d\d:\d\d:\d\d UTC.*" + str(problem)) as told:
        _tried(rest)
    assert told.value.error_class == problem.error_class
    assert rest.note is not None
    await anyio.sleep(5.1)
    _tried(rest)
    assert rest.note is None


@pytest.mark.parametrize(
    "problem",
    [
        PromptTooLong("too long"),
        ModelLacksTools("takes no tools"),
        RequestRefused("not this one"),
        LoginRefused("the login has ended"),
        SpendCapped("spent"),
        ModelUnavailable("the model declined to answer"),
    ],
)
async def test_what_a_request_is_at_fault_for_keeps_no_other_from_the_model(
    problem: ModelUnavailable,
) -> None:
    rest = ModelRest(clock=House())
    _failed(rest, problem)
    _tried(rest)


async def test_the_while_doubles_up_to_five_minutes_and_begins_anew_after_a_success() -> None:
    rest, pauses = ModelRest(clock=House()), []
    for _ in range(9):
        _failed(rest)
        began = anyio.current_time()
        while rest.note is not None:
            await anyio.sleep(1)
        pauses.append(anyio.current_time() - began)
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    _tried(rest)
    _failed(rest)
    await anyio.sleep(5)
    _tried(rest)


async def test_of_many_that_fail_together_one_counts() -> None:
    rest = ModelRest(clock=House())

    async def fail() -> None:
        with suppress(ModelUnreachable), rest.call():
            await anyio.sleep(1)
            raise ModelUnreachable("no connection")

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(fail)
    await anyio.sleep(5)
    _tried(rest)


async def test_one_finds_out_while_the_others_are_told_so_at_once() -> None:
    rest, made, told = ModelRest(clock=House()), 0, list[str]()
    _failed(rest)
    await anyio.sleep(6)

    async def ask() -> None:
        nonlocal made
        try:
            with rest.call():
                made += 1
                await anyio.sleep(20)
        except ModelResting as problem:
            told.append(str(problem))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(ask)
    assert (made, len(told)) == (1, 19)
    assert all("found out" in each for each in told)
    _tried(rest)


async def test_who_goes_away_while_finding_out_leaves_it_to_the_next() -> None:
    rest = ModelRest(clock=House())
    _failed(rest)
    await anyio.sleep(6)
    with anyio.move_on_after(1), rest.call():
        await anyio.sleep_forever()
    _tried(rest)


async def test_a_deadline_counts_where_it_gave_a_model_enough_time() -> None:
    rest, began = ModelRest(clock=House()), anyio.current_time()
    await anyio.sleep(5)
    rest.late(ModelTimedOut("late"), began_at=began)
    assert rest.note is None
    await anyio.sleep(30)
    rest.late(ModelTimedOut("late"), began_at=began)
    assert rest.note is not None
