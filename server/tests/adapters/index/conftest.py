"""What the tests of the index share."""

import pytest

from live_memory.adapters.index.digest import Digester
from live_memory.adapters.index.worker_pool import SyntaxWorkers


@pytest.fixture(scope="module")
def syntax() -> Digester:
    return Digester(SyntaxWorkers())
