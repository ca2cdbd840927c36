"""One scripted endpoint for all adapter tests of a process."""

from collections.abc import Iterator

import pytest

from tests.support.scripted_endpoint import ScriptedEndpoint, serving


@pytest.fixture(scope="package")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with serving() as running:
        yield running
