"""Flow runs on two event loops; a test that needs virtual time takes trio's clock alone."""

import pytest
import trio.testing


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str | tuple[str, dict[str, object]]:
    """The loop's name; `virtual` is trio with a clock that jumps, a new one for each test."""
    if request.param == "virtual":
        return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}
    return str(request.param)
