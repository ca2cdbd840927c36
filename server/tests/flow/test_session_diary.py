"""The end of a session leaves what it came to, by rule, once, and nothing where that is nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import pytest

from live_memory.adapters.hooks.claude_code import ClaudeCode
from live_memory.adapters.hooks.spool import IgnoreEvents
from live_memory.core.hosts.events import AgentConcluded, TaskGiven
from live_memory.core.memory.notebook import (
    AUTOMATIC_S,
    LARGEST_HANDOFF,
    Handoff,
    HandoffState,
    Writer,
)
from live_memory.core.memory.window import LearningPaused, Purged
from live_memory.core.values import Author, Instant, WorkspaceKey
from live_memory.flow.notes import HandoffDraft, Scope
from live_memory.ports import Missed
from tests.flow.test_ingest import Listening, bash, listening, payload, tool
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.doubles.in_memory_store import InMemory
from tests.support.memory import APP, House

KEY = WorkspaceKey.of_root("/app")
BEGAN = payload("SessionStart", source="startup")
ENDED = payload("SessionEnd", reason="other")
EDITED = tool("Write", "/app/README.md")
SECRET = "ghp_" + "a1B2c3D4e5" * 4


@dataclass(slots=True)
class Day(House):
    """A house whose clock a test moves."""

    at: float = 1_800_000_000.0

    def now(self) -> Instant:
        self.at += 1.0
        return Instant(self.at)


def day() -> Day:
    return Day({"/app": InMemorySandbox(APP)})


def prompt(text: str, **more: object) -> dict[str, object]:
    return payload("UserPromptSubmit", prompt=text, **more)


def edit(path: str, *hunks: tuple[int, int]) -> dict[str, object]:
    patch = [{"newStart": first, "newLines": count} for first, count in hunks]
    return {**tool("Edit", path), "tool_response": {"structuredPatch": patch}}


def failed(command: str) -> dict[str, object]:
    return {**bash(command), "hook_event_name": "PostToolUseFailure", "error": "Exit code 1"}


def of(session: str, *payloads: dict[str, object]) -> list[dict[str, object]]:
    return [{**one, "session_id": session} for one in payloads]


async def left(at: Listening, *, cwd: str = "/app") -> Sequence[Handoff]:
    """All handoffs, newest first, once no session is due."""
    memory = await at.hub.opened(cwd)
    with anyio.fail_after(10):
        while any(one.is_due for one in await at.house.store.sessions(memory.identity.key)):
            await anyio.sleep(0.05)  # what it waits for is told nowhere
    return (await at.hub.notebook.handoffs(cwd, is_open=False))[1]


async def left_by(*payloads: dict[str, object], house: House | None = None) -> Sequence[Handoff]:
    """What is left once these were told, one request each."""
    async with listening(house or day()) as at:
        for one in payloads:
            await at.reception.take([one], project="/app")
        return await left(at)


async def test_a_session_leaves_what_it_was_asked_edited_and_could_not_run() -> None:
    (one,) = await left_by(
        BEGAN,
        prompt("Look around."),
        prompt("Raise the limit\nto 9."),
        edit("/app/app/config.py", (3, 1), (1, 2)),
        edit("/app/app/config.py", (2, 3)),
        edit("/app/app/client.py", (4, 4)),
        EDITED,
        failed("pytest -q"),
        failed("make lint"),
        bash("make lint"),
        bash("make all"),
        ENDED,
    )
    assert one.is_automatic
    assert one.writer == Writer(Author.AGENT, host="claude-code", session="s")
    assert one.expires_at == one.left_at + AUTOMATIC_S
    assert one.files == ("README.md", "app/client.py:4-7", "app/config.py:1-4")
    assert one.summary.splitlines() == [
        "A session ended and left nothing by hand; this was put together by rule.",
        'Its last prompt: "Raise the limit to 9."',
        "Files it edited: 3",
        "Commands that failed and did not succeed later:",
        '- "pytest -q"',
    ]
    assert (one.next_steps, one.open_questions) == ((), ())


async def test_what_it_found_is_told_also_where_that_is_said_last() -> None:
    """Its last words are still to be checked when it ends."""
    said = payload("Stop", last_assistant_message="RETRY_LIMIT is 3 (app/config.py:3).")
    other = {**payload("Stop", last_assistant_message="fetch_page sends, app/client.py:7.")}
    (one,) = await left_by(EDITED, said, *of("t", other), ENDED)
    assert one.summary.splitlines()[-2:] == [
        "What it found:",
        "- RETRY_LIMIT is 3 (app/config.py:3).",
    ]


@pytest.mark.parametrize(
    ("done", "count"),
    [
        ([], 0),
        ([prompt("One."), prompt("Two."), tool("Read"), failed("pytest")], 0),
        ([prompt("One."), prompt("Two."), prompt("Three.")], 1),
        ([prompt("One."), prompt("One."), prompt("One.")], 0),  # two registrations of ours
        ([EDITED], 1),
        ([prompt(f"Look {n}.", agent_id="h") for n in range(3)], 0),  # a helper's
        ([tool("Write", "/elsewhere/a.py"), tool("Write", "/app/.env")], 0),
        ([{**EDITED, "timestamp": "2026-01-01T00:00:00Z"}], 0),  # from the records of the host
    ],
    ids=["nothing", "two prompts", "three", "twice", "an edit", "helper", "outside", "import"],
)
async def test_a_session_that_did_next_to_nothing_leaves_none(
    done: list[dict[str, object]], count: int
) -> None:
    assert len(await left_by(BEGAN, *done, ENDED)) == count


async def test_a_session_that_left_one_by_hand_leaves_no_other() -> None:
    async with listening(day()) as at:
        await at.reception.take([BEGAN, EDITED, *of("t", BEGAN, EDITED)], project="/app")
        draft = HandoffDraft("It is half done.")
        await at.hub.notebook.leave("/app", draft, Writer(Author.AGENT, session="s"), call="c")
        await at.reception.take([ENDED, *of("t", ENDED)], project="/app")
        found = await left(at)
        assert [(one.writer.session, one.is_automatic) for one in found] == [
            ("t", True),
            ("s", False),
        ]


@pytest.mark.parametrize(
    ("writer", "is_its"),
    [
        (Writer(Author.AGENT, host="claude-code"), True),  # a client that names no session
        (Writer(Author.AGENT, host="codex-mcp-client"), False),
        (Writer(Author.AGENT), False),
        (Writer(Author.PERSON, host="claude-code"), False),
        (Writer(Author.SUBAGENT, host="claude-code", session="s"), True),
        (Writer(Author.AGENT, host="claude-code", session="before"), True),
        (Writer(Author.AGENT, host="claude-code", session="beside"), False),
    ],
)
async def test_whose_one_by_hand_is_told_by_who_wrote_it(writer: Writer, is_its: bool) -> None:
    """In one window a session may follow another, and the client's server keeps the older name."""
    async with listening(day()) as at:
        before = [*of("beside", BEGAN, EDITED), *of("before", BEGAN, ENDED)]
        await at.reception.take([*before, BEGAN, EDITED], project="/app")
        await left(at)
        await at.hub.notebook.leave("/app", HandoffDraft("It is half done."), writer, call="c")
        await at.reception.take([ENDED], project="/app")
        assert len(await left(at)) == 2 - is_its


async def test_one_by_hand_of_before_the_session_is_none_of_it() -> None:
    async with listening(day()) as at:
        draft = HandoffDraft("It is half done.")
        await at.hub.notebook.leave("/app", draft, Writer(Author.AGENT, session="s"), call="c")
        await at.reception.take([BEGAN, EDITED, ENDED], project="/app")
        assert [one.is_automatic for one in await left(at)] == [True, False]


async def test_who_goes_on_and_ends_again_leaves_one_that_takes_the_place_of_the_older() -> None:
    house = day()
    async with listening(house) as at:
        await at.reception.take([BEGAN, failed("pytest"), EDITED, ENDED], project="/app")
        (first,) = await left(at)
        assert "pytest" in first.summary
        # Nothing new: it stays.
        await at.reception.take([BEGAN, ENDED], project="/app")
        assert await left(at) == (first,)
        more = [BEGAN, bash("pytest"), edit("/app/app/config.py", (3, 1)), ENDED]
        await at.reception.take(more, project="/app")
        second, old = await left(at)
        assert old.state_at(house.now()) is HandoffState.CANCELLED
        assert second.state_at(house.now()) is HandoffState.OPEN
        assert second.files == ("app/config.py:3-3", "README.md")
        assert "pytest" not in second.summary


async def test_what_was_taken_over_is_not_told_again() -> None:
    async with listening(day()) as at:
        await at.reception.take([BEGAN, EDITED, ENDED], project="/app")
        (first,) = await left(at)
        await at.hub.notebook.claim("/app", first.id, Writer(Author.AGENT), call="c")
        await at.reception.take([BEGAN, prompt("Go on."), ENDED], project="/app")
        assert [one.id for one in await left(at)] == [first.id]
        await at.reception.take([BEGAN, tool("Write"), ENDED], project="/app")
        second, _ = await left(at)
        assert second.files == ("app/config.py",)


@pytest.mark.promise("nothing-lost")
async def test_what_was_written_down_while_the_server_was_away_counts_in_its_order() -> None:
    missed = [
        Missed("/app", one) for one in (BEGAN, failed("pytest"), EDITED, bash("pytest"), ENDED)
    ]
    async with listening(day(), missed=missed) as at:
        await anyio.wait_all_tasks_blocked()
        (one,) = await left(at)
        assert one.files == ("README.md",)
        assert "pytest" not in one.summary


@pytest.mark.promise("nothing-lost")
async def test_a_session_may_outlive_the_server_that_saw_its_work() -> None:
    house = day()
    async with listening(house) as at:
        await at.reception.take([BEGAN, prompt("Raise it."), EDITED], project="/app")
    missed = [Missed("/app", ENDED)]
    async with listening(house, missed=missed) as at:
        await anyio.wait_all_tasks_blocked()
        (one,) = await left(at)
        assert "Raise it." in one.summary
        assert one.files == ("README.md",)


@pytest.mark.promise("nothing-lost")
async def test_a_server_that_ends_at_once_leaves_it_first() -> None:
    house = day()
    async with listening(house) as at:
        await at.reception.take([BEGAN, EDITED, ENDED], project="/app")
    assert len(told_open(house)) == 1
    async with listening(house) as at:
        assert len(await left(at)) == 1


@pytest.mark.promise("nothing-lost")
async def test_that_a_session_ended_is_kept_before_the_hook_hears_of_it() -> None:
    house = day()
    async with listening(house) as at:
        await at.reception.take([BEGAN, EDITED, ENDED], project="/app")
        (kept,) = await house.store.sessions(KEY)
        assert kept.is_due
        assert [file.path.text for file in kept.work.edited] == ["README.md"]


@pytest.mark.promise("no-secrets")
async def test_no_secret_and_no_control_is_kept_or_told() -> None:
    async with listening(day()) as at:
        told = [
            prompt(f"Use {SECRET}\x1b[31m now."),
            failed(f"curl -H 'Authorization: Bearer {SECRET}' localhost"),
            EDITED,
            tool("Write", f"/app/{SECRET}.txt"),
            tool("Write", "/app/a\nb.txt"),
            ENDED,
        ]
        await at.reception.take(told, project="/app")
        kept = await at.house.store.sessions(KEY)
        (one,) = await left(at)
    assert SECRET not in repr(kept)
    assert SECRET not in repr(one)
    assert "\x1b" not in one.summary
    assert one.files == ("README.md",)


async def test_a_search_that_finds_nothing_is_no_command_that_failed() -> None:
    (one,) = await left_by(
        EDITED, failed("rg nothing"), failed("git grep x"), failed("ls /x"), ENDED
    )
    assert one.summary.splitlines()[-1:] == ['- "ls /x"']


async def test_whatever_a_session_did_fits_into_a_handoff() -> None:
    work = [prompt("é" * 5_000), *(failed(f"make {'é' * 1_000}{n}") for n in range(40))]
    work += [edit(f"/app/{'é' * 90}/{n}.py", (1, 2), (5, 6)) for n in range(200)]
    (one,) = await left_by(*work, ENDED)
    size = sum(len(text.encode()) for text in (one.summary, *one.files))
    assert LARGEST_HANDOFF - 1_000 < size <= LARGEST_HANDOFF
    assert one.files[0].endswith("/199.py:1-2")


async def test_sessions_without_end_do_not_pile_up() -> None:
    async with listening(day()) as at:
        for n in range(100):
            await at.reception.take(of(str(n), BEGAN, EDITED), project="/app")
        await at.reception.take(of("0", ENDED), project="/app")
        await at.reception.take(of("99", ENDED), project="/app")
        found = await left(at)
        assert [one.writer.session for one in found] == ["99"]
        assert len(await at.house.store.sessions(KEY)) == 24


@pytest.mark.promise("workspaces-never-mix")
async def test_the_same_name_of_a_session_in_two_workspaces_is_two_sessions() -> None:
    house = day()
    house.sandboxes["/other"] = InMemorySandbox({"b.py": b"B = 2\n"})
    async with listening(house) as at:
        await at.reception.take([BEGAN, tool("Write"), ENDED], project="/app")
        await at.reception.take(
            [{**tool("Write", "/other/b.py"), "cwd": "/other"}], project="/other"
        )
        assert len(await left(at)) == 1
        assert await left(at, cwd="/other") == ()


async def test_where_conclusions_are_off_no_word_of_a_prompt_is_kept() -> None:
    dialect = IgnoreEvents(ClaudeCode(), TaskGiven, AgentConcluded)
    async with listening(day(), dialect=dialect) as at:
        asked = [prompt(f"CANARY {n}") for n in range(5)]
        await at.reception.take([BEGAN, *asked, ENDED], project="/app")
        assert await left(at) == ()
        await at.reception.take([BEGAN, *asked, EDITED, ENDED], project="/app")
        (one,) = await left(at)
        assert "CANARY" not in one.summary
        assert one.files == ("README.md",)


@pytest.mark.parametrize("dialect", [IgnoreEvents(ClaudeCode()), None], ids=["passive", "handoffs"])
async def test_what_is_off_leaves_nothing(dialect: IgnoreEvents | None) -> None:
    house = day()
    house.leaves_handoffs = dialect is not None
    async with listening(house, dialect=dialect) as at:
        await at.reception.take([BEGAN, *map(prompt, "abc"), EDITED, ENDED], project="/app")
        await anyio.sleep(1.0)
        assert await left(at) == ()
        assert not await house.store.sessions(KEY)


# How many are open is told to sessions that begin.


def told_open(house: House) -> Sequence[Instant]:
    assert isinstance(house.store, InMemory)
    return house.store.told_open.get(KEY, ())


async def test_how_many_are_open_is_kept_where_a_session_looks_for_it() -> None:
    house, writer = day(), Writer(Author.AGENT, session="s")
    async with listening(house) as at:
        notebook = at.hub.notebook
        one, two = [
            await notebook.leave("/app", HandoffDraft(text), writer, call=text) for text in "ab"
        ]
        assert told_open(house) == [one.expires_at, two.expires_at]
        await notebook.claim("/app", one.id, writer, call="c")
        assert told_open(house) == [two.expires_at]
        await notebook.cancel("/app", two.id, "", writer)
        assert told_open(house) == []
        await at.reception.take([BEGAN, EDITED, ENDED], project="/app")
        (third, *_) = await left(at)
        assert told_open(house) == [third.expires_at]
    house.leaves_handoffs = False
    async with listening(house) as at:
        await at.memory()
        assert told_open(house) == []
    house.leaves_handoffs = True
    async with listening(house) as at:
        memory = await at.memory()
        assert told_open(house) == [third.expires_at]
        await memory.record(Purged(frozenset({third.id})))
        assert told_open(house) == []


async def test_a_purge_leaves_nothing_of_what_a_handoff_was_put_together_from() -> None:
    house = day()
    async with listening(house) as at:
        await at.reception.take([prompt("CANARY"), EDITED, ENDED], project="/app")
        (one,) = await left(at)
        assert "CANARY" in one.summary
        await (await at.memory()).record(Purged(frozenset({one.id})))
    assert not await house.store.sessions(KEY)


async def test_a_workspace_that_is_forgotten_has_no_session_and_no_count() -> None:
    house = day()
    async with listening(house) as at:
        await at.reception.take([prompt("CANARY"), EDITED, ENDED], project="/app")
        await left(at)
        await at.hub.clear("/app")
        assert told_open(house) == ()
        assert not await house.store.sessions(KEY)
        await at.reception.take([ENDED], project="/app")
        assert await left(at) == ()


async def test_while_learning_is_paused_no_session_is_noted_and_none_leaves_anything() -> None:
    house = day()
    async with listening(house) as at:
        await at.hub.keeping.pause("/app")
        await at.reception.take([BEGAN, prompt("CANARY"), EDITED, ENDED], project="/app")
        assert await left(at) == ()
        assert not await house.store.sessions(KEY)


async def test_a_session_that_is_due_when_learning_is_paused_leaves_nothing() -> None:
    house = day()
    async with listening(house) as at:
        memory = await at.memory()
        await memory.record(LearningPaused())
        # As where it ended a moment before.
        await memory.diary.note([ClaudeCode().parse(one) for one in (EDITED, ENDED)])
        assert await left(at) == ()
        assert await at.memory() is memory


async def test_a_purge_of_what_was_forgotten_leaves_nothing_of_sessions() -> None:
    house = day()
    async with listening(house) as at:
        await at.reception.take([prompt("CANARY"), EDITED, ENDED], project="/app")
        await left(at)
        await at.hub.keeping.purge("/app", [], scope=Scope.WORKSPACE, is_forgotten=True)
    assert not await house.store.sessions(KEY)
