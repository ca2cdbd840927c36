"""What hooks wrote down before a start comes before what they send after it."""

from collections.abc import Sequence

import anyio
import pytest

from live_memory.adapters.hooks.claude_code import ClaudeCode
from live_memory.core.memory.window import FileObserved
from live_memory.flow.open_workspaces import Hub
from live_memory.flow.receive_events import Reception
from live_memory.ports import Missed
from tests.support.doubles.in_memory_sandbox import InMemoryWorktrees
from tests.support.doubles.in_memory_spool import InMemorySpool
from tests.support.memory import app_house


def _read(name: str) -> dict[str, object]:
    given = {"file_path": f"/app/{name}"}
    return {
        "hook_event_name": "PostToolUse",
        "cwd": "/app",
        "tool_name": "Read",
        "tool_input": given,
    }


class _SlowSpool(InMemorySpool):
    """Gives nothing before it is let go."""

    def __init__(self, missed: Sequence[Missed]) -> None:
        super().__init__(missed)
        self.goes = anyio.Event()

    async def take(self) -> Sequence[Missed]:
        await self.goes.wait()
        return await super().take()


async def _learned(hub: Hub) -> list[str]:
    memory = await hub.opened("/app")
    await memory.ingestor.caught_up()
    seen = (entry.content for entry in memory.window.entries)
    return [one.path.text for one in seen if isinstance(one, FileObserved)]


@pytest.mark.promise("nothing-lost")
async def test_an_event_that_comes_while_the_spool_is_emptied_comes_after_it() -> None:
    """C06: a session that began before its server keeps the order of what it did."""
    spool = _SlowSpool([Missed("/app", _read("README.md")), Missed("/app", _read("app/client.py"))])
    async with app_house().hub() as hub, anyio.create_task_group() as tasks:
        reception = Reception(
            ClaudeCode(), opened=hub.opened, spool=spool, worktrees=InMemoryWorktrees()
        )
        tasks.start_soon(reception.run)
        await anyio.wait_all_tasks_blocked()
        async with anyio.create_task_group() as sent:
            sent.start_soon(_send, reception, "app/config.py")
            await anyio.wait_all_tasks_blocked()
            before = await _learned(hub)
            spool.goes.set()
        with anyio.fail_after(5):
            learned = await _learned(hub)
        tasks.cancel_scope.cancel()

    assert before == []
    assert learned == ["README.md", "app/client.py", "app/config.py"]


async def _send(reception: Reception, name: str) -> None:
    await reception.take([_read(name)], project="/app")
