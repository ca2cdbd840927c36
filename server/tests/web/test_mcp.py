"""The MCP tool as clients of both protocols use it, over a real port."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from live_memory.client.offer import TOOLS
from live_memory.core.errors import Busy, Unavailable
from tests.support.server import RunningServer
from tests.web.hubs import Live, live

Era = Literal["auto", "legacy"]
both_eras = pytest.mark.parametrize("era", ["auto", "legacy"])
VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
ACCEPT = {"Accept": "application/json, text/event-stream"}
ASK = "ask_live_memory"
SOMEWHERE = {"question": "Where is it?", "cwd": "/somewhere"}


@asynccontextmanager
async def client(at: Live | RunningServer, era: Era, **headers: str) -> AsyncIterator[Client]:
    sent = dict(at.authorization) | headers
    timeout = httpx2.Timeout(30)
    async with (
        httpx2.AsyncClient(headers=sent, timeout=timeout) as http,
        Client(
            streamable_http_client(f"{at.base_url}/mcp", http_client=http), mode=era
        ) as connected,
    ):
        yield connected


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@both_eras
async def test_a_question_is_answered_in_one_text_block_with_progress(era: Era) -> None:
    said: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        said.append(message)

    async with live() as at, client(at, era) as mcp:
        at.hub.steps = ("checking", "looking")
        assert mcp.protocol_version == VERSIONS[era]
        result = await mcp.call_tool(ASK, SOMEWHERE, progress_callback=hear)
    assert result.is_error is not True
    assert result.structured_content is None
    assert text_of(result).startswith("It is in `a.py`.")
    assert text_of(result).rstrip().splitlines()[-1].startswith("[mode evidence")
    assert said == ["checking", "looking"]


@both_eras
async def test_the_tool_says_when_to_use_it_and_that_it_changes_nothing(era: Era) -> None:
    """Clients cut texts at 4,096 characters and read the start."""
    async with live() as at, client(at, era) as mcp:
        tool, *others = (await mcp.list_tools()).tools
        instructions = mcp.instructions or ""
    assert (tool.name, *(other.name for other in others)) == TOOLS
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is True
    assert tool.annotations.destructive_hint is False
    assert tool.output_schema is None
    assert tool.input_schema["required"] == ["question"]
    shown = tool.input_schema["properties"]
    assert {name: each.get("type") for name, each in shown.items()} == {
        "question": "string",
        "cwd": "string",
        "timeout": "number",
        "max_answer_tokens": "integer",
    }
    # When to ask stands where every client shows it, how to ask beside the arguments.
    assert "BEFORE you search" in instructions
    assert "exact bytes" in instructions
    assert "one full question" in (tool.description or "")
    assert ASK in instructions[:400]


@both_eras
async def test_the_client_names_the_project_in_a_header(era: Era) -> None:
    async with live() as at, client(at, era, **{"X-Live-Memory-Project": "/there"}) as mcp:
        result = await mcp.call_tool(ASK, {"question": "Where is it?"})
        assert result.is_error is not True
        await mcp.call_tool(ASK, {"question": "Where is it?", "cwd": "/there/below"})
        refused = await mcp.call_tool(ASK, SOMEWHERE)
    assert at.hub.folders == ["/there", "/there/below"]
    assert "outside the project" in text_of(refused)


@both_eras
async def test_a_project_that_nobody_names_is_asked_for(era: Era) -> None:
    """An unset variable reaches us as it was written."""
    async with live() as at:
        for headers in ({}, {"X-Live-Memory-Project": "${CLAUDE_PROJECT_DIR}"}):
            async with client(at, era, **headers) as mcp:
                result = await mcp.call_tool(ASK, {"question": "Where is it?"})
            assert result.is_error
            assert "invalid: cwd" in text_of(result)
            assert "absolute path" in text_of(result)
    assert at.hub.asked == []


BAD: list[tuple[str, Mapping[str, object], str]] = [
    ("empty", {"question": ""}, "question is empty"),
    ("blank", {"question": " \n "}, "question is empty"),
    ("null", {"question": None}, "question must be text"),
    ("number", {"question": 7}, "question must be text"),
    ("list", {"question": ["x"]}, "question must be text"),
    ("long", {"question": "x" * 1_000_000}, "question has 1000000 characters"),
    ("negative timeout", {"question": "x", "timeout": -1}, "from 5 to 1800"),
    ("no timeout", {"question": "x", "timeout": 0}, "from 5 to 1800"),
    ("endless timeout", {"question": "x", "timeout": 1e308}, "from 5 to 1800"),
    ("text timeout", {"question": "x", "timeout": "5"}, "from 5 to 1800"),
    ("list timeout", {"question": "x", "timeout": [5]}, "from 5 to 1800"),
    ("no tokens", {"question": "x", "max_answer_tokens": 0}, "from 256 to 32000"),
    ("many tokens", {"question": "x", "max_answer_tokens": 10**12}, "from 256 to 32000"),
    ("half a token", {"question": "x", "max_answer_tokens": 300.5}, "from 256 to 32000"),
    ("number cwd", {"question": "x", "cwd": 7}, "cwd must be text"),
    ("relative cwd", {"question": "x", "cwd": "src"}, "absolute path"),
    ("NUL cwd", {"question": "x", "cwd": "/a\0b"}, "not a path"),
]


@both_eras
@pytest.mark.promise("deadline-kept")
async def test_a_bad_argument_is_told_what_to_send(era: Era) -> None:
    """S35: and none of them becomes a question without a deadline."""
    async with live() as at, client(at, era) as mcp:
        for name, arguments, told in BAD:
            result = await mcp.call_tool(ASK, {"cwd": "/somewhere", **arguments})
            assert result.is_error, name
            assert "invalid: " in text_of(result), name
            assert told in text_of(result), name
    assert at.hub.asked == []


async def test_a_question_may_look_like_json() -> None:
    async with live() as at, client(at, "auto") as mcp:
        for text in ('["a"]', '{"a": 1}', "null", "7"):
            await mcp.call_tool(ASK, SOMEWHERE | {"question": text})
    assert [asked.text for asked in at.hub.asked] == ['["a"]', '{"a": 1}', "null", "7"]


async def test_what_is_not_an_argument_is_ignored_and_null_is_the_default() -> None:
    """S35."""
    async with live() as at, client(at, "auto") as mcp:
        nulls = {"timeout": None, "max_answer_tokens": None}
        result = await mcp.call_tool(ASK, SOMEWHERE | nulls | {"colour": "red"})
    assert result.is_error is not True
    assert at.hub.asked[0].budget.timeout_s == 60


@both_eras
async def test_a_failure_says_its_class(era: Era) -> None:
    async with live() as at, client(at, era) as mcp:
        for problem, said in (
            (Busy("full", retry_after_s=1), "limit: full"),
            (Unavailable("away"), "provider: away"),
        ):
            at.hub.problem = problem
            result = await mcp.call_tool(ASK, SOMEWHERE)
            assert result.is_error
            assert said in text_of(result)


@both_eras
async def test_a_client_that_cancels_ends_the_question(era: Era) -> None:
    async with live() as at, client(at, era) as mcp:
        at.hub.waits = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(mcp.call_tool, ASK, SOMEWHERE)
            with anyio.fail_after(5):
                await at.hub.is_waiting.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(5):
            await at.hub.was_cancelled.wait()
        assert at.app.drain.questions_in_flight == 0


async def test_a_client_that_vanishes_ends_the_question() -> None:
    """In the 2026 protocol the connection is the call."""
    async with live() as at:
        at.hub.waits = True
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                async with client(at, "auto") as mcp:
                    await mcp.call_tool(ASK, SOMEWHERE)

            tasks.start_soon(call)
            with anyio.fail_after(5):
                await at.hub.is_waiting.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(5):
            await at.hub.was_cancelled.wait()


@both_eras
async def test_a_client_with_an_open_stream_does_not_hold_up_a_stop(era: Era) -> None:
    with anyio.fail_after(5):
        async with live() as at, client(at, era) as mcp:
            await mcp.list_tools()
            await at.app.drain.finish()


RAW = {
    "no method": b'{"jsonrpc":"2.0","id":1}',
    "unknown method": b'{"jsonrpc":"2.0","id":1,"method":"no/such"}',
    "wrong version": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "batch": b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    "id null": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "id float": b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    "id object": b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    "call before initialize": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}',
    "unknown tool": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}',
    "list as params": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_live_memory",'
    b'"arguments":{"question":"x","cwd":"/x","timeout":NaN}}}',
    "Infinity": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_live_memory",'
    b'"arguments":{"question":"x","cwd":"/x","timeout":Infinity}}}',
    "surrogate": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":'
    b'"ask_live_memory","arguments":{"question":"\\ud800","cwd":"/x"}}}',
}


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28", "1999-01-01", ""])
async def test_a_malformed_message_is_an_error_and_no_crash(version: str) -> None:
    """S35."""
    async with live() as at, httpx2.AsyncClient(headers=dict(at.authorization) | ACCEPT) as http:
        for body in RAW.values():
            headers = {"Content-Type": "application/json", "MCP-Protocol-Version": version}
            if not version:
                del headers["MCP-Protocol-Version"]
            with anyio.fail_after(5):
                reply = await http.post(f"{at.base_url}/mcp", content=body, headers=headers)
            assert reply.status_code < 500
    assert at.hub.asked == []


async def test_many_calls_at_once_are_all_answered() -> None:
    async with live() as at, client(at, "auto") as mcp, anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(mcp.call_tool, ASK, SOMEWHERE)
    assert len(at.hub.asked) == 50


@both_eras
async def test_a_real_question_gets_a_real_answer(
    server: RunningServer, project: Path, era: Era
) -> None:
    """C06 as far as the protocol goes: whoever connects once the server is there is answered."""
    async with client(server, era) as mcp:
        result = await mcp.call_tool(
            ASK, {"question": "Where is charge_card?", "cwd": str(project)}
        )
    assert result.is_error is not True
    assert "pay.py:1" in text_of(result)
    assert len(text_of(result)) < 8_000


@both_eras
async def test_a_wrong_token_is_told_what_to_do(server: RunningServer, era: Era) -> None:
    """D2: old clients lose headers, so the text has to explain it."""
    reply = server.request("POST", "/mcp", {"x": 1}, headers={"Authorization": "Bearer x"})
    assert reply.status == 401
    assert "live-memory doctor" in json.loads(reply.body)["error"]["message"]
    with pytest.raises((MCPError, httpx2.HTTPStatusError, ExceptionGroup)):
        async with client(server, era, Authorization="Bearer x") as mcp:
            await mcp.list_tools()
