"""What goes on behind lets questions go first, and still comes to its end."""

import anyio
import pytest
import trio.testing

from live_memory.flow.indexing import GivingWay, TurnQueue


@pytest.fixture
def anyio_backend() -> object:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


async def _worked(way: TurnQueue, *, a_while_s: float, steps: int) -> float:
    began, giving = anyio.current_time(), GivingWay(way, a_while_s=a_while_s)
    for _ in range(steps):
        await giving.give()
        await anyio.sleep(1)
    return anyio.current_time() - began


async def test_nobody_waits_for_nobody() -> None:
    assert await _worked(TurnQueue(), a_while_s=5, steps=20) == 20


async def test_a_question_goes_first_until_it_is_answered() -> None:
    way, has_begun = TurnQueue(), anyio.Event()
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            with way.taken():
                has_begun.set()
                await anyio.sleep(3)

        tasks.start_soon(ask)
        await has_begun.wait()
        assert await _worked(way, a_while_s=5, steps=4) == 7


@pytest.mark.parametrize("steps", [1, 10, 200])
async def test_questions_without_end_make_the_work_twice_as_long_at_most(steps: int) -> None:
    way = TurnQueue()
    with way.taken():
        took = await _worked(way, a_while_s=5, steps=steps)
    assert steps + 5 <= took <= 2 * steps + 5


async def test_what_takes_no_time_gives_no_way() -> None:
    way = TurnQueue()
    with way.taken():
        assert await _worked(way, a_while_s=0, steps=3) == 3
