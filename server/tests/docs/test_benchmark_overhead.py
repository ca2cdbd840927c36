"""The suite `overhead`: its parts measure what they say, and what cannot run is told."""

import http.client
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.harness import part, run

REPOSITORY = Path(__file__).parents[3]
FAKE_CLIENT = """#!{python}
import http.client, json, os, sys
host = os.environ["ANTHROPIC_BASE_URL"].removeprefix("http://")
assert os.environ["HOME"] != "{home}" and "--plugin-dir" not in sys.argv
calls, most = 0, int(os.environ["MOST"])
while calls < most:
    connection = http.client.HTTPConnection(host)
    connection.request("POST", "/v1/messages", json.dumps({{"tools": [{{"name": "Read"}}]}}))
    reply = json.loads(connection.getresponse().read())
    if reply["stop_reason"] == "end_turn":
        break
    calls += 1
    open(reply["content"][0]["input"]["file_path"]).read()
"""


@pytest.mark.real("git")
def test_a_dry_run_goes_through_every_part_and_tells_that_there_is_no_client(
    tmp_path: Path,
) -> None:
    """With real servers, a scripted model, a kill and restarts; the client has its own test."""
    arguments = ["overhead", "--dry-run", "--out", str(tmp_path), "--client", "/nonexistent/claude"]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "overhead.json").read_text())
    assert found["skipped"] == [
        "hooks in the client: no `claude` on PATH; name it with --client",
        "first request: no `claude` on PATH; name it with --client",
    ], done.stdout
    measured = {bar["figure"]: bar["measured"] for bar in found["bars"]}
    assert [figure for figure, value in measured.items() if value is None] == []
    for begins in ("cold start", "model libraries", "/notify", "ask, ", "16 callers", "restart"):
        assert any(figure.startswith(begins) for figure in measured), begins
    for ends in ("longest stall of /health, ms", "cold index, s", "resident once indexed, MB"):
        assert any(figure.endswith(ends) for figure in measured), ends
    assert measured["16 callers: answers kept, share"] == 1
    assert measured["changes of equal size and time seen by then, share"] == 1
    assert {row["part"] for row in found["rows"]} >= {"hook process", "ask", "restart", "weight"}
    assert str(tmp_path) not in (tmp_path / "overhead.json").read_text()


@pytest.mark.real("git")
def test_two_servers_take_turns_and_are_told_as_ratios(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -m live_memory "$@"\n')
    other.chmod(0o755)
    arguments = ["overhead", "--dry-run", "--beside", str(other), "--out", str(tmp_path)]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "overhead-paired.json").read_text())
    assert {row["server"] for row in found["rows"]} == {"ours", "beside"}
    assert len(found["bars"]) == 2
    names = {name for name, *_ in found["tables"][0]["rows"]}
    assert {"evidence: processor ms an answer", "16 callers: a second"} <= names
    assert str(tmp_path) not in (tmp_path / "overhead-paired.json").read_text()


def fake_client(folder: Path, *, most: int) -> tuple[Path, dict[str, str]]:
    program = folder / "claude"
    home = os.environ.get("HOME", "")
    program.write_text(FAKE_CLIENT.format(python=sys.executable, home=home))
    program.chmod(0o755)
    return program, {"MOST": str(most)}


def test_each_call_is_timed_up_to_the_request_that_brings_its_result(tmp_path: Path) -> None:
    program, around = fake_client(tmp_path, most=9)
    client = part("overhead.client").Client(program, home=tmp_path / "home", environment=around)
    paths = [str(program)] * 3
    gaps = client.read(tmp_path, paths, plugin=None)
    assert len(gaps) == 3
    assert min(gaps) > 0


def test_a_client_that_stops_early_is_told_and_not_counted(tmp_path: Path) -> None:
    module = part("overhead.client")
    program, around = fake_client(tmp_path, most=1)
    client = module.Client(program, home=tmp_path / "home", environment=around)
    with pytest.raises(module.ClientFailed, match="0 of 3 calls"):
        client.read(tmp_path, [str(program)] * 3, plugin=None)


@pytest.mark.real("claude")
def test_the_real_client_plays_the_script_with_our_hooks_and_starts_no_server(
    tmp_path: Path,
) -> None:
    module = part("overhead.client")
    plugin = module.hooks_only(REPOSITORY, tmp_path / "plugin")
    assert not (plugin / ".mcp.json").exists()
    (tmp_path / "project").mkdir()
    file = tmp_path / "project" / "a.py"
    file.write_text("LIMIT = 1\n")
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    client = module.Client(
        Path("claude"), home=tmp_path / "home", environment={"LIVE_MEMORY_DATA_DIR": str(data)}
    )
    gaps = client.read(tmp_path / "project", [str(file)] * 3, plugin=plugin)
    assert len(gaps) == 3
    # The hooks ran and found nobody: they wrote down what they had to say.
    assert "PostToolUse" in (data / "spool.jsonl").read_text()


def test_the_clients_own_small_requests_take_no_turn() -> None:
    messages = part("overhead.messages")
    with messages.reading(["/a"]) as reads:
        assert said_to(reads.port, {})["content"][0]["text"] == "ok"
        assert said_to(reads.port, {"tools": [{}]})["content"][0]["input"] == {"file_path": "/a"}
        assert said_to(reads.port, {"tools": [{}]})["stop_reason"] == "end_turn"
    assert len(reads.gaps_s) == 1


def said_to(port: int, request: dict[str, object]) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", "/v1/messages", json.dumps(request))
    reply: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return reply


@contextmanager
def replying(*statuses: int) -> Iterator[int]:
    """A server that replies in pieces, to each request on one connection with the next status."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            for status in statuses:
                while not connection.recv(65_536).endswith(b"}"):
                    pass
                connection.sendall(f"HTTP/1.1 {status} X\r\ncontent-length: 2\r\n".encode())
                connection.sendall(b"\r\n{")
                connection.sendall(b"}")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def test_traffic_counts_whole_replies_and_those_that_were_no_acceptance() -> None:
    traffic, server = part("overhead.traffic"), part("talk.server")
    with replying(202, 429, 202) as port:
        request = b"POST /notify HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
        flood = traffic.sent(server.Server("127.0.0.1", port, "t"), [request] * 3, 1)
    assert len(flood.each_s) == 3
    assert flood.refused == 1
    assert flood.processor_s is None


def test_a_question_about_an_invented_module_has_one_answer(tmp_path: Path) -> None:
    trees = part("overhead.trees")
    tree = trees.made(tmp_path / "tree", 3, is_short=True)
    assert (tree / trees.file_name(2)).read_text().splitlines()[2] == trees.value_line(2)
    assert trees.value_line(2).split()[0] in trees.question_of(2)
    again = trees.made(tmp_path / "again", 3, is_short=True)
    name = trees.file_name(1)
    assert (again / name).read_text() == (tree / name).read_text()


def test_bars_are_met_from_one_side_only_and_not_by_what_was_not_measured() -> None:
    report = part("report")
    assert [report.at_most("x", value, 5).is_met for value in (5, 5.1, None)] == [True, False, None]
    assert [report.at_least("x", value, 5).is_met for value in (5, 4.9, None)] == [
        True,
        False,
        None,
    ]


def test_a_process_is_weighed_where_it_is_known() -> None:
    process, server = part("overhead.process"), part("talk.server")
    ours = server.Server("127.0.0.1", 1, "t", os.getpid())
    assert process.megabytes(ours) > 1
    assert process.processor_s(ours) > 0
    elsewhere = server.Server("127.0.0.1", 1, "t")
    assert process.megabytes(elsewhere) is None
    assert process.processor_s(elsewhere) is None
