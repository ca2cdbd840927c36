"""A server that nobody looks after ends when nobody needs it; whatever somebody runs, stays."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

from live_memory.web.identity import is_ours, published
from tests.cli.shell import Shell, open_shell
from tests.support.server import running_server

_IDLE_S = 3


def test_launchers_that_are_killed_leave_one_server_that_ends_when_it_is_quiet(
    tmp_path: Path,
) -> None:
    """C02: ten sessions start at once, and every one of them dies."""
    with open_shell(tmp_path) as shell:
        assert shell.run("config", "set", f"idle_exit_s={_IDLE_S}").code == 0
        launchers = [shell.begin("start") for _ in range(10)]
        _wait_for(lambda: published(shell.data_dir) is not None)
        for launcher in launchers:
            launcher.send_signal(signal.SIGKILL)
            launcher.communicate()
        there = published(shell.data_dir)
        assert there is not None
        assert _servers_of(shell) == [there.pid]
        _wait_for(lambda: not _servers_of(shell))

        log = (shell.data_dir / "server.log").read_text()
        assert published(shell.data_dir) is None
    assert log == f"live-memory: nobody spoke for {_IDLE_S} s: ends until it is needed again\n"


def test_a_server_that_is_needed_again_is_started_again_with_what_it_knew(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("LIMIT = 3\n")
    with open_shell(tmp_path) as shell:
        quiet = {"LIVE_MEMORY_IDLE_EXIT_S": "6"}
        shell.run("start", environ=quiet)
        assert shell.run("ask", "Where is LIMIT?", "--cwd", str(project)).code == 0
        _wait_for(lambda: not _servers_of(shell))

        assert shell.run("start").code == 0
        stats = shell.run("stats", "--json", "--cwd", str(project)).json
    assert stats["questions"] == 1


def test_a_server_that_somebody_runs_does_not_end(tmp_path: Path) -> None:
    """`serve` and a service: not even where the setting is a second."""
    with running_server(tmp_path, LIVE_MEMORY_IDLE_EXIT_S="1") as server:
        said = published(server.data_dir)
        assert said is not None
        assert said.mode == "foreground"
        # Another one, beside it, which does end: so that much time has passed.
        other = tmp_path / "other"
        with open_shell(other) as shell:
            shell.run("start", environ={"LIVE_MEMORY_IDLE_EXIT_S": "2"})
            _wait_for(lambda: not _servers_of(shell))
        assert is_ours("127.0.0.1", server.port, token=server.token)


def test_the_limit_is_published(tmp_path: Path) -> None:
    with open_shell(tmp_path) as shell:
        assert shell.run("serve", "--print-limits").json["idle_exit_s"] == 7_200


def _servers_of(shell: Shell) -> list[int]:
    """Processes that serve this shell's data folder, as the machine lists them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        mine = f"--data-dir={shell.data_dir}".encode()
        if b"serve" in words and mine in words and state != "Z":
            found.append(int(process.name))
    return found


def _wait_for(condition: Callable[[], bool]) -> None:
    """Until it holds; what another process does gives us nothing to wait on."""
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)
