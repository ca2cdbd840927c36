"""Neither output that nobody takes nor a crowd at the door stops the service (B5, B6)."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live_memory.web.identity import is_ours
from tests.support.server import RunningServer, a_free_port, environment_for, running_server
from tests.support.slowness import slowness

_SERVE = [sys.executable, "-m", "live_memory", "serve", "--log-level", "debug"]


@contextlib.contextmanager
def _serving(
    folder: Path, *, stderr: int, within: list[str] | None = None
) -> Iterator[RunningServer]:
    """A server whose standard error is this descriptor."""
    port = a_free_port()
    environment = environment_for(folder, port=port)
    process = subprocess.Popen(
        [*(within or []), *_SERVE],
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
    )
    data = folder / "data"
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(OSError):
                token = (data / "token").read_text(encoding="ascii")
                if token and is_ours("127.0.0.1", port, token=token):
                    yield RunningServer(port, token, data, folder / "log", process, environment)
                    return
            time.sleep(0.02)  # there is nothing to wait on in another process's start
        raise AssertionError(f"no server came up: {process.poll()}")
    finally:
        process.kill()
        process.wait()


def _project(folder: Path) -> Path:
    project = folder / "project"
    project.mkdir()
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    return project


def _fill(writing: int) -> None:
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"x")
    os.set_blocking(writing, True)


@pytest.mark.promise("deadline-kept")
def test_a_full_pipe_costs_lines_and_no_answers(tmp_path: Path) -> None:
    project = _project(tmp_path)
    reading, writing = os.pipe()
    _fill(writing)
    with _serving(tmp_path, stderr=writing) as server:
        for number in range(3):
            assert "MAX_RETRIES = 7" in str(
                server.ask(f"Where is MAX_RETRIES set? {number}", project)
            )
        os.set_blocking(reading, False)
        with contextlib.suppress(BlockingIOError):
            while os.read(reading, 65_536):
                pass
        server.ask("Where is MAX_RETRIES set, then?", project)
        said = os.read(reading, 65_536)
        assert b'"LogLinesLost"' in said
        assert b'"QuestionFinished"' in said
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("closed", ["2>&-", "0<&- 1>&- 2>&-"])
def test_a_server_without_standard_error_answers(tmp_path: Path, closed: str) -> None:
    project = _project(tmp_path)
    within = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    with _serving(tmp_path, stderr=subprocess.DEVNULL, within=within) as server:
        for _ in range(2):
            assert "MAX_RETRIES = 7" in str(server.ask("Where is MAX_RETRIES set?", project))
    data = [p for p in (tmp_path / "data").rglob("*") if p.is_file()]
    assert not any(b"QuestionFinished" in path.read_bytes() for path in data)


def test_a_reader_that_goes_away_stops_nothing(tmp_path: Path) -> None:
    project = _project(tmp_path)
    reading, writing = os.pipe()
    with _serving(tmp_path, stderr=writing) as server:
        os.close(reading)
        for _ in range(2):
            assert "MAX_RETRIES = 7" in str(server.ask("Where is MAX_RETRIES set?", project))
    os.close(writing)


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize("is_silent", [True, False])
def test_a_crowd_beyond_the_descriptors_costs_little_and_is_said_once(
    tmp_path: Path, is_silent: bool
) -> None:
    """Who says nothing makes room; who is heard, and sends no body, is waited for."""
    few = ("sh", "-c", 'ulimit -Sn 64 && ulimit -Hn 64 && exec "$@"', "sh")
    project = _project(tmp_path)
    with running_server(tmp_path, within=few) as server:
        server.ask("Where is MAX_RETRIES set?", project)
        server.request("GET", "/mcp")  # the last of what is imported late
        head = f"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        for name, value in server.authorization.items():
            head += f"{name}: {value}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 90\r\n\r\n"
        before = _processor_s(server.pid)
        crowd = [socket.socket() for _ in range(100)]
        for client in crowd:
            client.settimeout(5)
            client.connect(("127.0.0.1", server.port))
            if not is_silent:
                client.sendall(head.encode())
        time.sleep(2)  # as long as the crowd stands at the door
        spent = _processor_s(server.pid) - before
        for client in crowd:
            client.close()
        assert "MAX_RETRIES = 7" in str(server.ask("Where is MAX_RETRIES set, now?", project))
        assert server.request("GET", "/health").json["status"] == "ok"
    log = (tmp_path / "log").read_text()
    assert spent < 0.6 * slowness()
    assert log.count("no descriptor is left") == (0 if is_silent else 1)
    assert "Traceback" not in log
