"""One call of a tool at a time: finds this user's server, or has it started, and asks it.

Each call is a request of its own, on a connection where the server has proved itself: nothing of it
is ever stale, wherever the server listens by then. A call that meets no server waits a moment while
that is started or installed; else its result says in a line what is going on.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from live_memory import __version__
from live_memory.client.discovery import configured, data_folder, names_in, proved, published
from live_memory.client.offer import TOOLS, offer
from live_memory.client.passing_on import INDEXES, kept

if TYPE_CHECKING:
    import http.client
    import socket
    from collections.abc import Callable

__all__ = ["Call", "Fields", "OurServer"]

Fields = dict[str, Any]

# By this protocol a request stands alone.
VERSION = "2026-07-28"
# Clients wait a minute and more for a call; an installation takes longer.
WAIT_S, LOOK_EVERY_S, START_AGAIN_S = 20.0, 0.1, 2.0
# A server that is busy proves itself within this; one that answers says something every 15 s.
PROOF_S, SILENT_S = 3.0, 45.0
# What a stranger, or nobody, comes to.
UNPROVED = (OSError, ValueError, LookupError, TypeError, AttributeError)


class NotThere(Exception):
    """There is no server to ask; the text says why, and what to do."""


class Cancelled(Exception):
    """Nobody waits for the reply."""


class Cut(Exception):
    """The server went away before its reply was whole."""


class OurServer:
    """This user's one server; `plugin` is the folder of the plugin that we are part of, if any."""

    def __init__(self, plugin: str | None) -> None:
        # From here on the working folder is another.
        self._folder = os.path.abspath(data_folder())
        self._words = [sys.executable, "-I", "-m", "live_memory", "start"]
        self._environ = kept(os.environ)
        if plugin is not None:
            self._words = ["/bin/sh", os.path.join(plugin, "bin/live-memory"), "start"]
            self._environ = {**kept(os.environ, INDEXES), "LIVE_MEMORY_PLUGIN_ROOT": plugin}
        if "LIVE_MEMORY_DATA_DIR" in os.environ:
            self._environ["LIVE_MEMORY_DATA_DIR"] = self._folder
        self._lock, self._is_starting, self._again_at = threading.Lock(), False, 0.0
        self.said, self.failed_at = "Live Memory is being started", 0.0

    def connected(self) -> tuple[http.client.HTTPConnection, str]:
        """A connection to the server, and what opens it, once it has proved itself there.

        Raises:
            OSError, ValueError, LookupError, TypeError, AttributeError: there is none.
        """
        import http.client
        import socket

        there, until = published(self._folder), time.monotonic() + PROOF_S
        connection = http.client.HTTPConnection(there.host, there.port)
        # It must never connect by itself: another connection is not the one that was proved.
        connection.auto_open = 0
        connection.sock = socket.create_connection((there.host, there.port), timeout=PROOF_S)
        try:
            key = proved(connection.sock, there, until=until)
        except UNPROVED:
            connection.close()
            raise
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sock.settimeout(SILENT_S)
        return connection, key

    def offer(self) -> Fields:
        """What the running server offers, or one that we start will."""
        try:
            there = published(self._folder)
            tools, has_async_tools = there.tools, there.async_tools
        except UNPROVED:
            tools, has_async_tools = (), configured("async_tools") == "true"
        # An older server does not say which: it is about to give way to one of ours.
        tools = tools or names_in(configured("tools"))
        return offer(tools or TOOLS, has_async_tools=has_async_tools)

    def warm(self) -> None:
        """Have one of our version there before it is asked; one that is older gives way."""
        try:
            self.connected()[0].close()
            if published(self._folder).version == __version__:
                return
        except UNPROVED:
            pass
        self.begin()

    def begin(self) -> None:
        """Start it unless that is under way, or was tried just now."""
        with self._lock:
            if self._is_starting or time.monotonic() < self._again_at:
                return
            self._is_starting = True
        threading.Thread(target=self._start, daemon=True).start()

    def _start(self) -> None:
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
            said = said.partition("\n")[0].rstrip(".") or "it did not start"
            self.said = said.replace("live-memory: ", "", 1)
            if "being installed" not in said:
                self.failed_at = time.monotonic()
        with self._lock:
            self._is_starting, self._again_at = False, time.monotonic() + START_AGAIN_S


class Call:
    """One call, from the client's request to its reply; `run` is for a thread of its own.

    `project` names the client's project, `host` the client and `session` what it is in the middle
    of, `send` writes to the client.
    """

    def __init__(
        self,
        server: OurServer,
        params: Fields,
        *,
        project: Callable[[Fields], str | None],
        host: str,
        session: str,
        send: Callable[[Fields], None],
    ) -> None:
        self._server, self._params, self._project, self._send = server, params, project, send
        # Asked again, it is still the same call.
        self._names = {"Host": host, "Session": session, "Call": os.urandom(16).hex()}
        meta = params.get("_meta")
        self._token = meta.get("progressToken") if isinstance(meta, dict) else None
        self._cancelled = threading.Event()
        self._connection: socket.socket | None = None
        self._steps = 0.0

    def cancel(self) -> None:
        """Let the server know, by closing the connection: that is the call."""
        import socket

        self._cancelled.set()
        try:
            if self._connection is not None:
                self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def run(self, identifier: str | int, done: Callable[[], None]) -> None:
        """Reply, whatever happens, unless nobody waits for it."""
        reply = text("Live Memory failed: work without it", is_error=True)
        try:
            reply = self._reply()
        except NotThere as why:
            reply = text(str(why))
        except Cancelled:
            pass
        finally:
            done()
            if not self._cancelled.is_set():
                self._send({"id": identifier, **reply})

    def _reply(self) -> Fields:
        """The reply; where the server is replaced meanwhile it is asked again.

        Whatever the first one did of it counts once: it hears that it is the same call.

        Raises:
            NotThere, Cancelled: there is none.
        """
        import socket

        for _ in range(2):
            connection, key = self._connected()
            try:
                return self._asked(connection, key)
            except socket.timeout:
                break
            except Cut:
                self._check()
        raise NotThere(
            "Live Memory does not answer: work without it; `live-memory doctor` says what is wrong"
        )

    def _connected(self) -> tuple[http.client.HTTPConnection, str]:
        """A connection to the server once it is there, and what opens it.

        Raises:
            NotThere, Cancelled: it is not.
        """
        server, began, told = self._server, time.monotonic(), ""
        given = (self._params.get("arguments") or {}).get("timeout")
        wait_s = min(WAIT_S, max(given, 1)) if isinstance(given, (int, float)) else WAIT_S
        while True:
            has_failed = server.failed_at > began
            try:
                return server.connected()
            except UNPROVED:
                self._check()
            if has_failed:
                raise NotThere("Live Memory is not there: %s. Work without it." % server.said)
            if time.monotonic() > began + wait_s:
                raise NotThere("%s; work without it for now and ask again later" % server.said)
            server.begin()
            if server.said != told:
                told = server.said
                self._progress({"message": told})
            self._cancelled.wait(LOOK_EVERY_S)

    def _asked(self, connection: http.client.HTTPConnection, key: str) -> Fields:
        """Send the call, pass on how far it is, and return the reply.

        Raises:
            Cut: the server went away.
            socket.timeout: it says nothing.
        """
        import http.client
        import socket

        self._connection = connection.sock
        self._check()
        try:
            connection.request("POST", "/mcp", self._body(), self._headers(key))
            response = connection.getresponse()
            if response.getheader("content-type", "").startswith("text/event-stream"):
                return self._streamed(response)
            return replied(response.status, response.read())
        except socket.timeout:
            raise
        except (OSError, ValueError, LookupError, http.client.HTTPException) as problem:
            raise Cut from problem
        finally:
            self._connection = None
            connection.close()

    def _body(self) -> bytes:
        meta: Fields = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        if isinstance(self._token, (str, int)):
            meta["progressToken"] = self._token
        params = {"name": self._params["name"], "_meta": meta}
        params["arguments"] = self._params.get("arguments") or {}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return json.dumps(message).encode("ascii")

    def _headers(self, key: str) -> dict[str, str | bytes]:
        headers: dict[str, str | bytes] = {
            "Authorization": "Bearer " + key,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "MCP-Method": "tools/call",
            "MCP-Name": self._params["name"],
        }
        project = self._project(self._params)
        if project:
            # The name goes as its bytes; a line end in it would end the header.
            name = project.encode("utf-8", "surrogateescape")
            headers["X-Live-Memory-Project"] = name.replace(b"\r", b"").replace(b"\n", b"")
        for what, said in self._names.items():
            if said:
                name = re.sub("[\0-\37\177]", " ", said[:128]).encode("utf-8", "replace")
                headers["X-Live-Memory-" + what] = name
        return headers

    def _streamed(self, response: http.client.HTTPResponse) -> Fields:
        for line in response:
            if line.startswith(b"data:"):
                message = json.loads(line[5:])
                if "id" in message:
                    return outcome(message)
                if message["method"] == "notifications/progress":
                    self._progress(message["params"])
        raise Cut

    def _progress(self, said: Fields) -> None:
        """Say how far it is, where the client wants to hear that; numbers only go up."""
        if isinstance(self._token, (str, int)) and not self._cancelled.is_set():
            self._steps = max(self._steps + 1, said.get("progress", 0))
            params = {**said, "progressToken": self._token, "progress": self._steps}
            self._send({"method": "notifications/progress", "params": params})

    def _check(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled


def outcome(message: Fields) -> Fields:
    """What of a reply is passed on: its result as older clients know it, or its error."""
    if "error" in message:
        return {"error": message["error"]}
    return {"result": {k: v for k, v in message["result"].items() if k in ("content", "isError")}}


def replied(status: int, body: bytes) -> Fields:
    """What a reply without a stream comes to.

    Raises:
        Cut: it is of a server that ends, or of another one than proved itself.
        ValueError, LookupError: it is no reply of ours.
    """
    if status in (401, 503):
        raise Cut
    message = json.loads(body)
    if "jsonrpc" in message:
        return outcome(message)
    error = message["error"]
    return text("%s: %s" % (error["class"], error["message"]), is_error=True)


def text(said: str, *, is_error: bool = False) -> Fields:
    """A tool's result of one line."""
    return {"result": {"content": [{"type": "text", "text": said}], "isError": is_error}}
