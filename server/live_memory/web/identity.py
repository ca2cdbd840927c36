"""How a client knows that the server on a port is its own, before it shows its token.

The command line and the plugin use it too, so this module imports nothing heavy. The token is one
random secret an installation, in a file only its owner can read.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import socket
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from live_memory import __version__
from live_memory.core.errors import InvalidRequest

__all__ = [
    "LOOPBACK",
    "Identity",
    "RunningServer",
    "ensure_data_dir",
    "ensure_token",
    "health_form",
    "is_ours",
    "is_proof",
    "new_nonce",
    "probe",
    "prove",
    "proved",
    "publish",
    "published",
    "read_token",
    "withdraw",
]

LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}
"""What a person may call this machine, and the address that is meant."""

_NAME = "server.json"
_NONCE = re.compile(r"[A-Za-z0-9_-]{16,128}")
# More than a health reply ever has; a stranger may send anything.
_LONGEST_REPLY = 64 * 1024


def new_nonce() -> str:
    """A question that was never asked before."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a running server is known by: its address, its process, and this one start of it."""

    token: str = field(repr=False)
    port: int
    pid: int
    host: str = "127.0.0.1"
    start: str = field(default_factory=new_nonce)

    @property
    def key(self) -> str:
        """What opens this server at this address until it ends; 64 hexadecimal digits.

        Hosts and commands show this and never the token: whoever gets hold of the port later, or
        passes the proof on from another address, has nothing that opens the next server.
        """
        return _derived(self.token, f"key|{self.start}|{self.host}|{self.port}")

    @property
    def page_key(self) -> str:
        """What the page shows until this server ends; it opens `/v1` alone."""
        return _derived(self.token, f"page|{self.start}|{self.host}|{self.port}")

    def proof(self, nonce: str) -> str:
        """Show that we know the token, without showing it.

        Raises:
            InvalidRequest: the nonce is too short to be random, or too long.
        """
        if not _NONCE.fullmatch(nonce):
            raise InvalidRequest("nonce must be 16 to 128 letters, digits, '-' or '_'")
        return _derived(self.token, f"{nonce}|{self.port}|{self.pid}")


@dataclass(frozen=True, slots=True)
class Proved:
    """Whoever is at the other end of one connection, which showed that it knows our token."""

    pid: int
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Where the server of a data folder says that it is; believed only with a proof.

    `mode` says who looks after it: nobody but us (`background`), or whoever started it;
    `tools` are those that it offers, and `async_tools` whether it offers those too.
    """

    host: str
    port: int
    pid: int
    version: str
    mode: str = "unknown"
    async_tools: bool = False
    tools: tuple[str, ...] = ()


def is_proof(token: str, *, nonce: str, port: int, reply: Mapping[str, object]) -> bool:
    """Whether a health reply was made by a server on this port that knows our token."""
    pid, proof = reply.get("pid"), reply.get("proof")
    if type(pid) is not int or not isinstance(proof, str) or not proof.isascii():
        return False
    return hmac.compare_digest(Identity(token, port, pid).proof(nonce), proof)


def is_ours(host: str, port: int, *, token: str, within_s: float = 1.0) -> bool:
    """Ask whoever listens there to prove that it is the server with our token."""
    nonce = new_nonce()
    reply = probe(host, port, f"/health?nonce={nonce}", within_s=within_s)
    return reply is not None and is_proof(token, nonce=nonce, port=port, reply=reply)


def prove(connection: socket.socket, *, token: str, within_s: float) -> Proved | None:
    """Make the other end prove itself; what is secret may be sent on this connection only."""
    host, port = connection.getpeername()[:2]
    nonce = new_nonce()
    reply = _reply(connection, host, port, target=f"/health?nonce={nonce}", within_s=within_s)
    return proved(token, nonce=nonce, host=host, port=port, reply=reply)


def proved(
    token: str, *, nonce: str, host: str, port: int, reply: Mapping[str, object] | None
) -> Proved | None:
    """Who sent a health reply from this address, if it holds the proof."""
    if reply is None or not is_proof(token, nonce=nonce, port=port, reply=reply):
        return None
    pid = reply["pid"]
    assert isinstance(pid, int)  # the proof covers it
    # Whatever it calls its start: what is derived from that opens nothing else.
    return Proved(pid, Identity(token, port, pid, host, str(reply.get("start"))).key)


def probe(host: str, port: int, target: str, *, within_s: float) -> dict[str, object] | None:
    """GET a JSON object without a token; nothing if there is none in time, whoever answers."""
    until = time.monotonic() + within_s
    try:
        with socket.create_connection((host, port), timeout=within_s) as connection:
            left_s = until - time.monotonic()
            return _reply(connection, host, port, target=target, within_s=left_s)
    except OSError:
        return None


def _reply(
    connection: socket.socket, host: str, port: int, *, target: str, within_s: float
) -> dict[str, object] | None:
    """The object of one reply; the connection stays open for the next request."""
    shown = f"[{host}]" if ":" in host else host
    until, received = time.monotonic() + within_s, b""
    try:
        connection.settimeout(max(within_s, 0.001))
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {shown}:{port}\r\n\r\n".encode("ascii"))
        while (body := _body(received)) is None:
            left_s = until - time.monotonic()
            if left_s <= 0 or len(received) > _LONGEST_REPLY:
                return None
            connection.settimeout(left_s)
            chunk = connection.recv(_LONGEST_REPLY)
            if not chunk:
                return None
            received += chunk
    except OSError:
        return None
    return _object(body) if received.startswith(b"HTTP/1.1 200 ") else None


def _body(received: bytes) -> bytes | None:
    """The whole body of a reply that says how long it is; nothing while it is not there."""
    head, end, body = received.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n")[1:]:
        name, _, text = line.partition(b":")
        if end and name.lower() == b"content-length" and text.strip()[:6].isdigit():
            length = int(text.strip()[:6])
            return body[:length] if len(body) >= length else None
    return None


def health_form(
    identity: Identity,
    nonce: str | None,
    *,
    is_known: bool,
    problems: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> dict[str, object]:
    """Whether all is well; who has no token learns no more than that, and a proof where asked.

    Raises:
        InvalidRequest: the nonce is too short to be random, or too long.
    """
    reasons = list(problems) if is_known or not problems else ["see `live-memory doctor`"]
    found: dict[str, object] = {
        "status": "degraded" if problems else "ok",
        "reasons": reasons,
    }
    if is_known:
        found |= {"notes": list(notes), "version": __version__}
    if nonce is not None:
        proof = identity.proof(nonce)
        found |= {"pid": identity.pid, "start": identity.start, "proof": proof}
    return found


def publish(data_dir: Path, server: RunningServer) -> None:
    """Say in the data folder where the server is; whole or not at all."""
    file, new = data_dir / _NAME, data_dir / f"{_NAME}.new"
    new.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(new, flags, 0o600), "w") as out:
        os.fchmod(out.fileno(), 0o600)
        json.dump({name: getattr(server, name) for name in RunningServer.__slots__}, out)
    new.replace(file)


def published(data_dir: Path) -> RunningServer | None:
    """Where the server of this data folder last said that it is; never another machine."""
    try:
        found = _object((data_dir / _NAME).read_bytes()[:_LONGEST_REPLY]) or {}
    except OSError:
        return None
    host, port, pid = found.get("host"), found.get("port"), found.get("pid")
    if not isinstance(host, str) or type(port) is not int or type(pid) is not int:
        return None
    if host not in LOOPBACK.values() or not 0 < port < 65_536:
        return None
    # Another version may say less, or more.
    version, mode = (found.get(name, "unknown") for name in ("version", "mode"))
    return RunningServer(host, port, pid, str(version), str(mode))


def withdraw(data_dir: Path) -> None:
    """Take back what `publish` said."""
    (data_dir / _NAME).unlink(missing_ok=True)


def _derived(token: str, message: str) -> str:
    return hmac.new(token.encode(), message.encode(), hashlib.sha256).hexdigest()


def _object(data: bytes) -> dict[str, object] | None:
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


_FILE = "token"
_RANDOM_BYTES = 32
_FORM = re.compile(r"[A-Za-z0-9_-]{43}")
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# Enough to see that a file holds more than a token.
_LONGEST = 256
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def ensure_data_dir(folder: Path) -> None:
    """Make the data folder, or close it to others where it is ours or empty.

    Raises:
        InvalidRequest: it is no folder, belongs to someone else, or cannot be used.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
        if state.st_uid != os.geteuid():
            raise InvalidRequest(f"data folder '{folder}' belongs to another user: name your own")
        if state.st_mode & _OTHERS:
            # A folder with other things in it may be one that others have to reach.
            if any(folder.iterdir()) and not (folder / _FILE).is_file():
                raise InvalidRequest(
                    f"data folder '{folder}' is open to other users and holds other files: "
                    "name a folder of its own, or `chmod 700` it"
                )
            folder.chmod(0o700)
    except FileExistsError:
        raise InvalidRequest(
            f"data folder '{folder}' cannot be used (it is no folder): move what is there away, or "
            "set another with `data_dir`"
        ) from None
    except OSError as problem:
        raise InvalidRequest(
            f"data folder '{folder}' cannot be used ({problem.strerror}): make it writable, or set "
            "another with `data_dir`"
        ) from None


def ensure_token(data_dir: Path) -> str:
    """The installation's token, made at the first start.

    Raises:
        InvalidRequest: the file is not one that only we could have written; the text names it.
    """
    ensure_data_dir(data_dir)
    file = data_dir / _FILE
    token = secrets.token_urlsafe(_RANDOM_BYTES)
    # Written beside and linked into place, so that nobody ever reads half a token.
    new = data_dir / f"{_FILE}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        if not os.path.lexists(file):
            new.unlink(missing_ok=True)
            with os.fdopen(os.open(new, flags, 0o600), "w") as out:
                os.fchmod(out.fileno(), 0o600)
                out.write(token)
            os.link(new, file)
            new.unlink()
    except FileExistsError:
        new.unlink(missing_ok=True)
    except OSError as problem:
        raise InvalidRequest(f"token file '{file}' cannot be made: {problem.strerror}") from None
    return read_token(data_dir)


def read_token(data_dir: Path) -> str:
    """The installation's token.

    Raises:
        InvalidRequest: there is none, or it is not a file that only we can read; the text names
            the file and never its content.
    """
    file = data_dir / _FILE
    try:
        descriptor = os.open(file, _READ_FLAGS)
    except FileNotFoundError:
        raise InvalidRequest(f"there is no token file '{file}': start the server once") from None
    except OSError as problem:
        raise InvalidRequest(
            f"token file '{file}' cannot be opened ({problem.strerror}): remove it and start again"
        ) from None
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise InvalidRequest(f"token file '{file}' is not a regular file: remove it")
        if state.st_uid != os.geteuid() or state.st_mode & _OTHERS:
            raise InvalidRequest(
                f"token file '{file}' is open to other users or not yours: "
                "remove it and start again, a new one is made"
            )
        text = os.read(descriptor, _LONGEST).decode("ascii", "replace").rstrip("\n")
    finally:
        os.close(descriptor)
    if not _FORM.fullmatch(text):
        raise InvalidRequest(f"token file '{file}' holds no token: remove it and start again")
    return text
