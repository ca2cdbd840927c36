"""MCP over standard input and output, for clients that start their servers themselves.

`live-memory mcp`. It says at once what there is to ask, and holds nothing: each call goes to this
user's one server as a request of its own, wherever that listens by then, on a connection where the
server has proved itself. A server that is not there is started, or installed, while the call waits
a moment; else the call's result says in a line what is going on.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

# Run by its path, it finds the rest of this package by its own folder.
if not __package__:
    sys.path.append(__file__.rpartition("/live_memory/")[0])

from live_memory import __version__
from live_memory.client.discovery import configured, data_folder, proved, published
from live_memory.client.passing_on import INDEXES, kept

if TYPE_CHECKING:
    import http.client
    import socket
    from collections.abc import Iterator

__all__ = ["main"]

Fields = dict[str, Any]

# Newest first. The protocol after these has no roots, and whoever speaks it falls back to them.
VERSIONS = ("2025-11-25", "2025-06-18", "2024-11-05")
# By that one a request to our server stands alone: no session of ours is ever stale.
FORWARDED = "2026-07-28"
LONGEST_MESSAGE, MOST_CALLS = 1024 * 1024, 64
# Clients wait a minute and more for a call; an installation takes longer.
WAIT_S, LOOK_EVERY_S, START_AGAIN_S = 20.0, 0.1, 2.0
# A server that is busy proves itself within this; one that answers says something every 15 s.
PROOF_S, SILENT_S = 3.0, 45.0
ROOTS_S = 1.0
NOT_JSON, NO_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602
# What a stranger, or nobody, comes to.
UNPROVED = (OSError, ValueError, LookupError, TypeError, AttributeError)


class NotThere(Exception):
    """There is no server to ask; the text says why, and what to do."""


class Cancelled(Exception):
    """Nobody waits for the reply."""


class Cut(Exception):
    """The server went away before its reply was whole."""


class Starter:
    """Runs `live-memory start` for whoever waits, one at a time, and keeps what it said."""

    def __init__(self) -> None:
        self._words = [sys.executable, "-I", "-m", "live_memory", "start"]
        self._environ = kept(os.environ)
        if not __package__:
            plugin = os.path.abspath(__file__).rpartition("/server/live_memory/")[0]
            self._words = ["/bin/sh", os.path.join(plugin, "bin/live-memory"), "start"]
            self._environ = {**kept(os.environ, INDEXES), "LIVE_MEMORY_PLUGIN_ROOT": plugin}
        if "LIVE_MEMORY_DATA_DIR" in os.environ:
            self._environ["LIVE_MEMORY_DATA_DIR"] = os.path.abspath(data_folder())
        self._lock, self._is_running, self._again_at = threading.Lock(), False, 0.0
        self.said, self.failed_at = "Live Memory is being started", 0.0

    def begin(self) -> None:
        """Start the server unless that is under way, or was tried just now."""
        with self._lock:
            if self._is_running or time.monotonic() < self._again_at:
                return
            self._is_running = True
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        import subprocess

        try:
            done = subprocess.run(  # noqa: S603  (our own command; it outlives our session)
                self._words,
                cwd="/",
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
                check=False,
            )
            code, said = done.returncode, done.stderr.decode("utf-8", "replace").strip()
        except OSError as problem:
            code, said = 1, str(problem)
        if code:
            self.said = said.partition("\n")[0].replace("live-memory: ", "", 1).rstrip(".")
            if "being installed" not in said:
                self.failed_at = time.monotonic()
        with self._lock:
            self._is_running, self._again_at = False, time.monotonic() + START_AGAIN_S


class Call:
    """One call of a tool, from the client's request to its reply; it has a thread of its own."""

    def __init__(self, bridge: Bridge, identifier: str | int, params: Fields) -> None:
        self._bridge, self._id, self._params = bridge, identifier, params
        meta = params.get("_meta")
        self._meta: Fields = meta if isinstance(meta, dict) else {}
        self._cancelled = threading.Event()
        self._connection: socket.socket | None = None
        self._steps = 0

    def cancel(self) -> None:
        """Let the server know by closing the connection, which is the call."""
        import socket

        self._cancelled.set()
        try:
            if self._connection is not None:
                self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def run(self) -> None:
        """Reply, whatever happens, unless nobody waits for it."""
        reply: Fields = {"result": text("Live Memory failed; work without it", is_error=True)}
        try:
            reply = self._asked_twice()
        except NotThere as why:
            reply = {"result": text(str(why))}
        except Cancelled:
            pass
        finally:
            self._bridge.calls.pop(self._id, None)
            if not self._cancelled.is_set():
                send({"id": self._id, **reply})

    def _asked_twice(self) -> Fields:
        """The reply; asked for again where the server is replaced meanwhile: it changes nothing.

        Raises:
            NotThere, Cancelled: there is none.
        """
        for _ in range(2):
            connection, key = self._connected()
            try:
                return self._asked(connection, key)
            except TimeoutError:
                break
            except Cut:
                self._check()
        raise NotThere(
            "Live Memory does not answer: work without it; `live-memory doctor` says what is wrong"
        )

    def _connected(self) -> tuple[http.client.HTTPConnection, str]:
        """A connection to the server, once it is there, and what opens it.

        Raises:
            NotThere, Cancelled: it is not.
        """
        starter, began = self._bridge.starter, time.monotonic()
        said = None
        while True:
            try:
                return connected(self._bridge.folder)
            except UNPROVED:
                starter.begin()
            self._cancelled.wait(LOOK_EVERY_S)
            self._check()
            if starter.failed_at > began:
                raise NotThere("Live Memory is not there: %s. Work without it" % starter.said)
            if time.monotonic() > began + WAIT_S:
                raise NotThere("%s; work without it for now and ask again later" % starter.said)
            if starter.said != said:
                said = starter.said
                self._progress({"message": said})

    def _asked(self, connection: http.client.HTTPConnection, key: str) -> Fields:
        """Send the call, pass on its progress, and return the reply.

        Raises:
            Cut: the server went away.
            TimeoutError: it says nothing.
        """
        import http.client

        self._connection = connection.sock
        self._check()
        try:
            connection.request("POST", "/mcp", self._body(), self._headers(key))
            response = connection.getresponse()
            if response.getheader("content-type", "").startswith("text/event-stream"):
                return self._streamed(response)
            return replied(response.status, response.read())
        except TimeoutError:
            raise
        except (OSError, ValueError, http.client.HTTPException) as problem:
            raise Cut from problem
        finally:
            self._connection = None
            connection.close()

    def _body(self) -> bytes:
        meta = {
            "io.modelcontextprotocol/protocolVersion": FORWARDED,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        if isinstance(self._meta.get("progressToken"), (str, int)):
            meta["progressToken"] = self._meta["progressToken"]
        given = {name: self._params.get(name) for name in ("name", "arguments")}
        params = {**{k: v for k, v in given.items() if v is not None}, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return json.dumps(message).encode("ascii")

    def _headers(self, key: str) -> dict[str, str | bytes]:
        headers: dict[str, str | bytes] = {
            "Authorization": "Bearer " + key,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": FORWARDED,
            "MCP-Method": "tools/call",
            "MCP-Name": str(self._params["name"]),
        }
        project = self._bridge.project(self._meta, self._params.get("arguments"))
        if project:
            # The name goes as its bytes; a line end in it would end the header.
            name = project.encode("utf-8", "surrogateescape")
            headers["X-Live-Memory-Project"] = name.replace(b"\r", b"").replace(b"\n", b"")
        return headers

    def _streamed(self, response: http.client.HTTPResponse) -> Fields:
        for line in response:
            if not line.startswith(b"data:"):
                continue
            message = json.loads(line[5:])
            if "id" in message:
                return outcome(message)
            if message.get("method") == "notifications/progress":
                self._progress(message["params"])
        raise Cut

    def _progress(self, said: Fields) -> None:
        """Say how far it is, where the client wants to hear that; numbers only go up."""
        token = self._meta.get("progressToken")
        if not isinstance(token, (str, int)) or self._cancelled.is_set():
            return
        self._steps = max(self._steps + 1, said.get("progress", 0))
        params = {**said, "progressToken": token, "progress": self._steps}
        send({"method": "notifications/progress", "params": params})

    def _check(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled


class Bridge:
    """Takes the client's messages in, and answers all but calls at once."""

    def __init__(self) -> None:
        with open(
            os.path.join(os.path.dirname(__file__), "offered.json"), encoding="utf-8"
        ) as file:
            self._offered = json.load(file)
        # Whatever is started is started elsewhere, and the folder can be removed meanwhile.
        self.folder = os.path.abspath(data_folder())
        self._here = own_project()
        self.starter = Starter()
        self.calls: dict[str | int, Call] = {}
        self._has_roots, self._roots = False, list[str]()
        self._roots_known = threading.Event()
        self._roots_known.set()

    def serve(self) -> None:
        """Take messages until the client is gone."""
        threading.Thread(target=self._warm, daemon=True).start()
        for line in lines():
            try:
                message = None if line is None else json.loads(line)
            except (ValueError, RecursionError):
                refuse(None, NOT_JSON, "a message must be JSON")
                continue
            if isinstance(message, dict):
                self._take(message)
            else:
                refuse(None, NO_REQUEST, "a message must be one JSON object of at most a mebibyte")

    def project(self, meta: Fields, given: object) -> str | None:
        """The project that the client names for a call, where it names any.

        Of several the one that `cwd`, which the model chooses, lies in.
        """
        self._roots_known.wait(ROOTS_S)
        turn = meta.get("x-codex-turn-metadata")
        named = turn.get("workspaces") if isinstance(turn, dict) else None
        named = [one for one in named if os.path.isabs(one)] if isinstance(named, dict) else []
        projects = named or self._roots or self._here
        cwd = given.get("cwd") if isinstance(given, dict) else None
        inside = [one for one in projects if isinstance(cwd, str) and is_in(cwd, one)]
        return max(inside, key=len) if inside else next(iter(projects), None)

    def _warm(self) -> None:
        """Have the server of our version there before it is asked; who needs it waits less."""
        try:
            connected(self.folder)[0].close()
            if published(self.folder).version == __version__:
                return
        except UNPROVED:
            pass
        self.starter.begin()

    def _take(self, message: Fields) -> None:
        method, identifier = message.get("method"), message.get("id")
        params = message.get("params", {})
        if not isinstance(method, str):
            if isinstance(message.get("result"), dict) or "error" in message:
                self._hear_roots(message.get("result") or {})
            else:
                refuse(None, NO_REQUEST, "a request must name its method")
        elif not isinstance(params, dict):
            refuse(identifier, BAD_PARAMS, "params must be an object")
        elif "id" not in message:
            self._note(method, params)
        elif isinstance(identifier, bool) or not isinstance(identifier, (str, int)):
            refuse(None, NO_REQUEST, "an id must be text or a whole number")
        elif method == "tools/call":
            self._call(identifier, params)
        elif method in ("initialize", "ping", "tools/list"):
            result = {"initialize": self._initialized, "tools/list": self._listed}.get(method)
            send({"id": identifier, "result": result(params) if result else {}})
        else:
            refuse(identifier, NO_METHOD, "there is no such method")

    def _initialized(self, params: Fields) -> Fields:
        able, asked = params.get("capabilities"), params.get("protocolVersion")
        self._has_roots = isinstance(able, dict) and isinstance(able.get("roots"), dict)
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {**self._offered["serverInfo"], "version": __version__},
            "instructions": self._offered["instructions"],
        }

    def _listed(self, _: Fields) -> Fields:
        """What the running server offers, or one that we start will."""
        try:
            has_async = published(self.folder).async_tools
        except UNPROVED:
            has_async = configured("async_tools") == "true"
        return {
            "tools": self._offered["tools"] + (self._offered["asyncTools"] if has_async else [])
        }

    def _note(self, method: str, params: Fields) -> None:
        if method == "notifications/cancelled":
            identifier = params.get("requestId")
            call = self.calls.get(identifier) if isinstance(identifier, (str, int)) else None
            if call:
                call.cancel()
        elif self._has_roots and method in (
            "notifications/initialized",
            "notifications/roots/list_changed",
        ):
            self._roots_known.clear()
            send({"id": "roots", "method": "roots/list"})

    def _hear_roots(self, result: Fields) -> None:
        from urllib.parse import unquote, urlsplit

        roots = result.get("roots")
        uris = [one.get("uri") for one in roots or () if isinstance(one, dict)]
        texts = [one for one in uris if isinstance(one, str) and one.startswith("file:///")]
        self._roots = [unquote(urlsplit(one).path) for one in texts]
        self._roots_known.set()

    def _call(self, identifier: str | int, params: Fields) -> None:
        offered = self._offered["tools"] + self._offered["asyncTools"]
        if params.get("name") not in [one["name"] for one in offered]:
            refuse(identifier, BAD_PARAMS, "there is no such tool")
        elif not isinstance(params.get("arguments", {}), dict):
            refuse(identifier, BAD_PARAMS, "arguments must be an object")
        elif identifier in self.calls or len(self.calls) >= MOST_CALLS:
            refuse(identifier, NO_REQUEST, "too many calls at once, or two with the same id")
        else:
            call = self.calls[identifier] = Call(self, identifier, params)
            threading.Thread(target=call.run, daemon=True).start()


def own_project() -> list[str]:
    """What this process was started for: the host's project, or a working folder that is one."""
    named = os.environ.get("CLAUDE_PROJECT_DIR", "")
    try:
        here = os.getcwd()
    except OSError:
        here = "/"
    nowhere = ["/", os.path.realpath(os.path.expanduser("~"))]
    if not __package__ and is_in(here, os.path.abspath(__file__).rpartition("/server/")[0]):
        nowhere.append(here)  # where a host that does not say its project runs plugins
    os.chdir("/")
    found = named if os.path.isabs(named) else here
    return [] if found in nowhere and not named else [found]


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it, as it is written."""
    return os.path.normpath(path).startswith(os.path.normpath(folder).rstrip("/") + "/") or (
        os.path.normpath(path) == os.path.normpath(folder)
    )


def connected(folder: str) -> tuple[http.client.HTTPConnection, str]:
    """A connection to the server that the data folder names, and the key it proved itself with.

    Raises:
        OSError, ValueError, LookupError, TypeError, AttributeError: there is none.
    """
    import http.client
    import socket

    server, until = published(folder), time.monotonic() + PROOF_S
    connection = http.client.HTTPConnection(server.host, server.port)
    # It must never connect by itself: another connection is not the one that was proved.
    connection.auto_open = 0
    connection.sock = socket.create_connection((server.host, server.port), timeout=PROOF_S)
    try:
        key = proved(connection.sock, server, until=until)
    except BaseException:
        connection.close()
        raise
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sock.settimeout(SILENT_S)
    return connection, key


def outcome(message: Fields) -> Fields:
    """What of a reply is passed on: its result as older clients know it, or its error."""
    if "error" in message:
        return {"error": message["error"]}
    result = {k: v for k, v in message["result"].items() if k not in ("resultType", "_meta")}
    return {"result": result}


def replied(status: int, body: bytes) -> Fields:
    """What a reply without a stream comes to.

    Raises:
        Cut: it is one of a server that ends, or of another than the one that proved itself.
        ValueError: it is no JSON.
    """
    if status in (401, 503):
        raise Cut
    message = json.loads(body)
    if "jsonrpc" in message:
        return outcome(message)
    error = message["error"]
    return {"result": text("%s: %s" % (error["class"], error["message"]), is_error=True)}


def text(said: str, *, is_error: bool = False) -> Fields:
    """A tool's result of one line."""
    return {"content": [{"type": "text", "text": said}], "isError": is_error}


def refuse(identifier: object, code: int, why: str) -> None:
    """Say that a message is not understood."""
    is_id = isinstance(identifier, (str, int)) and not isinstance(identifier, bool)
    send({"id": identifier if is_id else None, "error": {"code": code, "message": why}})


WRITING = threading.Lock()


def send(message: Fields) -> None:
    """Write one message; a client that is gone needs none."""
    data = json.dumps({"jsonrpc": "2.0", **message}).encode("ascii") + b"\n"
    with WRITING:
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError:
            os._exit(0)


def lines() -> Iterator[bytes | None]:
    """The client's messages, to its end; nothing for one that is too long."""
    held, is_long = b"", False
    while True:
        chunk = os.read(0, 1 << 16)
        if not chunk:
            return
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            line = held + part
            if is_long or len(line) > LONGEST_MESSAGE:
                yield None
            elif line.strip():
                yield line
            held, is_long = b"", False
        held += rest
        if len(held) > LONGEST_MESSAGE:
            held, is_long = b"", True


def main() -> None:
    """Serve until the client is gone; no thread and no open question holds us."""
    # Who stops us means it; a wrapper starts us anew where it was not meant for that too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for descriptor in (0, 1):
        os.set_blocking(descriptor, True)
    try:
        Bridge().serve()
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
