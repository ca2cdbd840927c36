"""Talk to the server that was found; each connection is proved before anything is sent on it."""

import http.client
import json
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from live_memory.cli.failure import ExitCode, Failure
from live_memory.cli.reaching.finding import Server
from live_memory.web.identity import prove

__all__ = ["Health", "get", "health", "post", "stream"]

# Figures and forgetting take milliseconds; opening a large workspace for them takes longer.
_QUICK_S = 30.0


@dataclass(frozen=True, slots=True)
class Health:
    """`ok`, or `degraded` with the reasons in words for a person; notes are no reason for it."""

    status: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    version: str


def health(server: Server) -> Health:
    """What the server says of itself to someone who has the token.

    Raises:
        Failure: the server failed or went away.
    """
    said = get(server, "/health")
    status, version = str(said.get("status")), str(said.get("version"))
    return Health(status, _texts(said, "reasons"), _texts(said, "notes"), version)


def get(server: Server, path: str, **query: str) -> dict[str, object]:
    """Read one object from the server.

    Raises:
        Failure: the server refused, failed or went away.
    """
    target = f"{path}?{urlencode(query)}" if query else path
    return _only(_lines(server, "GET", target, body=None, timeout_s=_QUICK_S))


def post(server: Server, path: str, body: Mapping[str, object]) -> dict[str, object]:
    """Send one object and read the reply.

    Raises:
        Failure: the server refused, failed or went away.
    """
    return _only(_lines(server, "POST", path, body=body, timeout_s=_QUICK_S))


def stream(
    server: Server, path: str, body: Mapping[str, object], *, timeout_s: float
) -> Iterator[dict[str, object]]:
    """Send one object and read replies, one a line, as they come; `timeout_s` is between lines.

    Raises:
        Failure: the server refused, failed or went away.
    """
    return _lines(server, "POST", path, body=body, timeout_s=timeout_s)


def _texts(said: Mapping[str, object], name: str) -> tuple[str, ...]:
    found = said.get(name)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _lines(
    server: Server,
    method: str,
    target: str,
    *,
    body: Mapping[str, object] | None,
    timeout_s: float,
) -> Iterator[dict[str, object]]:
    data = None if body is None else json.dumps(body).encode()
    connection = http.client.HTTPConnection(server.host, server.port)
    # It must never connect by itself: another connection is not the one that was proved.
    connection.auto_open = 0
    try:
        connection.sock, key = _proved(server, within_s=timeout_s)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request(method, target, body=data, headers=headers)
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


def _proved(server: Server, *, within_s: float) -> tuple[socket.socket, str]:
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
