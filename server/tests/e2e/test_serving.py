"""`live-memory serve` as a process: where it listens, who may start it, how it ends."""

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from live_memory.web.identity import publish, published
from tests.support.server import (
    RunningServer,
    a_free_port,
    environment_for,
    running_server,
    started,
)

REFUSED, LOCKED = 2, 3
LINUX = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads /proc/net")
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "pay.py").write_text("def charge_card(amount):\n    return amount * 2\n")
    return root


def ended(process: subprocess.Popen[bytes], log: Path) -> tuple[int, str]:
    """The exit code of a start that is not to last, and what it said."""
    try:
        code = process.wait(20)
    finally:
        process.kill()
        process.wait()
    return code, log.read_text()


def listeners(port: int) -> set[str]:
    """The addresses on which somebody listens on this port, as the kernel shows them."""
    rows = [
        line.split()
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]
    ]
    return {
        row[1].split(":")[0]
        for row in rows
        if row[3] == "0A" and int(row[1].split(":")[1], 16) == port
    }


@LINUX
def test_the_default_listens_on_the_loopback_address_only(tmp_path: Path) -> None:
    """S05."""
    with running_server(tmp_path) as server:
        assert listeners(server.port) == {"0100007F"}


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "127.0.0.2", "192.0.2.1", "example.com", "", "127.0.0.1.evil.example"],
)
def test_any_other_address_is_refused_in_one_line(tmp_path: Path, host: str) -> None:
    """S05."""
    arguments = ("--host", host)
    code, said = ended(started(tmp_path, *arguments), tmp_path / "log")
    assert code == REFUSED
    assert said.count("\n") == 1
    assert f"host {host!r} is refused" in said
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "user", [os.geteuid(), pytest.param(65534, marks=AS_ROOT)], ids=["same", "other"]
)
@pytest.mark.parametrize("shared", [socket.SO_REUSEPORT, socket.SO_REUSEADDR])
def test_nobody_else_can_have_the_port_too(tmp_path: Path, shared: int, user: int) -> None:
    """S05: a second listener on the port is refused by the kernel, whoever asks and how."""
    code = (
        "import os, socket, sys\n"
        f"os.setuid({user})\n"
        "s = socket.socket()\n"
        f"s.setsockopt(socket.SOL_SOCKET, {shared}, 1)\n"
        "s.bind(('127.0.0.1', int(sys.argv[1])))\n"
        "s.listen()\n"
    )
    with running_server(tmp_path) as server:
        tried = subprocess.run(
            [sys.executable, "-c", code, str(server.port)], capture_output=True, check=False
        )
    assert b"Address already in use" in tried.stderr


def test_what_it_makes_is_for_its_owner_only(tmp_path: Path, project: Path) -> None:
    """Private, whatever the umask."""
    before = os.umask(0)
    try:
        with running_server(tmp_path) as server:
            assert "answer" in server.ask("Where is charge_card?", project)
            there = published(server.data_dir)
            assert there is not None
            assert (there.port, there.pid) == (server.port, server.pid)
    finally:
        os.umask(before)
    kept = [server.data_dir, *server.data_dir.rglob("*")]
    assert len(kept) > 4
    for entry in kept:
        expected = 0o700 if entry.is_dir() else 0o600
        assert stat.S_IMODE(entry.lstat().st_mode) == expected, entry


def test_a_bad_token_file_refuses_the_start_and_names_it(tmp_path: Path) -> None:
    """S03."""
    data = tmp_path / "data"
    data.mkdir(0o700)
    (data / "token").write_text("not-to-be-shown")
    (data / "token").chmod(0o644)
    code, said = ended(started(tmp_path), tmp_path / "log")
    assert code == REFUSED
    assert str(data / "token") in said
    assert "not-to-be-shown" not in said


def test_a_token_that_is_removed_still_opens_the_server_that_runs(tmp_path: Path) -> None:
    """S03: and the next start makes another one."""
    with running_server(tmp_path) as server:
        (server.data_dir / "token").unlink()
        assert server.request("GET", "/stats?cwd=/").status == 400
    with running_server(tmp_path) as again:
        assert again.token != server.token
        assert again.request("GET", "/stats?cwd=/").status == 400
        assert again.request("GET", "/stats", headers=server.authorization).status == 401


def test_a_second_start_finds_the_first(tmp_path: Path) -> None:
    """D15: it is no failure that the server runs."""
    with running_server(tmp_path) as server:
        again = started(tmp_path, LIVE_MEMORY_PORT=str(server.port))
        code, said = ended(again, tmp_path / "log")
        assert code == 0
        assert "already running" in said
        assert server.request("GET", "/health").status == 200
        assert published(server.data_dir) is not None


def test_an_older_server_that_still_runs_is_not_taken_for_this_one(tmp_path: Path) -> None:
    """D15: after an upgrade."""
    with running_server(tmp_path) as server:
        there = published(server.data_dir)
        assert there is not None
        publish(server.data_dir, replace(there, version="0.0.1"))
        again = started(tmp_path, LIVE_MEMORY_PORT=str(server.port))
        code, said = ended(again, tmp_path / "log")
        assert code == LOCKED
        assert "version 0.0.1 still runs" in said


def test_a_second_start_on_another_port_is_told_where_the_first_is(tmp_path: Path) -> None:
    """D15: a port that is set is a wish."""
    with running_server(tmp_path) as server:
        code, said = ended(started(tmp_path), tmp_path / "log")
        assert code == 0
        assert said == f"live-memory: already running on port {server.port}\n"


def test_a_folder_that_is_locked_by_something_else_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(0o700)
    code = (
        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX);"
        "print(flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "data" / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        code_, said = ended(started(tmp_path), tmp_path / "log")
        holder.communicate()
    assert code_ == LOCKED
    assert "locked" in said


def test_of_ten_starts_at_once_exactly_one_serves(tmp_path: Path) -> None:
    """D15."""
    port = str(a_free_port())
    processes = [started(tmp_path, LIVE_MEMORY_PORT=port) for _ in range(10)]
    with ThreadPoolExecutor(10) as pool:
        try:
            ends = as_completed([pool.submit(process.wait) for process in processes], timeout=60)
            assert [next(ends).result() for _ in range(9)] == [0] * 9
            (left,) = [process for process in processes if process.poll() is None]
            there = published(tmp_path / "data")
            assert there is not None
            assert there.pid == left.pid
        finally:
            for process in processes:
                process.kill()


@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_tidily(tmp_path: Path, project: Path, with_signal: int) -> None:
    """And right after its port opened, too: whatever it still imports."""
    with running_server(tmp_path) as server:
        assert server.stop(with_signal) == 0
        assert published(server.data_dir) is None
    with running_server(tmp_path) as server:
        server.ask("Where is charge_card?", project)
        assert server.stop(with_signal) == 0
        assert published(server.data_dir) is None
        said = server.log.read_text()
    assert "Traceback" not in said
    assert "charge_card" not in said
    assert server.token not in said


@pytest.mark.promise("nothing-lost")
def test_a_question_in_flight_is_answered_before_the_end(tmp_path: Path) -> None:
    """The answer is sent, and kept for the next start."""
    large = tmp_path / "large"
    large.mkdir()
    for number in range(1_500):
        (large / f"module_{number}.py").write_text(f"def handler_{number}():\n    return 1\n" * 20)
    question = {"question": "Where is handler_7?", "cwd": str(large)}
    with running_server(tmp_path) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        headers = server.authorization | {"Content-Type": "application/json"}
        connection.request("POST", "/v1/ask", json.dumps(question), headers)
        reply = connection.getresponse()
        assert b"progress" in reply.readline()
        server.process.send_signal(signal.SIGTERM)
        last = reply.read().splitlines()[-1]
        connection.close()
        assert server.process.wait(20) == 0
    assert json.loads(last)["answer"]["mode"] == "evidence"
    with running_server(tmp_path) as again:
        assert len(past_questions(again, large)) == 1


def past_questions(server: RunningServer, cwd: Path) -> list[str]:
    answers = server.request("GET", f"/v1/answers?cwd={cwd}").json["answers"]
    assert isinstance(answers, list)
    return [answer["question"] for answer in answers]


@pytest.mark.promise("nothing-lost")
def test_an_answer_that_was_saved_survives_a_kill(tmp_path: Path, project: Path) -> None:
    """S40's everyday case: no handler runs, and the next start is not refused."""
    with running_server(tmp_path) as server:
        server.ask("Where is charge_card?", project)
        wait_for(lambda: list(server.data_dir.glob("workspaces/*/snapshot.json")) != [])
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        assert published(server.data_dir) is not None
    with running_server(tmp_path, LIVE_MEMORY_PORT=str(server.port)) as again:
        assert past_questions(again, project) == ["Where is charge_card?"]
        assert again.token == server.token
        health = again.request("GET", "/health").json
    assert (health["status"], health["reasons"]) == ("ok", [])


def wait_for(condition: Callable[[], bool]) -> None:
    """Until it holds; what another process does gives us nothing to wait on."""
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


async def test_a_client_goes_on_with_a_server_that_was_started_again(
    tmp_path: Path, project: Path
) -> None:
    """The same client, the same tool, after a crash."""
    arguments = {"question": "Where is charge_card?", "cwd": str(project)}
    with running_server(tmp_path) as server:
        http_client = httpx2.AsyncClient(headers=dict(server.authorization), timeout=30)
        transport = streamable_http_client(f"{server.base_url}/mcp", http_client=http_client)
        async with http_client, Client(transport) as client:
            first = await client.call_tool("ask_live_memory", arguments)
            server.stop(signal.SIGKILL)
            with running_server(tmp_path, LIVE_MEMORY_PORT=str(server.port)):
                again = await client.call_tool("ask_live_memory", arguments)
    assert first.is_error is not True
    assert again.is_error is not True


def test_the_limits_are_published(tmp_path: Path) -> None:
    """Both spellings print the same, and start nothing."""
    environment = environment_for(tmp_path, port=1)
    printed = subprocess.run(
        [sys.executable, "-m", "live_memory", "serve", "--print-limits"],
        env=environment,
        capture_output=True,
        check=True,
    )
    limits = json.loads(printed.stdout)
    assert limits["body_bytes"] == 8 * 1024 * 1024
    assert limits["mcp_sessions"] == 256
    assert all(isinstance(value, int | float) for value in limits.values())
    assert not (tmp_path / "data").exists()


def test_a_setting_that_is_none_is_refused(tmp_path: Path) -> None:
    for name, value in (("LIVE_MEMORY_PORT", "70000"), ("LIVE_MEMORY_MAX_FILE_BYTES", "many")):
        environment = environment_for(tmp_path, port=1) | {name: value}
        done = subprocess.run(
            [sys.executable, "-m", "live_memory", "serve"],
            env=environment,
            capture_output=True,
            timeout=20,
            check=False,
        )
        assert done.returncode == REFUSED
        assert name.removeprefix("LIVE_MEMORY_").lower() in done.stderr.decode()
