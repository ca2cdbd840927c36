"""Talk to the server that was found; each connection is proved before anything is sent on it.

Where it refuses, fails or goes away, `get`, `post` and `stream` raise a `Failure`.
"""

import http.client
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlencode

from live_memory.cli.environment import ExitCode, Failure, holder, is_alive, trouble_of
from live_memory.core.values import Author
from live_memory.settings import Settings
from live_memory.web.identity import (
    LOOPBACK,
    new_nonce,
    probe,
    prove,
    proved,
    published,
    read_token,
)

__all__ = ["ProvenServer", "each", "find", "get", "health", "post", "stream", "tell"]

# A server that is busy with a first look answers within this; a program that accepts and never
# speaks costs no more than this.
_PROBE_S = 2.0
# One that cannot prove itself, as there is no token, is only asked what it is.
_AGAIN_S = 0.5


@dataclass(frozen=True, slots=True)
class ProvenServer:
    """A server that has shown that it knows our token, and the key of this start of it."""

    host: str
    port: int
    pid: int
    token: str = field(repr=False)
    key: str = field(repr=False)

    @property
    def url(self) -> str:
        """Its address, as a person would type it."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}"


def find(settings: Settings) -> ProvenServer:
    """The running server of this data folder, wherever it said that it listens.

    Nobody else sees the token.

    Raises:
        Failure: none runs, or ours does not prove itself.
        InvalidRequest: the token file is not to be trusted.
    """
    token, there = _token(settings), _address(settings)
    if there is None:
        raise _absent(settings)
    if token is None:
        raise _unproved(settings, there, probe(*there, "/health", within_s=_AGAIN_S))
    nonce = new_nonce()
    reply = probe(*there, f"/health?nonce={nonce}", within_s=_PROBE_S)
    found = proved(token, nonce=nonce, host=there[0], port=there[1], reply=reply)
    if found is None:
        raise _unproved(settings, there, reply)
    return ProvenServer(*there, found.pid, token, found.key)


def _token(settings: Settings) -> str | None:
    """The installation's token; nothing where no server was ever started."""
    is_there = os.path.lexists(settings.data_dir / "token")
    return read_token(settings.data_dir) if is_there else None


def _address(settings: Settings) -> tuple[str, int] | None:
    """Where our server is, if it runs: the kernel knows who holds its lock.

    What a dead one left behind is not asked: a stranger that has its port now may never speak.
    """
    ours, said = holder(settings.data_dir / "lock"), published(settings.data_dir)
    if ours is None:
        # Someone may have removed the lock file of a server that runs.
        return (said.host, said.port) if said is not None and is_alive(said.pid) else None
    if not ours.port:
        return None  # it does not listen yet
    # A full disk keeps it from saying more than the lock does.
    if said is not None and said.port == ours.port:
        return said.host, ours.port
    return LOOPBACK.get(settings.host, settings.host), ours.port


def _unproved(
    settings: Settings, there: tuple[str, int], reply: Mapping[str, object] | None
) -> Failure:
    """Why our own server, which the kernel says is alive, did not prove itself."""
    ours = holder(settings.data_dir / "lock")
    if ours is None or not _is_held(*there):
        return _absent(settings)  # it has ended, or is about to
    if reply is None:
        what, kind = f"listens on port {ours.port} and does not answer", "timeout"
    else:
        what, kind = f"runs with another token than '{settings.data_dir / 'token'}'", "auth"
    return Failure(
        f"the server of '{settings.data_dir}' (process {ours.pid}) {what}",
        code=ExitCode.LOCKED,
        kind=kind,
        fix="run `live-memory stop`, which ends it all the same, then `live-memory start`",
    )


def _absent(settings: Settings) -> Failure:
    known, code = trouble_of(settings.data_dir), ExitCode.UNREACHABLE
    if known is not None:
        return Failure(f"no Live Memory server runs: {known}", code=code, kind="unreachable")
    return Failure(
        "no Live Memory server runs", code=code, kind="unreachable", fix="run `live-memory start`"
    )


def _is_held(host: str, port: int) -> bool:
    """Whether any program listens there."""
    try:
        socket.create_connection((host, port), timeout=_PROBE_S).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True
    return True


# Figures and forgetting take milliseconds; opening a large workspace for them takes longer.
_QUICK_S = 30.0


@dataclass(frozen=True, slots=True)
class Health:
    """`ok`, or `degraded` with the reasons in words for a person; notes are no reason for it."""

    status: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    version: str


def health(server: ProvenServer) -> Health:
    """What the server says of itself to someone who has the token.

    Raises:
        Failure: the server failed or went away.
    """
    said = get(server, "/health")
    status, version = str(said.get("status")), str(said.get("version"))
    return Health(status, _texts(said, "reasons"), _texts(said, "notes"), version)


def get(server: ProvenServer, path: str, **query: str) -> dict[str, object]:
    """Read one object from the server."""
    target = f"{path}?{urlencode(query)}" if query else path
    return _only(_lines(server, "GET", target, body=None, timeout_s=_QUICK_S))


def each(server: ProvenServer, path: str, **query: str) -> Iterator[dict[str, object]]:
    """Read objects from the server, one a line, as they come."""
    target = f"{path}?{urlencode(query)}"
    return _lines(server, "GET", target, body=None, timeout_s=_QUICK_S)


def post(
    server: ProvenServer, path: str, body: Mapping[str, object], *, project: str | None = None
) -> dict[str, object]:
    """Send one object, of a project where one is named, and read the reply."""
    return _only(_lines(server, "POST", path, body=body, timeout_s=_QUICK_S, project=project))


def tell(server: ProvenServer, path: str, body: Mapping[str, object]) -> dict[str, object]:
    """Send what a person tells, under a name of its own for this call, and read the reply."""
    of_call = {
        "X-Live-Memory-Author": Author.PERSON.value,
        "X-Live-Memory-Call": os.urandom(8).hex(),
    }
    return _only(_lines(server, "POST", path, body=body, timeout_s=_QUICK_S, headers=of_call))


def stream(
    server: ProvenServer, path: str, body: Mapping[str, object], *, timeout_s: float
) -> Iterator[dict[str, object]]:
    """Send one object and read replies, one a line, as they come; `timeout_s` is between lines."""
    return _lines(server, "POST", path, body=body, timeout_s=timeout_s)


def _texts(said: Mapping[str, object], name: str) -> tuple[str, ...]:
    found = said.get(name)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _lines(
    server: ProvenServer,
    method: str,
    target: str,
    *,
    body: Mapping[str, object] | None,
    timeout_s: float,
    project: str | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[dict[str, object]]:
    data = None if body is None else json.dumps(body).encode()
    connection = http.client.HTTPConnection(server.host, server.port)
    # It must never connect by itself: another connection is not the one that was proved.
    connection.auto_open = 0
    try:
        connection.sock, key = _proved(server, within_s=timeout_s)
        sent: dict[str, str | bytes] = {
            **headers,
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
        }
        if project is not None:
            sent["X-Live-Memory-Project"] = os.fsencode(project)
        connection.request(method, target, body=data, headers=sent)
        response = connection.getresponse()
        for line in response if response.status == http.client.OK else [response.read()]:
            if line.strip():
                yield _checked(_object(line), status=response.status)
    except TimeoutError as problem:
        raise Failure(
            f"the server at {server.url} did not answer in time",
            code=ExitCode.UNREACHABLE,
            kind="timeout",
        ) from problem
    except (OSError, http.client.HTTPException) as problem:
        raise Failure(
            f"the server at {server.url} went away: run `live-memory start`",
            code=ExitCode.UNREACHABLE,
            kind="unreachable",
        ) from problem
    finally:
        connection.close()


def _proved(server: ProvenServer, *, within_s: float) -> tuple[socket.socket, str]:
    """A connection whose other end is our server, and what opens that.

    Raises:
        OSError: nobody is there, or somebody else, who was shown nothing.
    """
    until = time.monotonic() + within_s
    connection = socket.create_connection((server.host, server.port), timeout=within_s)
    found = prove(connection, token=server.token, within_s=until - time.monotonic())
    if found is None:
        connection.close()
        if time.monotonic() >= until:
            raise TimeoutError
        raise ConnectionError("another program")
    connection.settimeout(within_s)
    return connection, found.key


def _object(line: bytes) -> dict[str, object]:
    try:
        value: object = json.loads(line)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


def _checked(reply: dict[str, object], *, status: int) -> dict[str, object]:
    error = reply.get("error")
    if isinstance(error, dict):
        kind = str(error.get("class"))
        code = ExitCode.REFUSED if kind == "invalid" else ExitCode.FAILED
        raise Failure(str(error.get("message")), code=code, kind=kind)
    if status >= 300:
        raise Failure(
            f"the server answered {status} without a reason: run `live-memory doctor`",
            code=ExitCode.FAILED,
            kind="provider",
        )
    return reply


def _only(replies: Iterator[dict[str, object]]) -> dict[str, object]:
    for reply in replies:
        return reply
    return {}
