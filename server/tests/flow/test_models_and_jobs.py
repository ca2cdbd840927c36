"""The model is swapped under questions, kept warm on request, tried, and asked for later."""

from base64 import urlsafe_b64decode
from collections.abc import Callable

import anyio
import pytest

from live_memory.core.answer import Answer, Mode
from live_memory.core.companion.chat import Caps, Cause, ModelRequest
from live_memory.core.errors import Busy, InvalidRequest, ModelLacksTools, ModelRefused, Unavailable
from live_memory.flow.jobs import Jobs, silent
from live_memory.flow.model_slot import Companion, ModelRest, ModelSlot, SpendLimiter, probe
from live_memory.flow.open_workspaces import Hub
from tests.flow.test_ask import SlowHouse
from tests.flow.test_companion import GOOD, Unlisted
from tests.support.doubles.scripted import Calls, Fails, Says, Scripted, Stalls, Turn
from tests.support.memory import APP, House, a_question, app_house


class Closing(Scripted):
    """Says whether it was closed."""

    is_closed = False

    async def aclose(self) -> None:
        self.is_closed = True


def _companion(model: Scripted, *, caps: Caps | None = None) -> Companion:
    house = House()
    purse = SpendLimiter(caps or Caps(), clock=house)
    rest = ModelRest(clock=house)
    return Companion(model, purse, house, max_context_tokens=48_000, rest=rest)


async def test_a_retired_model_is_closed_after_its_last_question() -> None:
    old, new = Closing([]), Closing([])
    desk = ModelSlot(_companion(old))
    async with desk.borrowed() as first:
        assert first is not None
        await desk.swap(_companion(new))
        assert [old.is_closed] == [False]
        async with desk.borrowed() as second:
            assert second is not None
            assert second.model is new
    assert old.is_closed
    await desk.swap(None)
    assert new.is_closed
    async with desk.borrowed() as none:
        assert none is None


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([Calls([("report_ready", {})])], (True, True, "companion")),
        ([Says(["I cannot."])], (True, False, "single-shot")),
        ([Fails(ModelLacksTools("no tools")), Says(["ready"])], (True, False, "single-shot")),
        ([Fails(ModelRefused("set 'api_key'"))], (False, False, "evidence")),
    ],
)
async def test_a_probe_finds_out_what_a_model_can_carry(
    turns: list[Turn], expected: tuple[bool, bool, str]
) -> None:
    verdict = await probe(_companion(Scripted(turns)))
    assert (verdict.is_reachable, verdict.has_tools, verdict.mode) == expected
    assert (verdict.problem is None) == verdict.is_reachable


async def test_a_probe_without_a_model_says_so() -> None:
    assert (await probe(None)).problem == "no model is configured"


async def test_a_job_is_collected_once_with_its_answer() -> None:
    house = app_house()
    house.model = Scripted([Says([GOOD])])
    async with house.hub() as hub:
        job_id = hub.jobs.submit("/app", a_question())
        with anyio.fail_after(5):
            while isinstance(found := hub.jobs.result(job_id), str):
                await anyio.lowlevel.checkpoint()
        assert isinstance(found, Answer)
        assert found.mode is Mode.COMPANION
        with pytest.raises(InvalidRequest, match="no such job"):
            hub.jobs.result(job_id)


async def test_a_job_that_fails_says_why_when_it_is_collected() -> None:
    async with app_house().hub() as hub:
        job_id = hub.jobs.submit("/nowhere", a_question())
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(InvalidRequest, match="no folder"):
            hub.jobs.result(job_id)


async def test_jobs_are_bounded_and_need_a_running_server() -> None:
    house = app_house()
    house.model = Scripted(lambda _request: Stalls())
    async with house.hub() as hub:
        ids = [hub.jobs.submit("/app", a_question()) for _ in range(100)]
        assert len(set(ids)) == 100
        assert {len(urlsafe_b64decode(f"{each}==")) for each in ids} == {16}
        with pytest.raises(Busy, match="collect some"):
            hub.jobs.submit("/app", a_question())
    with pytest.raises(Unavailable):
        Jobs(hub.ask).submit("/app", a_question())


virtual_time = pytest.mark.parametrize("anyio_backend", ["virtual"], indirect=True)


@virtual_time
async def test_a_job_that_nobody_collects_is_dropped_after_an_hour() -> None:
    async def ask(*_: object, **__: object) -> tuple[object, Answer]:
        raise InvalidRequest("no")

    jobs = Jobs(ask)  # type: ignore[arg-type]  # it never gives a workspace
    async with anyio.create_task_group() as tasks:
        await tasks.start(lambda *, task_status: jobs.run(task_status=task_status))
        job_id = jobs.submit("/app", a_question())
        await anyio.sleep(3_700)
        with pytest.raises(InvalidRequest, match="no such job"):
            jobs.result(job_id)
        tasks.cancel_scope.cancel()


@virtual_time
@pytest.mark.promise("idle-is-free")
async def test_an_idle_hour_makes_no_call() -> None:
    house = SlowHouse({"/app": Unlisted(APP)})
    house.model = model = Scripted(lambda _request: Says([GOOD]))
    async with house.hub() as hub:
        await hub.ask("/app", a_question(), progress=silent)
        await anyio.sleep(3_600)
    assert len(model.requests) == 1


@virtual_time
async def test_keeping_warm_sends_the_same_front_and_stops_when_nobody_asks() -> None:
    house = SlowHouse({"/app": Unlisted(APP)}, warm_idle_s=1_000)
    house.model = model = Scripted(_good_or_refused())
    async with house.hub() as hub:
        await hub.ask("/app", a_question(), progress=silent)
        await anyio.sleep(7_200)
    asked, *warmed = model.requests
    assert len(warmed) == 4
    assert {(r.cause, r.max_output_tokens) for r in warmed} == {(Cause.KEEP_WARM, 1)}
    assert all(r.messages == asked.messages and r.tools == asked.tools for r in warmed)


def _good_or_refused() -> Callable[[ModelRequest], Turn]:
    def rule(request: ModelRequest) -> Turn:
        if request.cause is Cause.KEEP_WARM:
            return Fails(ModelRefused("no"))
        return Says([GOOD])

    return rule


@virtual_time
@pytest.mark.promise("append-only")
@pytest.mark.parametrize("pauses_s", [(5.0, 1.0), (1.0, 5.0)])
async def test_after_two_questions_at_once_a_prompt_grows_from_what_was_sent_last(
    pauses_s: tuple[float, float],
) -> None:
    """The later one of the two is sent again to keep the cache, whichever ends first."""
    texts = "Where is RETRY_LIMIT set?", "Who fetches pages?", "Which value has RETRY_LIMIT?"
    house = SlowHouse({"/app": Unlisted(APP)}, warm_idle_s=300)
    house.model = model = Scripted([*(Says([GOOD], s) for s in pauses_s), *[Says([GOOD])] * 2])
    ended: list[str] = []

    async def ask(hub: Hub, text: str) -> None:
        await hub.ask("/app", a_question(text), progress=silent)
        ended.append(text)

    async with house.hub() as hub:
        async with anyio.create_task_group() as tasks:
            for text in texts[:2]:
                tasks.start_soon(ask, hub, text)
                await anyio.sleep(0.5)
        await anyio.sleep(250)
        await ask(hub, texts[2])
    first, second, again, third = model.requests
    assert ended == [*(texts[:2] if pauses_s[0] < pauses_s[1] else texts[1::-1]), texts[2]]
    assert again.messages == second.messages != first.messages
    assert (third.system, third.tools) == (again.system, again.tools)
    told = [str(one.messages) for one in (first, again, third)]
    assert [text in one for text, one in zip(texts, told, strict=True)] == [True] * 3
