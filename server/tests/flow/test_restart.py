"""What was acknowledged before a crash is known after it; what was forgotten stays forgotten."""

import copy
from collections.abc import Callable, Sequence

import anyio
import pytest

from live_memory.adapters.hooks.claude_code import ClaudeCode
from live_memory.core.errors import StoreUnavailable
from live_memory.core.hosts.notices import FileInterest
from live_memory.core.memory.ledger import FactId
from live_memory.core.memory.window import FileObserved
from live_memory.core.reading.observation import FileRead, Skipped
from live_memory.core.saving.journal import JournalRecord
from live_memory.core.saving.snapshot import Memory
from live_memory.core.values import WorkspaceKey
from live_memory.flow.jobs import silent
from live_memory.flow.open_workspaces import Hub
from live_memory.flow.receive_events import Reception
from tests.support.doubles.in_memory_sandbox import InMemorySandbox, InMemoryWorktrees
from tests.support.doubles.in_memory_spool import InMemorySpool
from tests.support.doubles.in_memory_store import InMemory
from tests.support.memory import APP, House, a_question, app_house, identity

KEY = identity("/app").key
SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"


def _event(name: str, tool: str = "Read") -> dict[str, object]:
    given = {"file_path": f"/app/{name}"}
    return {"hook_event_name": "PostToolUse", "cwd": "/app", "tool_name": tool, "tool_input": given}


def _command(command: str) -> dict[str, object]:
    given = {"command": command}
    return {"hook_event_name": "PostToolUse", "cwd": "/app", "tool_name": "Bash",
            "tool_input": given}  # fmt: skip


def _reception(hub: Hub) -> Reception:
    return Reception(
        ClaudeCode(), opened=hub.opened, spool=InMemorySpool(), worktrees=InMemoryWorktrees()
    )


def _after_a_crash(house: House) -> House:
    """The same workspace with what is on disk now, in a new process."""
    return House(house.sandboxes, store=copy.deepcopy(house.store))


async def _known(hub: Hub) -> set[str]:
    memory = await hub.opened("/app")
    with anyio.fail_after(5):
        await memory.ingestor.caught_up()
    seen = (entry.content for entry in memory.window.entries)
    return {one.path.text for one in seen if isinstance(one, FileObserved)}


@pytest.mark.promise("nothing-lost", "ingest-is-free")
async def test_what_was_acknowledged_and_not_learned_is_learned_after_a_crash() -> None:
    house = app_house()
    async with house.hub() as hub:
        # An edited file rests a second before it is looked at.
        await _reception(hub).take([_event("app/config.py", "Edit")], project="/app")
        await _reception(hub).take([_command("cat README.md | head -2")], project="/app")
        again = _after_a_crash(house)
    async with again.hub() as hub:
        assert await _known(hub) == {"app/config.py", "README.md"}
        assert (await hub.stats("/app")).last_hook_at is None


@pytest.mark.promise("nothing-lost")
@pytest.mark.parametrize("anyio_backend", ["virtual"], indirect=True)
async def test_what_is_still_being_read_when_the_server_ends_is_learned_by_the_next() -> None:
    """The snapshot of the end has it, because the journal before it goes."""

    class Hanging(InMemorySandbox):
        hangs = True

        async def read(
            self, names: Sequence[str], *, max_bytes: int
        ) -> Sequence[FileRead | Skipped]:
            if self.hangs:
                await anyio.sleep_forever()
            return await super().read(names, max_bytes=max_bytes)

    sandbox = Hanging(APP)
    house = House({"/app": sandbox})
    async with house.hub() as hub:
        told = [_event("app/config.py"), _event("README.md", "Edit")]
        await _reception(hub).take(told, project="/app")
        await anyio.sleep(0.5)
    sandbox.hangs = False
    async with _after_a_crash(house).hub() as hub:
        # No limit: this clock jumps while files are read in a thread.
        await (await hub.opened("/app")).ingestor.caught_up()
        assert await _known(hub) == {"app/config.py", "README.md"}


@pytest.mark.promise("nothing-lost")
async def test_what_was_learned_before_a_crash_is_not_learned_twice() -> None:
    house = app_house()
    async with house.hub() as hub:
        await _reception(hub).take([_event("app/config.py")], project="/app")
        await _known(hub)
        await hub.ask("/app", a_question(), progress=silent)
        before = (await hub.opened("/app")).window
        again = _after_a_crash(house)
    async with again.hub() as hub:
        memory = await hub.opened("/app")
        assert (memory.window.revision, len(memory.window.entries)) == (
            before.revision,
            len(before.entries),
        )
        await hub.ask("/app", a_question("Where is it read?"), progress=silent)
        assert await _known(hub) >= {"app/config.py"}


@pytest.mark.promise("nothing-lost")
async def test_an_answer_that_was_given_is_there_after_a_crash() -> None:
    house = app_house()
    async with house.hub() as hub:
        _, answer = await hub.ask("/app", a_question(), progress=silent)
        again = _after_a_crash(house)
    async with again.hub() as hub:
        _, past = await hub.answers("/app")
        assert [one.answer for one in past] == [answer]


@pytest.mark.promise("no-secrets")
async def test_a_secret_in_a_name_or_a_command_is_not_written_down() -> None:
    house = app_house()
    async with house.hub() as hub:
        told = [_event(f"{SECRET}.py"), _command(f"grep -n {SECRET} README.md")]
        await _reception(hub).take([*told, _event("README.md")], project="/app")
        assert SECRET not in repr(vars(house.store))
        assert "README.md" in repr(vars(house.store))


async def test_what_was_forgotten_stays_forgotten_though_an_event_comes_late() -> None:
    house = app_house()
    async with house.hub() as hub:
        old = await hub.opened("/app")
        await _reception(hub).take([_event("app/config.py", "Edit")], project="/app")
        await hub.clear("/app")
        with pytest.raises(StoreUnavailable, match="closing"):
            await old.hear([FileInterest("/app/README.md", views=((),))], events=1)
        again = _after_a_crash(house)
    async with again.hub() as hub:
        assert await _known(hub) == set()


class _Full(InMemory):
    """A disk that takes nothing until it is freed."""

    is_full = True

    async def append(self, key: WorkspaceKey, root: str, told: Sequence[JournalRecord]) -> None:
        if self.is_full:
            raise StoreUnavailable("no space left")
        await super().append(key, root, told)

    async def save(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        if self.is_full:
            raise StoreUnavailable("no space left")
        await super().save(key, root, taken)


@pytest.mark.promise("always-something-true", "nothing-lost")
async def test_a_full_disk_acknowledges_nothing_answers_all_the_same_and_heals() -> None:
    """S46: what a hook was told to keep is known in memory already."""
    disk = _Full()
    house = House({"/app": InMemorySandbox(APP), "/other": InMemorySandbox(APP)}, store=disk)
    async with house.hub() as hub:
        with pytest.raises(StoreUnavailable, match="no space"):
            await _reception(hub).take([_event("app/config.py")], project="/app")
        assert await _known(hub) == {"app/config.py"}
        _, answer = await hub.ask("/app", a_question(), progress=silent)
        assert answer.citations
        problems = list(hub.problems)
        assert problems == ["no space left"]
        disk.is_full = False
        with anyio.fail_after(10):
            while problems:
                await anyio.sleep(0.05)
                problems = list(hub.problems)
        again = _after_a_crash(house)
    async with again.hub() as hub:
        assert await _known(hub) >= {"app/config.py"}
        _, past = await hub.answers("/app")
        assert [one.answer for one in past] == [answer]


@pytest.mark.promise("nothing-lost")
async def test_a_fact_that_a_person_dropped_is_dropped_after_a_crash() -> None:
    from live_memory.core.memory.ledger import Fact, Source
    from live_memory.core.memory.window import Compacted, Forgotten
    from live_memory.core.values import ContentHash, RelPath

    source = Source(RelPath("README.md"), ContentHash.of(APP["README.md"]), 1, 3)
    house = app_house()
    async with house.hub() as hub:
        memory = await hub.opened("/app")
        facts = tuple(Fact(FactId(name), name, (source,)) for name in ("f1", "f2"))
        await memory.record(Compacted(frozenset(), facts))
        await memory.record(Forgotten(frozenset(), frozenset({FactId("f1")})))
        again = _after_a_crash(house)
    async with again.hub() as hub:
        ledger = (await hub.opened("/app")).window.ledger
        assert [fact.id for fact in ledger.facts] == ["f2"]
        assert ledger.forgotten == {"f1"}
