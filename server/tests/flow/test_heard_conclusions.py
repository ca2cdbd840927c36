"""What agents conclude is heard, waits beside the files, and is handed on once."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from live_memory.adapters.hooks.claude_code import ClaudeCode
from live_memory.adapters.hooks.spool import IgnoreEvents
from live_memory.core.errors import InvalidRequest
from live_memory.core.hosts.events import AgentConcluded, TaskGiven
from live_memory.core.hosts.notices import Conclusion, FileInterest
from live_memory.core.memory.window import FileObserved, MemoryEvent, NoteWritten, Window
from live_memory.core.values import Author, Instant
from live_memory.flow.ingest import MOST_CONCLUSIONS, Ingestor
from live_memory.flow.workspace import Workspace
from live_memory.ports import HostDialect
from tests.flow.test_ingest import listening, payload, tool
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
            tasks.start_soon(ingestor.run, lambda: memory.views, memory.record)
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
        assert await at.ingestor.rest(at.memory.views) == ()
        assert at.ingestor.unlearned == (said(text),)


# From payloads to conclusions.


_SAID = "The limit is 3 (app/config.py:1)."


def stop(text: str = _SAID, *, session: str = "s") -> dict[str, object]:
    return payload("Stop", last_assistant_message=text, session_id=session)


def prompt(text: str, *, session: str = "s") -> dict[str, object]:
    return payload("UserPromptSubmit", prompt=text, session_id=session)


def helper_ended(agent: str, text: str = _SAID) -> dict[str, object]:
    return payload("SubagentStop", last_assistant_message=text, agent_id=agent, agent_type="x")


def helper_result(agent: str, task: str, *texts: str) -> dict[str, object]:
    made = {"agentId": agent, "content": [{"type": "text", "text": text} for text in texts]}
    given = {"prompt": task}
    return payload("PostToolUse", tool_name="Agent", tool_input=given, tool_response=made)


async def heard(
    *payloads: dict[str, object], project: str = "/app", dialect: HostDialect | None = None
) -> Sequence[Conclusion]:
    """What waits for a check after these were told, one request each."""
    async with listening(dialect=dialect) as at:
        for one in payloads:
            await at.reception.take([one], project=project)
        waiting = (await at.memory()).ingestor.unlearned
        return [one for one in waiting if isinstance(one, Conclusion)]


async def test_a_conclusion_comes_with_the_prompt_of_its_own_session() -> None:
    found = await heard(
        prompt("What is the limit?", session="s"),
        prompt("And what is the colour?", session="t"),
        stop(),
        prompt("<task-notification>\n<result>It is 3</result>"),
        stop("The limit is also in app/config.py:2.\nAnd in `app/config.py`:3."),
        stop(session="u"),
    )
    assert [(one.session, one.author, one.task) for one in found] == [
        ("s", Author.AGENT, "What is the limit?"),
        ("s", Author.AGENT, "What is the limit?"),
        ("u", Author.AGENT, ""),
    ]


async def test_a_helper_that_waits_for_its_end_is_heard_once_and_with_its_task() -> None:
    ended, result = helper_ended("h"), helper_result("h", "Find the limit.", _SAID)
    expected = [Conclusion(_SAID, Author.SUBAGENT, "s", "Find the limit.")]
    assert await heard(prompt("Why?"), ended, result) == expected
    assert await heard(prompt("Why?"), result, ended) == expected


async def test_helpers_in_the_background_are_heard_with_the_task_of_each() -> None:
    found = await heard(
        helper_result("h", "Find the limit."),
        helper_result("i", "Find the colour."),
        helper_ended("i", "The colour is red (app/config.py:2)."),
        helper_ended("h"),
    )
    assert [one.task for one in found] == ["Find the colour.", "Find the limit."]


async def test_what_the_client_does_for_itself_is_no_conclusion() -> None:
    assert await heard(payload("SubagentStop", last_assistant_message=_SAID, agent_type="")) == []
    assert await heard(payload("SubagentStop", last_assistant_message=_SAID)) == []


@pytest.mark.promise("no-secrets")
async def test_secrets_and_controls_are_taken_out_before_anything_is_kept() -> None:
    secret = "sk-ant-api03-" + "CANARY0123456789" * 5
    text = f"app/config.py:1 says api_key = '{secret}'.\x1b[31m\u202e\0 \ud800"
    async with listening() as at:
        ask = prompt(f"Is {secret} or password=Tr0ub4dor&3 there? " + "x " * 150 + secret)
        await at.reception.take([ask, stop(text)], project="/app")
        memory = await at.memory()
        (one,) = memory.ingestor.unlearned
        found = await at.house.store.load(memory.identity.key)
        assert found.memory is not None
        assert found.memory.heard == (one,)
    assert isinstance(one, Conclusion)
    assert "CANARY" not in repr(one)
    assert "Tr0ub4dor" not in one.task
    assert one.text.startswith("app/config.py:1 says api_key")
    assert one.text.endswith("\\x1b[31m\\u202e\\x00 ?")
    assert len(one.task) <= 300


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see /app/app/config.py:3", "see app/config.py:3"),
        ("(`/app/app/config.py:3`), /app/a.py#L2", "(`app/config.py:3`), a.py#L2"),
        ("in /srv/app/a.py:3 and /apple/a.py:1", "in /srv/app/a.py:3 and /apple/a.py:1"),
        ("file:///app/a.py:3", "file:///app/a.py:3"),
        ("/app", "/app"),
    ],
)
async def test_names_are_those_below_the_root(text: str, expected: str) -> None:
    assert [one.text for one in await heard(stop(text))] == [expected]


async def test_a_text_of_any_size_is_bounded_at_the_end_of_a_word() -> None:
    long = "word app/config.py:1 " * 50_000
    (one,) = await heard(prompt("why " * 500), stop(long))
    assert 15_900 < len(one.text) <= 16_000
    assert len(one.task) <= 300
    assert {*one.text.split()} == {"word", "app/config.py:1"}
    assert {*one.task.split()} == {"why"}


async def test_of_a_flood_in_one_request_the_latest_are_heard_and_the_rest_is_counted() -> None:
    async with listening() as at:
        flood = [stop(f"app/config.py:1 is {n}") for n in range(1_000)]
        await at.reception.take(flood, project="/app")
        ingestor = (await at.memory()).ingestor
        texts = [one.text for one in ingestor.unlearned if isinstance(one, Conclusion)]
        assert texts == [f"app/config.py:1 is {n}" for n in range(1_000)][-MOST_CONCLUSIONS:]
        assert ingestor.dropped == 1_000 - MOST_CONCLUSIONS


async def test_tasks_of_sessions_without_end_do_not_pile_up() -> None:
    asked = [prompt(f"What is {n}?", session=str(n)) for n in range(300)]
    async with listening() as at:
        await at.reception.take([*asked, stop(session="10"), stop(session="299")], project="/app")
        found = (await at.memory()).ingestor.unlearned
    assert [one.task for one in found if isinstance(one, Conclusion)] == ["", "What is 299?"]


async def test_where_it_is_off_nothing_is_heard() -> None:
    off = IgnoreEvents(ClaudeCode(), TaskGiven, AgentConcluded)
    result = helper_result("h", "Find the limit.", _SAID)
    assert await heard(prompt("Why?"), stop(), helper_ended("h"), result, dialect=off) == []
    assert await heard(stop(), dialect=IgnoreEvents(ClaudeCode())) == []


@pytest.mark.promise("nothing-lost")
async def test_what_was_heard_and_not_considered_waits_again_after_a_restart() -> None:
    house = app_house()
    async with listening(house) as at:
        await at.reception.take([prompt("What is the limit?"), stop()], project="/app")
    async with listening(house) as at:
        expected = Conclusion(_SAID, Author.AGENT, "s", "What is the limit?")
        assert [*(await at.memory()).ingestor.unlearned] == [expected]


async def test_who_sends_much_can_wait_until_it_is_learned() -> None:
    async with listening() as at:
        texts = [f"app/config.py:1 is {n}" for n in range(MOST_CONCLUSIONS)]
        await at.reception.take([tool("Read"), *map(stop, texts)], project="/app")
        assert len((await at.memory()).ingestor.unlearned) == 1 + MOST_CONCLUSIONS
        with anyio.fail_after(0.9):  # what an agent concluded rests for longer by itself
            assert await at.reception.unlearned("/app") == 0
        assert (await at.memory()).ingestor.unlearned == ()


async def test_who_waits_is_told_in_time_how_much_is_not_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("live_memory.flow.receive_events._TO_LEARN_S", 1.0)
    monkeypatch.setattr("live_memory.flow.conclude.Admission.__call__", _never)
    async with listening() as at:
        await at.reception.take([stop("app/config.py:1"), stop("app/config.py:2")], project="/app")
        with anyio.fail_after(5):
            assert await at.reception.unlearned("/app") == 2


async def _never(*_: object) -> None:
    await anyio.sleep_forever()
