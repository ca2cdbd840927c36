"""`bin/live-memory`, by which the plugin finds the installed command."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

_WRAPPER = Path(__file__).parents[3] / "bin/live-memory"


@dataclass(frozen=True, slots=True)
class _Installation:
    """A plugin folder and places where a command may be installed."""

    folder: Path

    def install(self, place: str, *, body: str = 'echo "$0 $*"', runs: bool = True) -> Path:
        """A command that does so, and says its version first unless it does not run."""
        if runs:
            body = f'[ "$1" = --version ] && echo live-memory, version 1 && exit\n{body}'
        command = self.folder / place / "live-memory"
        command.parent.mkdir(parents=True, exist_ok=True)
        command.write_text(f"#!/bin/sh\n{body}\n")
        command.chmod(0o755)
        return command

    def run(
        self, *arguments: str, path: str = "", environ: Mapping[str, str] = MappingProxyType({})
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["/bin/sh", self.folder / "plugin/bin/live-memory", *arguments],
            env={"PATH": f"{path}:{os.defpath}", "HOME": str(self.folder / "home"), **environ},
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


_DEAD = {
    "no interpreter": "#!/nowhere/python3\nprint()\n",
    "half an installation": "#!/bin/sh\necho 'No module named live_memory' >&2\nexit 1\n",
    "nothing in it": "",
    "killed": "#!/bin/sh\nkill -9 $$\n",
}


@pytest.mark.parametrize("place", ["plugin/.venv/bin", "first"])
@pytest.mark.parametrize("dead", _DEAD)
def test_one_that_does_not_run_hides_no_other(
    installation: _Installation, place: str, dead: str
) -> None:
    """N04."""
    installation.install(place).write_text(_DEAD[dead])
    installation.install("second", body="echo good")

    done = installation.run(
        "stats", path=f"{installation.folder}/first:{installation.folder}/second"
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "good\n", "")


@pytest.mark.parametrize("dead", ["no interpreter", "half an installation"])
def test_where_none_runs_the_one_that_does_not_is_named_in_a_line(
    installation: _Installation, dead: str
) -> None:
    """N04: neither `not found` nor `not installed` would be true."""
    command = installation.install("first")
    command.write_text(_DEAD[dead])

    done = installation.run("start", path=str(installation.folder / "first"))

    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr.startswith(f"'{command}' does not run: install it again with uv tool")
    assert done.stderr.count("\n") == 1


def test_no_variable_of_python_reaches_the_command(installation: _Installation) -> None:
    """F3: a relative entry of PYTHONPATH is whatever the session's folder holds."""
    installation.install("plugin/.venv/bin", body="env")
    given = {
        **{f"PYTHON{name}": ":/x" for name in ("PATH", "HOME", "USERBASE", "STARTUP", "_NEW_1")},
        "PYTHONWARNINGS": "error::x.Y\nPYTHONX=1",
        "MARK": "kept",
    }

    done = installation.run("stats", environ=given)

    assert "MARK=kept" in done.stdout
    assert not [line for line in done.stdout.splitlines() if line.startswith("PYTHONP")]
    assert "PYTHONHOME" not in done.stdout
    assert "PYTHON_NEW_1" not in done.stdout


def test_programs_of_the_working_folder_are_not_run(installation: _Installation) -> None:
    """B1: what the wrapper itself needs, looked for in the repository first."""
    for name in ("dirname", "env", "sed", "head", "find", "nohup", "readlink", "uname", "python3"):
        planted = installation.folder / "project" / name
        planted.write_text(f"#!/bin/sh\ntouch '{installation.folder}/planted'\n")
        planted.chmod(0o755)
    for path in (".", "", "../project", ":."):
        for command in ("stats", "start", "mcp"):
            installation.run(command, path=path)

    assert not (installation.folder / "planted").exists()


def test_the_exit_code_is_the_command_s_own(installation: _Installation) -> None:
    installation.install("plugin/.venv/bin", body="exit 5")

    assert installation.run("stats").returncode == 5
