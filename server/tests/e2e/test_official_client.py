"""The official Python client, which knows nothing of us, over both transports and both eras."""

import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from tests.claude.stage import PROJECT
from tests.support.scripted_endpoint import Channel, Play, Received, Text, serving
from tests.support.server import RunningServer, running_server

# "auto" is the newer protocol, "legacy" the one that begins with `initialize`.
Era = Literal["auto", "legacy"]
ASK = "ask_live_memory"
# A helper process, a question, and a busy machine.
_LONGEST_S = 30.0
each_transport = pytest.mark.parametrize("transport", ["http", "stdio"])
each_era = pytest.mark.parametrize("era", ["auto", "legacy"])


@dataclass(frozen=True, slots=True)
class _World:
    """A server, the project it is asked about, and the model that it asks."""

    server: RunningServer
    project: Path
    model: Channel

    @asynccontextmanager
    async def client(self, transport: str, era: Era) -> AsyncIterator[Client]:
        """A client that is connected."""
        if transport == "stdio":
            bridge = StdioServerParameters(
                command=sys.executable,
                args=["-m", "live_memory", "mcp"],
                env=dict(self.server.environment),
                cwd=self.project,
            )
            async with Client(bridge, mode=era) as client:
                yield client
        else:
            http = httpx2.AsyncClient(headers=dict(self.server.authorization), timeout=_LONGEST_S)
            connected = streamable_http_client(f"{self.server.base_url}/mcp", http_client=http)
            async with http, Client(connected, mode=era) as client:
                yield client


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_World]:
    folder = tmp_path_factory.mktemp("official")
    project = folder / "project"
    project.mkdir()
    for name, text in PROJECT.items():
        (project / name).write_text(text)
    with serving() as endpoint:
        model = endpoint.open(rules=[_reply])
        settings = {
            "LIVE_MEMORY_PROVIDER": "openai",
            "LIVE_MEMORY_BASE_URL": f"{model.base_url}/v1",
            "LIVE_MEMORY_API_KEY": "sk-test-not-a-real-key-0001",
        }
        with running_server(folder / "server", **settings) as server:
            yield _World(server, project, model)


def _reply(received: Received) -> Play:
    """Say which question it is; one that is to wait hears nothing."""
    number = re.findall(rb"RETRY_LIMIT set, asked as (\d+)", received.raw)
    if not number:
        return Text("", then="stall")
    return Text(f"`RETRY_LIMIT` is 7 (settings.py:4).\n\nAsked as {number[-1].decode()}.")


def _text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@each_transport
@each_era
async def test_it_lists_the_tool_and_eight_calls_at_once_get_their_own_answers(
    world: _World, transport: str, era: Era
) -> None:
    answers: dict[int, str] = {}

    async def ask(number: int) -> None:
        asked = {"question": f"Where is RETRY_LIMIT set, asked as {number}?"}
        answers[number] = _text(await client.call_tool(ASK, {**asked, "cwd": str(world.project)}))

    with anyio.fail_after(_LONGEST_S):
        async with world.client(transport, era) as client:
            assert ASK in [tool.name for tool in (await client.list_tools()).tools]
            async with anyio.create_task_group() as calls:
                for number in range(8):
                    calls.start_soon(ask, number)

    assert sorted(answers) == list(range(8))
    for number, answer in answers.items():
        assert f"Asked as {number}." in answer, answers


@each_transport
@each_era
async def test_it_hears_of_progress_and_a_call_that_it_cancels_ends_at_the_model(
    world: _World, transport: str, era: Era
) -> None:
    asking = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        if message == "asking the companion":
            asking.set()

    async def ask() -> None:
        asked = {"question": f"Who waits over {transport}, {era}?", "cwd": str(world.project)}
        await client.call_tool(ASK, asked, progress_callback=hear)

    before = len(world.model.requests)
    with anyio.fail_after(_LONGEST_S):
        async with world.client(transport, era) as client:
            async with anyio.create_task_group() as calls:
                calls.start_soon(ask)
                await asking.wait()
                while len(world.model.requests) == before:
                    await anyio.sleep(0.01)
                calls.cancel_scope.cancel()
            gone = world.model.requests[before].gone
            assert await anyio.to_thread.run_sync(gone.wait, _LONGEST_S / 2)
            # The connection is as good as before.
            assert ASK in [tool.name for tool in (await client.list_tools()).tools]
