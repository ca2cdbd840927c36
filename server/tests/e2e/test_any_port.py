"""A port that somebody else has is left to him: the server takes another, and all find it there."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from live_memory.cli.connection import ProvenServer
from live_memory.cli.environment import FileLock
from live_memory.cli.lifecycle import elsewhere
from live_memory.client import discovery
from live_memory.settings import load
from live_memory.web.identity import RunningServer, ensure_token, publish, published, withdraw
from tests.cli.shell import Done, Shell, open_shell
from tests.support.server import a_free_port, running_server, started

# Without the host: what `doctor` says of it depends on the machine.
_NO_HOST = {"PATH": os.defpath}


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with open_shell(tmp_path / "here") as opened:
        yield opened


@contextmanager
def _stranger(port: int, reply: bytes = b"") -> Iterator[list[bytes]]:
    """Someone else's program; without a reply it accepts and never speaks."""
    heard: list[bytes] = []
    open_ones: list[socket.socket] = []

    def listen() -> None:
        while True:
            try:
                connection, _ = listener.accept()
                open_ones.append(connection)
                heard.append(connection.recv(65_536))
                connection.sendall(reply)
            except OSError:
                return

    with socket.create_server(("127.0.0.1", port)) as listener:
        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield heard
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for one in open_ones:
                one.close()


@contextmanager
def _other_server(folder: Path, port: int) -> Iterator[list[bytes]]:
    """As of another user, or of another data folder."""
    with running_server(folder, LIVE_MEMORY_PORT=str(port)):
        yield []


@contextmanager
def _held(by: str, port: int, folder: Path) -> Iterator[list[bytes]]:
    replies = {
        "a program that is silent": b"",
        "a web server": b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"status":"ok"}',
        "a mail server": b"220 mail\r\n",
    }
    found = _stranger(port, replies[by]) if by in replies else _other_server(folder, port)
    with found as heard:
        yield heard


@pytest.mark.parametrize(
    "by", ["a program that is silent", "a web server", "a mail server", "another data folder"]
)
def test_where_the_port_is_held_the_server_takes_another_and_everyone_finds_it(
    shell: Shell, tmp_path: Path, by: str
) -> None:
    """C03: the command line, and a hook that the doctor sends; nobody else is shown anything."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "retry.py").write_text("RETRY_LIMIT = 7\n")
    token = ensure_token(shell.data_dir).encode()
    with _held(by, shell.port, tmp_path / "other") as heard:
        first, second = shell.run("start", "--json"), shell.run("start")
        there = published(shell.data_dir)
        status = shell.run("status", "--json").json
        config = shell.run("config", "show", "--json")
        answer = shell.run("ask", "Where is RETRY_LIMIT?", "--cwd", str(project))
        hook = _check(shell.run("doctor", "--json", environ=_NO_HOST), "hook")
        stopped = shell.run("stop")

    assert (first.code, second.code, answer.code, stopped.code) == (0, 0, 0, 0)
    assert there is not None
    assert there.port != shell.port
    assert first.json["url"] == status["url"] == f"http://127.0.0.1:{there.port}"
    why = f"port {shell.port} cannot be had (address already in use)"
    said = f"{why}: the server has port {there.port}"
    assert (first.err, second.err) == (f"live-memory: {said}\n",) * 2
    assert _port_in_force(config) == there.port
    assert hook["verdict"] == "ok", hook
    assert not any(token in told or b"uthorization" in told for told in heard)
    assert published(shell.data_dir) is None


def test_whoever_runs_it_by_hand_is_told_once_where_it_is(tmp_path: Path) -> None:
    port = a_free_port()
    with _stranger(port):
        process = started(tmp_path, "--port", str(port))
        try:
            there = _once_published(tmp_path / "data")
        finally:
            process.terminate()
            process.wait(30)
    said = f"live-memory: port {port} cannot be had (address already in use): took port "
    assert (tmp_path / "log").read_text() == f"{said}{there.port}\n"


def test_the_next_start_takes_the_port_of_last_time(shell: Shell) -> None:
    """So that an address stays, also after a crash, and where no port is set."""
    with _stranger(shell.port):
        first = _url(shell.run("start", "--json"))
        shell.run("stop")
        second = _url(shell.run("start", "--json"))
        _kill(_published(shell))
        third = _url(shell.run("start", "--json"))
        shell.run("stop")
    unset = _url(shell.run("start", "--json", environ={"LIVE_MEMORY_PORT": ""}))
    shell.run("stop")
    wished = _url(shell.run("start", "--json"))

    assert first == second == third == unset
    assert wished == f"http://127.0.0.1:{shell.port}"


def test_what_a_dead_server_left_harms_nobody_whoever_has_its_port_now(shell: Shell) -> None:
    """A stranger there is not even asked."""
    shell.run("start")
    dead = _published(shell)
    _kill(dead)
    with _stranger(dead.port) as heard:
        status, stats, stop = (shell.run(command) for command in ("status", "stats", "stop"))
        asked = list(heard)
        again = shell.run("start", "--json")

    assert (status.code, stats.code, stop.code) == (5, 5, 0)
    assert asked == []
    assert again.code == 0
    assert _published(shell).port != dead.port


def test_two_data_folders_that_start_at_once_each_have_their_own(tmp_path: Path) -> None:
    """Ten times: one has the port, the other one any other."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    for _ in range(10):
        port = a_free_port()
        servers = [started(folder, LIVE_MEMORY_PORT=str(port)) for folder in folders]
        try:
            there = [_once_published(folder / "data") for folder in folders]
        finally:
            for server in servers:
                server.kill()
                server.wait()
        for folder in folders:
            withdraw(folder / "data")

        assert [one.pid for one in there] == [server.pid for server in servers]
        assert {one.port for one in there} > {port}


@pytest.mark.parametrize("is_set", [True, False])
def test_only_who_set_a_port_is_told_of_another(tmp_path: Path, is_set: bool) -> None:
    """Another user, or another data folder, has a server of its own without a word."""
    environ = {"LIVE_MEMORY_PORT": str(a_free_port())} if is_set else {}
    configuration = load({}, environ, tmp_path / "none.toml")
    server = ProvenServer("127.0.0.1", a_free_port(), 1, "t" * 43, "k" * 64)
    assert (elsewhere(configuration, server) is not None) == is_set


@pytest.mark.parametrize("port", [0, -1, 65_536, 10**9, True, "7711", None])
def test_a_port_that_is_none_is_no_place_of_a_server(tmp_path: Path, port: object) -> None:
    publish(tmp_path, RunningServer("127.0.0.1", 1, 1, "0"))
    file = tmp_path / "server.json"
    file.write_text(file.read_text().replace('"port": 1,', f'"port": {json.dumps(port)},'))
    assert published(tmp_path) is None


@pytest.mark.parametrize("port", [0, -1, 65_536, 10**9])
def test_nor_for_what_runs_beside_the_agent(tmp_path: Path, port: int) -> None:
    """There it would be an error that nobody expects of an address."""
    ensure_token(tmp_path)
    publish(tmp_path, RunningServer("127.0.0.1", port, 1, "0"))
    with pytest.raises(OSError, match="no place on this machine"):
        discovery.published(str(tmp_path))


@pytest.mark.parametrize("host", ["192.0.2.1", "0.0.0.0", "::", "", "example.com"])
def test_another_machine_is_no_place_of_a_server(tmp_path: Path, host: str) -> None:
    publish(tmp_path, RunningServer(host, 7711, 1, "0"))
    assert published(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("", None),
        ("1 7711\n", 7711),
        ("1 0\n", None),
        ("1 65536\n", None),
        ("1 -7\n", None),
        ("1", None),
        ("\0" * 40, None),
        ("9" * 64, None),
    ],
)
def test_of_what_a_lock_file_says_only_a_port_is_taken(
    tmp_path: Path, text: str, last: int | None
) -> None:
    (tmp_path / "lock").write_text(text)
    with FileLock(tmp_path / "lock") as lock:
        assert lock.last_port() == last


@pytest.mark.real("unshare")
def test_a_machine_without_ipv6_says_so_in_one_line_where_that_is_set(tmp_path: Path) -> None:
    process = started(tmp_path, "--host", "::1", within=("unshare", "--map-root-user", "--net"))
    assert process.wait(30) == 2
    assert (tmp_path / "log").read_text().startswith("live-memory: cannot listen on ::1: ")
    assert (tmp_path / "log").read_text().count("\n") == 1


def _kill(there: RunningServer) -> None:
    """End it without a word, and wait until its last thread let go of its port."""
    os.kill(there.pid, signal.SIGKILL)
    while True:
        try:
            socket.create_server((there.host, there.port)).close()
        except OSError:
            time.sleep(0.01)  # it is no child of ours
        else:
            return


def _published(shell: Shell) -> RunningServer:
    there = published(shell.data_dir)
    assert there is not None
    return there


def _once_published(data_dir: Path) -> RunningServer:
    while True:
        there = published(data_dir)
        if there is not None:
            return there
        time.sleep(0.01)  # another process's start gives nothing to wait on


def _url(done: Done) -> object:
    assert done.code == 0, done
    return done.json["url"]


def _port_in_force(config: Done) -> object:
    settings = config.json["settings"]
    assert isinstance(settings, dict)
    return settings["port"]["in_force"]


def _check(doctor: Done, name: str) -> Mapping[str, str]:
    checks = doctor.json["checks"]
    assert isinstance(checks, Sequence)
    (check,) = [check for check in checks if check["name"] == name]
    assert isinstance(check, dict)
    return check
