"""What the tests of the index share."""

import pytest

from live_memory.adapters.index.syntax.reader import SyntaxReader, SyntaxWorker


@pytest.fixture(scope="module")
def syntax() -> SyntaxReader:
    return SyntaxReader(SyntaxWorker())
