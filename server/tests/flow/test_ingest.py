"""Memory fills from the host's normal work: bounded, coalesced, without any model."""

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar

import anyio
import pytest

from live_memory.adapters.hooks.claude_code import ClaudeCode
from live_memory.core.errors import Busy, InvalidRequest, Unavailable
from live_memory.core.hosts.notices import AnythingChanged, FileInterest
from live_memory.core.memory.window import (
    FileChanged,
    FileGone,
    FileObserved,
    MemoryEvent,
    current_hashes,
)
from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import FileRead, Skipped
from live_memory.core.reading.redaction import Redactor
from live_memory.core.signals import EventsSkipped
from live_memory.core.values import ContentHash, Origin, RelPath
from live_memory.flow.ingest import MOST_WAITING, Ingestor, Waiting
from live_memory.flow.jobs import silent
from live_memory.flow.open_workspaces import Hub
from live_memory.flow.reader import Reader
from live_memory.flow.receive_events import Reception
from live_memory.flow.workspace import Workspace, WorkspaceStats
from live_memory.ports import HostDialect, Missed, Worktrees
from tests.support.doubles.in_memory_sandbox import InMemorySandbox, InMemoryWorktrees
from tests.support.doubles.in_memory_spool import InMemorySpool
from tests.support.memory import APP, House, a_question, app_house, identity
from tests.support.slowness import slowness

CONFIG = RelPath("app/config.py")


def payload(hook: str, **more: object) -> dict[str, object]:
    return {"hook_event_name": hook, "session_id": "s", "cwd": "/app", **more}


def tool(name: str, path: str = "/app/app/config.py", **given: object) -> dict[str, object]:
    tool_input = {"file_path": path, **given}
    return payload("PostToolUse", tool_name=name, tool_input=tool_input, tool_response={})


def bash(command: str, *, cwd: str = "/app") -> dict[str, object]:
    return payload(
        "PostToolUse", tool_name="Bash", tool_input={"command": command}, tool_response={}, cwd=cwd
    )


def touched(path: str = "/app/app/config.py", event: str = "change") -> dict[str, object]:
    return payload("FileChanged", file_path=path, event=event)


@dataclass(frozen=True, slots=True)
class Listening:
    """A hub with its one way in."""

    house: House
    hub: Hub
    reception: Reception

    async def hear(self, *payloads: dict[str, object], project: str | None = "/app") -> None:
        """Send payloads and wait until they are learned."""
        await self.reception.take(payloads, project=project)
        with anyio.fail_after(5):
            await (await self.memory()).ingestor.caught_up()

    async def memory(self) -> Workspace:
        return await self.hub.opened("/app")

    async def stats(self) -> WorkspaceStats:
        return await self.hub.stats("/app")

    async def seen(self) -> list[tuple[str, int, int, Origin]]:
        """What the window shows of files, oldest first."""
        entries = (await self.memory()).window.entries
        files = (e.content for e in entries if isinstance(e.content, FileObserved))
        return [(f.path.text, f.start, f.end, f.origin) for f in files]

    async def kinds(self) -> list[type]:
        return [type(entry.content) for entry in (await self.memory()).window.entries]


@asynccontextmanager
async def listening(
    house: House | None = None,
    *,
    missed: Sequence[Missed] = (),
    private: Sequence[str] = (),
    worktrees: Worktrees | None = None,
    dialect: HostDialect | None = None,
) -> AsyncIterator[Listening]:
    house, dialect = house or app_house(), dialect or ClaudeCode()
    worktrees = worktrees or InMemoryWorktrees()
    async with house.hub() as hub:
        reception = Reception(
            dialect,
            opened=hub.opened,
            spool=InMemorySpool(missed),
            worktrees=worktrees,
            private=private,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reception.run)
            yield Listening(house, hub, reception)
            tasks.cancel_scope.cancel()


@pytest.mark.promise("ingest-is-free")
async def test_what_the_agent_read_is_known_and_no_model_was_called() -> None:
    async with listening() as at:
        await at.hear(tool("Read"), tool("Read", "/app/app/client.py", offset=4, limit=2))
        assert await at.seen() == [
            ("app/config.py", 1, 3, Origin.READ),
            ("app/client.py", 4, 5, Origin.READ),
        ]
        stats = await at.stats()
        assert (stats.known_files, stats.model_calls, stats.cost_usd) == (2, 0, 0)
        assert stats.last_hook_at == at.house.now()


@pytest.mark.parametrize(
    "command", ["sed -n '4,5p' app/client.py", "cd app && head -5 client.py | tail -2"]
)
async def test_a_look_through_the_shell_counts_as_a_look(command: str) -> None:
    """X5."""
    async with listening() as at:
        await at.hear(bash(command))
        assert await at.seen() == [("app/client.py", 4, 5, Origin.READ)]


async def test_a_search_through_the_shell_shows_the_lines_it_found() -> None:
    async with listening() as at:
        await at.hear(bash("grep -n RETRY_LIMIT app/client.py"))
        assert await at.seen() == [
            ("app/client.py", 1, 1, Origin.READ),
            ("app/client.py", 5, 6, Origin.READ),
        ]


async def test_a_glob_is_expanded_in_the_workspace() -> None:
    async with listening() as at:
        await at.hear(bash("head -1 app/*.py"), bash("cat *.py"))
        assert sorted(await at.seen()) == [
            ("app/client.py", 1, 1, Origin.READ),
            ("app/config.py", 1, 1, Origin.READ),
        ]


@pytest.mark.parametrize("command", ["grep -n RETRY app/*.py", "rg RETRY", "grep -rn RETRY ."])
async def test_a_search_in_several_files_shows_the_lines_of_each(command: str) -> None:
    house = House({"/app": InMemorySandbox({**APP, ".env": b"RETRY=1\n"})})
    async with listening(house) as at:
        await at.hear(bash(command))
        assert {path for path, *_ in await at.seen()} == {"app/client.py", "app/config.py"}
        assert len(await at.seen()) == 3


@pytest.mark.parametrize(
    "command",
    [
        "grep '(' app/client.py",  # no expression
        "grep -E '(?=x)' app/client.py",  # not one that every program reads alike
        "cat app/[.py",
        "cat /elsewhere/*.py",
        "grep x /elsewhere/a.py",
        "grep -rn e . | head -2",  # which two depends on the program
        "grep -n RETRY *.py",  # none in this folder
    ],
)
async def test_what_cannot_be_told_exactly_is_not_claimed(command: str) -> None:
    async with listening() as at:
        await at.hear(bash(command.replace("'('", "-E '('")))
        assert await at.seen() == []


async def test_a_root_that_is_spelled_by_a_link_is_the_same_root() -> None:
    class Linked(InMemorySandbox):
        async def locate(self, paths: Sequence[str]) -> Sequence[RelPath | None]:
            return [RelPath(p.removeprefix("/link/")) if "/link/" in p else None for p in paths]

    async with listening(House({"/app": Linked(APP)})) as at:
        await at.hear(tool("Read", "/link/app/config.py"), tool("Read", "/etc/passwd"))
        assert await at.seen() == [("app/config.py", 1, 3, Origin.READ)]


async def test_a_file_that_is_no_longer_ignored_is_remembered() -> None:
    house = House({"/app": InMemorySandbox({**APP, ".gitignore": b"a.py\n", "a.py": b"x = 1\n"})})
    async with listening(house) as at:
        await at.hear(tool("Read", "/app/a.py"), tool("Read", "/app/.gitignore"))
        assert [path for path, *_ in await at.seen()] == [".gitignore"]
        house.sandbox.put(".gitignore", b"b.py\n")
        await at.hear(tool("Edit", "/app/.gitignore"))
        await at.hear(tool("Read", "/app/a.py"))
        assert ("a.py", 1, 1, Origin.READ) in await at.seen()


class _Failing(InMemorySandbox):
    """The disk is away while `is_away`."""

    is_away = False

    async def list(self) -> Listing:
        if self.is_away:
            raise Unavailable("the disk is away")
        return await super().list()


async def test_what_could_not_be_looked_at_is_counted_and_the_worker_goes_on() -> None:
    sandbox = _Failing(APP)
    async with listening(House({"/app": sandbox})) as at:
        sandbox.is_away = True
        await at.hear(tool("Read"), bash("make"))
        assert (await at.stats()).dropped_events == 1
        sandbox.is_away = False
        await at.hear(tool("Read"))
        assert await at.seen() == [("app/config.py", 1, 3, Origin.READ)]
        sandbox.is_away = True
        sandbox.put("new.py", b"x = 1\n")
        await at.reception.take([tool("Write", "/app/new.py")], project="/app")


async def test_a_busy_window_gets_the_event_a_moment_later() -> None:
    async with listening() as at:
        memory = await at.memory()
        refused = 2

        async def record(event: MemoryEvent) -> None:
            nonlocal refused
            if refused:
                refused -= 1
                raise Busy("full", retry_after_s=1)
            await memory.record(event)

        sandbox, ingestor = (
            at.house.sandbox,
            Ingestor(
                memory.identity,
                reader=memory.reader,
                indexer=memory.indexer,
                freshness=memory.freshness,
                clock=at.house,
                signals=at.house,
            ),
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ingestor.run, lambda: memory.views, record)
            ingestor.offer([FileInterest("/app/app/config.py", views=((),))])
            await ingestor.caught_up()
            sandbox.put("app/config.py", b"RETRY_LIMIT = 7\n")
            refused = 2
            ingestor.offer([AnythingChanged()])
            await ingestor.caught_up()
            tasks.cancel_scope.cancel()
        assert await at.kinds() == [FileObserved, FileChanged]


@pytest.mark.promise("no-secrets")
async def test_our_own_credentials_are_taken_out_by_what_they_are() -> None:
    sandbox = InMemorySandbox({"a.py": b"x = 'plain-words-of-no-shape'\n"})
    async with listening(House({"/app": sandbox})) as at:
        memory = await at.memory()
        ingestor = Ingestor(
            memory.identity,
            reader=Reader(sandbox, Redactor(exact=("plain-words-of-no-shape",)), 1_000),
            indexer=memory.indexer,
            freshness=memory.freshness,
            clock=at.house,
            signals=at.house,
        )
        ingestor.offer([FileInterest("/app/a.py", views=((),))])
        (event,) = await ingestor.rest(memory.views)
        assert isinstance(event, FileObserved)
        assert event.path == RelPath("a.py")


async def test_the_same_look_twice_is_kept_once() -> None:
    async with listening() as at:
        for _ in range(3):
            await at.hear(tool("Read"), bash("cat app/config.py"), touched())
        assert await at.seen() == [("app/config.py", 1, 3, Origin.READ)]


@pytest.mark.promise("never-falsely-fresh")
async def test_an_edit_shows_the_new_bytes() -> None:
    async with listening() as at:
        await at.hear(tool("Read"))
        at.house.sandbox.put("app/config.py", b"RETRY_LIMIT = 7\n")
        await at.hear(tool("Edit"))
        assert await at.seen() == [
            ("app/config.py", 1, 3, Origin.READ),
            ("app/config.py", 1, 1, Origin.EDIT),
        ]
        assert (await at.stats()).known_files == 1


async def test_what_came_from_elsewhere_is_noticed_where_it_is_in_view() -> None:
    async with listening() as at:
        await at.hear(tool("Read"), touched("/app/README.md"))
        at.house.sandbox.put("app/config.py", b"RETRY_LIMIT = 7\n")
        at.house.sandbox.put("README.md", b"# Other\n")
        await at.hear(touched(), touched("/app/README.md"))
        assert (await at.seen())[1:] == [("app/config.py", 1, 1, Origin.DISK)]
        at.house.sandbox.remove("app/config.py")
        await at.hear(touched(event="unlink"))
        assert (await at.kinds())[-1] is FileGone
        assert (await at.stats()).known_files == 0


@pytest.mark.promise("never-falsely-fresh")
@pytest.mark.parametrize("command", ["git checkout other", "python rewrite.py", "sed -i s/3/7/ x"])
async def test_after_a_command_that_may_change_files_everything_in_view_is_compared(
    command: str,
) -> None:
    """C26, S55."""
    async with listening() as at:
        await at.hear(tool("Read"), tool("Read", "/app/app/client.py"))
        at.house.sandbox.put("app/config.py", b"RETRY_LIMIT = 7\n")
        at.house.sandbox.remove("app/client.py")
        await at.hear(bash(command))
        assert (await at.kinds())[2:] == [FileGone, FileChanged]


async def test_five_hundred_edits_of_one_file_are_one_entry_with_the_last_bytes() -> None:
    """C31."""
    async with listening() as at:
        memory = await at.memory()
        for n in range(500):
            at.house.sandbox.put("app/config.py", b"RETRY_LIMIT = %d\n" % n)
            await at.reception.take([tool("Edit")], project="/app")
        await memory.ingestor.caught_up()
        (entry,) = memory.window.entries
        assert isinstance(entry.content, FileObserved)
        assert entry.content.sha == ContentHash.of(b"RETRY_LIMIT = 499\n")
        assert (await at.stats()).dropped_events == 0


@pytest.mark.promise("never-falsely-fresh")
async def test_a_flood_is_bounded_counted_and_leaves_nothing_stale() -> None:
    """S58: 200 files in 50 versions each, then a formatter that rewrites more than may wait."""
    files = {f"f{n}.py": b"x = 0\n" for n in range(MOST_WAITING + 500)}
    house = House({"/app": InMemorySandbox({**APP, **files})})
    async with listening(house) as at:
        memory = await at.memory()
        for version in range(50):
            for n in range(200):
                house.sandbox.put(f"f{n}.py", b"x = %d\n" % version)
            burst = [tool("Write", f"/app/f{n}.py") for n in range(200)]
            await at.reception.take(burst, project="/app")
        with anyio.fail_after(20):
            await memory.ingestor.caught_up()
        assert {e.content.sha for e in memory.window.entries if isinstance(e.content, FileObserved)
                } == {ContentHash.of(b"x = 49\n")}  # fmt: skip
        assert len(memory.window.entries) == 200

        for name in files:
            house.sandbox.put(name, b"x  =  1\n")
        everything = [touched(f"/app/{name}") for name in files]
        await at.reception.take(everything, project="/app")
        assert memory.ingestor.dropped == 500
        with anyio.fail_after(20):
            await memory.ingestor.caught_up()
        assert set(current_hashes(memory.window).values()) == {ContentHash.of(b"x  =  1\n")}
        assert (await at.stats()).dropped_events == 500


async def test_a_burst_is_learned_without_a_pause_after_each_batch() -> None:
    """320 files a second would be fewer than hosts name, and what waits is bounded."""
    many = 4_000  # with a pause after each 32 of them, 12 s of pauses alone
    house = House({"/app": InMemorySandbox({f"f{n}.py": b"x = 0\n" for n in range(many)})})
    async with listening(house) as at:
        with anyio.fail_after(10 * slowness()):
            for first in range(0, many, 500):
                burst = [tool("Read", f"/app/f{n}.py") for n in range(first, first + 500)]
                await at.reception.take(burst, project="/app")
                while (await at.stats()).known_files < first + 500:
                    await anyio.sleep(0.02)
        assert (await at.stats()).dropped_events == 0


class _Poured(InMemorySandbox):
    """Calls `poured` with each read: here no time passes while threads read and judge."""

    poured: Callable[[], None]

    async def read(self, names: Sequence[str], *, max_bytes: int) -> Sequence[FileRead | Skipped]:
        self.poured()
        return await super().read(names, max_bytes=max_bytes)


@pytest.mark.parametrize("anyio_backend", ["patient"], indirect=True)
async def test_while_events_pour_in_replies_come_first_and_learning_goes_on_a_little() -> None:
    """All threads share one interpreter: a batch that is learned holds up each reply beside it."""
    names = [f"f{n}.py" for n in range(400)]
    sandbox = _Poured(dict.fromkeys(names, b"x = 0\n"))
    async with listening(House({"/app": sandbox})) as at:
        memory = await at.memory()
        waiting = itertools.cycle(names)

        def pour() -> None:
            for name in itertools.islice(waiting, 20):
                memory.ingestor.offer([FileInterest(f"/app/{name}", views=((),))])

        sandbox.poured = pour
        ticks = {False: 0, True: 0}  # before and after the first batch
        while ticks[True] < 3:  # 400 events a second
            pour()
            await anyio.sleep(0.05)
            ticks[bool(memory.window.entries)] += 1
        assert ticks[False] > 35
        assert len(memory.window.entries) == 32
        sandbox.poured = lambda: None
        await memory.ingestor.caught_up()
        assert len(memory.window.entries) == 400


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize("many", [1, 100])
async def test_a_name_that_is_a_secret_is_in_no_journal_however_many_come_at_once(
    many: int,
) -> None:
    house, secret = app_house(), "ghp_" + "a1B2c3D4e5" * 4
    async with listening(house) as at:
        names = [f"/app/f{n}.py" for n in range(many)] + [f"/app/{secret}"]
        memory = await at.memory()
        await memory.hear([FileInterest(name, views=((),)) for name in names], events=1)
        found = await house.store.load(memory.identity.key)
        assert found.memory is not None
        heard = [one.path for one in found.memory.heard if isinstance(one, FileInterest)]
        assert heard == names[:-1]


async def test_files_that_rest_are_looked_at_and_files_that_change_wait() -> None:
    waiting = Waiting[FileInterest](MOST_WAITING)
    waiting.put(FileInterest("/a", is_edited=True), now=0.0)
    waiting.put(FileInterest("/b", views=((),)), now=0.0)
    assert [s.path for s in waiting.take_due(now=0.0, most=9) if isinstance(s, FileInterest)] == [
        "/b"
    ]
    for n in range(1, 10):
        waiting.put(FileInterest("/a", is_edited=True), now=n / 2)
        assert not waiting.take_due(now=n / 2 + 0.4, most=9)
    assert waiting.take_due(now=5.0, most=9)
    assert not waiting


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        (".env", b"API_KEY=x\n", None),
        ("id_rsa", b"-----BEGIN\n", None),
        ("ghp_0123456789abcdefghijklmnopqrstuvwxyz.py", b"x = 1\n", None),
        ("blob.dat", b"\0\1\2\3" * 100, "binary"),
        ("made.py", b"# Code generated by x. DO NOT EDIT.\nx = 1\n", "generated"),
        ("build/out.py", b"x = 1\n", "ignored"),
    ],
)
async def test_what_is_not_worth_or_not_safe_to_know_is_left_out(
    name: str, data: bytes, reason: str | None
) -> None:
    """C20."""
    house = House({"/app": InMemorySandbox({**APP, ".gitignore": b"build/\n", name: data})})
    async with listening(house) as at:
        await at.hear(tool("Read", f"/app/{name}"), tool("Write", f"/app/{name}"))
        await at.hear(bash(f"cat {name}"))
        assert await at.seen() == []
        skipped = [s.reason for s in house.signals if isinstance(s, EventsSkipped)]
        assert set(skipped) == ({reason} if reason else set())


@pytest.mark.promise("no-secrets")
async def test_nothing_that_a_file_says_is_kept_of_a_look_at_it() -> None:
    secret = "sk-ant-api03-" + "Ab1" * 20
    house = House({"/app": InMemorySandbox({"a.py": f'KEY = "{secret}"\nx = 1\n'.encode()})})
    async with listening(house) as at:
        await at.hear(tool("Read", "/app/a.py"))
        (entry,) = (await at.memory()).window.entries
        assert isinstance(entry.content, FileObserved)
        assert secret not in repr(entry)


@pytest.mark.promise("inside-the-workspace", "workspaces-never-mix")
async def test_only_files_of_this_workspace_are_learned() -> None:
    house = app_house()
    house.sandboxes["/other"] = InMemorySandbox({"b.py": b"x = 1\n"})
    async with listening(house) as at:
        await at.hear(
            tool("Read", "/other/b.py"),
            tool("Read", "/application/app/config.py"),
            tool("Read", "/app/../other/b.py"),
            tool("Read", "../other/b.py"),
            bash("cat ../other/b.py /etc/passwd"),
            bash("cat config.py", cwd="/other"),
        )
        assert await at.seen() == []
        assert (await at.hub.stats("/other")).entries == 0


async def test_the_project_that_is_named_wins_over_the_folder_the_shell_is_in() -> None:
    async with listening() as at:
        await at.hear(bash("cat config.py", cwd="/app/app") | {"cwd": "/app/app"})
        await at.hear(tool("Read", "/app/README.md"), project=None)
        assert {path for path, *_ in await at.seen()} == {"app/config.py", "README.md"}


async def test_a_payload_without_any_folder_is_refused_and_nothing_of_its_batch_is_kept() -> None:
    async with listening() as at:
        lost = {"hook_event_name": "PostToolUse"}
        with pytest.raises(InvalidRequest, match="no folder"):
            await at.reception.take([tool("Read"), lost], project=None)
        with pytest.raises(InvalidRequest, match="no folder"):
            await at.reception.take([tool("Read"), {**lost, "cwd": "/nowhere"}], project=None)
        await at.hear()
        assert await at.seen() == []


async def test_our_own_data_tools_and_records_never_come_back_as_knowledge() -> None:
    """C29: ten rounds, and the window stays as it is."""
    house = House({"/app": InMemorySandbox({**APP, "data/log.py": b"x = 1\n"})})
    own = "mcp__plugin_live-memory_live-memory__ask_live_memory"
    answered = {"tool_name": own, "tool_input": {"question": "?"}, "tool_response": "config.py:3"}
    async with listening(house, private=["/app/data"]) as at:
        for _ in range(10):
            await at.hear(
                payload("PostToolUse", **answered),
                tool("Read", "/app/data/log.py"),
                bash("cat data/log.py; live-memory ask 'Where is RETRY_LIMIT?'"),
                bash("grep -rn x data"),
            )
        assert (await at.memory()).window.entries == ()


async def test_what_hooks_wrote_down_is_learned_once_the_server_is_back() -> None:
    missed = [
        Missed("/app", tool("Read")),
        Missed("/gone", tool("Read", "/gone/a.py")),
        Missed("/app", None, dropped=3),
        Missed("/app", tool("Write", "/app/README.md")),
    ]
    async with listening(missed=missed) as at:
        with anyio.fail_after(5):
            while len(await at.seen()) < 2:
                await at.hear()
        assert (await at.stats()).dropped_events == 3


async def test_what_was_accepted_before_the_end_is_kept() -> None:
    house = app_house()
    async with listening(house) as at:
        await at.memory()
        await at.reception.take([tool("Edit"), tool("Read", "/app/README.md")], project="/app")
    saved = (await house.store.load(identity("/app").key)).memory
    assert saved is not None
    assert (len(saved.window.entries), saved.heard) == (2, ())


async def test_an_older_look_never_follows_a_newer_one_into_the_window() -> None:
    """A question compares with the disk while a file is being learned (S55)."""

    class Slow(InMemorySandbox):
        delays: ClassVar[list[float]] = []

        async def read(
            self, names: Sequence[str], *, max_bytes: int
        ) -> Sequence[FileRead | Skipped]:
            delay = self.delays.pop() if self.delays else 0
            found = await super().read(names, max_bytes=max_bytes)
            await anyio.sleep(delay)
            return found

    house = House({"/app": Slow(APP)})
    async with listening(house) as at:
        await at.hear(tool("Read"))
        memory = await at.memory()
        for n in range(1, 4):
            house.sandbox.put("app/config.py", b"RETRY_LIMIT = %d\n" % n)
            await at.reception.take([tool("Edit")], project="/app")
            Slow.delays.append(0.1)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(memory.ingestor.caught_up)
                while Slow.delays:
                    await anyio.sleep(0)
                house.sandbox.put("app/config.py", b"RETRY_LIMIT = %d0\n" % n)
                await at.hub.ask("/app", a_question(), progress=silent)
            newest = [e.content for e in memory.window.entries
                      if isinstance(e.content, FileObserved | FileChanged)][-1]  # fmt: skip
            assert newest.sha == ContentHash.of(b"RETRY_LIMIT = %d0\n" % n)


async def test_sessions_and_failed_commands_show_nothing() -> None:
    async with listening() as at:
        failed = bash("cat app/config.py") | {"hook_event_name": "PostToolUseFailure"}
        await at.hear(payload("SessionStart"), failed, payload("SessionEnd"))
        assert await at.seen() == []
        assert (await at.stats()).last_hook_at is not None


async def test_a_thousand_ignored_files_are_not_remembered_for_ever() -> None:
    made = {f"build/f{n}.py": b"x = 1\n" for n in range(1_100)}
    house = House({"/app": InMemorySandbox({**APP, ".gitignore": b"build/\n", **made})})
    async with listening(house) as at:
        for start in (0, 550, 1_050):
            names = [*made][start : start + 550]
            await at.hear(*(tool("Read", f"/app/{name}") for name in names))
        await at.hear(tool("Read", "/app/build/f0.py"), tool("Read"))
        assert await at.seen() == [("app/config.py", 1, 3, Origin.READ)]


async def test_folders_of_many_names_are_one_workspace() -> None:
    async with listening() as at:
        for n in range(70):
            await at.reception.take([bash("grep -n RETRY config.py", cwd="/app/app")],
                                    project=f"/app/d{n}")  # fmt: skip
        await at.hear()
        assert await at.seen() == [("app/config.py", 3, 3, Origin.READ)]


async def test_a_name_that_is_a_secret_is_not_found_by_a_search_either() -> None:
    name = "ghp_0123456789abcdefghijklmnopqrstuvwxyz.py"
    async with listening(House({"/app": InMemorySandbox({name: b"RETRY = 1\n"})})) as at:
        await at.hear(bash("grep -rn RETRY ."))
        assert await at.seen() == []


async def test_lines_deep_in_a_large_file_are_kept_and_nothing_else_of_it() -> None:
    """C15: piece by piece, and five such files in turn."""
    large = b"".join(b"value_%d = compute(%d, other=%d)\n" % (n, n, n) for n in range(1, 12_001))
    assert len(large) > 256 * 1024
    house = House({"/app": InMemorySandbox({f"f{n}.py": large for n in range(5)})})
    async with listening(house) as at:
        for first in (11_000, 11_050):
            looks = [tool("Read", f"/app/f{n}.py", offset=first, limit=50) for n in range(5)]
            await at.hear(*looks)
        assert sorted(await at.seen()) == sorted(
            (f"f{n}.py", first, first + 49, Origin.READ)
            for n in range(5)
            for first in (11_000, 11_050)
        )
        house.sandbox.put("f0.py", large.replace(b"value_7 ", b"value_x "))
        await at.hear(tool("Edit", "/app/f0.py"))
        assert (await at.kinds())[-1] is FileChanged
