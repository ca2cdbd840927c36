"""Flow runs on two event loops; a test that needs virtual time takes trio's clock alone."""

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)
