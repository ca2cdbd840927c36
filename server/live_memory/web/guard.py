"""The one door in front of every route: who asks, from where, what kind of request, how large.

Routes are mounted inside, so a new route is protected before anyone thinks of it. No reply ever
carries a header that lets a web page read it.
"""

import hmac
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from live_memory.core.errors import (
    Busy,
    Corrupt,
    LiveMemoryError,
    Rejected,
    StoreUnavailable,
    Unavailable,
)
from live_memory.core.reading.observation import visible
from live_memory.web.identity import Identity
from live_memory.web.page_links import PAGE_FILES, PAGE_KEY, PageLinks

__all__ = [
    "BODY_DEADLINE_S",
    "MAX_BODY_BYTES",
    "STOP_GRACE_S",
    "Drain",
    "Drained",
    "ErrorClass",
    "Guard",
    "Problem",
    "has_token",
    "is_page",
    "problem_of",
    "secret_in",
]


class ErrorClass(StrEnum):
    """What kind of failure a caller has to deal with; every error text names its class."""

    AUTH = "auth"
    LIMIT = "limit"
    PROVIDER = "provider"
    TIMEOUT = "timeout"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Problem:
    """A failure as it goes over the wire."""

    status: int
    kind: ErrorClass
    message: str
    retry_after_s: float | None = None

    def form(self) -> dict[str, object]:
        """The object that an error reply holds."""
        return {"error": {"class": self.kind.value, "message": self.message}}

    def body(self) -> bytes:
        """The error reply's body."""
        return json.dumps(self.form()).encode()

    def headers(self) -> Mapping[str, str]:
        """What the reply's headers add."""
        if self.retry_after_s is None:
            return {}
        return {"retry-after": str(max(1, round(self.retry_after_s)))}

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.message}"


def problem_of(error: LiveMemoryError) -> Problem:
    """What a caller is told about an error of ours."""
    said = visible(str(error))
    match error:
        case Busy():
            return Problem(429, ErrorClass.LIMIT, said, error.retry_after_s)
        case Rejected():
            return Problem(400, ErrorClass.INVALID, said)
        case StoreUnavailable() | Corrupt() | Unavailable():
            return Problem(503, ErrorClass.PROVIDER, said)
        case _:
            # The root itself is never raised; a new branch of the tree must be added above.
            raise error


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
_OPEN = frozenset({("GET", "/health"), *PAGE_FILES})
_JSON = (b"application/json", b"application/json;charset=utf-8")

Headers = dict[bytes, bytes]


def secret_in(shown: bytes) -> str:
    """What a header for credentials shows."""
    kind, _, secret = shown.partition(b" ")
    return secret.decode("latin-1") if kind == b"Bearer" else ""


def has_token(scope: Scope) -> bool:
    """Whether the request showed the token; only the open route is reached without it."""
    return bool(scope["state"]["has_token"])


def is_page(scope: Scope) -> bool:
    """Whether it is the page that asks, which may do less."""
    return bool(scope["state"]["is_page"])


@dataclass(frozen=True, slots=True)
class _Body:
    """A request's whole body, and whether the client was gone before it was complete."""

    data: bytes
    is_cut: bool = False


class Guard:
    """Wraps the whole application."""

    def __init__(self, app: ASGIApp, identity: Identity, links: PageLinks) -> None:
        self._app = app
        self._links = links
        self._page_opens = f"Bearer {identity.page_key}".encode("ascii")
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
        is_page = not is_known and self._is_of_page(scope["path"], shown)
        state = scope.setdefault("state", {})
        state["has_token"], state["is_page"] = is_known or is_page, is_page
        target = (scope["method"], scope["path"])
        is_open = target in _OPEN or is_known or is_page
        problem = (
            _of_form(scope, headers)
            or self._of_host(headers)
            or _of_other_page(headers, may_be_ours=target in PAGE_FILES or _is_for_page(target[1]))
        )
        if problem is None and not is_open:
            problem = Problem(
                401,
                ErrorClass.AUTH,
                "this needs 'Authorization: Bearer TOKEN' with the token of this installation's "
                "data folder; run `live-memory doctor` to see what is wrong",
            )
        return problem or _of_body(scope, headers)

    def _is_of_page(self, path: str, shown: bytes) -> bool:
        """Whether it is the page that shows its key, or the link that it gets the key for."""
        if path == PAGE_KEY:
            return self._links.is_live(secret_in(shown))
        return _is_for_page(path) and hmac.compare_digest(shown, self._page_opens)

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


def _is_for_page(path: str) -> bool:
    return path.startswith("/v1/")


def _of_other_page(headers: Headers, *, may_be_ours: bool) -> Problem | None:
    """Refuse what a browser sends for any page, but for ours where that is served."""
    origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site", b"none")
    is_ours = origin in (None, b"http://" + headers[b"host"]) and site in (b"none", b"same-origin")
    is_of_none = origin is None and site == b"none"
    if is_of_none or (may_be_ours and is_ours):
        return None
    return Problem(403, ErrorClass.AUTH, "web pages may not use this server")


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


# What a question may still take when the server is told to stop.
STOP_GRACE_S = 5.0
# An answer that is there has still to be sent; streams that wait for news would wait for ever.
_TO_SEND_S = 0.2


class Drain:
    """Counts questions in flight, holds each request's cancel scope, and knows when it is quiet."""

    def __init__(self) -> None:
        self._questions = 0
        self._requests: set[anyio.CancelScope] = set()
        self._clients = 0
        self._spoke_at = float("-inf")
        self._something_ended = anyio.Event()
        self._asked_to_stop = anyio.Event()

    @property
    def questions_in_flight(self) -> int:
        """How many callers wait for an answer."""
        return self._questions

    @contextmanager
    def question(self) -> Iterator[None]:
        """Let stopping wait for an answer."""
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            self._note_end()

    @contextmanager
    def request(self, *, is_known: bool) -> Iterator[anyio.CancelScope]:
        """Let a request be ended by `finish`; one that showed the token ends the quiet."""
        with anyio.CancelScope() as scope:
            self._requests.add(scope)
            self._clients += is_known
            try:
                yield scope
            finally:
                self._requests.discard(scope)
                self._clients -= is_known
                if is_known:
                    self._spoke_at = anyio.current_time()
                self._note_end()

    async def quiet(self, for_s: float) -> None:
        """Wait until no client has spoken for so long; an open stream is a client that may."""
        self._spoke_at = max(self._spoke_at, anyio.current_time())
        while True:
            left_s = self._spoke_at + for_s - anyio.current_time()
            if self._clients:
                await self._something_ended.wait()
            elif left_s > 0:
                await anyio.sleep(left_s)
            else:
                return

    def is_quiet(self, for_s: float) -> bool:
        """Whether no client has spoken for so long, and none may speak on."""
        return not self._clients and anyio.current_time() - self._spoke_at >= for_s

    def ask_to_stop(self) -> None:
        """Make whoever waits for it stop the server."""
        self._asked_to_stop.set()

    async def asked_to_stop(self) -> None:
        """Wait until someone who may do so asks the server to stop."""
        await self._asked_to_stop.wait()

    async def finish(self) -> None:
        """Wait for the questions in flight, then end every request that is left."""
        with anyio.move_on_after(STOP_GRACE_S):
            while self._questions:
                await self._something_ended.wait()
        with anyio.move_on_after(_TO_SEND_S):
            while self._requests:
                await self._something_ended.wait()
        for scope in tuple(self._requests):
            scope.cancel()

    def _note_end(self) -> None:
        if self._something_ended.statistics().tasks_waiting:
            self._something_ended.set()
            self._something_ended = anyio.Event()


class Drained:
    """Runs every request so that stopping can end it with a proper reply."""

    def __init__(self, app: ASGIApp, *, drain: Drain) -> None:
        self._app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run a request until it is done or the server stops."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        reply = _Reply(send)
        with self._drain.request(is_known=has_token(scope)) as request:
            await self._app(scope, receive, reply)
        if request.cancelled_caught:
            await reply.end()


class _Reply:
    """Knows how far a reply is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_started = self._is_complete = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_started = True
        elif not message.get("more_body", False):
            self._is_complete = True
        await self._send(message)

    async def end(self) -> None:
        """Complete a reply that was cut."""
        if not self._is_started:
            await self._send({"type": "http.response.start", "status": 503, "headers": []})
        if not self._is_complete:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
