"""What the tests of the index share."""

import pytest

from live_memory.adapters.index.digesting import Digester
from live_memory.adapters.index.processes import SyntaxWorkers


@pytest.fixture(scope="module")
def syntax() -> Digester:
    return Digester(SyntaxWorkers())
