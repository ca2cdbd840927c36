"""`bin/live-memory`, by which the plugin finds the installed command."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_WRAPPER = Path(__file__).parents[3] / "bin/live-memory"


@dataclass(frozen=True, slots=True)
class _Installation:
    """A plugin folder and places where a command may be installed."""

    folder: Path

    def install(self, place: str, *, body: str = 'echo "$0 $*"') -> Path:
        command = self.folder / place / "live-memory"
        command.parent.mkdir(parents=True, exist_ok=True)
        command.write_text(f"#!/bin/sh\n{body}\n")
        command.chmod(0o755)
        return command

    def run(self, *arguments: str, path: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["/bin/sh", self.folder / "plugin/bin/live-memory", *arguments],
            env={"PATH": f"{path}:{os.defpath}", "HOME": str(self.folder / "home")},
            cwd=self.folder / "project",
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )


@pytest.fixture
def installation(tmp_path: Path) -> _Installation:
    (tmp_path / "plugin/bin").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    shutil.copy(_WRAPPER, tmp_path / "plugin/bin")
    return _Installation(tmp_path)


@pytest.mark.parametrize("place", ["plugin/.venv/bin", "home/.local/bin", "tools with blanks"])
def test_it_runs_the_command_with_its_arguments(installation: _Installation, place: str) -> None:
    installation.install(place, body=f'echo "{place}"; printf "<%s>" "$@"')

    done = installation.run("ask", "a  b", path=str(installation.folder / "tools with blanks"))

    assert (done.returncode, done.stdout) == (0, f"{place}\n<ask><a  b>")


def test_it_never_runs_itself_or_what_lies_in_the_workspace(installation: _Installation) -> None:
    """S17's class."""
    installation.install("project")
    itself = installation.folder / "plugin/bin"

    done = installation.run("stats", path=f"{itself}:.::../project")

    assert done.returncode == 127
    assert done.stdout == ""
    assert "is not installed" in done.stderr


def test_headers_are_empty_where_nothing_is_installed(installation: _Installation) -> None:
    done = installation.run("headers")

    assert (done.returncode, done.stdout) == (0, "{}\n")
    assert "uv tool install" in done.stderr


def test_headers_are_empty_where_the_installation_is_broken(installation: _Installation) -> None:
    installation.install("plugin/.venv/bin", body="exit 1")

    done = installation.run("headers")

    assert (done.returncode, done.stdout) == (0, "{}\n")


def test_the_exit_code_is_the_command_s_own(installation: _Installation) -> None:
    installation.install("plugin/.venv/bin", body="exit 5")

    assert installation.run("stats").returncode == 5
