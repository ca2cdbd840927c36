"""A server under test: our own isolated one, or one that already runs; asked over HTTP."""

import http.client
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

from bench.scores import Place

__all__ = ["Answer", "Server", "ServerFailed", "ask_http", "existing", "running"]

_START_S, _STOP_S = 30.0, 20.0
# Starts are timed too.
_LOOK_EVERY_S = 0.005
# A first question on a large repository waits for its index.
_LONGEST_S = 900.0
_FOREIGN = ("LIVE_MEMORY", "ANTHROPIC", "OPENAI", "DEEPSEEK", "CLAUDE")


class ServerFailed(Exception):
    """The server did not start, or gave no usable reply."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the text as a client reads it, and its citations in order.

    `body` is the text without sources and last line, where a server tells them apart.
    """

    text: str
    places: tuple[Place, ...]
    statuses: tuple[str, ...]
    elapsed_s: float
    mode: str = "unknown"
    notice: str | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    body: str | None = None
    grounding: str | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """Where it is and what opens it."""

    host: str
    port: int
    token: str = field(repr=False)
    pid: int | None = None

    def request(
        self,
        method: str,
        target: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send one request; status, headers and body of the reply."""
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            sent["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_LONGEST_S)
        try:
            connection.request(method, target, data, sent)
            reply = connection.getresponse()
            named = {name.lower(): value for name, value in reply.getheaders()}
            return reply.status, named, reply.read()
        finally:
            connection.close()

    def json(self, method: str, target: str, body: object = None) -> dict[str, object] | None:
        """The reply as a JSON object; nothing where the server has no such route.

        Raises:
            ServerFailed: it refused.
        """
        status, _, received = self.request(method, target, body)
        if status in {404, 405}:
            return None
        if status >= 400:
            raise ServerFailed(f"{method} {target.partition('?')[0]}: {status} {received[:300]!r}")
        value = json.loads(received)
        return value if isinstance(value, dict) else None

    def clear(self, tree: Path) -> None:
        """Forget the workspace."""
        self.json("POST", "/clear", {"cwd": str(tree)})

    def timeline(self, tree: Path) -> list[dict[str, object]] | None:
        """What memory holds, newest first; nothing where the server does not tell."""
        found = self.json("GET", f"/v1/timeline?cwd={quote(str(tree))}")
        entries = None if found is None else found.get("entries")
        return entries if isinstance(entries, list) else None

    def notify(self, events: Sequence[Mapping[str, object]]) -> bool:
        """Send hook payloads; whether the server takes such."""
        for start in range(0, len(events), 100):
            part = {"events": list(events[start : start + 100])}
            if self.json("POST", "/notify", part) is None:
                return False
        return True


def ask_http(server: Server, question: str, tree: Path, *, timeout_s: float = 600.0) -> Answer:
    """Ask by the route that replies with JSON lines.

    Raises:
        ServerFailed: there was no answer.
    """
    body = {"question": question, "cwd": str(tree), "timeout": timeout_s}
    began = time.perf_counter()
    status, _, received = server.request("POST", "/v1/ask", body)
    elapsed = time.perf_counter() - began
    last = json.loads(received.splitlines()[-1])
    answer = last.get("answer")
    if status != 200 or not isinstance(answer, dict):
        raise ServerFailed(f"no answer: {status} {json.dumps(last)[:300]}")
    cited = answer["citations"]
    return Answer(
        str(last.get("text") or answer["answer"]),
        tuple(Place(one["path"], one["start"], one["end"]) for one in cited),
        tuple(one["status"] for one in cited),
        elapsed,
        mode=str(answer.get("mode")),
        notice=answer.get("notice"),
        usage=answer.get("usage") or {},
        body=answer.get("answer"),
        grounding=answer.get("grounding"),
    )


@contextmanager
def running(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> Iterator[Server]:
    """Start a server that meets nothing of the machine's own; end it afterwards.

    Raises:
        ServerFailed: it did not come up.
    """
    for name in ("home", "config"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    port = _free_port()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    ours = {
        "HOME": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "LIVE_MEMORY_DATA_DIR": str(folder / "data"),
        "LIVE_MEMORY_PORT": str(port),
    }
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [*command, "serve"],
            env={**kept, **ours, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield _once_it_answers(process, port, folder)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def existing(url: str, token_file: Path) -> Server:
    """A server that already runs."""
    parts = urlsplit(url)
    return Server(parts.hostname or "127.0.0.1", parts.port or 7711, token_file.read_text().strip())


def _once_it_answers(process: subprocess.Popen[bytes], port: int, folder: Path) -> Server:
    until, token = time.monotonic() + _START_S, folder / "data" / "token"
    while time.monotonic() < until and process.poll() is None:
        if token.is_file() and (shown := token.read_text().strip()):
            server = Server("127.0.0.1", port, shown, process.pid)
            try:
                if server.request("GET", "/health")[0] == 200:
                    return server
            except OSError:
                pass
        time.sleep(_LOOK_EVERY_S)
    said = (folder / "log").read_text(errors="replace")[-600:]
    raise ServerFailed(f"the server did not come up: {said}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
