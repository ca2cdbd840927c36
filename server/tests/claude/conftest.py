"""The stage on which the real client plays."""

from pathlib import Path

import pytest

from tests.claude.stage import Stage, set_stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """An empty home, a small project, and a copy of the plugin."""
    return set_stage(tmp_path)
