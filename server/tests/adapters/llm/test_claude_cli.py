"""The model behind an installed client, with a stand-in for the client that can do odd things."""

import sys
from pathlib import Path

import anyio
import pytest

from live_memory.adapters.llm.claude_cli import ClaudeCli
from live_memory.adapters.llm.retry import Pace, Retrying
from live_memory.core.companion.chat import (
    Abilities,
    AssistantTurn,
    Block,
    Message,
    ModelReply,
    ModelRequest,
    ModelUsage,
    ReplyStop,
    ToolResult,
    ToolResults,
    UserTurn,
)
from live_memory.core.errors import (
    ModelOverloaded,
    ModelRefused,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
)
from tests.support.asking_models import ASKED, WITH_TOOLS
from tests.support.fake_claude import FakeClaude, Json, fake_claude, is_running

CALLS: Json = {
    "text": "Let me see.",
    "calls": [["mcp__live-memory__Read", '{"path": "a"}'], ["mcp__live-memory__Grep", "{not json"]],
}
SLOW: Json = {"text": "It is", "stall": True}
ANSWER: Json = {"text": "It is so."}


def model_of(client: FakeClaude) -> ClaudeCli:
    return ClaudeCli(client.program, client.folder / "ours")


def seen(reply: ModelReply, text: str) -> ToolResults:
    """What the reply's calls gave."""
    return ToolResults(tuple(ToolResult(call.id, text) for call in reply.turn.tool_calls))


def after(request: ModelRequest, *messages: Message) -> ModelRequest:
    return ModelRequest(request.system, (*request.messages, *messages), request.tools)


def words(text: str) -> UserTurn:
    return UserTurn((Block(text),))


async def until_gone(client: FakeClaude) -> None:
    """Wait until nothing is left of any client and of what it started."""
    pids = client.pids()
    assert pids
    with anyio.fail_after(5):
        while any(map(is_running, pids)):
            await anyio.sleep(0.01)


async def test_text_is_heard_in_pieces_and_comes_back_whole_with_its_usage(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", {"text": ["It ", "is ", "so."]})
    heard: list[str] = []

    reply = await model_of(client).complete(ASKED, heard=heard.append)

    assert heard == ["It ", "is ", "so."]
    assert reply == ModelReply(
        AssistantTurn("It is so."), ReplyStop.END, ModelUsage(100, 30, 0, 20), "claude-haiku-4-5"
    )
    await until_gone(client)


async def test_calls_have_our_names_and_the_client_gets_what_they_gave(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", CALLS, ANSWER)
    async with model_of(client).conversation() as model:
        first = await model.complete(WITH_TOOLS)
        second = await model.complete(after(WITH_TOOLS, first.turn, seen(first, "text of a")))

    assert first.stop is ReplyStop.TOOL_CALLS
    assert first.turn.text == "Let me see."
    assert [(call.name, call.arguments) for call in first.turn.tool_calls] == [
        ("Read", '{"path": "a"}'),
        ("Grep", "{not json"),
    ]
    assert [entry["text"] for entry in client.diary("result")] == ["text of a", "text of a"]
    assert second.turn.text == "It is so."
    assert len(client.diary("start")) == 1


@pytest.mark.promise("no-secrets")
async def test_the_client_gets_no_secret_of_ours_and_shows_no_prompt_to_other_users(
    tmp_path: Path,
) -> None:
    environ = {"ANTHROPIC_API_KEY": "sk-1", "LIVE_MEMORY_API_KEY": "sk-2", "AWS_SECRET_KEY": "3"}
    client = fake_claude(tmp_path / "fake", ANSWER, environ=environ)

    await model_of(client).complete(ASKED)

    (start,) = client.diary("start")
    assert not environ.keys() & set(map(str, _items(start["environ"])))
    argv = " ".join(map(str, _items(start["argv"])))
    assert "You answer." not in argv
    assert "Why?" not in argv
    assert [entry["system"] for entry in client.diary("control")] == ["You answer."]


async def test_it_runs_in_an_empty_folder_of_ours_and_leaves_nothing_there(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", ANSWER)
    left = client.folder / "ours/scratch/left-by-a-server-that-was-killed"
    left.mkdir(parents=True)

    await model_of(client).complete(ASKED)

    (start,) = client.diary("start")
    assert start["cwd"] == str((client.folder / "ours/empty").resolve())
    assert sorted(p.name for p in (client.folder / "ours").rglob("*")) == ["empty", "scratch"]


async def test_lines_that_are_no_json_are_passed_over(tmp_path: Path) -> None:
    noise = ["warning: something", "{", "[1]", "null", '{"type": 5}', "{}", ""]
    client = fake_claude(tmp_path / "fake", {"garbage": noise, "text": "It is so."})

    assert (await model_of(client).complete(ASKED)).turn.text == "It is so."


async def test_a_client_that_does_not_start_says_why_and_is_not_tried_again(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", ANSWER)
    script = client.folder / "bin/claude"
    script.write_text('#!/bin/sh\necho started >>"$HOME/starts"\necho unknown option >&2\nexit 1\n')

    model = Retrying(model_of(client), pace=Pace(random=lambda: 0.0))
    with anyio.fail_after(20), pytest.raises(ModelRefused, match=r"unknown option.*provider"):
        await model.complete(ASKED)

    assert (client.folder / "home/starts").read_text() == "started\n"


async def test_a_client_that_is_gone_since_the_start_is_a_refusal(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", ANSWER)
    (client.folder / "bin/claude").unlink()
    model = model_of(client)
    for _ in range(6):  # more than may run at once: each gave its room back
        with anyio.fail_after(5), pytest.raises(ModelRefused, match="does not start"):
            await model.complete(ASKED)


async def test_a_folder_that_cannot_be_made_is_a_refusal(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", ANSWER)
    (client.folder / "ours").write_text("in the way")
    model = model_of(client)
    for _ in range(6):  # more than may run at once: each gave its room back
        with anyio.fail_after(5), pytest.raises(ModelRefused, match="cannot be started"):
            await model.complete(ASKED)


async def test_a_client_that_dies_before_it_said_anything_can_be_tried_again(
    tmp_path: Path,
) -> None:
    client = fake_claude(tmp_path / "fake", {"exit": 3}, ANSWER)
    model = model_of(client)
    with pytest.raises(ModelUnreachable):
        await model.complete(ASKED)
    assert (await model.complete(ASKED)).turn.text == "It is so."


@pytest.mark.parametrize("torn", [{}, {"stop": "end_turn"}], ids=["text", "last event"])
async def test_what_breaks_off_after_it_was_heard_is_a_reply_that_was_cut(
    tmp_path: Path, torn: Json
) -> None:
    client = fake_claude(tmp_path / "fake", {"text": "It is", "exit": 1, **torn})

    reply = await model_of(client).complete(WITH_TOOLS)

    assert (reply.turn, reply.stop) == (AssistantTurn("It is"), ReplyStop.CUT)


async def test_a_line_without_an_end_ends_the_client(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", {"garbage": ["x" * 9_000_000], "stall": True})
    with anyio.fail_after(30), pytest.raises(ModelUnreachable, match="without an end"):
        await model_of(client).complete(ASKED)
    await until_gone(client)


@pytest.mark.parametrize(
    ("turn", "kind", "says"),
    [
        (
            {"error": "authentication_failed", "said": "Not logged in · Please run /login"},
            ModelRefused,
            "log in",
        ),
        (
            {
                "error": "unknown",
                "status": 400,
                "said": "API Error: 400 This credential is only authorized for use with Claude "
                "Code and cannot be used for other API requests.",
            },
            ModelRefused,
            "only authorized.*log in.*'provider'",
        ),
        ({"error": "oauth_org_not_allowed", "status": 403}, ModelRefused, "auth"),
        ({"error": "billing_error", "status": 400, "said": "Credit"}, ModelRefused, "Credit"),
        ({"error": "model_not_found", "status": 404}, ModelRefused, "model_not_found"),
        ({"error": "rate_limit", "status": 429, "said": "resets 3pm"}, ModelOverloaded, "resets"),
        ({"error": "server_error", "status": 529}, ModelOverloaded, "limit"),
        ({"error": "server_error", "status": 500, "said": "boom"}, ModelUnreachable, "boom"),
        (
            {
                "error": "invalid_request",
                "status": 400,
                "said": "Prompt is too long · the request is ~210000 tokens (limit 200000) but",
            },
            PromptTooLong,
            "too long",
        ),
    ],
    ids=lambda value: str(value.get("error")) if isinstance(value, dict) else None,
)
async def test_a_failure_is_of_the_kind_that_says_what_helps(
    tmp_path: Path, turn: Json, kind: type[ModelUnavailable], says: str
) -> None:
    """C11, S43: a refused subscription is not asked again, and the text says what to do."""
    client = fake_claude(tmp_path / "fake", turn)

    with anyio.fail_after(20), pytest.raises(kind, match=says) as caught:
        await model_of(client).complete(ASKED)

    if isinstance(caught.value, PromptTooLong):
        assert caught.value.limit_tokens == 200_000
    await until_gone(client)


@pytest.mark.promise("deadline-kept")
async def test_a_cancelled_question_leaves_no_client_and_nothing_it_started(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", {**SLOW, "child": True})
    with anyio.move_on_after(30) as scope:
        await model_of(client).complete(ASKED, heard=lambda _text: scope.cancel())

    assert scope.cancelled_caught
    assert len(client.pids()) == 2
    await until_gone(client)
    assert not list((client.folder / "ours/scratch").iterdir())


_SERVER = """
import anyio, sys
from pathlib import Path
from live_memory.adapters.llm.claude_cli import ClaudeCli
from live_memory.adapters.llm.installed_client import ClaudeProgram
from tests.support.asking_models import ASKED
program = ClaudeProgram(sys.argv[1], {"PATH": "/usr/bin:/bin"})
hear = lambda text: print(text, flush=True)
anyio.run(lambda: ClaudeCli(program, Path(sys.argv[2])).complete(ASKED, heard=hear))
"""


async def test_when_the_server_is_killed_its_clients_end_even_if_they_listen_to_nothing(
    tmp_path: Path,
) -> None:
    client = fake_claude(tmp_path / "fake", {"text": "It is", "deaf": True, "child": True})
    server = await anyio.open_process(
        [sys.executable, "-c", _SERVER, client.program.path, str(client.folder / "ours")],
        cwd=Path(__file__).parents[3],
    )
    async with server:
        assert server.stdout is not None
        with anyio.fail_after(30):
            heard = b""
            while not heard.endswith(b"\n"):
                heard += await server.stdout.receive()
            assert heard == b"It is\n"
        assert all(map(is_running, client.pids()))
        server.kill()
        await server.wait()

    await until_gone(client)


async def test_a_client_that_does_not_want_to_end_is_ended(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", SLOW)
    script = client.folder / "bin/claude"
    script.write_text(script.read_text().replace("#!/bin/sh\n", "#!/bin/sh\ntrap '' TERM\n"))
    with anyio.move_on_after(30) as scope:
        await model_of(client).complete(ASKED, heard=lambda _text: scope.cancel())

    await until_gone(client)


async def test_out_of_time_while_it_speaks_the_client_is_interrupted_and_concludes(
    tmp_path: Path,
) -> None:
    client = fake_claude(tmp_path / "fake", SLOW, {"text": "In short."})
    async with model_of(client).conversation() as model:
        with anyio.move_on_after(30) as scope:
            await model.complete(ASKED, heard=lambda _text: scope.cancel())
        reply = await model.complete(after(ASKED, words("Answer now.")))

    assert reply.turn.text == "In short."
    assert client.said() == ["Why?", "Answer now."]
    assert [entry["subtype"] for entry in client.diary("control")] == ["initialize", "interrupt"]
    assert len(client.diary("start")) == 1


async def test_out_of_time_while_tools_run_the_model_hears_it_with_what_the_calls_gave(
    tmp_path: Path,
) -> None:
    client = fake_claude(tmp_path / "fake", CALLS, {"text": "In short."})
    async with model_of(client).conversation() as model:
        await model.complete(WITH_TOOLS)
        reply = await model.complete(after(WITH_TOOLS, words("Answer now.")))

    assert reply.turn.text == "In short."
    assert len(client.diary("queued")) == 1
    results = client.diary("result")
    assert [entry["is_error"] for entry in results] == [True, True]
    assert all("no time" in str(entry["text"]) for entry in results)


async def test_words_after_results_are_heard_together_with_them(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", CALLS, {"text": "In short."})
    async with model_of(client).conversation() as model:
        first = await model.complete(WITH_TOOLS)
        told = after(WITH_TOOLS, first.turn, seen(first, "text of a"), words("Answer now."))
        reply = await model.complete(told)

    assert reply.turn.text == "In short."
    assert len(client.diary("queued")) == 1
    assert [entry["text"] for entry in client.diary("result")] == ["text of a", "text of a"]


async def test_after_an_answer_the_model_can_be_told_more(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", {"text": "I guess."}, ANSWER)
    async with model_of(client).conversation() as model:
        first = await model.complete(ASKED)
        second = await model.complete(after(ASKED, first.turn, words("Look first.")))

    assert second.turn.text == "It is so."
    assert client.said() == ["Why?", "Look first."]
    assert len(client.diary("start")) == 1


async def test_a_talk_goes_on_in_a_new_client_that_is_told_what_happened(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", CALLS, ANSWER)
    model = model_of(client)
    first = await model.complete(WITH_TOOLS)

    second = await model.complete(after(WITH_TOOLS, first.turn, seen(first, "text of a")))

    assert second.turn.text == "It is so."
    told = client.said()[-1]
    assert told.startswith("Why?")
    assert "|Let me see.\n" in told
    assert '|Read {"path": "a"}\n' in told
    assert told.count("|text of a\n") == 2


async def test_an_endpoint_that_was_busy_is_asked_again_in_the_same_conversation(
    tmp_path: Path,
) -> None:
    busy: Json = {"error": "server_error", "status": 529}
    client = fake_claude(tmp_path / "fake", CALLS, busy, ANSWER)
    retried = Retrying(model_of(client), pace=Pace(random=lambda: 0.0))
    async with retried.conversation() as model:
        first = await model.complete(WITH_TOOLS)
        second = await model.complete(after(WITH_TOOLS, first.turn, seen(first, "text of a")))

    assert second.turn.text == "It is so."
    assert len(client.diary("start")) == 2
    await until_gone(client)


async def test_a_reply_at_its_limit_is_not_continued_behind_our_back(tmp_path: Path) -> None:
    clipped: Json = {"text": "It is so, bec", "stop": "max_tokens"}
    client = fake_claude(tmp_path / "fake", clipped, {"text": "ause"}, ANSWER)
    async with model_of(client).conversation() as model:
        first = await model.complete(ASKED)
        assert (first.turn.text, first.stop) == ("It is so, bec", ReplyStop.LENGTH)
        await model.complete(after(ASKED, first.turn, words("Once more.")))

    assert len(client.diary("start")) == 2


async def test_one_cache_mark_is_kept_and_none_once_it_was_one_too_many(tmp_path: Path) -> None:
    marked = ModelRequest(
        ASKED.system,
        (UserTurn((Block("a", is_cache_end=True), Block("b", is_cache_end=True), Block("c"))),),
    )
    refused: Json = {
        "error": "invalid_request",
        "status": 400,
        "said": "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    }
    client = fake_claude(tmp_path / "fake", refused, ANSWER)
    model = model_of(client)
    with pytest.raises(ModelUnreachable):
        await model.complete(marked)
    await model.complete(marked)

    assert [entry["marks"] for entry in client.diary("user")] == [[1], []]


async def test_at_most_four_clients_run_at_once(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", *[SLOW] * 4, *[ANSWER] * 2)
    model = model_of(client)
    heard: list[str] = []
    enough = anyio.Event()

    def hear(text: str) -> None:
        heard.append(text)
        if len(heard) == 4:
            enough.set()

    async def stalled(scopes: list[anyio.CancelScope]) -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await model.complete(ASKED, heard=hear)

    scopes: list[anyio.CancelScope] = []
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(stalled, scopes)
            await enough.wait()
            with anyio.move_on_after(0.3) as waiting:
                await model.complete(ASKED)
            assert waiting.cancelled_caught
            assert len(client.diary("start")) == 4
            scopes[0].cancel()
            assert (await model.complete(ASKED)).turn.text == "It is so."
            tasks.cancel_scope.cancel()
    await until_gone(client)


async def test_it_is_a_subscription_without_a_price_until_a_client_says_otherwise(
    tmp_path: Path,
) -> None:
    client = fake_claude(tmp_path / "fake", ANSWER, {**ANSWER, "key": "ANTHROPIC_API_KEY"})
    model = model_of(client)

    assert (await model.complete(ASKED)).cost_usd is None
    assert model.abilities == Abilities(
        "claude-haiku-4-5", 200_000, has_tools=True, enforces_schema=False, is_subscription=True
    )
    await model.complete(ASKED)
    assert not model.abilities.is_subscription


async def test_a_turn_without_a_reply_is_not_waited_for(tmp_path: Path) -> None:
    client = fake_claude(tmp_path / "fake", {"silent": True})
    with anyio.fail_after(20), pytest.raises(ModelUnreachable, match="without a reply"):
        await model_of(client).complete(ASKED)


def _items(value: object) -> list[object]:
    assert isinstance(value, list)
    return value
