"""What every test shares: the event loop, and what happens when a real tool is missing."""

import importlib.util
import os
import shutil

import pytest
from hypothesis import settings

# Few examples while one works; CI looks deeper (`--hypothesis-profile=deep`). No deadlines: how
# long an example takes says more of the machine than of the rule.
settings.register_profile("quick", max_examples=15, deadline=None)
settings.register_profile("deep", max_examples=200, deadline=None)
settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-missing",
        action="store_true",
        default=os.environ.get("LIVE_MEMORY_NO_MISSING") == "1",
        help="a test that needs a program which is not installed fails instead of being skipped",
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("real"):
        missing = [tool for tool in mark.args if not _is_there(tool)]
        if missing:
            message = f"needs {', '.join(missing)}"
            if item.config.getoption("--no-missing"):
                pytest.fail(message)
            pytest.skip(message)


def _is_there(tool: str) -> bool:
    """Whether a program is on PATH, or `module:NAME` can be imported."""
    kind, colon, name = tool.partition(":")
    return bool(importlib.util.find_spec(name) if colon else shutil.which(kind))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
