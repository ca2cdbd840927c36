"""The same call of a tool, told by two registrations of ours in one host, counts once."""

import anyio
import pytest

from live_memory.adapters.hooks.every_host import EveryHost
from live_memory.core.errors import InvalidRequest
from live_memory.core.values import Origin
from live_memory.flow import receive_events
from live_memory.ports import Missed
from tests.flow.test_ingest import Listening, listening, touched
from tests.flow.test_ingest import tool as told

Payload = dict[str, object]


def tool(
    name: str, path: str = "/app/app/config.py", *, call: str = "c", **more: object
) -> Payload:
    return {**told(name, path), "tool_use_id": call, **more}


def vscodes(call: str = "c") -> Payload:
    """What VS Code tells our own hook, and Claude Code's that it runs as well."""
    given = {"tool_name": "create_file", "tool_input": {"filePath": "/app/app/config.py"}}
    return {**tool("Write", call=call), **given, "host": "vscode"}


async def events(at: Listening) -> int:
    return (await at.stats()).hook_events


@pytest.mark.parametrize("payload", [tool("Write"), vscodes()], ids=["Claude Code", "VS Code"])
async def test_a_call_that_is_told_twice_counts_once(payload: Payload) -> None:
    async with listening(dialect=EveryHost()) as at:
        await at.hear(payload)
        await at.hear(payload)
        await at.hear(payload, payload)
        assert await events(at) == 1


async def test_calls_that_are_told_at_the_same_time_count_once() -> None:
    async with listening(dialect=EveryHost()) as at:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at.hear, tool("Write"))
            tasks.start_soon(at.hear, tool("Write"))
        assert await events(at) == 1


_FIRST = tool("Write")
OTHERS = {
    "another call": (_FIRST, tool("Write", call="d")),
    "another session": (_FIRST, {**_FIRST, "session_id": "another"}),
    # The names of a host's calls may not be unique.
    "another file": (_FIRST, tool("Write", "/app/app/client.py")),
    "no call": (told("Write"), told("Write")),
    "no tool": (touched(), touched()),
    "no name": (_FIRST, {**_FIRST, "tool_use_id": 5}),
}


@pytest.mark.parametrize("payloads", OTHERS.values(), ids=OTHERS)
async def test_what_another_call_told_counts_as_well(payloads: tuple[Payload, Payload]) -> None:
    async with listening(dialect=EveryHost()) as at:
        for payload in payloads:
            await at.hear(payload)
        assert await events(at) == 2


async def test_what_was_not_taken_is_taken_when_it_is_told_again() -> None:
    async with listening(dialect=EveryHost()) as at:
        with pytest.raises(InvalidRequest):
            await at.hear(tool("Read"), project="/nowhere")
        await at.hear(tool("Read"))
        assert await at.seen() == [("app/config.py", 1, 3, Origin.READ)]


async def test_what_was_written_down_by_both_counts_once() -> None:
    missed = [Missed("/app", tool("Read")), Missed("/app", tool("Read"))]
    async with listening(missed=missed, dialect=EveryHost()) as at:
        await at.hear()
        assert await events(at) == 1


@pytest.mark.parametrize("anyio_backend", ["virtual"], indirect=True)
async def test_later_the_same_is_another_call() -> None:
    async with listening(dialect=EveryHost()) as at:
        await at.reception.take([tool("Write")], project="/app")
        await anyio.sleep(11)
        await at.reception.take([tool("Write")], project="/app")
        assert await events(at) == 2


async def test_only_so_many_calls_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receive_events, "_MOST_CALLS", 2)
    async with listening(dialect=EveryHost()) as at:
        for call in "abcda":
            await at.hear(tool("Write", call=call))
        assert await events(at) == 5
