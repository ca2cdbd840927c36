"""Two versions on one machine: the newer one serves, after at most one change (C07).

The older and the newer server are this one under another number: what it calls itself is all that
the other side knows of it.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from live_memory import __version__
from live_memory.cli.launcher import is_older
from live_memory.web.identity import is_ours, published
from tests.cli.shell import Done, Shell, open_shell

_AS = (
    "import live_memory; live_memory.__version__ = {!r}; "
    "from live_memory.cli.main import main; main()"
)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with open_shell(tmp_path) as opened:
        yield opened


def test_a_newer_plugin_takes_over_from_an_older_server_once(shell: Shell) -> None:
    with _server(shell, "0.0.9") as older:
        first, second = _started(shell), _started(shell)
        assert older.wait(20) == 0
        there = published(shell.data_dir)

        assert there is not None
        assert (there.version, there.mode) == (__version__, "background")
        assert first.json == second.json != {}
        assert first.err == f"live-memory: {__version__} takes over from 0.0.9\n"
        assert second.err == ""


def test_sessions_that_start_at_once_change_the_server_once(shell: Shell) -> None:
    with _server(shell, "0.0.9"):
        starts = [shell.begin("start") for _ in range(5)]
        said = [start.communicate(timeout=60) for start in starts]

        assert [start.returncode for start in starts] == [0] * 5, said
        assert sum("takes over" in err for _, err in said) == 1
        assert all(f"Live Memory {__version__} runs" in out for out, _ in said)


@pytest.mark.parametrize("version", ["99.0", "99.1.0.dev3", "unknown", "0.0.9rc1"])
def test_a_newer_server_or_one_of_an_unknown_version_is_used_as_it_is(
    shell: Shell, version: str
) -> None:
    with _server(shell, version) as server:
        done = _started(shell)

        assert done.json != {}
        assert done.err == ""
        assert server.poll() is None


@pytest.mark.parametrize("mode", ["foreground", "service"])
def test_a_server_that_somebody_looks_after_is_used_whatever_its_version(
    shell: Shell, mode: str
) -> None:
    with _server(shell, "0.0.9", mode=mode) as server:
        assert _started(shell).json != {}
        assert server.poll() is None
        assert f"the server is 0.0.9, this command is {__version__}" in shell.run("doctor").out


def test_a_service_takes_the_place_of_what_a_session_started(shell: Shell) -> None:
    shell.run("start")
    before = published(shell.data_dir)
    with _server(shell, __version__, mode="service") as service:
        there = published(shell.data_dir)
        assert before is not None
        assert there is not None
        assert (there.pid, there.mode) == (service.pid, "service")
        assert there.pid != before.pid


def test_a_restart_waits_for_the_server_that_is_still_ending(shell: Shell) -> None:
    """S49: the lock is free a moment after the port."""
    for _ in range(3):
        assert shell.run("start").code == 0
        assert shell.run("stop").code == 0
    assert published(shell.data_dir) is None


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        ("0.1.0", "0.2.0", True),
        ("0.9.0", "0.10.0", True),
        ("0.1", "0.1.0", False),
        ("0.1", "0.1.1", True),
        ("1.0.0", "0.9.9", False),
        ("0.1.0rc1", "0.1.0", False),
        ("", "0.1.0", False),
        ("0.1.0", "0.2.0.dev1", False),
        ("1" * 5_000, "2", False),
    ],
)
def test_only_plain_releases_are_compared(theirs: str, ours: str, expected: bool) -> None:
    assert is_older(theirs, ours) is expected


def _started(shell: Shell) -> Done:
    return shell.run("start", "--json")


@contextmanager
def _server(
    shell: Shell, version: str, *, mode: str = "background"
) -> Iterator["subprocess.Popen[bytes]"]:
    """A server that calls itself by another version."""
    process = subprocess.Popen(
        [sys.executable, "-c", _AS.format(version), "serve", "--mode", mode],
        env=dict(shell.environ),
        cwd=shell.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while not _is_up(shell, process.pid):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.05)  # another process's start gives nothing to wait on
        yield process
    finally:
        process.terminate()
        process.wait(20)


def _is_up(shell: Shell, pid: int) -> bool:
    there, token = published(shell.data_dir), shell.data_dir / "token"
    if there is None or there.pid != pid:
        return False
    return is_ours("127.0.0.1", shell.port, token=token.read_text())
