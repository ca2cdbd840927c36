"""Workspaces are opened once, live apart, survive a restart, and a failure is their own."""

from collections.abc import Callable, Sequence

import anyio
import pytest

from live_memory.core.answer import CitationStatus, Grounding, Mode
from live_memory.core.errors import InvalidRequest, StoreUnavailable, Unavailable
from live_memory.core.saving.journal import JournalRecord
from live_memory.core.saving.snapshot import Memory, Restored
from live_memory.core.signals import QuestionFinished, WorkspaceFailed, WorkspaceOpened
from live_memory.core.values import RelPath, WorkspaceKey
from live_memory.flow.jobs import silent
from live_memory.flow.open_workspaces import Hub
from live_memory.ports import Sandbox, WorkspaceIdentity
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.doubles.in_memory_store import InMemory
from tests.support.memory import APP, House, a_question, app_house


async def test_a_question_is_answered_from_the_files_and_remembered() -> None:
    house = app_house()
    async with house.hub() as hub:
        workspace, answer = await hub.ask("/app", a_question(), progress=silent)
        assert workspace.root == "/app"
        assert answer.mode is Mode.EVIDENCE
        assert RelPath("app/config.py") in {c.path for c in answer.citations}
        assert all(c.status is CitationStatus.VERIFIED for c in answer.citations)
        _, past = await hub.answers("/app")
        assert [(p.question.text, p.answer) for p in past] == [(a_question().text, answer)]
    assert [type(s) for s in house.signals if isinstance(s, QuestionFinished)]


@pytest.mark.promise("nothing-lost")
async def test_answers_are_there_after_a_restart() -> None:
    house = app_house()
    async with house.hub() as hub:
        _, answer = await hub.ask("/app", a_question(), progress=silent)
    async with house.hub() as hub:
        _, past = await hub.answers("/app/app")
        assert [p.answer for p in past] == [answer]
    assert house.opened == 2


@pytest.mark.promise("workspaces-never-mix")
async def test_two_workspaces_never_see_each_other() -> None:
    house = app_house()
    house.sandboxes["/other"] = InMemorySandbox({"b.py": b"OTHER_LIMIT = 9\n"})
    async with house.hub() as hub:
        await hub.ask("/app", a_question(), progress=silent)
        _, answer = await hub.ask("/other", a_question(), progress=silent)
        assert {c.path for c in answer.citations} <= {RelPath("b.py")}
        assert "RETRY_LIMIT = 3" not in answer.text
        assert (await hub.stats("/app")).questions == 1


async def test_many_first_questions_open_a_workspace_once_and_all_answers_are_kept() -> None:
    house = app_house()
    async with house.hub() as hub:
        async with anyio.create_task_group() as tasks:
            for _ in range(16):
                tasks.start_soon(lambda: hub.ask("/app", a_question(), progress=silent))
        assert (await hub.stats("/app")).questions == 16
    assert house.opened == 1


@pytest.mark.promise("never-falsely-fresh")
async def test_an_edit_nobody_announced_shows_in_the_next_answer() -> None:
    house = app_house()
    async with house.hub() as hub:
        _, before = await hub.ask("/app", a_question(), progress=silent)
        house.sandbox.put("app/config.py", b'"""Settings."""\n\n\nRETRY_LIMIT = 7\n')
        house.sandbox.remove("app/client.py")
        _, after = await hub.ask("/app", a_question(), progress=silent)
    assert "RETRY_LIMIT = 3" in before.text
    assert "RETRY_LIMIT = 7" in after.text
    assert "RETRY_LIMIT = 3" not in after.text
    assert RelPath("app/client.py") not in {c.path for c in after.citations}


@pytest.mark.promise("grounded-or-says-so")
async def test_what_is_not_there_is_said_not_to_be_there() -> None:
    house = app_house()
    async with house.hub() as hub:
        question = a_question("Where is the KafkaConsumerPool rebalanced?")
        _, answer = await hub.ask("/app", question, progress=silent)
    assert answer.grounding is Grounding.UNGROUNDED
    assert "KafkaConsumerPool" in answer.text


async def test_clearing_forgets_memory_and_the_next_question_starts_anew() -> None:
    house = app_house()
    async with house.hub() as hub:
        await hub.ask("/app", a_question(), progress=silent)
        await hub.clear("/app")
        assert (await hub.stats("/app")).questions == 0
        await hub.ask("/app", a_question(), progress=silent)
        assert await hub.clear_all() == 1
        assert await house.store.roots() == {}


async def test_a_folder_that_is_none_is_refused() -> None:
    async with app_house().hub() as hub:
        with pytest.raises(InvalidRequest, match="no folder"):
            await hub.ask("/elsewhere", a_question(), progress=silent)


async def test_a_hub_that_does_not_run_says_so() -> None:
    house = app_house()
    hub = Hub(
        workspaces=house,
        open_workspace=house.open_workspace,
        store=house.store,
        signals=house,
        trees=house.trees,
        notes=house.notes,
    )
    with pytest.raises(Unavailable, match="not running"):
        await hub.stats("/app")


class _Broken(House):
    """Opening fails: first as the world does, then as a bug does, then not."""

    async def open(self, workspace: WorkspaceIdentity) -> Sandbox:
        if self.opened == 1:
            raise StoreUnavailable("the disk is away")
        if self.opened == 2:
            raise ZeroDivisionError
        return await House.open(self, workspace)


async def test_a_workspace_that_fails_is_reported_and_opened_again_at_the_next_use() -> None:
    house = _Broken({"/app": InMemorySandbox(APP)})
    async with house.hub() as hub:
        with pytest.raises(StoreUnavailable, match="the disk is away"):
            await hub.stats("/app")
        with pytest.raises(Unavailable, match="the workspace failed"):
            await hub.stats("/app")
        assert (await hub.stats("/app")).questions == 0
    failed = [s for s in house.signals if isinstance(s, WorkspaceFailed)]
    assert [s.problem for s in failed] == ["the disk is away", "ZeroDivisionError()"]
    assert sum(isinstance(s, WorkspaceOpened) for s in house.signals) == 1


class _Unreadable(InMemory):
    """A store whose snapshot was set aside, on a full disk."""

    async def load(self, key: WorkspaceKey) -> Restored:
        return Restored(problems=("the snapshot cannot be read (kept as x.unreadable)",))

    async def append(self, key: WorkspaceKey, root: str, told: Sequence[JournalRecord]) -> None:
        raise StoreUnavailable("no space left")

    async def save(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        raise StoreUnavailable("no space left")


@pytest.mark.promise("no-overwrite-of-unreadable", "always-something-true")
async def test_an_unreadable_snapshot_and_a_full_disk_do_not_keep_it_from_answering() -> None:
    house = House({"/app": InMemorySandbox(APP)}, store=_Unreadable())
    async with house.hub() as hub:
        _, answer = await hub.ask("/app", a_question(), progress=silent)
        assert answer.grounding is Grounding.VERIFIED
        with anyio.fail_after(5):
            while len(hub.problems) < 2:
                await anyio.lowlevel.checkpoint()
                await anyio.sleep(0.01)
        assert hub.problems == (
            "the snapshot cannot be read (kept as x.unreadable)",
            "no space left",
        )
