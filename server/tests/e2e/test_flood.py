"""Ten thousand events at once: everybody is answered, and what memory holds is true (S58)."""

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.learning import entries, figure, make_project, tool, wait_for
from tests.support.server import RunningServer, running_server
from tests.support.slowness import slowness

_PATHS, _VERSIONS, _CONNECTIONS, _ASKS = 200, 50, 8, 4
# A process of its own, so that what it measures is the server and not this test's threads.
_POLL = """
import http.client, json, sys, threading, time
done, times = threading.Event(), []
threading.Thread(target=lambda: (sys.stdin.read(), done.set())).start()
while not done.is_set():
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    times.append(time.monotonic() - began)
    connection.close()
    done.wait(0.05)
print(json.dumps(times))
"""


@contextmanager
def polled(server: RunningServer) -> Iterator[list[float]]:
    """How long each /health took, 20 times a second, once this is over."""
    times: list[float] = []
    with subprocess.Popen(
        [sys.executable, "-c", _POLL, str(server.port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        yield times
        said, _ = process.communicate(timeout=60)
    times += json.loads(said)


def resident_kb(server: RunningServer) -> int:
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def percentile(times: list[float], percent: int) -> float:
    return sorted(times)[len(times) * percent // 100]


def processor_s(server: RunningServer) -> float:
    """Seconds of processor time that the server took so far."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.promise("never-falsely-fresh")
def test_a_flood_of_events_is_answered_at_once_and_leaves_the_last_bytes(tmp_path: Path) -> None:
    project = make_project(tmp_path.resolve() / "project", a__py="RETRY_LIMIT = 3\n")
    names = [f"f{number}.py" for number in range(_PATHS)]
    statuses: list[int] = []
    waits: list[float] = []
    answers: list[dict[str, object]] = []

    def send(server: RunningServer, mine: list[str]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        headers = {**server.authorization, "Content-Type": "application/json"}
        for version in range(_VERSIONS):
            for name in mine:
                (project / name).write_text(f"VALUE = {version}\n")
                event = tool(project, "Write", file_path=f"{project}/{name}")
                began = time.monotonic()
                connection.request("POST", "/notify", json.dumps(event), headers)
                reply = connection.getresponse()
                reply.read()
                waits.append(time.monotonic() - began)
                statuses.append(reply.status)
        connection.close()

    def ask(server: RunningServer) -> None:
        answers.append(server.ask("Where is RETRY_LIMIT set?", project))

    with running_server(tmp_path / "server") as server:
        server.ask("Where is RETRY_LIMIT set?", project)
        before_kb, before_s, slow = resident_kb(server), processor_s(server), slowness()
        with polled(server) as health:
            askers = [threading.Thread(target=ask, args=(server,)) for _ in range(_ASKS)]
            senders = [
                threading.Thread(target=send, args=(server, names[n::_CONNECTIONS]))
                for n in range(_CONNECTIONS)
            ]
            for thread in (*askers, *senders):
                thread.start()
            for thread in (*senders, *askers):
                thread.join()
        slow = max(slow, slowness())
        cpu_s = processor_s(server) - before_s
        wait_for(server, project, "known_files", _PATHS)
        rose_kb = resident_kb(server) - before_kb
        asked = server.ask("Which VALUE does f7.py set?", project)
        shown = {e["path"]: e["sha"] for e in reversed(entries(server, project)) if "sha" in e}
        dropped = figure(server, project, "dropped_events")

    assert len(statuses) == _PATHS * _VERSIONS
    assert set(statuses) <= {202, 429, 503}
    refused = len(statuses) - statuses.count(202)
    assert (refused, dropped) == (0, 0)  # fewer paths than may wait: nothing had to be lost
    # Measured 6 to 13 s beside other tests, learning and four questions included.
    assert cpu_s < 20 * slow
    assert percentile(waits, 99) < 0.25 * slow
    assert all(isinstance(answer["answer"], dict) for answer in answers)
    assert len(answers) == _ASKS
    assert "VALUE = 49" in json.dumps(asked)
    assert len({sha for path, sha in shown.items() if str(path).startswith("f")}) == 1
    assert rose_kb < 64 * 1024
    assert percentile(health, 99) < 0.25 * slow
