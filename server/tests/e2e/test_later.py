"""Asking now and collecting later, through a real server with the setting on and off."""

import time
from pathlib import Path

import pytest

from live_memory.client.offer import TOOLS
from tests.support.server import running_server
from tests.web.test_mcp import Era, both_eras, client, text_of


@both_eras
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_question_is_submitted_and_its_answer_collected(era: Era, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    asked = {"question": "Where is MAX_RETRIES set?", "cwd": str(project)}
    with running_server(tmp_path, LIVE_MEMORY_ASYNC_TOOLS="on") as server:
        async with client(server, era) as mcp:
            names = {tool.name for tool in (await mcp.list_tools()).tools}
            job_id = text_of(await mcp.call_tool("ask_live_memory_submit", asked))
            until = time.monotonic() + 20
            while (
                found := text_of(await mcp.call_tool("ask_live_memory_result", {"job_id": job_id}))
            ).startswith("[running]"):
                assert time.monotonic() < until
            again = await mcp.call_tool("ask_live_memory_result", {"job_id": job_id})
            wrong = await mcp.call_tool("ask_live_memory_submit", {"question": ""})
    assert names == {*TOOLS, "ask_live_memory_submit", "ask_live_memory_result"}
    assert "limits.py:1" in found
    assert again.is_error
    assert "no such job" in text_of(again)
    assert wrong.is_error


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_without_the_setting_there_are_no_others(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with client(server, "auto") as mcp:
            assert tuple(t.name for t in (await mcp.list_tools()).tools) == TOOLS
