"""N32: a client whose session began before a restart asks on, as clients do that begin no other."""

from pathlib import Path

import pytest

from tests.support.server import a_free_port, running_server
from tests.web.test_mcp import client, text_of


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_session_from_before_a_restart_is_served(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    asked = {"question": "Where is MAX_RETRIES set?", "cwd": str(project)}
    port = str(a_free_port())
    with running_server(tmp_path, LIVE_MEMORY_PORT=port) as server:
        async with client(server, "legacy") as mcp:
            assert "limits.py:1" in text_of(await mcp.call_tool("ask_live_memory", asked))
            assert server.stop() == 0
            with running_server(tmp_path, LIVE_MEMORY_PORT=port):
                assert "limits.py:1" in text_of(await mcp.call_tool("ask_live_memory", asked))
                assert [tool.name for tool in (await mcp.list_tools()).tools]
