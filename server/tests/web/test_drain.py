"""When it is quiet, on a clock that costs no time (C02)."""

import anyio
import pytest
import trio.testing

from live_memory.web.guard import Drain

_QUIET_S = 600.0


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


async def test_it_is_quiet_that_long_after_the_start_when_nobody_ever_speaks() -> None:
    began = anyio.current_time()

    await Drain().quiet(_QUIET_S)

    assert anyio.current_time() - began == pytest.approx(_QUIET_S)


@pytest.mark.parametrize(("is_known", "quiet_at"), [(True, 500 + _QUIET_S), (False, _QUIET_S)])
async def test_only_a_client_with_the_token_puts_it_off(is_known: bool, quiet_at: float) -> None:
    drain, began = Drain(), anyio.current_time()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_speak, drain, 500.0, 0.0, is_known)
        await drain.quiet(_QUIET_S)

    assert anyio.current_time() - began == pytest.approx(quiet_at)


async def test_an_open_stream_is_a_client_however_long_it_says_nothing() -> None:
    """A session that is left open overnight still finds its server in the morning."""
    drain, began = Drain(), anyio.current_time()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_speak, drain, 500.0, 40_000.0, True)
        await drain.quiet(_QUIET_S)

    assert anyio.current_time() - began == pytest.approx(40_500 + _QUIET_S)


async def test_whether_it_is_quiet_is_told_without_waiting() -> None:
    drain = Drain()
    never = drain.is_quiet(_QUIET_S)
    with drain.request(is_known=True):
        await anyio.sleep(2 * _QUIET_S)
        during = drain.is_quiet(_QUIET_S)
    at_once = drain.is_quiet(_QUIET_S)
    await anyio.sleep(_QUIET_S)

    assert (never, during, at_once, drain.is_quiet(_QUIET_S)) == (True, False, False, True)


async def _speak(drain: Drain, after_s: float, for_s: float, is_known: bool) -> None:
    await anyio.sleep(after_s)
    with drain.request(is_known=is_known):
        await anyio.sleep(for_s)
