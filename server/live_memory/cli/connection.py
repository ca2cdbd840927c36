"""Talk to the running server: it is found and proved first, and only then sees the token."""

import http.client
import json
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from live_memory.cli.failure import ExitCode, Failure, trouble_of
from live_memory.settings import Settings
from live_memory.web.identity import is_proof, new_nonce, probe, published
from live_memory.web.token import read_token

__all__ = ["Health", "Server", "find", "get", "health", "post", "stream"]

# A server that is busy with a first look answers within this; a program that accepts and never
# speaks costs no more than this (cases.md C03).
_PROBE_S = 2.0
# Figures and forgetting take milliseconds; opening a large workspace for them takes longer.
_QUICK_S = 30.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that has shown that it knows our token."""

    host: str
    port: int
    pid: int
    version: str
    token: str = field(repr=False)

    @property
    def url(self) -> str:
        """Its address, as a person would type it."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}"


@dataclass(frozen=True, slots=True)
class Health:
    """`ok`, or `degraded` with the reasons in words for a person; notes are no reason for it."""

    status: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()


def find(settings: Settings) -> Server:
    """The running server of this data folder, wherever it said that it listens.

    Raises:
        Failure: nobody answers, or a stranger does.
        InvalidRequest: the token file is not to be trusted.
    """
    here = (settings.host, settings.port)
    token = _token(settings)
    if token is not None:
        said = published(settings.data_dir)
        addresses = [(said.host, said.port), here] if said else [here]
        for host, port in dict.fromkeys(addresses):
            server = _proved(host, port, token=token)
            if server is not None:
                return server
    if _is_held(*here):
        raise Failure(
            f"port {settings.port} is held by a program that is not the Live Memory server of "
            f"'{settings.data_dir}': stop it, or set another port, of the plugin with `/plugin`, "
            "else with LIVE_MEMORY_PORT",
            code=ExitCode.STRANGER,
            kind="stranger",
        )
    known = trouble_of(settings.data_dir)
    raise Failure(
        f"no Live Memory server answers on port {settings.port}: run `live-memory start`"
        if known is None
        else f"no Live Memory server runs: {known}",
        code=ExitCode.UNREACHABLE,
        kind="unreachable",
    )


def health(server: Server) -> Health:
    """What the server says of itself to someone who has the token.

    Raises:
        Failure: the server failed or went away.
    """
    said = get(server, "/health")
    return Health(str(said.get("status")), _texts(said, "reasons"), _texts(said, "notes"))


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


def _token(settings: Settings) -> str | None:
    """The installation's token; nothing where no server was ever started."""
    is_there = os.path.lexists(settings.data_dir / "token")
    return read_token(settings.data_dir) if is_there else None


def _proved(host: str, port: int, *, token: str) -> Server | None:
    nonce = new_nonce()
    reply = probe(host, port, f"/health?nonce={nonce}", within_s=_PROBE_S)
    if reply is None or not is_proof(token, nonce=nonce, port=port, reply=reply):
        return None
    pid = reply["pid"]
    assert isinstance(pid, int)  # the proof covers it
    return Server(host, port, pid, str(reply.get("version")), token)


def _is_held(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=_PROBE_S).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True
    return True


def _lines(
    server: Server,
    method: str,
    target: str,
    *,
    body: Mapping[str, object] | None,
    timeout_s: float,
) -> Iterator[dict[str, object]]:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    connection = http.client.HTTPConnection(server.host, server.port, timeout=timeout_s)
    try:
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
