"""A question that waited for others still sees the disk, and says why no model answered it."""

from functools import partial

import anyio
import pytest

from live_memory.core.answer import Answer, Grounding, Mode, TimeBudget
from live_memory.core.errors import ModelUnreachable
from live_memory.core.reading.lookup import Listing
from live_memory.flow.indexing import Turns
from live_memory.flow.jobs import silent
from tests.flow.test_ask import SlowHouse, SlowSandbox
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.doubles.scripted import Fails, Says, Scripted, Stalls
from tests.support.memory import APP, House, a_question, app_house

patient = pytest.mark.parametrize("anyio_backend", ["patient"], indirect=True)
virtual = pytest.mark.parametrize("anyio_backend", ["virtual"], indirect=True)
GOOD = "`RETRY_LIMIT` is 3 (app/config.py:3)."


class SlowlyListed(InMemorySandbox):
    """A disk that takes a moment to list."""

    async def list(self) -> Listing:
        await anyio.sleep(0.6)
        return await super().list()


async def _asked_behind(house: House, timeout_s: float, *, before: int) -> Answer:
    """The answer to a question that so many others hold up; a file changes while it waits."""
    house.model = model = Scripted(lambda _: Stalls(""))
    async with house.hub() as hub, anyio.create_task_group() as tasks:
        for n in range(before):
            question = a_question(f"Who fetches a page, {n}?", timeout_s=1800)
            tasks.start_soon(partial(hub.ask, "/app", question, progress=silent))
        memory = await hub.opened("/app")
        while len(model.requests) < before:
            await anyio.sleep(0.01)

        async def change() -> None:
            await anyio.sleep(0.5)
            house.sandbox.put("app/config.py", b"# New.\n\n\n\nRETRY_LIMIT = 7\n")

        tasks.start_soon(change)
        started = anyio.current_time()
        _, answer = await hub.ask("/app", a_question(timeout_s=timeout_s), progress=silent)
        assert anyio.current_time() - started <= timeout_s + 0.5
        assert memory.turns.waiting == 0
        tasks.cancel_scope.cancel()
    return answer


@patient
@pytest.mark.promise("deadline-kept", "never-falsely-fresh", "always-something-true")
@pytest.mark.parametrize("timeout_s", [5, 8, 60, 1800])
@pytest.mark.parametrize("at_once", [1, 3])
async def test_who_gets_no_turn_is_told_what_is_true_now_and_that_the_model_was_busy(
    timeout_s: float, at_once: int
) -> None:
    house = House({"/app": InMemorySandbox(APP)}, at_once=at_once)
    answer = await _asked_behind(house, timeout_s, before=at_once)
    assert (answer.mode, answer.grounding) == (Mode.EVIDENCE, Grounding.VERIFIED)
    assert "RETRY_LIMIT = 7" in answer.text
    assert answer.notice == (
        "Answered from evidence, without the companion: other questions kept it busy until there "
        "was no time left to ask it (limit)."
    )


@patient
@pytest.mark.promise("never-falsely-fresh")
async def test_a_disk_that_takes_a_moment_is_still_looked_at() -> None:
    house = House({"/app": SlowlyListed(APP)}, at_once=1)
    answer = await _asked_behind(house, 5, before=1)
    assert "RETRY_LIMIT = 7" in answer.text
    assert "busy" in (answer.notice or "")


@virtual
async def test_a_turn_that_is_free_is_taken_however_late_it_is() -> None:
    turns = Turns(at_once=1, queue=1)
    async with turns.turn(give_up_at=anyio.current_time() - 1) as first:
        async with turns.turn(give_up_at=anyio.current_time() - 1) as second:
            assert (first, second) == (True, False)
        assert turns.waiting == 0
    async with turns.turn(give_up_at=anyio.current_time()) as third:
        assert third


@patient
async def test_a_question_whose_workspace_opened_late_still_asks_the_model() -> None:
    house = _LateHouse({"/app": InMemorySandbox(APP)})
    house.model = Scripted([Says(["It is not in this workspace. I looked for it."])] * 2)
    async with house.hub() as hub:
        _, answer = await hub.ask("/app", a_question(timeout_s=5), progress=silent)
    assert answer.mode is Mode.COMPANION, answer.notice


class _LateHouse(House):
    """A house whose workspaces take longer to open than a turn is waited for."""

    async def open(self, workspace: object) -> InMemorySandbox:
        await anyio.sleep(2.3)
        return self.sandbox


@pytest.mark.promise("always-something-true")
@pytest.mark.parametrize("anyio_backend", ["virtual"], indirect=True)
async def test_a_comparison_that_was_not_done_is_not_told_as_files_that_are_missing() -> None:
    sandbox = SlowSandbox(files=3)
    async with SlowHouse({"/app": sandbox}).hub() as hub:
        await hub.ask("/app", a_question(), progress=silent)
        sandbox.list_s = 1e6
        _, answer = await hub.ask("/app", a_question(timeout_s=5), progress=silent)
    assert answer.notice == (
        "There was no time to compare the files again: what changed since may be missing."
    )


@patient
@pytest.mark.parametrize(
    ("turn", "said", "read_s"),
    [
        (Fails(ModelUnreachable("the line is dead")), "the line is dead (provider). ", 0.2),
        (Stalls(""), "the model did not answer before the deadline (timeout). ", 0.2),
        (Says([f"{GOOD} Nothing else is known of it."]), "", 0.2),
        (Says([GOOD]), "the disk took the time that there was to ask it (timeout). ", 1e6),
    ],
)
async def test_what_was_left_out_is_told_beside_what_became_of_the_model(
    turn: Fails | Stalls | Says, said: str, read_s: float
) -> None:
    house = SlowHouse({"/app": SlowSandbox(read_s=read_s)}, model=Scripted([turn] * 4))
    async with house.hub() as hub:
        _, answer = await hub.ask("/app", a_question(timeout_s=5), progress=silent)
    assert answer.notice is not None
    assert said in answer.notice
    assert "of 1000 files are known" in answer.notice


@pytest.mark.parametrize("timeout_s", [5, 10, 60, 1800])
def test_each_step_leaves_time_for_those_after_it(timeout_s: float) -> None:
    time = TimeBudget(100, timeout_s)
    assert 100 < time.wait_until < time.look_until < time.deadline == 100 + timeout_s
    assert time.look_until - time.wait_until >= 1
    assert time.deadline - time.look_until >= 2


async def test_an_answer_keeps_the_notices_that_it_has() -> None:
    house = app_house()
    async with house.hub() as hub:
        _, answer = await hub.ask("/app", a_question(), progress=silent)
    assert answer.with_notice(None) == answer
    assert answer.with_notice("One.").with_notice(None).with_notice("Two.").notice == "One. Two."
