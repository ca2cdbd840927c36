"""A client that is gone takes its question along: nobody is asked anything for it any more (B3)."""

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.scripted_endpoint import Channel, Play, Received, Text, Tools, serving
from tests.support.server import RunningServer, running_server
from tests.support.slowness import slowness

_STALLED = Text("thinking", then="stall")
_LOOK = Tools([("grep", json.dumps({"pattern": "MAX_RETRIES"}))])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "limits.py").write_text("MAX_RETRIES = 7\n")
    return root


def _settings(channel: Channel) -> dict[str, str]:
    return {
        "LIVE_MEMORY_PROVIDER": "openai",
        "LIVE_MEMORY_BASE_URL": f"{channel.base_url}/v1",
        "LIVE_MEMORY_API_KEY": "sk-test-not-a-real-key-0001",
        "LIVE_MEMORY_MODEL": "gpt-5-mini",
    }


class _Client:
    """A session of the older protocol; each call has a connection of its own."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._headers = {
            **server.authorization,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        told = self._told({"id": 1, "method": "initialize", "params": hello})
        self._headers["Mcp-Session-Id"] = told["mcp-session-id"]
        self._told({"method": "notifications/initialized"})

    def call(self, question: str, cwd: Path) -> http.client.HTTPConnection:
        """Ask; the connection on which the reply would come."""
        arguments = {"question": question, "cwd": str(cwd)}
        params = {"name": "ask_live_memory", "arguments": arguments}
        return self._post({"id": 2, "method": "tools/call", "params": params})

    def _told(self, message: dict[str, object]) -> Mapping[str, str]:
        """The head of a reply that was read to its end."""
        with closing(self._post(message)) as connection:
            reply = connection.getresponse()
            reply.read()
            return {name.lower(): value for name, value in reply.getheaders()}

    def _post(self, message: dict[str, object]) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=30)
        body = json.dumps({"jsonrpc": "2.0", **message})
        connection.request("POST", "/mcp", body, self._headers)
        return connection


def _until(is_so: Callable[[], bool], *, within_s: float = 60.0) -> None:
    until = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)  # there is nothing to wait on in another process


def _script(first: int) -> Callable[[Received], Play]:
    """So many calls of tools, then silence."""
    left: Iterator[int] = iter(range(first))
    return lambda _: _LOOK if next(left, None) is not None else _STALLED


@pytest.mark.parametrize("looks", [0, 2])
def test_the_connection_to_the_model_closes_with_that_of_the_question(
    tmp_path: Path, project: Path, looks: int
) -> None:
    with serving() as endpoint:
        channel = endpoint.open(rules=[_script(looks)])
        with running_server(tmp_path / "server", **_settings(channel)) as server:
            connection = _Client(server).call("How many retries are allowed?", project)
            _until(lambda: len(channel.requests) == looks + 1)
            assert not channel.requests[-1].gone.wait(0.2)
            connection.close()
            assert channel.requests[-1].gone.wait(1.0 * slowness())
            assert server.request("POST", "/v1/stop", {"when": "idle"}).json["stopping"]
        assert len(channel.requests) == looks + 1


def test_questions_that_wait_for_their_turn_end_too(tmp_path: Path, project: Path) -> None:
    """Six questions of one workspace: some are at the model, the others wait for a turn."""
    with serving() as endpoint:
        channel = endpoint.open(rules=[_script(0)])
        with running_server(tmp_path / "server", **_settings(channel)) as server:
            asked = [_Client(server).call(f"How many retries? {n}", project) for n in range(6)]
            _until(lambda: len(channel.requests) >= 3)
            for connection in asked:
                connection.close()
            assert all(received.gone.wait(1.0 * slowness()) for received in channel.requests[:3])
            made = len(channel.requests)
            _until(
                lambda: (
                    server.request("POST", "/v1/stop", {"when": "idle"}).json["stopping"] is True
                )
            )
        assert len(channel.requests) == made


def test_another_client_s_question_goes_on(tmp_path: Path, project: Path) -> None:
    with serving() as endpoint:
        channel = endpoint.open(rules=[_script(0)])
        with running_server(tmp_path / "server", **_settings(channel)) as server:
            first = _Client(server).call("How many retries are allowed?", project)
            second = _Client(server).call("Where are retries limited?", project)
            _until(lambda: len(channel.requests) == 2)
            first.close()
            _until(lambda: any(one.gone.is_set() for one in channel.requests))
            assert sum(one.gone.wait(0.3) for one in channel.requests) == 1
            second.close()
