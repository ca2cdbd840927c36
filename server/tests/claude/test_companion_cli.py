"""The companion through the real client: the same loop and tools, and nothing else of the user's.

The Messages API is scripted; everything between it and our toolbox is the client's.
"""

import json
import os
import threading
from collections.abc import Collection, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.adapters.llm.claude_cli import ClaudeCli
from live_memory.adapters.llm.installed_client import ClaudeProgram, find_claude
from live_memory.core.answer import StopReason
from live_memory.core.companion.chat import Block, Conversation, UserTurn
from live_memory.core.companion.tools import SPECS
from live_memory.core.errors import ModelRefused, ModelUnreachable
from live_memory.core.memory.window import EntryNumber
from live_memory.core.reading.redaction import Redactor
from live_memory.flow.consult import AnswerDraft, consult
from live_memory.flow.jobs import silent
from live_memory.flow.reader import FileCache, Reader
from live_memory.flow.toolbox import Toolbox
from live_memory.ports import LanguageModel
from tests.claude.fake_anthropic import FakeAnthropic, Json, Turn
from tests.claude.stage import Stage
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.fake_claude import is_running
from tests.support.memory import APP, House

pytestmark = pytest.mark.real("claude")

_OURS = "mcp__live-memory__"
_HOOKED = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")


class Slow(FakeAnthropic):
    """Plays its turns, and thinks about some of them until the test lets it go on."""

    def __init__(self, turns: Sequence[Turn], *, slow: Collection[int]) -> None:
        super().__init__(turns)
        self._slow = slow
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def answer(self, request: Json) -> Turn:
        turn = super().answer(request)
        if len(self.requests) in self._slow and request.get("tools"):
            self.reached.set()
            self.go_on.wait(60)
        return turn


def model_at(api: FakeAnthropic, stage: Stage, *, key: str | None = "dummy-key") -> ClaudeCli:
    """The installed client with the stage's home, and no way to the real API."""
    home = stage.folder / "home"
    found = find_claude({"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"})
    assert found is not None
    env = {**found.env, "ANTHROPIC_BASE_URL": api.base_url}
    if key is not None:
        env["ANTHROPIC_API_KEY"] = key
    return ClaudeCli(ClaudeProgram(found.path, env), stage.folder / "ours")


def toolbox() -> Toolbox:
    shelf = FileCache(Reader(InMemorySandbox(APP), Redactor(), 256 * 1024))
    return Toolbox(shelf, SqliteIndex.in_memory(), House(), lambda: EntryNumber(1))


async def asked(
    model: LanguageModel,
    tools: Toolbox,
    *,
    conclude_in: float = 60,
    give_up_in: float = 90,
    is_cold: bool = False,
) -> AnswerDraft:
    """Consult the model as a question does."""
    now = anyio.current_time()
    turn = UserTurn((Block("=== facts\n", is_cache_end=True), Block("Where is RETRY_LIMIT?")))
    async with model.conversation() as bound:
        return await consult(
            bound,
            lambda _limit: Conversation((Block("You answer about this workspace."),), (turn,)),
            tools,
            conclude_at=now + conclude_in,
            give_up_at=now + give_up_in,
            answer_tokens=1_000,
            is_cold=is_cold,
            progress=silent,
        )


def read(path: str) -> Turn:
    return (f"{_OURS}Read", {"path": path})


def texts(request: Json) -> str:
    return json.dumps(request["messages"])


def running_clients(stage: Stage) -> set[int]:
    """Groups of processes whose working folder is ours."""
    ours = str((stage.folder / "ours/empty").resolve())
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str((folder / "cwd").readlink()) == ours and is_running(int(folder.name)):
                found.add(os.getpgid(int(folder.name)))
        except OSError:
            continue
    return found


@pytest.mark.promise("read-only")
async def test_several_rounds_of_tools_run_in_our_toolbox_and_the_answer_arrives(
    stage: Stage,
) -> None:
    turns: list[Turn] = [
        read("app/config.py"),
        (f"{_OURS}Grep", {"pattern": "RETRY_LIMIT"}),
        read("../../etc/passwd"),
        "It is set in `app/config.py:3`.",
    ]
    tools = toolbox()
    with FakeAnthropic(turns) as api:
        draft = await asked(model_at(api, stage), tools)

    assert draft.text == "It is set in `app/config.py:3`."
    assert draft.stop is StopReason.ANSWERED
    assert tools.calls == 3
    assert [seen.event.path.text for seen in tools.seen] == ["app/config.py"]
    assert "RETRY_LIMIT = 3" in texts(api.requests[1])
    assert "app/client.py:1" in texts(api.requests[2])
    assert "root:" not in texts(api.requests[3])
    assert running_clients(stage) == set()


async def test_the_model_is_offered_our_tools_and_told_our_words_and_nothing_else(
    stage: Stage,
) -> None:
    for place in ("home/.claude/CLAUDE.md", "home/CLAUDE.md", "CLAUDE.md", "AGENTS.md"):
        (stage.folder / place).write_text("Remember the word xyzzy.")
    with FakeAnthropic(["It is in `app/config.py:3`."]) as api:
        await asked(model_at(api, stage), toolbox())

    (request,) = api.requests
    offered = request["tools"]
    assert isinstance(offered, list)
    assert {tool["name"] for tool in offered} == {_OURS + spec.name for spec in SPECS}
    assert {tool["name"]: tool["input_schema"] for tool in offered} == {
        _OURS + spec.name: spec.schema for spec in SPECS
    }
    assert "xyzzy" not in json.dumps(request)
    assert "You answer about this workspace." in json.dumps(request["system"])
    assert "You are Claude Code" not in json.dumps(request["system"])
    assert "haiku" in str(request["model"])
    assert request["max_tokens"] == 1_000


async def test_a_call_of_a_tool_that_is_not_ours_runs_nothing(stage: Stage) -> None:
    mark = stage.folder / "was-run"
    tools = toolbox()
    with FakeAnthropic([("Bash", {"command": f"touch {mark}"}), "I could not."]) as api:
        draft = await asked(model_at(api, stage), tools)

    assert draft.text == "I could not."
    assert not mark.exists()
    assert tools.calls == 0


async def test_no_hook_fires_and_the_user_s_list_of_sessions_stays_as_it_was(stage: Stage) -> None:
    """C29: with our plugin installed, and hooks in plugin and settings that note every event."""
    log = stage.folder / "hook-log"
    hook = [{"hooks": [{"type": "command", "command": f"echo fired >> '{log}'"}]}]
    hooks = {"hooks": dict.fromkeys(_HOOKED, hook)}
    (stage.plugin / "hooks").mkdir(exist_ok=True)
    (stage.plugin / "hooks/hooks.json").write_text(json.dumps(hooks))
    installed = stage.play(
        ["plugin", "marketplace", "add", str(stage.plugin)],
        ["plugin", "install", "live-memory@live-memory"],
        ["-p", "go"],
        turns=["done"],
    )
    assert [run.returncode for run in installed.runs] == [0, 0, 0], installed.runs
    assert log.exists(), "the hooks of this test do not work at all"
    settings = stage.folder / "home/.claude/settings.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | hooks))
    log.unlink()
    before = sessions(stage)
    assert before

    with FakeAnthropic([read("app/config.py"), "It is in `app/config.py:3`."]) as api:
        await asked(model_at(api, stage), toolbox())

    assert not log.exists()
    assert sessions(stage) == before
    assert len(api.requests) == 2


def sessions(stage: Stage) -> set[str]:
    """What the client keeps of past sessions."""
    kept = stage.folder / "home/.claude"
    return {str(p) for name in ("projects", "sessions", "todos") for p in (kept / name).rglob("*")}


async def test_a_guess_on_a_cold_question_is_sent_back_in_the_same_client(stage: Stage) -> None:
    tools = toolbox()
    turns: list[Turn] = ["I guess.", read("app/config.py"), "It is in `app/config.py:3`."]
    with FakeAnthropic(turns) as api:
        draft = await asked(model_at(api, stage), tools, is_cold=True)

    assert draft.text == "It is in `app/config.py:3`."
    assert tools.calls == 1
    assert "I guess." in texts(api.requests[1])


@pytest.mark.promise("deadline-kept")
async def test_out_of_time_while_it_thinks_the_client_is_interrupted_and_concludes(
    stage: Stage,
) -> None:
    tools = toolbox()
    turns: list[Turn] = [read("app/config.py"), "never heard", "In short: `app/config.py:3`."]
    talk = Conversation((Block("You answer."),), (UserTurn((Block("Where is RETRY_LIMIT?"),)),))
    with Slow(turns, slow=[2]) as api:
        async with model_at(api, stage).conversation() as model:
            first = await model.complete(talk.request(SPECS, max_output_tokens=1_000))
            talk = talk.heard(first).saw(await tools.run(first.turn.tool_calls))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(model.complete, talk.request(SPECS, max_output_tokens=1_000))
                assert await anyio.to_thread.run_sync(api.reached.wait, 30)
                tasks.cancel_scope.cancel()
            talk = talk.told("Answer now.")
            last = await model.complete(talk.request(SPECS, max_output_tokens=1_000))
            clients = running_clients(stage)
        api.go_on.set()

    assert last.turn.text == "In short: `app/config.py:3`."
    assert len(clients) == 1
    assert "Answer now." in texts(api.requests[-1])
    assert "RETRY_LIMIT = 3" in texts(api.requests[-1])
    assert running_clients(stage) == set()


async def test_out_of_time_while_tools_run_the_client_concludes_without_them(stage: Stage) -> None:
    turns: list[Turn] = [read("app/config.py"), "In short: I do not know."]
    talk = Conversation((Block("You answer."),), (UserTurn((Block("Where is RETRY_LIMIT?"),)),))
    with FakeAnthropic(turns) as api:
        async with model_at(api, stage).conversation() as model:
            await model.complete(talk.request(SPECS, max_output_tokens=1_000))
            talk = talk.told("Answer now.")
            last = await model.complete(talk.request(SPECS, max_output_tokens=1_000))

    assert last.turn.text == "In short: I do not know."
    assert "Answer now." in texts(api.requests[1])
    assert "no time left" in texts(api.requests[1])
    assert len(api.requests) == 2


@pytest.mark.promise("deadline-kept")
async def test_after_the_last_moment_there_is_no_client(stage: Stage) -> None:
    with Slow([], slow=[1, 2, 3]) as api:
        with pytest.raises(ModelUnreachable, match="deadline"):
            await asked(model_at(api, stage), toolbox(), conclude_in=1.0, give_up_in=1.5)
        assert running_clients(stage) == set()
        api.go_on.set()


@pytest.mark.parametrize("turn", ["never heard", read("app/config.py")], ids=["speaks", "calls"])
async def test_a_cancelled_question_leaves_no_client(stage: Stage, turn: Turn) -> None:
    """Also where the caller went away while the model thinks, or while a tool runs."""
    with Slow([turn], slow=[1]) as api:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked, model_at(api, stage), toolbox())
            assert await anyio.to_thread.run_sync(api.reached.wait, 30)
            assert running_clients(stage)
            tasks.cancel_scope.cancel()
        api.go_on.set()

    assert running_clients(stage) == set()


async def test_who_is_not_logged_in_is_told_so(stage: Stage) -> None:
    """C11: the caller falls back to evidence with this sentence."""
    with FakeAnthropic([]) as api, pytest.raises(ModelRefused, match="log in"):
        await asked(model_at(api, stage, key=None), toolbox())
    assert api.requests == []
