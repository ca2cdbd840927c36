"""What every test shares: the event loop, and what happens when a real tool is missing."""

import os
import shutil

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-missing",
        action="store_true",
        default=os.environ.get("LIVE_MEMORY_NO_MISSING") == "1",
        help="a test that needs a program which is not installed fails instead of being skipped",
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("real"):
        missing = [tool for tool in mark.args if not shutil.which(tool)]
        if missing:
            message = f"needs {', '.join(missing)}"
            if item.config.getoption("--no-missing"):
                pytest.fail(message)
            pytest.skip(message)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
