"""The same question over MCP, as any client asks it: one tool call, one text block."""

import http.client
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path

from bench.scores import Place
from bench.talk.server import Answer, Server, ServerFailed

__all__ = ["ask_mcp", "greet"]

_VERSION = "2025-11-25"
_SOURCE = re.compile(r"^- (?P<path>.+?):(?P<start>\d+)(?:-(?P<end>\d+))? \((?P<status>[^)]*)\)$")
_CITED = re.compile(r"(?P<path>[\w.@+-]+(?:/[\w.@+-]+)*\.\w+):(?P<start>\d+)(?:-(?P<end>\d+))?")
_STATUS = {"verified": "verified", "line corrected": "corrected", "not found there": "unsupported"}


def ask_mcp(server: Server, question: str, tree: Path, *, timeout_s: float = 600.0) -> Answer:
    """Ask with the tool `ask_live_memory`.

    Raises:
        ServerFailed: there was no answer.
    """
    session = greet(server)
    arguments = {"question": question, "cwd": str(tree), "timeout": timeout_s}
    began = time.perf_counter()
    result = session.call("tools/call", {"name": "ask_live_memory", "arguments": arguments})
    elapsed = time.perf_counter() - began
    content = result.get("content")
    text = "".join(part.get("text", "") for part in content) if isinstance(content, list) else ""
    if result.get("isError") or not text:
        raise ServerFailed(f"no answer: {text[:300]}")
    return parsed(text, elapsed)


def greet(server: Server) -> "_Session":
    """Open a session, as any client does first.

    Raises:
        ServerFailed: there was no reply.
    """
    session = _Session(server)
    session.call(
        "initialize",
        {
            "protocolVersion": _VERSION,
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    )
    session.tell("notifications/initialized")
    return session


def parsed(text: str, elapsed_s: float) -> Answer:
    """Citations from the list of sources; without one, from the text in order."""
    found = [match for line in text.splitlines() if (match := _SOURCE.match(line))]
    found = found or list(_CITED.finditer(text))
    places = tuple(
        Place(one["path"], int(one["start"]), int(one["end"] or one["start"])) for one in found
    )
    given = (one.groupdict().get("status") or "" for one in found)
    return Answer(text, places, tuple(_STATUS.get(one, "unknown") for one in given), elapsed_s)


class _Session:
    """JSON-RPC by POST; a reply is one JSON object or an event stream that holds it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _VERSION,
        }
        self._number = 0

    def call(self, method: str, parameters: Mapping[str, object]) -> dict[str, object]:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters}
        status, headers, body = self._server.request("POST", "/mcp", message, headers=self._headers)
        if "mcp-session-id" in headers:
            self._headers["Mcp-Session-Id"] = headers["mcp-session-id"]
        for value in _messages(headers.get("content-type", ""), body):
            if value.get("id") == self._number and isinstance(value.get("result"), dict):
                result: dict[str, object] = value["result"]  # type: ignore[assignment]  # just looked
                return result
        raise ServerFailed(f"{method}: {status} {body[:300]!r}")

    def leave(self) -> None:
        """End the session, as a client does that takes its leave."""
        self._server.request("DELETE", "/mcp", headers=self._headers)

    def listen(self) -> http.client.HTTPConnection:
        """A stream for what the server has to say; open until it is closed."""
        connection = http.client.HTTPConnection(self._server.host, self._server.port, timeout=30)
        sent = {**self._headers, "Authorization": f"Bearer {self._server.token}"}
        connection.request("GET", "/mcp", headers={**sent, "Accept": "text/event-stream"})
        connection.getresponse()
        return connection

    def tell(self, method: str) -> None:
        message = {"jsonrpc": "2.0", "method": method}
        self._server.request("POST", "/mcp", message, headers=self._headers)


def _messages(kind: str, body: bytes) -> list[dict[str, object]]:
    if "event-stream" not in kind:
        values = [json.loads(body)] if body.strip() else []
    else:
        lines = body.decode("utf-8").splitlines()
        data = (line[5:].strip() for line in lines if line.startswith("data:"))
        values = [json.loads(one) for one in data if one]
    return [value for value in values if isinstance(value, dict)]
