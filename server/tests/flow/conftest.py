"""Flow runs on two event loops; a test that needs virtual time takes trio's clock alone."""

import pytest
import trio.testing


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str | tuple[str, dict[str, object]]:
    """The loop's name; `virtual` is trio with a clock that jumps, a new one for each test.

    Where threads are at work, `patient` waits for them before it jumps, however long they take.
    """
    match request.param:
        case "virtual":
            return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}
        case "patient":
            return "trio", {"clock": _patient()}
    return str(request.param)


def _patient() -> trio.testing.MockClock:
    # Real seconds from one look to the next whether all is idle but threads.
    clock = trio.testing.MockClock(autojump_threshold=0.001)
    jump = clock.jump

    def jump_without_threads(seconds: float) -> None:
        if trio.testing.active_thread_count() == 0:
            jump(seconds)

    clock.jump = jump_without_threads  # type: ignore[method-assign]  # a final class
    return clock
