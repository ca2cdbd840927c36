"""Cases C: what is there need not work; a command says one line then, and leaves with a code."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from live_memory.adapters.workspace.git_repository import PrivateGitDir, locate
from tests.cli.shell import Shell
from tests.contracts.sandbox_worlds import git

COMMANDS = [
    ["ask", "Where is a?"],
    ["status"],
    ["stats"],
    ["facts", "list"],
    ["note", "x"],
    ["recall"],
    ["handoff", "list"],
    ["empty"],
    ["config", "show"],
    ["doctor"],
    ["service", "status"],
    ["--version"],
    ["--help"],
    ["ask", "--help"],
]
ABOUT_A_FOLDER = [
    ["ask", "a?"],
    ["stats"],
    ["facts", "list"],
    ["note", "x"],
    ["recall"],
    ["handoff", "list"],
    ["empty"],
    ["stats", "--json"],
]


def _run(shell: Shell, script: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """A command as a shell script begins it; `"$@"` is the command."""
    return subprocess.run(
        ["/bin/sh", "-c", script, "sh", sys.executable, "-m", "live_memory", *arguments],
        env=dict(shell.environ),
        cwd=shell.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


def _is_short(err: bytes) -> bool:
    return b"Traceback" not in err and b"Exception" not in err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_in_a_folder_that_is_gone_shows_no_traceback(
    running: Shell, command: list[str]
) -> None:
    """N29; what is about no folder works."""
    done = _run(running, 'mkdir -p gone; cd gone; rmdir ../gone; exec "$@"', *command)
    assert _is_short(done.stderr)
    assert done.stderr.count(b"\n") <= 1
    assert (done.returncode == 2) == (
        command in ABOUT_A_FOLDER or command[:2] == ["ask", "Where is a?"]
    )


@pytest.mark.parametrize("command", ABOUT_A_FOLDER, ids=" ".join)
def test_a_command_about_a_folder_that_is_gone_says_so(running: Shell, command: list[str]) -> None:
    done = _run(running, 'mkdir -p gone; cd gone; rmdir ../gone; exec "$@"', *command)
    said = done.stdout if "--json" in command else done.stderr
    assert b"the current folder is gone: change to one that is there" in said
    named = _run(
        running, 'mkdir -p gone; cd gone; rmdir ../gone; exec "$@"', *command, "--cwd", "/no"
    )
    assert b"gone" not in named.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("both", [False, True])
def test_output_that_cannot_be_written_is_one_line_and_a_code(
    running: Shell, command: list[str], both: bool
) -> None:
    """N30, with an error output that is full too."""
    done = _run(running, f'exec "$@" >/dev/full {"2>/dev/full" if both else ""}', *command)
    assert done.returncode == 1
    if not both:
        line = b"live-memory: the output cannot be written: no space left on device\n"
        assert done.stderr.endswith(line)
        assert _is_short(done.stderr)


@pytest.mark.parametrize(
    "script", ['exec "$@" >&-', 'exec "$@" >&- 2>&-', 'exec "$@" </dev/null 2>&-']
)
@pytest.mark.parametrize("command", [*COMMANDS, ["stats", "--nonsense"]], ids=" ".join)
def test_output_that_is_closed_breaks_nothing(
    running: Shell, script: str, command: list[str]
) -> None:
    done = _run(running, script, *command)
    assert done.returncode == (2 if "--nonsense" in command else 0)
    assert _is_short(done.stdout + done.stderr)


def test_a_home_that_nobody_has_is_named(running: Shell) -> None:
    done = running.run("stats", "--cwd", "~nobody-of-this-name/x")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "names no home folder" in done.err


# No file can be written: as on a root that is read-only, or without any temporary folder.
_NO_FILES = 'ulimit -f 0; exec "$@"'


def test_the_doctor_goes_on_where_no_temporary_folder_can_be_made(running: Shell) -> None:
    """N30: its other lines are there, and this one names the fix."""
    done = _run(running, _NO_FILES, "doctor")
    assert b"no temporary folder can be made" in done.stdout
    assert b"set TMPDIR" in done.stdout
    assert b"ok    spool" in done.stdout
    assert _is_short(done.stderr)


@pytest.mark.parametrize("command", [["start"], ["serve"], *COMMANDS], ids=" ".join)
def test_where_no_file_can_be_written_a_command_says_one_line(
    shell: Shell, command: list[str]
) -> None:
    done = _run(shell, _NO_FILES, *command)
    assert _is_short(done.stderr)
    assert done.stderr.count(b"\n") <= 1 or command == ["start"]  # with the end of a log
    if command in (["start"], ["serve"]):
        assert done.returncode in (1, 2)
        assert done.stderr.startswith(b"live-memory: ")


def test_the_folder_for_git_is_never_made_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last place that is tried for temporary files is the current folder."""
    git(tmp_path, "init", "-q")
    for inside in (tmp_path, tmp_path / "tmp"):
        inside.mkdir(exist_ok=True)
        monkeypatch.setattr(tempfile, "tempdir", str(inside))
        with pytest.raises(OSError, match="nothing is made"):
            PrivateGitDir(str(tmp_path)).environment(locate(str(tmp_path)))
    assert sorted(each.name for each in tmp_path.iterdir()) == [".git", "tmp"]
