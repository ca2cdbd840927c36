"""A real server in its own process, with its own folders, for tests from outside."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from live_memory.web.identity import is_ours

__all__ = ["Reply", "RunningServer", "a_free_port", "environment_for", "running_server", "started"]

# Longer than any start takes while the whole suite runs beside it.
_START_S = 30.0
_STOP_S = 15.0


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP reply, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        """The body as a JSON object."""
        value = json.loads(self.body)
        assert isinstance(value, dict)
        return value

    @property
    def lines(self) -> list[dict[str, object]]:
        """The body as JSON objects, one a line."""
        return [json.loads(line) for line in self.body.splitlines()]


@dataclass(frozen=True, slots=True)
class RunningServer:
    """What a test needs to know of a server that answers."""

    port: int
    token: str
    data_dir: Path
    log: Path
    process: subprocess.Popen[bytes]
    environment: Mapping[str, str]

    @property
    def base_url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process."""
        return self.process.pid

    @property
    def authorization(self) -> dict[str, str]:
        """The header that opens every route."""
        return {"Authorization": f"Bearer {self.token}"}

    def request(
        self,
        method: str,
        target: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
    ) -> Reply:
        """Send one request with the token; a body that is not bytes goes as JSON."""
        sent = dict(self.authorization) | dict(headers or {})
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if data is not None and not any(name.lower() == "content-type" for name in sent):
            sent["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request(method, target, data, sent)
            reply = connection.getresponse()
            named = {name.lower(): value for name, value in reply.getheaders()}
            return Reply(reply.status, named, reply.read())
        finally:
            connection.close()

    def ask(self, question: str, cwd: Path | str, **more: object) -> dict[str, object]:
        """Ask over HTTP; the answer object, or the error object."""
        fields = {"question": question, "cwd": str(cwd), **more}
        return self.request("POST", "/v1/ask", fields).lines[-1]

    def raw(self, data: bytes, *, timeout_s: float = 10.0) -> bytes:
        """Send bytes as they are; everything that comes back until the server closes."""
        received = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout_s) as connection:
            try:
                connection.sendall(data)
                while chunk := connection.recv(65_536):
                    received += chunk
            except ConnectionError:
                pass
        return received

    def stop(self, with_signal: int = signal.SIGTERM) -> int:
        """End it; the exit code."""
        self.process.send_signal(with_signal)
        return self.process.wait(_STOP_S)


def a_free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port


def environment_for(folder: Path, *, port: int, **more: str) -> dict[str, str]:
    """The environment of a server, or of a command, that meets nothing of the machine's own."""
    foreign = ("LIVE_MEMORY", "ANTHROPIC", "OPENAI", "DEEPSEEK", "CLAUDE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    for name in ("home", "config"):
        (folder / name).mkdir(exist_ok=True, parents=True)
    ours = {
        "HOME": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "LIVE_MEMORY_DATA_DIR": str(folder / "data"),
        "LIVE_MEMORY_PORT": str(port),
        "PYTHONWARNINGS": "error",
    }
    return kept | ours | more


def started(
    folder: Path, *arguments: str, within: Sequence[str] = (), **more: str
) -> subprocess.Popen[bytes]:
    """A server process that may or may not come up; its log is `folder/log`.

    `within` is a command that becomes the one that follows it, as `env` does.
    """
    port = int(more.get("LIVE_MEMORY_PORT") or a_free_port())
    environment = environment_for(folder, port=port, **more)
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [*within, sys.executable, "-m", "live_memory", "serve", *arguments],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


@contextmanager
def running_server(
    folder: Path, *, within: Sequence[str] = (), **more: str
) -> Iterator[RunningServer]:
    """A server that answers; it is ended afterwards, whatever happened."""
    port = int(more.pop("LIVE_MEMORY_PORT", 0)) or a_free_port()
    folder.mkdir(exist_ok=True, parents=True)
    process = started(folder, within=within, LIVE_MEMORY_PORT=str(port), **more)
    try:
        environment = environment_for(folder, port=port, **more)
        data_dir = Path(environment["LIVE_MEMORY_DATA_DIR"])
        token = _token_once_it_answers(process, data_dir, port=port, log=folder / "log")
        yield RunningServer(port, token, data_dir, folder / "log", process, environment)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


def _token_once_it_answers(
    process: subprocess.Popen[bytes], data_dir: Path, *, port: int, log: Path
) -> str:
    until, file = time.monotonic() + _START_S, data_dir / "token"
    while time.monotonic() < until and process.poll() is None:
        if file.exists():
            token = file.read_text(encoding="ascii")
            if token and is_ours("127.0.0.1", port, token=token):
                return token
        time.sleep(0.02)  # there is nothing to wait on in another process's start
    raise AssertionError(f"no server came up: exit {process.poll()}\n{log.read_text()}")
