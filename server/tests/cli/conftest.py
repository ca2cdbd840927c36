"""A shell without a server, and one whose server runs for the whole module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Shell, open_shell


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell with nothing started."""
    with open_shell(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell whose server is up."""
    with open_shell(tmp_path_factory.mktemp("running")) as opened:
        started = opened.run("start")
        assert started.code == 0, started
        yield opened


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small codebase."""
    folder = tmp_path / "project"
    (folder / "net").mkdir(parents=True)
    (folder / "net/retry.py").write_text(
        'def retry_delay(attempt: int) -> float:\n    """Seconds."""\n    return 2.0**attempt\n'
    )
    return folder
