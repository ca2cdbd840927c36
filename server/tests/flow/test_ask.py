"""A question is answered before its deadline whatever the disk does, and says what is missing."""

from collections.abc import Collection, Mapping, Sequence

import anyio
import pytest

from live_memory.core.answer import Grounding, StopReason
from live_memory.core.errors import StoreUnavailable
from live_memory.core.evidence.places import Candidates, Definition, Place, Terms
from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import FileRead, Observation, Skipped
from live_memory.core.reading.redaction import Comparison, KnownSignatures
from live_memory.core.values import ContentHash, RelPath, StatSignature
from live_memory.flow.jobs import silent
from live_memory.ports import EvidenceIndex
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.memory import APP, House, a_question, app_house


class StillIndex:
    """Finds nothing, and uses no thread, which a virtual clock would not wait for."""

    async def known(self) -> KnownSignatures:
        return Comparison().known

    async def hashes(
        self, signatures: Mapping[RelPath, StatSignature]
    ) -> Mapping[RelPath, ContentHash]:
        return {}

    async def unlearned(self) -> Collection[RelPath]:
        return ()

    async def update(
        self,
        observed: Sequence[Observation],
        *,
        textless: Mapping[RelPath, StatSignature],
        gone: Collection[RelPath],
    ) -> None:
        await anyio.lowlevel.checkpoint()

    async def settle(self) -> bool:
        return False

    async def search(self, terms: Terms, *, limit: int) -> Candidates:
        return Candidates((), ())

    async def definitions(self, name: str) -> Sequence[Definition]:
        return ()

    async def references(self, name: str) -> Sequence[Place]:
        return ()

    async def outline(self, path: RelPath) -> Sequence[Definition]:
        return ()

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()


class SlowSandbox(InMemorySandbox):
    """A disk that takes its time: for listing, and for each batch of reads."""

    def __init__(self, *, list_s: float = 0, read_s: float = 0, files: int = 1_000) -> None:
        super().__init__({f"f{n:04}.py": b"RETRY_LIMIT = 1\n" for n in range(files)})
        self.list_s, self._read_s = list_s, read_s

    async def list(self) -> Listing:
        await anyio.sleep(self.list_s)
        return await super().list()

    async def read(self, names: Sequence[str], *, max_bytes: int) -> Sequence[FileRead | Skipped]:
        await anyio.sleep(self._read_s)
        return await super().read(names, max_bytes=max_bytes)


class SlowHouse(House):
    async def open_index(self) -> EvidenceIndex:
        return StillIndex()


virtual_time = pytest.mark.parametrize("anyio_backend", ["virtual"], indirect=True)


@virtual_time
@pytest.mark.promise("deadline-kept", "always-something-true")
@pytest.mark.parametrize("timeout_s", [5, 60, 1800])
@pytest.mark.parametrize("sandbox", [SlowSandbox(list_s=1e6), SlowSandbox(read_s=1e6)])
async def test_a_disk_that_does_not_answer_costs_no_more_than_the_deadline(
    sandbox: SlowSandbox, timeout_s: float
) -> None:
    async with SlowHouse({"/app": sandbox}).hub() as hub:
        started = anyio.current_time()
        question = a_question(timeout_s=timeout_s)
        _, answer = await hub.ask("/app", question, progress=silent)
        assert anyio.current_time() - started <= timeout_s + 2
    assert answer.grounding is Grounding.UNGROUNDED
    assert answer.notice is not None or answer.stop is StopReason.DEADLINE


@pytest.mark.parametrize("anyio_backend", ["patient"], indirect=True)
async def test_a_first_look_that_is_not_done_says_how_far_it_is_and_goes_on() -> None:
    house = SlowHouse({"/app": SlowSandbox(read_s=1)})
    async with house.hub() as hub:
        said: list[str] = []
        counted: list[int] = []

        async def progress(message: str, *, done: int = 0, total: int = 0) -> None:
            said.append(message)
            if total:
                counted.append(done)
                assert (done < total, total) == (True, 1000)

        _, first = await hub.ask("/app", a_question(timeout_s=5), progress=progress)
        assert first.notice is not None
        assert "of 1000 files are known" in first.notice
        assert [m for m in said if m.startswith("reading the workspace: ")]
        assert counted
        assert counted == sorted(counted)
        while (stats := await hub.stats("/app")).files_waiting:
            await anyio.sleep(1)
        assert stats.indexed_files == 1000


@pytest.mark.parametrize("anyio_backend", ["patient"], indirect=True)
@pytest.mark.parametrize(("list_s", "first"), [(0, []), (0.5, ["checking which files changed"])])
async def test_how_far_one_is_is_told_only_where_it_takes_more_than_a_moment(
    list_s: float, first: list[str]
) -> None:
    async with SlowHouse({"/app": SlowSandbox(list_s=list_s)}).hub() as hub:
        said: list[str] = []

        async def progress(message: str, *, done: int = 0, total: int = 0) -> None:
            said.append(message)

        await hub.ask("/app", a_question(), progress=progress)
    assert said[:1] == first


class UnreadableSandbox(InMemorySandbox):
    """A disk that fails."""

    async def list(self) -> Listing:
        raise StoreUnavailable("the disk is on fire")


@pytest.mark.promise("always-something-true")
async def test_a_workspace_that_cannot_be_listed_is_answered_from_with_a_notice() -> None:
    async with House({"/app": UnreadableSandbox(APP)}).hub() as hub:
        _, answer = await hub.ask("/app", a_question(), progress=silent)
        assert answer.notice == "The workspace could not be read again: the disk is on fire"
        assert "the disk is on fire" in hub.problems


@pytest.mark.promise("deadline-kept")
async def test_a_caller_that_goes_away_cancels_its_question_and_nobody_elses() -> None:
    house = app_house()
    async with house.hub() as hub:
        with anyio.CancelScope() as gone:
            gone.cancel()
            await hub.ask("/app", a_question("Who is fetch_page?"), progress=silent)
        _, answer = await hub.ask("/app", a_question(), progress=silent)
        assert answer.grounding is Grounding.VERIFIED
        _, past = await hub.answers("/app")
        assert [p.question.text for p in past] == [a_question().text]


class FullDisk(StillIndex):
    """An index whose disk takes nothing more."""

    async def update(
        self,
        observed: Sequence[Observation],
        *,
        textless: Mapping[RelPath, StatSignature],
        gone: Collection[RelPath],
    ) -> None:
        raise StoreUnavailable("no space left")


class FullHouse(House):
    async def open_index(self) -> EvidenceIndex:
        return FullDisk()


@pytest.mark.promise("always-something-true")
async def test_an_index_that_cannot_be_written_goes_on_in_memory_and_says_so() -> None:
    """C10."""
    async with FullHouse({"/app": InMemorySandbox(APP)}).hub() as hub:
        for _ in range(2):
            _, answer = await hub.ask("/app", a_question(), progress=silent)
            assert answer.grounding is Grounding.VERIFIED
            assert answer.notice is None
        assert hub.problems == ("the index is not kept: no space left",)
