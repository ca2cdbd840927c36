"""What agents conclude is heard, waits beside the files, and is handed on once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from live_memory.core.errors import InvalidRequest
from live_memory.core.hosts.notices import Conclusion, FileInterest
from live_memory.core.memory.window import FileObserved, MemoryEvent, NoteWritten, Window
from live_memory.core.values import Author, Instant
from live_memory.flow.ingest import MOST_CONCLUSIONS, Ingestor
from live_memory.flow.workspace import Workspace
from tests.support.memory import app_house

CONFIG = FileInterest("/app/app/config.py", views=((),))


def said(text: str, *, task: str = "", session: str = "s") -> Conclusion:
    return Conclusion(text, Author.SUBAGENT, session, task)


@dataclass
class Checker:
    """Makes a note of every conclusion but those that make it fail, or wait for ever."""

    seen: list[Conclusion] = field(default_factory=list)

    async def __call__(self, what: Conclusion, _window: Window) -> MemoryEvent | None:
        self.seen.append(what)
        match what.text:
            case "fails":
                raise ValueError(what.text)
            case "refused":
                raise InvalidRequest(what.text)
            case "hangs":
                await anyio.sleep_forever()
            case "nothing":
                return None
        return NoteWritten(what.text, Instant(1.0))


@dataclass(frozen=True, slots=True)
class Concluding:
    """An ingestor that runs beside its workspace."""

    memory: Workspace
    ingestor: Ingestor

    @property
    def kinds(self) -> list[type]:
        return [type(entry.content) for entry in self.memory.window.entries]


@asynccontextmanager
async def concluding(checker: Checker | None) -> AsyncIterator[Concluding]:
    """One that hands conclusions to the checker."""
    house = app_house()
    async with house.hub() as hub:
        memory = await hub.opened("/app")
        ingestor = Ingestor(
            memory.identity,
            reader=memory.reader,
            indexer=memory.indexer,
            freshness=memory.freshness,
            clock=house,
            signals=house,
            conclude=checker,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ingestor.run, lambda: memory.window, memory.record)
            yield Concluding(memory, ingestor)
            tasks.cancel_scope.cancel()


async def test_what_is_made_of_a_conclusion_is_recorded_once_it_rested() -> None:
    """A sub-agent's is told twice, once of them with its task."""
    checker = Checker()
    async with concluding(checker) as at:
        at.ingestor.offer([said("it is so")])
        at.ingestor.offer([said("it is so", task="find out"), said("it is so", session="t")])
        both = said("it is so", task="find out"), said("it is so", session="t")
        assert [*at.ingestor.unlearned] == [*both]
        await anyio.sleep(0.5)
        assert checker.seen == []
        await anyio.sleep(1.0)
        assert checker.seen == [*both]
        assert at.kinds == [NoteWritten, NoteWritten]
        assert at.ingestor.unlearned == ()
        at.ingestor.offer([said("at once"), said("nothing")])
        at.ingestor.offer([said(f"it is {n}") for n in range(MOST_CONCLUSIONS - 2)])
        with anyio.fail_after(0.9):
            await at.ingestor.caught_up()
        assert at.kinds == [NoteWritten] * (MOST_CONCLUSIONS + 1)


@pytest.mark.parametrize("text", ["fails", "refused", "hangs"])
async def test_a_conclusion_that_cannot_be_checked_is_counted_and_stops_nothing(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("live_memory.flow.ingest._TO_CONCLUDE_S", 1.5)
    checker = Checker()
    async with concluding(checker) as at:
        at.ingestor.offer([said(text), CONFIG, said("it is so")])
        with anyio.move_on_after(1.0):
            await at.ingestor.caught_up()
        assert FileObserved in at.kinds
        await at.ingestor.caught_up()
        assert at.kinds == [FileObserved, NoteWritten]
        assert at.ingestor.dropped == 1
        assert [one.text for one in checker.seen] == [text, "it is so"]


async def test_conclusions_and_files_do_not_push_each_other_out() -> None:
    async with concluding(None) as at:
        many = [said(f"it is {n}") for n in range(MOST_CONCLUSIONS + 9)]
        at.ingestor.offer([CONFIG, *many])
        assert at.ingestor.dropped == 9
        assert at.ingestor.unlearned == (CONFIG, *many[9:])
        await at.ingestor.caught_up()
        assert at.kinds == [FileObserved]
        assert at.ingestor.unlearned == ()


@pytest.mark.promise("nothing-lost")
@pytest.mark.parametrize("text", ["hangs", "it is so"])
async def test_a_conclusion_that_was_not_considered_is_kept_when_the_workspace_closes(
    text: str,
) -> None:
    async with concluding(Checker()) as at:
        at.ingestor.offer([said(text)])
        await anyio.sleep(1.2 if text == "hangs" else 0.2)
        assert await at.ingestor.rest(at.memory.window) == ()
        assert at.ingestor.unlearned == (said(text),)
