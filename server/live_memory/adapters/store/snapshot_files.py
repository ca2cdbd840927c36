"""A snapshot and a journal a workspace, in `<data>/workspaces/<key>/`."""

import asyncio
import contextlib
import errno
import functools
import itertools
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

import anyio
from anyio import to_thread

from live_memory.adapters.store.journal_file import (
    JOURNAL,
    read_file,
    read_head,
    set_aside,
    sync_folder,
    write_new,
)
from live_memory.adapters.store.memory_folder import (
    APART,
    LARGEST_SNAPSHOT,
    OPEN_HANDOFFS,
    PREVIOUS,
    SESSIONS,
    SNAPSHOT,
    MemoryFolder,
)
from live_memory.core.companion.chat import DAY_S, Payment
from live_memory.core.errors import (
    Corrupt,
    LiveMemoryError,
    SnapshotUnreadable,
    StoreUnavailable,
    refuse_exhausted,
)
from live_memory.core.notes.session_work import SessionRecord
from live_memory.core.saving.codec import form_of, read, written
from live_memory.core.saving.journal import JournalRecord, begun_in
from live_memory.core.saving.snapshot import Memory, Restored, root_of, unsealed
from live_memory.core.values import Instant, WorkspaceKey

__all__ = ["DiskSpendLog", "JsonFiles", "WritingThread"]


class WritingThread:
    """Does one thing after the other in its thread, which ends with this.

    A journal is written thousands of times a second, and then finding a thread for each takes
    longer than all else that a line needs.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="writer")

    async def run(self, work: Callable[[], None]) -> None:
        """Wait until it is done, also while being cancelled; raises what it raises."""
        loop = asyncio.get_running_loop()
        # Two who write to one file at once would spoil it.
        with anyio.CancelScope(shield=True):
            await loop.run_in_executor(self._thread, work)


# A folder that is being removed: whatever happens then, nothing in it comes back.
_FORGOTTEN = ".forgotten"


class JsonFiles:
    """A `SnapshotStore`; folders are 0700 and files 0600 whatever the umask."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[WorkspaceKey, MemoryFolder] = {}
        # Memories of which the system gave no bytes: what is there must not be written over.
        self._unread: dict[WorkspaceKey, str] = {}
        # The root follows from a folder's name, so that the folder is opened once to learn it.
        self._named: dict[str, str] = {}
        # Each is there as long as somebody has it or waits for it.
        self._turns: WeakValueDictionary[WorkspaceKey, anyio.Lock] = WeakValueDictionary()
        self._writer = WritingThread()

    async def load(self, key: WorkspaceKey) -> Restored:
        """Read the snapshot and its journals; what cannot be read is set aside and told.

        Where the system gives no bytes, nothing is kept either until it was loaded again.
        """
        async with self._turn(key):
            self._close(key)
            folder = self._folder / key.text
            try:
                opened = await to_thread.run_sync(MemoryFolder.opened, folder)
            except OSError as problem:
                refuse_exhausted(problem)
                self._unread[key] = (
                    f"{folder} cannot be read: {problem.strerror} (nothing is written there until "
                    "it can be)"
                )
                return Restored(problems=(self._unread[key],), is_unread=True)
            self._open[key], restored = opened
            return restored

    async def is_readable(self, key: WorkspaceKey) -> bool:
        """Open the folder and let go of it."""
        async with self._turn(key):
            try:
                kept, _ = await to_thread.run_sync(MemoryFolder.opened, self._folder / key.text)
            except OSError as problem:
                refuse_exhausted(problem)
                return False
            kept.close()
            return True

    async def append(self, key: WorkspaceKey, root: str, told: Sequence[JournalRecord]) -> None:
        """Add lines to the journal and sync them."""
        async with self._turn(key):
            work = functools.partial(self._opened(key).append, root, told)
            try:
                await self._writer.run(work)
            except OSError as problem:
                where = f"the journal in {self._folder / key.text} cannot be written"
                raise StoreUnavailable(f"{where}: {problem.strerror}") from problem

    async def save(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        """Begin a new journal, then write beside, sync, rename, sync the folder."""
        with _failures_told(f"{self._folder / key.text} cannot be written"):
            await self._save(key, root, taken, MemoryFolder.turn_page)

    async def _save(
        self,
        key: WorkspaceKey,
        root: str,
        taken: Callable[[], Memory],
        turn: Callable[[MemoryFolder, str], int],
    ) -> MemoryFolder:
        async with self._turn(key):
            kept = self._opened(key)
            generation = await to_thread.run_sync(turn, kept, root)
        memory = taken()
        await to_thread.run_sync(lambda: kept.save(root, memory, generation=generation))
        return kept

    async def sessions(self, key: WorkspaceKey) -> Sequence[SessionRecord]:
        """Read what was noted, and set aside what cannot be read."""
        with _failures_told(f"{self._folder / key.text} cannot be read"):
            async with self._turn(key):
                return await to_thread.run_sync(_sessions_in, self._opened(key))

    async def keep_sessions(self, key: WorkspaceKey, sessions: Sequence[SessionRecord]) -> None:
        """Write beside, sync, rename."""
        form = {"sessions": [written(one) for one in sessions]}
        await self._put(key, SESSIONS, json.dumps(form).encode("ascii") if sessions else b"")

    async def tell_open(self, key: WorkspaceKey, until: Sequence[Instant]) -> None:
        """A list of numbers, or no file at all."""
        await self._put(key, OPEN_HANDOFFS, json.dumps(list(until)).encode() if until else b"")

    async def rewrite(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        """Begin a new journal and save as `save` does, then remove every other file of it."""
        with _failures_told(f"{self._folder / key.text} cannot be written anew"):
            kept = await self._save(key, root, taken, MemoryFolder.turn_over)
            async with self._turn(key):
                await to_thread.run_sync(kept.remove_older)

    async def release(self, key: WorkspaceKey) -> None:
        """Close the journal, and keep nothing of the memory here."""
        async with self._turn(key):
            self._close(key)

    async def forget(self, key: WorkspaceKey) -> None:
        """Remove the workspace's folder, in one step for whoever looks."""
        async with self._turn(key):
            self._close(key)
            with _failures_told(f"{self._folder / key.text} cannot be removed"):
                await to_thread.run_sync(self._remove, key)

    async def exchange(self, key: WorkspaceKey, *, kept: str, wanted: str) -> str:
        """Give the workspace's folder another name, and its own to what was set aside before."""
        async with self._turn(key):
            self._close(key)
            with _failures_told(f"{self._folder / key.text} cannot be set aside"):
                return await to_thread.run_sync(self._exchange, key, kept, wanted)

    async def roots(self) -> Mapping[WorkspaceKey, str]:
        """Read every root; unreadable ones are left out."""
        return await to_thread.run_sync(self._roots)

    async def saved(self) -> Mapping[WorkspaceKey, Instant]:
        """Look at the time of each journal, else of the snapshot."""
        return await to_thread.run_sync(self._saved)

    async def _put(self, key: WorkspaceKey, name: str, data: bytes) -> None:
        with _failures_told(f"{name} in {self._folder / key.text} cannot be written"):
            async with self._turn(key):
                kept = self._opened(key)
                await to_thread.run_sync(lambda: kept.put(name, data))

    def _turn(self, key: WorkspaceKey) -> anyio.Lock:
        return self._turns.setdefault(key, anyio.Lock(fast_acquire=True))

    def _opened(self, key: WorkspaceKey) -> MemoryFolder:
        try:
            return self._open[key]
        except KeyError:
            why = "this memory was not loaded, or was forgotten since"
            raise StoreUnavailable(self._unread.get(key, why)) from None

    def _close(self, key: WorkspaceKey) -> None:
        self._unread.pop(key, None)
        kept = self._open.pop(key, None)
        if kept is not None:
            kept.close()

    def _exchange(self, key: WorkspaceKey, kept: str, wanted: str) -> str:
        folder = self._folder / key.text
        aside, back = (folder.with_name(f"{key.text}.{name}") for name in (kept, wanted))
        numbered = (aside.with_name(f"{aside.name}.{n}") for n in itertools.count(1))
        free = next(p for p in itertools.chain([aside], numbered) if not os.path.lexists(p))
        folder.rename(free)
        with contextlib.suppress(FileNotFoundError):
            back.rename(folder)
        sync_folder(self._folder)
        return str(free)

    def _remove(self, key: WorkspaceKey) -> None:
        folder = self._folder / key.text
        for aside in self._folder.glob(f"{key.text}.*"):
            shutil.rmtree(aside)
        gone = folder.with_name(f"{key.text}{_FORGOTTEN}")
        if os.path.lexists(folder):
            folder.rename(gone)
            sync_folder(self._folder)
            shutil.rmtree(gone)

    def _roots(self) -> dict[WorkspaceKey, str]:
        found: dict[WorkspaceKey, str] = {}
        for name in self._names():
            if name.endswith(_FORGOTTEN):
                continue
            folder = self._folder / name
            root = self._named.get(name) or _root(folder) or _root(folder / APART)
            with contextlib.suppress(LiveMemoryError):
                if root is not None:
                    # What was set aside is to be forgotten with the rest.
                    found[WorkspaceKey(name.partition(".")[0])] = root
                    self._named[name] = root
        return found

    def _saved(self) -> dict[WorkspaceKey, Instant]:
        found: dict[WorkspaceKey, Instant] = {}
        for name, kept in itertools.product(self._names(), (SNAPSHOT, JOURNAL)):
            with contextlib.suppress(LiveMemoryError, OSError):
                key = WorkspaceKey(name)
                # Of thousands; a `Path` takes twice as long.
                status = os.stat(f"{self._folder}/{name}/{kept}")  # noqa: PTH116
                at = Instant(status.st_mtime)
                found[key] = max(at, found.get(key, at))
        return found

    def _names(self) -> list[str]:
        try:
            return sorted(folder.name for folder in self._folder.iterdir())
        except OSError as problem:
            refuse_exhausted(problem)
            return []


@contextmanager
def _failures_told(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise StoreUnavailable(f"{what}: {problem.strerror}") from problem


def _sessions_in(kept: MemoryFolder) -> Sequence[SessionRecord]:
    try:
        form = form_of(json.loads(kept.got(SESSIONS) or b"{}"))
        found: Sequence[SessionRecord] = read(tuple[SessionRecord, ...], form.get("sessions", []))
    except (ValueError, RecursionError, SnapshotUnreadable):
        kept.set_aside(SESSIONS)
        return ()
    return found


def _root(folder: Path) -> str | None:
    """The root that a folder's files name; the journal says it first, in its first line."""
    with contextlib.suppress(Corrupt, OSError):
        return begun_in(read_head(folder / JOURNAL, most=_LONGEST_HEADER)).root
    for name in (SNAPSHOT, PREVIOUS):
        with contextlib.suppress(Corrupt, OSError):
            return root_of(unsealed(read_file(folder / name, most=LARGEST_SNAPSHOT)))
    return None


# A path has 4,096 bytes at most, and each may be written in six characters.
_LONGEST_HEADER = 32 * 1024


_NAME = "spend.jsonl"
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# A payment has some 60 bytes; what is older than a day is left out each time so much has come in.
_LARGEST, _TIDY_AFTER = 16 * 1024 * 1024, 10_000


class DiskSpendLog:
    """A `PaymentBook` of the last day, a JSON line each; the file is 0600 whatever the umask."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _NAME
        self._added = 0

    async def load(self, *, since: Instant) -> Sequence[Payment]:
        """Read what counts still, and leave out the rest from now on."""
        return await to_thread.run_sync(self._tidied, since)

    async def add(self, payment: Payment) -> None:
        """Append a line and sync it."""
        await to_thread.run_sync(self._add, payment)

    def _add(self, payment: Payment) -> None:
        if self._added >= _TIDY_AFTER:
            self._tidied(Instant(payment.at - DAY_S))
        self._added += 1
        try:
            descriptor = os.open(self._file, _FLAGS, 0o600)
            try:
                line = b"\n" + _line(payment)  # the last line may be torn
                if os.write(descriptor, line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as problem:
            raise StoreUnavailable(f"{self._file}: {problem.strerror}") from problem

    def _tidied(self, since: Instant) -> Sequence[Payment]:
        self._added = 0
        try:
            kept = [payment for payment in self._read() if payment.at >= since]
            new = self._file.with_name(f"{_NAME}.new")
            os.close(write_new(new, b"".join(map(_line, kept))))
            new.rename(self._file)
        except OSError as problem:
            raise StoreUnavailable(f"{self._file}: {problem.strerror}") from problem
        return kept

    def _read(self) -> list[Payment]:
        try:
            data = read_file(self._file, most=_LARGEST)
        except FileNotFoundError:
            return []
        except SnapshotUnreadable:
            set_aside(self._file)
            return []
        found: list[Payment] = []
        for line in data.splitlines():
            with contextlib.suppress(ValueError, RecursionError, SnapshotUnreadable):
                found.append(_payment(line))
        return found


def _line(payment: Payment) -> bytes:
    return json.dumps(written(payment)).encode("ascii") + b"\n"


def _payment(line: bytes) -> Payment:
    payment: Payment = read(Payment, json.loads(line))
    if not (math.isfinite(payment.at) and math.isfinite(payment.cost_usd)):
        raise SnapshotUnreadable("no proper payment")
    return payment
