"""MCP over standard input and output, for clients that start their servers themselves.

`live-memory mcp`. It says at once what there is to ask, before any server runs, and holds nothing
that would be missed: one that is killed is followed by another on the same pipes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING

# Run by its path, it finds the rest of this package by its own folder.
if not __package__:
    sys.path.append(__file__.rpartition("/live_memory/")[0])

from live_memory import __version__
from live_memory.client.calls import Call, Fields, OurServer
from live_memory.client.offer import offered_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["main"]

# Newest first. The protocol after these knows no roots; whoever asks for it falls back to them.
VERSIONS = ("2025-11-25", "2025-06-18", "2024-11-05")
LONGEST_MESSAGE, MOST_CALLS = 1024 * 1024, 64
# A client that was asked for its folders answers at once.
ROOTS_S = 1.0
NOT_JSON, NO_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602


class Bridge:
    """Takes the client's messages in, and answers all but calls at once."""

    def __init__(self, plugin: str | None) -> None:
        self._server, self._started_for = OurServer(plugin), started_for(plugin)
        self._names, self._host = offered_names(), ""
        self._session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
        # A working folder cannot be removed.
        os.chdir("/")
        self._calls: dict[str | int, Call] = {}
        self._has_roots, self._roots = False, list[str]()
        self._roots_known = threading.Event()
        self._roots_known.set()

    def serve(self) -> None:
        """Take messages until the client is gone."""
        threading.Thread(target=self._server.warm, daemon=True).start()
        for line in lines():
            try:
                message = json.loads(line or b"0")
            except (ValueError, RecursionError):
                refuse(None, NOT_JSON, "a message must be JSON")
                continue
            if isinstance(message, dict):
                self._take(message)
            else:
                refuse(None, NO_REQUEST, "a message must be one JSON object of at most a mebibyte")

    def _take(self, message: Fields) -> None:
        method, identifier = message.get("method"), message.get("id")
        params = {} if message.get("params") is None else message["params"]
        if not isinstance(method, str):
            if "result" in message or "error" in message:
                self._hear_roots(message.get("result"))
            else:
                refuse(identifier, NO_REQUEST, "a request must name its method")
        elif not isinstance(params, dict):
            refuse(identifier, BAD_PARAMS, "params must be an object")
        elif "id" not in message:
            self._note(method, params)
        elif not is_id(identifier):
            refuse(None, NO_REQUEST, "an id must be text or a whole number")
        elif method == "tools/call":
            self._call(message["id"], params)
        elif method == "initialize":
            send({"id": identifier, "result": self._initialized(params)})
        elif method == "tools/list":
            send({"id": identifier, "result": {"tools": self._server.offer()["tools"]}})
        elif method == "ping":
            send({"id": identifier, "result": {}})
        else:
            refuse(identifier, NO_METHOD, "there is no such method")

    def _initialized(self, params: Fields) -> Fields:
        able, asked = params.get("capabilities"), params.get("protocolVersion")
        self._has_roots = isinstance(able, dict) and isinstance(able.get("roots"), dict)
        client, offered = params.get("clientInfo"), self._server.offer()
        self._host = text_in(client, "name")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {**offered["serverInfo"], "version": __version__},
            "instructions": offered["instructions"],
        }

    def _note(self, method: str, params: Fields) -> None:
        if method == "notifications/cancelled" and is_id(params.get("requestId")):
            call = self._calls.get(params["requestId"])
            if call:
                call.cancel()
        elif self._has_roots and method in (
            "notifications/initialized",
            "notifications/roots/list_changed",
        ):
            self._roots_known.clear()
            send({"id": "roots", "method": "roots/list"})

    def _hear_roots(self, result: object) -> None:
        from urllib.parse import unquote, urlsplit

        roots = result.get("roots") if isinstance(result, dict) else None
        roots = roots if isinstance(roots, list) else []
        uris = [one.get("uri") for one in roots if isinstance(one, dict)]
        files = [one for one in uris if isinstance(one, str) and one.startswith("file:///")]
        self._roots = paths(unquote(urlsplit(one).path) for one in files)
        self._roots_known.set()

    def _project(self, params: Fields) -> str | None:
        """The project that a call is about, as far as the client says it.

        Of several the one that `cwd`, which the model chooses, lies in.
        """
        self._roots_known.wait(ROOTS_S)
        turn = (params.get("_meta") or {}).get("x-codex-turn-metadata")
        spaces = turn.get("workspaces") if isinstance(turn, dict) else None
        named = paths(spaces) if isinstance(spaces, dict) else []
        projects = named or self._roots or self._started_for
        cwd = (params.get("arguments") or {}).get("cwd")
        inside = [one for one in projects if isinstance(cwd, str) and is_in(cwd, one)]
        return max(inside, key=len) if inside else next(iter(projects), None)

    def _call(self, identifier: str | int, params: Fields) -> None:
        objects = [params.get("arguments") or {}, params.get("_meta") or {}]
        if params.get("name") not in self._names:
            refuse(identifier, BAD_PARAMS, "there is no such tool")
        elif not all(isinstance(one, dict) for one in objects):
            refuse(identifier, BAD_PARAMS, "arguments must be an object")
        elif identifier in self._calls or len(self._calls) >= MOST_CALLS:
            refuse(identifier, NO_REQUEST, "too many calls at once, or two of one id")
        else:
            session = self._session or text_in(params.get("_meta"), "sessionId")
            call = Call(
                self._server,
                params,
                project=self._project,
                host=self._host,
                session=session,
                send=send,
            )
            self._calls[identifier] = call
            forget = partial(self._calls.pop, identifier, None)
            threading.Thread(target=call.run, args=(identifier, forget), daemon=True).start()


def started_for(plugin: str | None) -> list[str]:
    """What this process was started for: the host's project, or a working folder that is one."""
    named = paths([os.environ.get("CLAUDE_PROJECT_DIR", "")])
    try:
        here = os.getcwd()
    except OSError:
        here = "/"
    # Hosts that do not say their project start us anywhere, or in the plugin.
    is_nowhere = here in ("/", os.path.realpath(os.path.expanduser("~")))
    return named or ([] if is_nowhere or (plugin and is_in(here, plugin)) else [here])


def paths(found: Iterable[str]) -> list[str]:
    """What of it can be the path of a project."""
    return [one for one in found if os.path.isabs(one) and not re.search("[\0\ud800-\udbff]", one)]


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it, as it is written."""
    return (os.path.normpath(path) + "/").startswith(os.path.normpath(folder).rstrip("/") + "/")


def text_in(fields: object, name: str) -> str:
    """A text of an object, or nothing."""
    value = fields.get(name) if isinstance(fields, dict) else None
    return value if isinstance(value, str) else ""


def is_id(value: object) -> bool:
    """Whether a request may be named so."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def refuse(identifier: object, code: int, why: str) -> None:
    """Say that a message is not understood."""
    error = {"code": code, "message": why}
    send({"id": identifier if is_id(identifier) else None, "error": error})


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


def lines() -> Iterator[bytes]:
    """The client's messages, to its end; an empty one for what is too long."""
    held, is_long = b"", False
    while True:
        chunk = os.read(0, 1 << 16)
        if not chunk:
            return
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            line = held + part
            if is_long or len(line) > LONGEST_MESSAGE:
                yield b""
            elif line.strip():
                yield line
            held, is_long = b"", False
        held += rest
        if len(held) > LONGEST_MESSAGE:
            held, is_long = b"", True


def main() -> None:
    """Serve until the client is gone; no open call holds us."""
    # A signal means what it says; where it was for this process alone, another one follows.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for descriptor in (0, 1):
        os.set_blocking(descriptor, True)
    is_run_by_path = not __package__
    plugin = os.path.abspath(__file__).rpartition("/server/live_memory/")[0]
    code = 128
    try:
        Bridge(plugin if is_run_by_path else None).serve()
        code = 0
    except Exception:  # noqa: BLE001  whatever it is, the session keeps its tool
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
