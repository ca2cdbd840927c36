"""Sessions of the older protocol are bounded, and clients that are gone keep nobody out (S59)."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import httpx2

from live_memory.web.application import McpLimits
from tests.web.hubs import Live, live

_MOST = 3
_ACCEPT = {"Accept": "application/json, text/event-stream"}
_WHO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}}
_ASKED = {"question": "Where is it?", "cwd": "/somewhere"}


@dataclass(frozen=True, slots=True)
class _Visitors:
    """Clients that speak the older protocol, message by message."""

    http: httpx2.AsyncClient
    live: Live

    async def post(
        self, method: str, session: str | None = None, **params: object
    ) -> tuple[int, str]:
        """Status and body of one message."""
        reply = await self._sent(method, session, params)
        return reply.status_code, reply.text

    async def open(self) -> str:
        """A new session's name."""
        who = _WHO | {"clientInfo": {"name": "x", "version": "1"}}
        reply = await self._sent("initialize", None, who)
        assert reply.status_code == 200, reply.text
        return str(reply.headers["mcp-session-id"])

    async def is_gone(self, session: str) -> bool:
        """Whether the server knows nothing of a session; it does not afterwards."""
        url, headers = f"{self.live.base_url}/mcp", _ACCEPT | {"Mcp-Session-Id": session}
        return (await self.http.delete(url, headers=headers)).status_code == 404

    async def lives(self, session: str) -> bool:
        """Whether the server still knows a session; that is a use of it, and opens another else."""
        reply = await self._sent("ping", session, {})
        assert reply.status_code == 200, reply.text
        return str(reply.headers["mcp-session-id"]) == session

    @asynccontextmanager
    async def listening(self, session: str) -> AsyncIterator[None]:
        """A stream that stays open."""
        headers = _ACCEPT | {"Mcp-Session-Id": session}
        async with self.http.stream("GET", f"{self.live.base_url}/mcp", headers=headers) as stream:
            assert stream.status_code == 200
            yield

    async def _sent(
        self, method: str, session: str | None, params: Mapping[str, object]
    ) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = _ACCEPT | ({} if session is None else {"Mcp-Session-Id": session})
        return await self.http.post(f"{self.live.base_url}/mcp", json=message, headers=headers)


@asynccontextmanager
async def _visitors() -> AsyncIterator[_Visitors]:
    async with (
        live(McpLimits(sessions=_MOST)) as at,
        httpx2.AsyncClient(headers=dict(at.authorization), timeout=httpx2.Timeout(10)) as http,
    ):
        yield _Visitors(http, at)


async def test_a_new_session_takes_the_place_of_the_one_that_rested_longest() -> None:
    """D17: none is refused, and there are never more."""
    async with _visitors() as visitors:
        first, second, third = [await visitors.open() for _ in range(_MOST)]
        assert await visitors.lives(first)
        fourth = await visitors.open()
        assert await visitors.is_gone(second)
        assert [await visitors.lives(one) for one in (third, first, fourth)] == [True] * _MOST


async def test_a_session_that_ended_makes_room_by_itself() -> None:
    async with _visitors() as visitors:
        first, second, third = [await visitors.open() for _ in range(_MOST)]
        url, headers = f"{visitors.live.base_url}/mcp", _ACCEPT | {"Mcp-Session-Id": third}
        assert (await visitors.http.delete(url, headers=headers)).status_code == 200
        fourth = await visitors.open()
        assert [await visitors.lives(one) for one in (first, second, fourth)] == [True] * _MOST


async def test_a_session_with_a_call_in_flight_is_never_ended() -> None:
    """Nor is another one let in where each has one."""
    async with _visitors() as visitors:
        visitors.live.hub.waits = True
        replies: list[tuple[int, str]] = []

        async def ask(session: str) -> None:
            reply = await visitors.post(
                "tools/call", session, name="ask_live_memory", arguments=_ASKED
            )
            replies.append(reply)

        busy = await visitors.open()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, busy)
            with anyio.fail_after(5):
                await visitors.live.hub.is_waiting.wait()
            for _ in range(3 * _MOST):
                await visitors.open()
            for session in [await visitors.open() for _ in range(_MOST - 1)]:
                tasks.start_soon(ask, session)
            with anyio.fail_after(5):
                while len(visitors.live.hub.asked) < _MOST:
                    await anyio.lowlevel.checkpoint()
            refused = await visitors.post("initialize", None, **_WHO)
            visitors.live.hub.let_go.set()
    assert refused[0] == 503
    assert [status for status, _ in replies] == [200] * _MOST
    assert all("It is in `a.py`." in body for _, body in replies)


async def test_a_client_that_listens_stays_where_another_rests() -> None:
    """Its stream is how it hears of changes; without a silent one the longest listener goes."""
    async with _visitors() as visitors:
        listeners = [await visitors.open() for _ in range(_MOST - 1)]
        async with visitors.listening(listeners[0]), visitors.listening(listeners[1]):
            silent = await visitors.open()
            last = await visitors.open()
            assert await visitors.is_gone(silent)
            async with visitors.listening(last):
                newest = await visitors.open()
                assert await visitors.lives(newest)
                assert await visitors.is_gone(listeners[0])


async def test_opening_many_sessions_at_once_refuses_none() -> None:
    async with _visitors() as visitors:
        opened: list[str] = []

        async def one() -> None:
            opened.append(await visitors.open())

        async with anyio.create_task_group() as tasks:
            for _ in range(_MOST):
                tasks.start_soon(one)
        known = [await visitors.lives(session) for session in opened]
    assert known == [True] * _MOST


async def test_a_request_that_stands_alone_ends_no_session() -> None:
    async with _visitors() as visitors:
        opened = [await visitors.open() for _ in range(_MOST)]
        alone = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/list",
            "params": {
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                }
            },
        }
        headers = _ACCEPT | {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
        reply = await visitors.http.post(
            f"{visitors.live.base_url}/mcp", json=alone, headers=headers
        )
        assert "ask_live_memory" in json.dumps(reply.text)
        assert all([await visitors.lives(session) for session in opened])


async def test_a_session_from_before_a_restart_goes_on() -> None:
    """N32: a client that never begins another one is served, and its calls can be cancelled."""
    async with _visitors() as visitors:
        old = "0123456789abcdef0123456789abcdef"
        assert (await visitors.post("ping", old))[0] == 200
        status, said = await visitors.post("tools/list", old)
        assert (status, "ask_live_memory" in said) == (200, True)
        status, said = await visitors.post(
            "tools/call", old, name="ask_live_memory", arguments=_ASKED
        )
        assert (status, "It is in `a.py`." in said) == (200, True)
        async with visitors.listening(old):
            assert (await visitors.post("ping", old))[0] == 200


async def test_a_call_in_a_session_that_was_opened_again_can_be_cancelled() -> None:
    async with _visitors() as visitors:
        hub, old = visitors.live.hub, "from-before"
        hub.waits = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_ask, visitors, old)
            with anyio.fail_after(5):
                await hub.is_waiting.wait()
            message = {
                "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}
            }  # fmt: skip
            headers = _ACCEPT | {"Mcp-Session-Id": old}
            url = f"{visitors.live.base_url}/mcp"
            assert (await visitors.http.post(url, json=message, headers=headers)).status_code == 202
            with anyio.fail_after(5):
                await hub.was_cancelled.wait()
            tasks.cancel_scope.cancel()


async def _ask(visitors: _Visitors, session: str) -> None:
    await visitors.post("tools/call", session, name="ask_live_memory", arguments=_ASKED)


async def test_requests_of_one_session_that_is_gone_share_the_new_one() -> None:
    async with _visitors() as visitors:
        kept = [await visitors.open() for _ in range(_MOST - 1)]
        names: set[str] = set()

        async def ping(number: int) -> None:
            message = {"jsonrpc": "2.0", "id": number, "method": "ping"}
            headers = _ACCEPT | {"Mcp-Session-Id": "from-before"}
            url = f"{visitors.live.base_url}/mcp"
            reply = await visitors.http.post(url, json=message, headers=headers)
            names.add(reply.headers["mcp-session-id"])

        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(ping, number)
        assert len(names) == 1
        assert [await visitors.lives(session) for session in kept] == [True] * len(kept)


async def test_sessions_that_are_opened_again_are_bounded_too() -> None:
    async with _visitors() as visitors:
        for number in range(3 * _MOST):
            assert (await visitors.post("ping", f"old-{number}"))[0] == 200
        first = await visitors.open()
        assert (await visitors.post("ping", "old-0"))[0] == 200
        assert await visitors.lives(first)


async def test_a_name_that_no_session_can_have_opens_none() -> None:
    async with _visitors() as visitors:
        assert (await visitors.post("ping", "x" * 200))[0] == 404


async def test_a_session_that_rested_too_long_goes_on() -> None:
    async with (
        live(McpLimits(sessions=_MOST, idle_s=0.01)) as at,
        httpx2.AsyncClient(headers=dict(at.authorization), timeout=httpx2.Timeout(10)) as http,
    ):
        visitors = _Visitors(http, at)
        session = await visitors.open()
        with anyio.fail_after(5):
            while await visitors.lives(session):
                await anyio.sleep(0.02)  # nothing says that it ended
        status, said = await visitors.post("tools/list", session)
        assert (status, "ask_live_memory" in said) == (200, True)
