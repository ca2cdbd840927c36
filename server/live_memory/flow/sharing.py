"""Facts travel between the work trees of one repository, each only to where its bytes are too.

What a linked work tree learns is kept by the main one as well, so it outlives the linked one.
"""

from collections.abc import Awaitable, Callable

from live_memory.core.errors import LiveMemoryError
from live_memory.core.memory.events import Compacted
from live_memory.core.memory.ledger import Fact, Ledger
from live_memory.core.reading.observation import FileRead
from live_memory.core.values import WorkspaceKey
from live_memory.flow.workspace import Workspace
from live_memory.ports import Worktrees

__all__ = ["Sharing"]


# Who waits for room here keeps a workspace of its own from resting.
_ROOM_S = 1.0


class Sharing:
    """Owner of what was given from one work tree to another."""

    def __init__(self, trees: Worktrees, *, opened: Callable[..., Awaitable[Workspace]]) -> None:
        self._trees = trees
        self._opened = opened
        self._given: dict[tuple[WorkspaceKey, WorkspaceKey], Ledger] = {}

    async def share(self, memory: Workspace) -> None:
        """Give a linked work tree what the main one knows, and the other way round.

        Memory is as good without: what fails is tried again for the next question.
        """
        try:
            root = await self._trees.main(memory.identity.root)
            if root is None:
                return
            main = await self._opened(root, wait_s=_ROOM_S)
            with main.in_use():
                await self._give(main, memory)
                await self._give(memory, main)
        except LiveMemoryError:
            return

    def closed(self, key: WorkspaceKey) -> None:
        """Keep no ledger of a workspace that is closed."""
        self._given = {pair: ledger for pair, ledger in self._given.items() if key not in pair}

    async def _give(self, one: Workspace, other: Workspace) -> None:
        pair, ledger = (one.identity.key, other.identity.key), one.window.ledger
        if self._given.get(pair) is ledger:
            return
        facts = await _standing(ledger, other)
        if facts:
            await other.record(Compacted(frozenset(), facts))
        self._given[pair] = ledger


async def _standing(ledger: Ledger, memory: Workspace) -> tuple[Fact, ...]:
    """The facts that are new to a work tree and whose sources have the same bytes there."""
    theirs = memory.window.ledger
    known = {fact.id for fact in theirs.facts if not fact.is_stale} | theirs.forgotten
    new = [fact for fact in ledger.facts if not fact.is_stale and fact.id not in known]
    paths = list(dict.fromkeys(source.path for fact in new for source in fact.sources))
    reads = await memory.sandbox.read([path.text for path in paths], max_bytes=0)
    shas = {
        path: read.sha
        for path, read in zip(paths, reads, strict=True)
        if isinstance(read, FileRead)
    }
    return tuple(f for f in new if all(shas.get(s.path) == s.sha for s in f.sources))
