"""A start: the port answers first, and what comes too early waits for the rest (ADR 8)."""

import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import httpx2
import pytest

from live_memory.core.errors import InvalidRequest
from live_memory.web.app import App
from live_memory.web.application import Application
from live_memory.web.guard import Drain
from live_memory.web.identity import Identity, is_proof, new_nonce
from live_memory.web.page_links import PageLinks
from live_memory.web.serving import host_app, listen
from tests.support.server import a_free_port
from tests.web.hubs import TOKEN, ScriptedHub, inside

KNOWN = {"Authorization": f"Bearer {TOKEN}"}


@dataclass(frozen=True, slots=True)
class Start:
    """A server whose rest is built when the test says so."""

    port: int
    may_build: threading.Event = field(default_factory=threading.Event)
    problem: InvalidRequest | None = None

    def build(self, drain: Drain, links: PageLinks) -> Application:
        assert self.may_build.wait(5)
        if self.problem is not None:
            raise self.problem
        identity = Identity(TOKEN, self.port, os.getpid())
        return inside(ScriptedHub(), drain, links, identity)

    @property
    def app(self) -> App:
        return App(Identity(TOKEN, self.port, os.getpid()), build=self.build)


@asynccontextmanager
async def started() -> AsyncIterator[tuple[Start, httpx2.AsyncClient]]:
    start = Start(a_free_port())
    app, listener = start.app, listen("127.0.0.1", start.port)
    assert not isinstance(listener, str)
    with listener:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host_app, app, listener)
            try:
                base_url = f"http://127.0.0.1:{start.port}"
                async with httpx2.AsyncClient(base_url=base_url, trust_env=False) as http:
                    with anyio.fail_after(5):
                        yield start, http
            finally:
                start.may_build.set()
                app.drain.ask_to_stop()


async def test_health_and_its_proof_do_not_wait_for_the_rest() -> None:
    async with started() as (start, http):
        nonce = new_nonce()
        stranger = await http.get(f"/health?nonce={nonce}")
        known = await http.get("/health", headers=KNOWN)
        no_nonce = await http.get("/health?nonce=short")
    assert is_proof(TOKEN, nonce=nonce, port=start.port, reply=stranger.json())
    assert sorted(stranger.json()) == ["pid", "proof", "reasons", "start", "status"]
    assert (known.json()["status"], known.json()["notes"]) == ("ok", [])
    assert (no_nonce.status_code, no_nonce.json()["error"]["class"]) == (400, "invalid")


async def test_a_request_that_comes_too_early_waits_and_is_answered() -> None:
    async with started() as (start, http), anyio.create_task_group() as tasks:
        replies: list[int] = []

        async def clear() -> None:
            reply = await http.post("/clear", json={"all": True}, headers=KNOWN)
            replies.append(reply.status_code)

        tasks.start_soon(clear)
        await http.get("/health")
        assert replies == []
        start.may_build.set()
    assert replies == [200]


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/stats"), ("POST", "/notify"), ("POST", "/health"), ("GET", "/x")]
)
async def test_the_door_is_shut_before_anything_is_behind_it(method: str, path: str) -> None:
    async with started() as (_, http):
        reply = await http.request(method, path, json={} if method == "POST" else None)
        web_page = await http.get("/health", headers={"Origin": "http://evil.example"})
    assert (reply.status_code, web_page.status_code) == (401, 403)


async def test_what_cannot_be_built_ends_the_server_and_is_told() -> None:
    start = Start(a_free_port(), problem=InvalidRequest("setting 'model' cannot be meant"))
    start.may_build.set()
    listener = listen("127.0.0.1", start.port)
    assert not isinstance(listener, str)
    with listener, anyio.fail_after(5), pytest.raises(InvalidRequest, match="'model'"):
        await host_app(start.app, listener)


def test_nothing_that_takes_long_is_imported_before_the_port_answers() -> None:
    """The figures of a cold start rest on this."""
    late = (
        *("live_memory.flow", "live_memory.core.evidence", "live_memory.adapters.workspace"),
        *("live_memory.adapters.index", "live_memory.adapters.store", "starlette.routing"),
        *("mcp", "http.client", "sqlite3", "httpx2", "anthropic", "openai"),
    )
    code = (
        "import sys, live_memory.cli.main, live_memory.cli.serve, live_memory.wiring.choose_model\n"
        f"print(*(name for name in sys.modules if name.startswith({late!r})))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == []
