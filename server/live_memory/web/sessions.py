"""Keeps a bounded number of protocol sessions: a new one takes the place of the longest at rest.

Clients are killed, and never say that they left: without this, a crowd of them that is gone keeps
the next one out until its sessions run out. It knows sessions by a header only.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Sessions"]

_HOST, _SESSION = b"host", b"mcp-session-id"
# Said by requests of the newer protocol, which stand alone.
_METHOD = b"mcp-method"


@dataclass(frozen=True, slots=True)
class _Use:
    """The requests that a session has under way."""

    calls: set[object] = field(default_factory=set)
    streams: set[object] = field(default_factory=set)


class Sessions:
    """Wraps the protocol's endpoint, which itself refuses what is beyond `most`."""

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most
        # From the longest at rest to the last used. One that ended unheard is soon at the front.
        self._known: OrderedDict[bytes, _Use] = OrderedDict()
        self._opening: set[object] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; one that may open a session has room made for it first."""
        headers = dict(scope["headers"])
        named = headers.get(_SESSION)
        known = None if named is None else self._known.get(named)
        if named is not None and known is not None:
            is_call = scope["method"] == "POST"
            with _under_way(known.calls if is_call else known.streams):
                await self._app(scope, receive, send)
            if scope["method"] == "DELETE":
                self._known.pop(named, None)
            elif named in self._known:
                self._known.move_to_end(named)
        elif named is None and _METHOD not in headers:
            with _under_way(self._opening):
                await self._make_room(headers.get(_HOST, b""))
                await self._app(scope, receive, self._noting(send))
        else:
            await self._app(scope, receive, send)

    def _noting(self, send: Send) -> Send:
        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened = dict(message["headers"]).get(_SESSION)
                if opened is not None:
                    self._known[opened] = _Use()
            await send(message)

        return noted

    async def _make_room(self, host: bytes) -> None:
        while len(self._known) + len(self._opening) > self._most:
            resting = self._longest_at_rest()
            if resting is None:
                return
            del self._known[resting]
            await self._end(resting, host)

    def _longest_at_rest(self) -> bytes | None:
        """One without a call in flight; one that still listens only where there is no other."""
        idle = [name for name, use in self._known.items() if not use.calls]
        silent = (name for name in idle if not self._known[name].streams)
        return next(silent, next(iter(idle), None))

    async def _end(self, name: bytes, host: bytes) -> None:
        """End a session the way its client would."""
        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "DELETE",
            "scheme": "http",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "root_path": "",
            "query_string": b"",
            "headers": [(_HOST, host), (_SESSION, name)],
        }
        # A client that goes away while it comes in must not leave half of this.
        with anyio.CancelScope(shield=True):
            await self._app(scope, _no_body, _to_nobody)


@contextmanager
def _under_way(requests: set[object]) -> Iterator[None]:
    request = object()
    requests.add(request)
    try:
        yield
    finally:
        requests.remove(request)


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _to_nobody(_: Message) -> None:
    """Let go of the reply."""
