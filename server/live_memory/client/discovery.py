"""Where the server is, and the proof that it is ours, before anything is told or asked."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import socket

__all__ = [
    "Address",
    "configured",
    "data_folder",
    "names_in",
    "own_file",
    "proved",
    "published",
    "reply_of",
]

OTHERS = 0 if sys.platform == "win32" else 0o077
LARGEST_REPLY = 64 * 1024


class Address(NamedTuple):
    """Where a server of ours said that it listens, the token that it has to know, what it is."""

    host: str
    port: int
    token: str
    version: str = ""
    async_tools: bool = False
    tools: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """Its address, as it stands in a `Host` header."""
        return ("[%s]:%d" if ":" in self.host else "%s:%d") % (self.host, self.port)


def data_folder() -> str:
    """Where the server keeps its token, as the server finds it."""
    named = os.environ.get("LIVE_MEMORY_DATA_DIR") or configured("data_dir")
    if named:
        return os.path.expanduser(named)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
        return os.path.join(local, "live-memory", "live-memory")
    fallback = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/share"
    return os.path.join(_xdg("XDG_DATA_HOME", fallback), "live-memory")


def configured(name: str) -> str | None:
    """What the user's configuration sets by this name; this runs without a TOML reader."""
    fallback = "~/Library/Application Support" if sys.platform == "darwin" else "~/.config"
    file = os.path.join(_xdg("XDG_CONFIG_HOME", fallback), "live-memory", "config.toml")
    try:
        with open(file, encoding="utf-8") as lines:
            state = os.fstat(lines.fileno())
            if hasattr(os, "geteuid") and state.st_uid not in (os.geteuid(), 0):
                return None  # the server does not obey it either
            if OTHERS and state.st_mode & 0o022:
                return None
            return _set_in(lines.read(), name)
    except (OSError, ValueError):
        return None


def names_in(setting: str | None) -> tuple[str, ...]:
    """The names of tools in a list as it is written."""
    return tuple(re.findall("[a-z_]+", setting or ""))


def _set_in(text: str, name: str) -> str | None:
    """What a TOML file sets at its top level: a list as it is written, without its comments.

    A text over several lines is not looked for.
    """
    top = re.split(r"""(?m)^[ \t]*\[[\w.'" \[-]+\]+[ \t]*(?:#.*)?$""", text, maxsplit=1)[0]
    key = r"""(?m)^[ \t]*(["']?)%s\1[ \t]*=[ \t]*""" % name
    value = r"""(?:'([^'\n]*)'|"((?:[^"\\\n]|\\.)*)"|(true|false)|(\[[^][]*\]))[ \t]*(?:#.*)?$"""
    found = re.search(key + value, top)
    if not found:
        return None
    if found[5] is not None:
        return re.sub("#.*", "", found[5])
    if found[3] is None:
        return found[2] or found[4]
    long = re.sub(r"(\\\\)|\\U([0-9A-Fa-f]{8})", lambda u: u[1] or chr(int(u[2], 16)), found[3])
    said: str = json.loads('"%s"' % long.replace("\t", "\\t"))
    return said


def _xdg(name: str, fallback: str) -> str:
    """A folder that the environment may name."""
    value = os.environ.get(name, "").strip()
    return value if os.path.isabs(value) else os.path.expanduser(fallback)


def own_file(folder: str, name: str, most: int) -> str:
    """A file that nobody but us can have written; any other is an `OSError`."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(os.path.join(folder, name), flags)
    try:
        state = os.fstat(descriptor)
        is_ours = not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
        if not is_ours or not stat.S_ISREG(state.st_mode) or state.st_mode & OTHERS:
            raise OSError("not ours alone")
        return os.read(descriptor, most).decode("ascii")
    finally:
        os.close(descriptor)


def own_token(folder: str) -> str:
    """The server's token; half of one, or none, would prove a stranger."""
    token = own_file(folder, "token", 256).rstrip("\n")
    if len(token) != 43 or not token.replace("-", "").replace("_", "").isalnum():
        raise OSError("no token")
    return token


def published(folder: str) -> Address:
    """The server that the data folder names.

    Raises:
        OSError: there is none, or what says so is not ours.
        ValueError, LookupError, TypeError: what says so says nothing.
    """
    token = own_token(folder)
    said = json.loads(own_file(folder, "server.json", LARGEST_REPLY))
    host, port = str(said["host"]), int(said["port"])
    if host not in ("127.0.0.1", "::1") or not 0 < port < 65_536:
        raise OSError("no place on this machine")
    tools = tuple(str(one) for one in said.get("tools") or ())
    version, later = str(said.get("version")), said.get("async_tools") is True
    return Address(host, port, token, version, later, tools)


def proved(connection: socket.socket, server: Address, *, until: float) -> str:
    """The key that opens the server, once it showed on this connection that it knows the token.

    The token itself is never sent. The key is of this start of the server, and of the address that
    it was asked at. `until` is of the monotonic clock.

    Raises:
        OSError: it said nothing in time, or cut its reply short.
        ValueError, LookupError, TypeError, AttributeError: whoever answers is a stranger.
    """
    import hashlib
    import hmac

    def derived(message: str) -> str:
        return hmac.new(server.token.encode(), message.encode(), hashlib.sha256).hexdigest()

    nonce = os.urandom(24).hex()
    ask = "GET /health?nonce=%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (nonce, server.shown)
    connection.sendall(ask.encode("ascii"))
    status, body = reply_of(connection, until=until)
    said = json.loads(body) if status == 200 else {}
    proof = derived("%s|%d|%s" % (nonce, server.port, said.get("pid")))
    if not hmac.compare_digest(str(said.get("proof")).encode(), proof.encode()):
        raise ValueError("a stranger")
    return derived("key|%s|%s|%d" % (said.get("start"), connection.getpeername()[0], server.port))


def left_s(until: float) -> float:
    """Seconds until then; a socket takes no zero."""
    left = until - time.monotonic()
    if left <= 0:
        raise OSError("out of time")
    return left


def reply_of(connection: socket.socket, *, until: float) -> tuple[int, bytes]:
    """Status and body of one reply."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _some(connection, len(received), until)
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    lengths = [line.split(":")[1] for line in lines[1:] if line.startswith("content-length:")]
    length = int(lengths[0]) if lengths else 0
    while len(body) < min(length, LARGEST_REPLY):
        body += _some(connection, len(body), until)
    return int(lines[0].split()[1]), body[:length]


def _some(connection: socket.socket, so_far: int, until: float) -> bytes:
    """The next bytes of a reply."""
    connection.settimeout(left_s(until))
    chunk = connection.recv(65536)
    if not chunk or so_far > LARGEST_REPLY:
        raise OSError("no reply")
    return chunk
