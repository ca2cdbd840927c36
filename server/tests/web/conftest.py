"""One real server for all tests that look at it from outside."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server import RunningServer, running_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small git repository."""
    root = tmp_path_factory.mktemp("project")
    (root / "pay.py").write_text("def charge_card(amount):\n    return amount * 2\n")
    (root / "sub").mkdir()
    (root / "sub" / "README.md").write_text("# Paying\n\nSee charge_card.\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root
