"""Flow runs on two event loops; a test that needs virtual time takes trio's clock alone."""

import pytest
import trio.testing


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str | tuple[str, dict[str, object]]:
    """The loop's name; `virtual` is trio with a clock that jumps, a new one for each test.

    Where threads are at work, `patient` waits for them a little before it jumps.
    """
    if request.param in ("virtual", "patient"):
        threshold = 0.05 if request.param == "patient" else 0
        return "trio", {"clock": trio.testing.MockClock(autojump_threshold=threshold)}
    return str(request.param)
