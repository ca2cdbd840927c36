"""An index that the disk does not take is in memory meanwhile, and kept again by itself (S46)."""

from collections.abc import Collection, Mapping, Sequence

import anyio
import pytest

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.core.errors import StoreUnavailable
from live_memory.core.reading.observation import Observation
from live_memory.core.values import RelPath, StatSignature
from live_memory.flow import indexing
from live_memory.flow.jobs import silent
from live_memory.ports import EvidenceIndex
from tests.support.memory import House, a_question, app_house


class _OnDisk(SqliteIndex):
    """Takes nothing while the disk is full."""

    is_full = True

    async def update(
        self,
        observed: Sequence[Observation],
        *,
        textless: Mapping[RelPath, StatSignature],
        gone: Collection[RelPath],
    ) -> None:
        if _OnDisk.is_full:
            raise StoreUnavailable("no space left")
        await super().update(observed, textless=textless, gone=gone)


class _Full(House):
    async def open_index(self) -> EvidenceIndex:
        return _OnDisk.in_memory()


async def _reopened() -> EvidenceIndex:
    return _OnDisk.in_memory()


async def _gone() -> EvidenceIndex:
    raise StoreUnavailable("the folder is away")


@pytest.mark.promise("always-something-true")
async def test_an_index_that_is_not_kept_is_kept_again_once_there_is_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(indexing, "_RETRY_S", 0.01)
    monkeypatch.setattr(_OnDisk, "is_full", True)
    house = _Full(app_house().sandboxes)
    async with house.hub() as hub:
        _, answer = await hub.ask("/app", a_question(), progress=silent)
        assert answer.citations
        indexer = (await hub.opened("/app")).indexer
        assert "no space left" in hub.problems[0]
        for reopen in (None, _gone, _reopened):
            indexer.reopen = reopen
            await anyio.sleep(0.05)
            assert "no space left" in hub.problems[0]
            assert not isinstance(indexer.index, _OnDisk)
        monkeypatch.setattr(_OnDisk, "is_full", False)
        with anyio.fail_after(5):
            while hub.problems:
                await anyio.sleep(0.01)
        assert isinstance(indexer.index, _OnDisk)
        _, answer = await hub.ask("/app", a_question("Who reads RETRY_LIMIT?"), progress=silent)
        assert answer.citations
