"""What is promised is on disk before anybody hears of it; snapshots follow, and failures heal."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio
import pytest
import trio.testing

from live_memory.core.answer import Answer, Grounding, Mode, Question
from live_memory.core.errors import StoreUnavailable
from live_memory.core.hosts.notices import FileInterest, Interest
from live_memory.core.memory.window import MemoryEvent, NoteWritten, QuestionAnswered, Window, apply
from live_memory.core.saving.journal import JournalRecord
from live_memory.core.saving.snapshot import Memory
from live_memory.core.signals import SaveFailed, Signal
from live_memory.core.values import Instant, WorkspaceKey
from live_memory.flow.persist import Persister
from tests.support.doubles.in_memory_store import InMemory
from tests.support.memory import identity

HERE = identity("/app")
ANSWERED = QuestionAnswered(
    Question("Where?", Instant(1.0)), Answer("There.", Mode.EVIDENCE, Grounding.VERIFIED, ()), 0
)


class Disk(InMemory):
    """A disk that can be full or slow; counts what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.saves = self.appends = 0
        self.takes_journal = self.takes_snapshots = True
        self.sync_s = 0.0

    async def append(self, key: WorkspaceKey, root: str, told: Sequence[JournalRecord]) -> None:
        self.appends += 1
        await anyio.sleep(self.sync_s)
        if not self.takes_journal:
            raise StoreUnavailable("no space for a line")
        await super().append(key, root, told)

    async def save(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        self.saves += 1
        if not self.takes_snapshots:
            raise StoreUnavailable("no space for a snapshot")
        await super().save(key, root, taken)

    def fill(self) -> None:
        self.takes_journal = self.takes_snapshots = False

    def free(self) -> None:
        self.takes_journal = self.takes_snapshots = True


class Desk:
    """A window that a test changes, its persister, and what it signalled."""

    def __init__(self, disk: Disk) -> None:
        self.window = Window()
        self.heard: tuple[Interest, ...] = ()
        self.signals: list[Signal] = []
        self.disk = disk
        self.persister = Persister(
            HERE, store=disk, memory=lambda: Memory(self.window, self.heard), signals=self
        )

    def emit(self, signal: Signal) -> None:
        self.signals.append(signal)

    def fold(self, event: MemoryEvent) -> None:
        self.window = apply(self.window, event)
        self.persister.happened(self.window.revision, event)

    def note(self, text: str) -> None:
        self.fold(NoteWritten(text, Instant(1.0)))

    async def hear(self, name: str) -> None:
        """As a workspace does: known at once, then written down."""
        subject = FileInterest(name)
        self.heard = (*self.heard, subject)
        await self.persister.heard([subject])

    async def after_a_crash(self) -> Memory:
        """What a new process finds; what was heard may be told twice."""
        found = (await self.disk.load(HERE.key)).memory or Memory()
        return replace(found, heard=tuple(dict.fromkeys(found.heard)))

    def problem(self) -> str | None:
        """What `/health` says."""
        return self.persister.problem


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.fixture
async def desk() -> Desk:
    disk = Disk()
    await disk.load(HERE.key)
    return Desk(disk)


async def test_a_burst_of_changes_is_one_snapshot(desk: Desk) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.persister.run)
        for n in range(500):
            desk.note(str(n))
        await anyio.sleep(20)
        assert (desk.disk.appends, desk.disk.saves) == (1, 1)
        assert await desk.after_a_crash() == Memory(desk.window)
        tasks.cancel_scope.cancel()


@pytest.mark.promise("nothing-lost")
async def test_what_was_heard_survives_a_crash_once_it_is_acknowledged(desk: Desk) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.persister.run)
        await desk.hear("/app/a.py")
        assert desk.disk.saves == 0
        assert (await desk.after_a_crash()).heard == (FileInterest("/app/a.py"),)
        tasks.cancel_scope.cancel()


@pytest.mark.promise("nothing-lost")
async def test_an_answer_is_on_disk_before_it_is_given(desk: Desk) -> None:
    desk.disk.sync_s = 0.3
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.persister.run)
        desk.note("before")
        await anyio.sleep(0.1)  # its sync is under way
        desk.fold(ANSWERED)
        with anyio.fail_after(1.0):
            await desk.persister.promised(ANSWERED)
        desk.disk.sync_s = 60.0
        assert await desk.after_a_crash() == Memory(desk.window)
        tasks.cancel_scope.cancel()


@pytest.mark.promise("deadline-kept")
async def test_a_disk_that_hangs_holds_up_no_reply_for_long(desk: Desk) -> None:
    desk.disk.sync_s = 60.0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.persister.run)
        desk.fold(ANSWERED)
        with anyio.fail_after(0.9):
            await desk.persister.promised(ANSWERED)
        with anyio.fail_after(6), pytest.raises(StoreUnavailable, match="does not answer"):
            await desk.hear("/app/a.py")
        tasks.cancel_scope.cancel()


async def test_many_who_wait_share_one_sync(desk: Desk) -> None:
    desk.disk.sync_s = 0.01
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.persister.run)
        async with anyio.create_task_group() as hearing:
            for n in range(100):
                hearing.start_soon(desk.hear, f"/app/{n}.py")
        assert desk.disk.appends <= 2
        assert len((await desk.after_a_crash()).heard) == 100
        tasks.cancel_scope.cancel()


async def test_nobody_waits_for_what_nobody_was_promised(desk: Desk) -> None:
    desk.disk.sync_s = 60.0
    desk.note("one")
    with anyio.fail_after(0.1):
        await desk.persister.promised(NoteWritten("one", Instant(1.0)))


async def test_where_nothing_is_to_be_written_nobody_waits(desk: Desk) -> None:
    with anyio.fail_after(0.1):
        await desk.persister.promised(ANSWERED)


@pytest.mark.promise("nothing-lost")
async def test_a_full_disk_refuses_at_once_and_what_was_refused_is_kept_when_it_heals(
    desk: Desk,
) -> None:
    """S46: degraded within 5 s, whole within 10 s after there is space again."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.persister.run)
        await desk.hear("/app/first.py")
        desk.disk.fill()
        for name in ("/app/a.py", "/app/b.py"):
            with anyio.fail_after(1), pytest.raises(StoreUnavailable, match="no space"):
                await desk.hear(name)
        desk.fold(ANSWERED)
        with anyio.fail_after(1):
            await desk.persister.promised(ANSWERED)
        await anyio.sleep(60)
        desk.note("while it was full")
        assert desk.problem() is not None
        assert await desk.after_a_crash() == Memory(heard=(FileInterest("/app/first.py"),))
        desk.disk.free()
        await anyio.sleep(5)
        assert desk.problem() is None
        assert await desk.after_a_crash() == Memory(desk.window, desk.heard)
        await desk.hear("/app/last.py")
        desk.note("after it was full")
        await desk.persister.promised(ANSWERED)
        assert await desk.after_a_crash() == Memory(desk.window, desk.heard)
        tasks.cancel_scope.cancel()
    failures = [signal for signal in desk.signals if isinstance(signal, SaveFailed)]
    assert {failure.problem for failure in failures} == {
        "no space for a line",
        "no space for a snapshot",
    }
    assert len(failures) == 2


@pytest.mark.promise("nothing-lost")
async def test_what_comes_while_a_heal_is_tried_is_neither_lost_nor_a_gap(desk: Desk) -> None:
    class Slow(Disk):
        async def save(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
            await super().save(key, root, taken)
            await anyio.sleep(2)

    desk = Desk(Slow())
    await desk.disk.load(HERE.key)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.persister.run)
        desk.disk.takes_journal = False
        with pytest.raises(StoreUnavailable):
            await desk.hear("/app/a.py")
        desk.note("one")
        desk.disk.takes_journal = True
        await anyio.sleep(1)  # the snapshot is being written
        desk.note("two")
        await desk.hear("/app/b.py")
        found = await desk.after_a_crash()
        assert found.window == desk.window
        assert set(found.heard) == {FileInterest("/app/a.py"), FileInterest("/app/b.py")}
        tasks.cancel_scope.cancel()


async def test_a_snapshot_that_fails_alone_is_reported_and_made_up_for(desk: Desk) -> None:
    desk.disk.takes_snapshots = False
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.persister.run)
        desk.note("one")
        await anyio.sleep(6)
        assert desk.problem() == "no space for a snapshot"
        await desk.hear("/app/a.py")  # the journal takes it
        await anyio.sleep(60)
        desk.disk.free()
        await anyio.sleep(5)
        assert desk.problem() is None
        assert await desk.after_a_crash() == Memory(desk.window, desk.heard)
        tasks.cancel_scope.cancel()
    assert [type(signal) for signal in desk.signals] == [SaveFailed]


async def test_more_than_may_wait_for_a_slow_disk_is_kept_by_a_snapshot(desk: Desk) -> None:
    desk.disk.sync_s = 1.0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.persister.run)
        for n in range(10_002):
            desk.note(str(n))
        assert desk.problem() is not None
        await anyio.sleep(5)
        assert desk.problem() is None
        assert await desk.after_a_crash() == Memory(desk.window)
        tasks.cancel_scope.cancel()


@pytest.mark.promise("nothing-lost")
async def test_a_cancelled_owner_still_saves_what_it_has(desk: Desk) -> None:
    desk.note("one")
    with anyio.CancelScope() as stopping:
        stopping.cancel()
        await desk.persister.flush()
    assert await desk.after_a_crash() == Memory(desk.window)
    await desk.persister.flush()
    assert desk.disk.saves == 1


@pytest.mark.parametrize("is_full", [False, True])
async def test_who_still_waits_when_it_closes_hears_how_it_ended(
    desk: Desk, *, is_full: bool
) -> None:
    ended: list[str] = []

    async def hearing() -> None:
        try:
            await desk.hear("/app/a.py")
            ended.append("kept")
        except StoreUnavailable as problem:
            ended.append(str(problem))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hearing)
        await anyio.sleep(0.1)
        if is_full:
            desk.disk.fill()
        await desk.persister.flush()
    assert ended == ["no space for a snapshot" if is_full else "kept"]
    with pytest.raises(StoreUnavailable, match="closing"):
        await desk.hear("/app/b.py")


async def test_what_a_start_found_in_a_journal_becomes_a_snapshot() -> None:
    disk = Disk()
    await disk.load(HERE.key)
    persister = Persister(HERE, store=disk, memory=Memory, signals=Desk(disk), is_saved=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(persister.run)
        await anyio.sleep(1)
        assert disk.saves == 1
        tasks.cancel_scope.cancel()
