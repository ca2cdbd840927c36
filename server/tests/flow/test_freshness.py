"""What proves that a known file has its bytes still, and what is opened again."""

from collections.abc import Mapping, Sequence

import pytest

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.core.memory.window import (
    FileChanged,
    FileGone,
    MemoryEvent,
    Window,
    apply,
    current_hashes,
)
from live_memory.core.reading.admission import observe
from live_memory.core.reading.observation import FileRead, Observation, Skipped
from live_memory.core.values import ContentHash, RelPath, StatSignature
from live_memory.flow.freshness import Freshness, WindowViews
from live_memory.ports import EvidenceIndex
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.memory import House

A, B = RelPath("a.py"), RelPath("b.py")


class _Watched(InMemorySandbox):
    """Notes which files are opened."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__(files)
        self.opened: list[str] = []

    async def read(self, names: Sequence[str], *, max_bytes: int) -> Sequence[FileRead | Skipped]:
        self.opened += names
        return await super().read(names, max_bytes=max_bytes)


class _Memory:
    """A window with both files known, an index that has read them, and a process that has not."""

    def __init__(self) -> None:
        self.sandbox = _Watched({"a.py": b"one\n", "b.py": b"one\n"})
        self.index: EvidenceIndex = SqliteIndex.in_memory()
        self.window = Window()
        self.views = WindowViews()
        house = House()
        self.freshness = Freshness(
            sandbox=self.sandbox,
            index=lambda: self.index,
            clock=house,
        )
        for path in (A, B):
            sha = ContentHash.of(b"one\n")
            self.window = apply(self.window, FileChanged(path, sha, house.now()))

    async def record(self, event: MemoryEvent) -> None:
        self.window = apply(self.window, event)

    async def indexed(self) -> None:
        """As a pass takes both in."""
        reads = await self.sandbox.read(["a.py", "b.py"], max_bytes=1_000)
        seen = [observe(read) for read in reads if isinstance(read, FileRead)]
        kept = [one for one in seen if isinstance(one, Observation)]
        await self.index.update(kept, textless={}, gone=())

    async def signatures(self) -> Mapping[RelPath, StatSignature]:
        return {file.path: file.signature for file in (await self.sandbox.list()).files}

    async def restored(
        self, signatures: Mapping[RelPath, StatSignature]
    ) -> tuple[list[str], list[RelPath]]:
        """Which files were opened, and which had changed."""
        self.sandbox.opened.clear()
        changed = await self.freshness.restore(
            lambda: self.views.of(self.window), signatures, record=self.record
        )
        return self.sandbox.opened, [*changed]


async def test_after_a_restart_what_the_index_read_is_not_opened_again() -> None:
    memory = _Memory()
    await memory.indexed()
    assert await memory.restored(await memory.signatures()) == ([], [])
    assert await memory.restored(await memory.signatures()) == ([], [])


async def test_without_an_index_that_knows_it_every_file_is_opened_once() -> None:
    memory = _Memory()
    signatures = await memory.signatures()
    assert await memory.restored(signatures) == (["a.py", "b.py"], [])
    assert await memory.restored(signatures) == ([], [])


@pytest.mark.promise("never-falsely-fresh")
async def test_bytes_that_changed_while_nobody_ran_are_found_though_the_index_has_read_them() -> (
    None
):
    """The index was brought up to date first: it proves the new bytes, which are not ours."""
    memory = _Memory()
    memory.sandbox.put("b.py", b"two\n")
    await memory.indexed()
    assert await memory.restored(await memory.signatures()) == (["b.py"], [B])
    assert current_hashes(memory.window)[B] == ContentHash.of(b"two\n")
    assert await memory.restored(await memory.signatures()) == ([], [])


@pytest.mark.promise("never-falsely-fresh")
async def test_a_signature_that_the_index_did_not_read_proves_nothing() -> None:
    memory = _Memory()
    await memory.indexed()
    memory.sandbox.put("a.py", b"two\n")
    assert await memory.restored(await memory.signatures()) == (["a.py"], [A])


@pytest.mark.promise("never-falsely-fresh")
async def test_with_the_same_signatures_what_entries_tell_since_is_judged_still() -> None:
    """Also where a hash came in that no look at the disk gave."""
    memory = _Memory()
    await memory.indexed()
    signatures = await memory.signatures()
    await memory.restored(signatures)
    await memory.record(FileChanged(A, ContentHash.of(b"never there\n"), House().now()))
    assert await memory.restored(signatures) == (["a.py"], [A])
    assert await memory.restored(signatures) == ([], [])


@pytest.mark.promise("never-falsely-fresh")
async def test_a_file_that_went_and_came_back_is_known_again() -> None:
    memory = _Memory()
    await memory.indexed()
    await memory.restored(await memory.signatures())
    memory.sandbox.remove("a.py")
    gone = await memory.signatures()
    assert await memory.restored(gone) == (["a.py"], [A])
    assert isinstance(memory.window.entries[-1].content, FileGone)
    assert (await memory.restored(gone))[1] == []
    memory.sandbox.put("a.py", b"one\n")
    assert await memory.restored(await memory.signatures()) == (["a.py"], [A])
