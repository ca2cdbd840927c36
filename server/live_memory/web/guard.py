"""The one door in front of every route: who asks, from where, what kind of request, how large.

Routes are mounted inside, so a new route is protected before anyone thinks of it. No reply ever
carries a header that lets a web page read it.
"""

import hmac
from collections import Counter
from dataclasses import dataclass

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from live_memory.web.errors import ErrorClass, Problem
from live_memory.web.identity import Identity

__all__ = ["BODY_DEADLINE_S", "MAX_BODY_BYTES", "Guard", "has_token"]

# A batch of a thousand hook events.
MAX_BODY_BYTES = 8 * 1024 * 1024
# Loopback carries the largest body in milliseconds: whoever takes longer keeps a place occupied.
BODY_DEADLINE_S = 5.0

# Each of these may appear once: two of them mean two readers may see two requests.
_SINGLE = frozenset(
    {
        b"host",
        b"origin",
        b"sec-fetch-site",
        b"authorization",
        b"content-type",
        b"content-length",
        b"transfer-encoding",
        b"x-live-memory-project",
    }
)
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
_OPEN = ("GET", "/health")
_JSON = (b"application/json", b"application/json;charset=utf-8")

Headers = dict[bytes, bytes]


def has_token(scope: Scope) -> bool:
    """Whether the request showed the token; only the open route is reached without it."""
    return bool(scope["state"]["has_token"])


@dataclass(frozen=True, slots=True)
class _Body:
    """A request's whole body, and whether the client was gone before it was complete."""

    data: bytes
    is_cut: bool = False


class Guard:
    """Wraps the whole application."""

    def __init__(self, app: ASGIApp, identity: Identity) -> None:
        self._app = app
        # The token, for who reads it from its file, and the key of this one start.
        self._opens = [f"Bearer {text}".encode("ascii") for text in (identity.token, identity.key)]
        self._hosts = frozenset(f"{name}:{identity.port}".encode() for name in _LOCAL_NAMES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say in one short reply why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers: Headers = dict(scope["headers"])
        problem = self._problem(scope, headers)
        if problem is not None:
            await _refuse(problem, receive, send, body_follows=_has_body(headers))
            return
        if not _has_body(headers):
            await self._app(scope, _Replay(b"", receive), send)
            return
        body = await _whole_body(receive)
        if isinstance(body, Problem):
            await _refuse(body, receive, send, body_follows=False)
        elif not body.is_cut:
            await self._app(scope, _Replay(body.data, receive), send)

    def _problem(self, scope: Scope, headers: Headers) -> Problem | None:
        """The first reason to refuse, or none."""
        shown = headers.get(b"authorization", b"")
        is_known = any(hmac.compare_digest(shown, opens) for opens in self._opens)
        scope.setdefault("state", {})["has_token"] = is_known
        problem = _of_form(scope, headers) or self._of_host(headers) or _of_page(headers)
        if problem is None and not is_known and (scope["method"], scope["path"]) != _OPEN:
            problem = Problem(
                401,
                ErrorClass.AUTH,
                "this needs 'Authorization: Bearer TOKEN' with the token of this installation's "
                "data folder; run `live-memory doctor` to see what is wrong",
            )
        return problem or _of_body(scope, headers)

    def _of_host(self, headers: Headers) -> Problem | None:
        if headers[b"host"] in self._hosts:
            return None
        return Problem(421, ErrorClass.AUTH, "this server answers only to its own local address")


class _Replay:
    """Gives the body once more, then whatever comes: that is how a client's leaving is noticed."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._first: Message | None = {"type": "http.request", "body": body, "more_body": False}
        self._receive = receive

    async def __call__(self) -> Message:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        message = await self._receive()
        while message["type"] == "http.request":  # the end of a body that the server announces
            message = await self._receive()
        return message


def _of_form(scope: Scope, headers: Headers) -> Problem | None:
    if len(headers) < len(scope["headers"]):
        counts = Counter(name for name, _ in scope["headers"])
        twice = sorted(name.decode() for name in _SINGLE if counts[name] > 1)
        if twice:
            return Problem(400, ErrorClass.INVALID, f"more than one header {twice[0]!r}")
    if not headers.get(b"host"):
        return Problem(400, ErrorClass.INVALID, "no header 'host'")
    if not scope["path"].startswith("/"):
        return Problem(400, ErrorClass.INVALID, "the request must name a path")
    return None


def _of_page(headers: Headers) -> Problem | None:
    if b"origin" in headers or headers.get(b"sec-fetch-site", b"none") != b"none":
        return Problem(403, ErrorClass.AUTH, "web pages may not use this server")
    return None


def _of_body(scope: Scope, headers: Headers) -> Problem | None:
    if scope["method"] == "POST":
        kind = headers.get(b"content-type", b"").lower().replace(b" ", b"")
        if kind not in _JSON:
            return Problem(415, ErrorClass.INVALID, "the content type must be application/json")
    elif _has_body(headers):
        return Problem(400, ErrorClass.INVALID, "only POST takes a body")
    if int(headers.get(b"content-length", b"0")) > MAX_BODY_BYTES:
        return _TOO_LARGE
    return None


_TOO_LARGE = Problem(
    413, ErrorClass.LIMIT, f"the body has more than {MAX_BODY_BYTES} bytes: send less at once"
)
_TOO_SLOW = Problem(
    408, ErrorClass.TIMEOUT, f"the body did not arrive within {BODY_DEADLINE_S:.0f} s"
)


def _has_body(headers: Headers) -> bool:
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


async def _whole_body(receive: Receive) -> _Body | Problem:
    """Read to the end; what is too large is read too and thrown away, so that the client hears."""
    body, size = bytearray(), 0
    with anyio.move_on_after(BODY_DEADLINE_S):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return _Body(b"", is_cut=True)
            part = message.get("body", b"")
            size += len(part)
            if size <= MAX_BODY_BYTES:
                body += part
            else:
                body.clear()
            if not message.get("more_body", False):
                return _Body(bytes(body)) if size <= MAX_BODY_BYTES else _TOO_LARGE
    return _TOO_LARGE if size > MAX_BODY_BYTES else _TOO_SLOW


async def _refuse(problem: Problem, receive: Receive, send: Send, *, body_follows: bool) -> None:
    """Reply and close; a body on its way is thrown away first, else the client never reads why."""
    body = problem.body()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": body_follows})
    if body_follows:
        with anyio.move_on_after(BODY_DEADLINE_S):
            await _discard(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _discard(receive: Receive) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return
