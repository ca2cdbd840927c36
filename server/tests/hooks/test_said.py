"""What the hook sends of an agent's words, and what it writes down of them: no secret."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from live_memory.core.checking.claims import places_in
from live_memory.core.hosts.notices import Conclusion
from live_memory.core.reading.redaction import Redactor
from live_memory.core.saving.journal import HostNotice, records_in, replayed
from live_memory.core.saving.snapshot import Memory
from live_memory.core.values import Author
from tests.core.reading.corpus import FURTHER, PEM, TWELVE
from tests.hooks.test_hook import Desk, desk, is_silent  # noqa: F401  (a fixture)
from tests.hooks.test_one_rule import hook  # noqa: F401  (a fixture)
from tests.support.learning import wait_for
from tests.support.server import RunningServer, running_server

_SAID = "The limit is 3 (`a.py`:1)."


def event(name: str, **fields: object) -> dict[str, object]:
    return {"hook_event_name": name, "session_id": "s", "cwd": "/p", **fields}


def stop(text: object = _SAID, **fields: object) -> dict[str, object]:
    return event("Stop", last_assistant_message=text, stop_hook_active=False, **fields)


def helper_ended(text: str = _SAID, kind: str = "general") -> dict[str, object]:
    return event("SubagentStop", last_assistant_message=text, agent_id="h", agent_type=kind)


def helper_result(text: str = _SAID, *, tool: str = "Agent") -> dict[str, object]:
    made = {"status": "completed", "agentId": "h", "content": [{"type": "text", "text": text}]}
    given = {"prompt": "Find the limit.", "description": "CANARY", "subagent_type": "CANARY"}
    return event("PostToolUse", tool_name=tool, tool_input=given, tool_response=made)


# What is sent; the spool is told the same but for doubtful lines.


def sent(hook: object, payload: object) -> dict[str, object] | None:  # noqa: F811
    found = hook.event_of(payload)  # type: ignore[attr-defined]  # a module without stubs
    assert found is None or isinstance(found, dict)
    return found


PLACES = [
    "a.py:12", "`src/a.py`:12", "`src/a.py:12`", "src/a.py:12-20", "a.py:L12", "src/a.py#L12",
    "src/a.py#L12-L20", "a.py, line 12", "`a.py` lines 12-20", "on line 12 of a.py", "Lines 12-20",
    "src/a.py (12-14)", "`src/a.py` (12)", "Makefile:12", "src/a.py (L12)", "[a.py](src/a.py#L3)",
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_text_with_a_place_is_sent(hook: object, place: str) -> None:  # noqa: F811
    text = f"The limit is `LIMIT = 3` in {place} and it is so."
    found = sent(hook, stop(text))
    assert found is not None
    assert found["last_assistant_message"] == text


@pytest.mark.parametrize("place", PLACES)
def test_a_text_without_one_is_not(hook: object, place: str) -> None:  # noqa: F811
    text = re.sub(r"\d+", "x", place)
    assert sent(hook, stop(f"It is so: {text}")) is None
    assert sent(hook, helper_ended(f"It is so: {text}")) is None


def test_every_place_that_the_server_knows_is_one(hook: object) -> None:  # noqa: F811
    """Else what it cites would never come there."""
    texts = [f"see {place}" for place in PLACES] + [stop()["last_assistant_message"]]
    assert sum(bool(places_in(str(text))) for text in texts) > 12
    assert all(hook.conclusion(text) == text for text in texts)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "payload",
    [
        stop(""), stop(None), stop(["a.py:1"]), event("Stop"), helper_ended(kind=""),
        event("SubagentStop", last_assistant_message=_SAID),
        event("UserPromptSubmit"), event("UserPromptSubmit", prompt=5),
        event("UserPromptSubmit", prompt="<task-notification>\n<result>a.py:1</result>"),
    ],
    ids=range(9),
)  # fmt: skip
def test_what_says_nothing_is_not_sent(hook: object, payload: dict[str, object]) -> None:  # noqa: F811
    assert sent(hook, payload) is None


@pytest.mark.parametrize("tool", ["Agent", "Task"])
def test_of_a_helper_its_task_and_result_are_sent_and_nothing_else(
    hook: object,  # noqa: F811
    tool: str,
) -> None:
    made = {"agentId": "h", "content": [{"type": "text", "text": _SAID}]}
    expected = {"tool_input": {"prompt": "Find the limit."}, "tool_response": made}
    found = sent(hook, helper_result(tool=tool))
    assert found is not None
    assert {**found, **expected} == found
    assert "CANARY" not in json.dumps(found)
    silent = sent(hook, helper_result("It is so.", tool=tool))
    assert silent is not None
    assert silent["tool_response"] == {**made, "content": [{"type": "text", "text": ""}]}


@pytest.mark.parametrize("tool", ["Write", "WebFetch", "Skill", "mcp__x__y"])
def test_what_another_tool_was_asked_or_made_is_never_sent(hook: object, tool: str) -> None:  # noqa: F811
    payload = helper_result("CANARY a.py:1", tool=tool) | {
        "last_assistant_message": "CANARY a.py:1"
    }
    assert "CANARY" not in json.dumps(sent(hook, payload))
    assert "limit" not in json.dumps(sent(hook, payload))


@pytest.mark.parametrize("unit", ["word ", "w\u00f6rt\n", "\u8a9e\u8a9e ", "\U0001f600 ", "\x00\t"])
def test_a_text_is_cut_to_16_kilobytes_at_the_end_of_a_word(hook: object, unit: str) -> None:  # noqa: F811
    text = "a.py:1 " + unit * (1_000_000 // len(unit))
    found = sent(hook, stop(text))
    assert found is not None
    kept = str(found["last_assistant_message"])
    assert 15_900 < len(kept.encode()) <= 16_000
    assert text.startswith(kept)
    assert {*kept.split()} <= {*f"a.py:1 {unit}".split()}
    asked = sent(hook, event("UserPromptSubmit", prompt=text))
    assert asked is not None
    assert 280 < len(str(asked["prompt"])) <= 300
    assert len(json.dumps(found)) < 64 * 1024 or not unit.isprintable()


def test_half_of_a_secret_at_the_cut_is_not_sent(hook: object) -> None:  # noqa: F811
    secret = "sk-ant-api03-" + "CANARY0123456789" * 5
    for most, make in (
        (16_000, stop),
        (300, lambda text: event("UserPromptSubmit", prompt=text)),
    ):
        for at in (most - 40, most - 5):
            text = "a.py:1 ".ljust(at, "x") + f" {secret}"
            assert "CANARY" not in json.dumps(sent(hook, make(text)))


OFF = [("0", None), ("off", None), ("False", None), ("no", "true"), ("", "false"), ("", '"off"')]
ON = [("", None), ("1", None), ("on", "false"), ("", "true"), ("", "1"), ("", '"yes"')]


@pytest.mark.parametrize("case", [*((*c, False) for c in OFF), *((*c, True) for c in ON)])
def test_where_it_is_off_no_word_is_sent(
    hook: object,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[str, str | None, bool],
) -> None:
    said, written, is_on = case
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("LIVE_MEMORY_REMEMBER_CONCLUSIONS", said)
    (tmp_path / "live-memory").mkdir()
    line = "" if written is None else f"remember_conclusions = {written}  # here\n"
    (tmp_path / "live-memory/config.toml").write_text(f"port = 7711\n{line}[openai_extra_body]\n")
    asked = event("UserPromptSubmit", prompt="Why?")
    for payload in (stop(), helper_ended(), helper_result(), asked):
        assert (sent(hook, payload) is not None) is is_on
    assert sent(hook, event("PostToolUse", tool_name="Read")) is not None


# What is written down where no server is.


def written(desk: Desk) -> list[str]:  # noqa: F811
    return [str(one["payload"]["last_assistant_message"]) for one in desk.spooled()]  # type: ignore[index]


@pytest.mark.promise("hook-never-blocks")
def test_a_conclusion_waits_for_the_server_with_its_task(desk: Desk) -> None:  # noqa: F811
    assert is_silent(desk.run(event("UserPromptSubmit", prompt="What is it?\nThe token is CANARY")))
    assert is_silent(desk.run(stop(f"{_SAID}\nIt holds for `b.py`:2, too.\n")))
    assert is_silent(desk.run(helper_result()))
    assert is_silent(desk.run(stop("It is so.")))
    assert is_silent(desk.run(stop(), LIVE_MEMORY_REMEMBER_CONCLUSIONS="off"))
    asked, first, second = (one["payload"] for one in desk.spooled())
    assert isinstance(asked, dict)
    assert asked["prompt"] == "What is it?"
    assert isinstance(first, dict)
    assert first["last_assistant_message"] == f"{_SAID}\nIt holds for `b.py`:2, too.\n"
    assert isinstance(second, dict)
    assert second["tool_response"]["content"][0]["text"] == _SAID
    assert second["tool_input"]["prompt"] == "Find the limit."
    assert "CANARY" not in json.dumps(desk.spooled())


SECRETS: Sequence[tuple[str, tuple[str, ...]]] = [
    *TWELVE.values(),
    *FURTHER.values(),
    (f"The key is\n{PEM}\nthere", tuple(PEM.splitlines()[1:-1])),
    ("The password is Tr0ub4dor&3 now", ("Tr0ub4dor&3",)),
    ("**Token**: Tr0ub4dor&3", ("Tr0ub4dor&3",)),
    ("It runs `mysql -pTr0ub4dor`", ("Tr0ub4dor",)),
]


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize(("text", "secrets"), SECRETS)
def test_a_line_that_may_hold_a_secret_is_not_written_down(
    desk: Desk,  # noqa: F811
    text: str,
    secrets: tuple[str, ...],
) -> None:
    assert is_silent(desk.run(stop(f"{_SAID}\n{text}\nSee `b.py`:2.")))
    (kept,) = written(desk)
    assert is_silent(desk.run(event("UserPromptSubmit", prompt=text)))
    assert not any(secret in json.dumps(desk.spooled()) for secret in secrets)
    assert Redactor().redact(kept).count == 0
    assert "BEGIN" in text or (_SAID in kept and "See `b.py`:2." in kept)


# With a real server.


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        running.ask("Where is anything?", running.data_dir.parent)  # past its imports
        yield running


def heard_by(server: RunningServer) -> list[Conclusion]:
    """What its journals say that it heard."""
    found: list[Conclusion] = []
    for file in sorted((server.data_dir / "workspaces").glob("*/journal*.jsonl")):
        told = replayed(
            Memory(), (r for r in records_in(file.read_bytes()) if isinstance(r, HostNotice))
        )
        found += (one for one in told.heard if isinstance(one, Conclusion))
    return found


@pytest.mark.promise("no-secrets", "hook-never-blocks")
def test_what_an_agent_concluded_is_in_the_journal_of_its_workspace_without_secrets(
    server: RunningServer,
    desk: Desk,  # noqa: F811
    tmp_path: Path,
) -> None:
    (tmp_path / "link").symlink_to(desk.project)
    environ = {
        "LIVE_MEMORY_DATA_DIR": str(server.data_dir),
        "CLAUDE_PROJECT_DIR": str(tmp_path / "link"),
    }
    text = f"{tmp_path}/link/a.py:1 and {desk.project.resolve()}/a.py:1 say it; "
    text += "password = 'Tr0ub4dor&3'"
    for payload in (event("UserPromptSubmit", prompt="What is the limit?"), stop(text)):
        assert is_silent(desk.run(payload, **environ))
    clean = "a.py:1 and a.py:1 say it; password = '<redacted:password:"
    (one,) = heard_by(server)
    assert one.text.startswith(clean)
    assert (one.author, one.session, one.task) == (Author.AGENT, "s", "What is the limit?")
    everything = b"".join(f.read_bytes() for f in server.data_dir.rglob("*") if f.is_file())
    assert b"Tr0ub4dor" not in everything


@pytest.mark.promise("nothing-lost")
def test_a_server_that_is_killed_has_it_and_the_next_one_takes_up_what_was_written_down(
    desk: Desk,  # noqa: F811
    tmp_path: Path,
) -> None:
    folder = tmp_path / "server"
    environ = {"LIVE_MEMORY_DATA_DIR": str(folder / "data")}
    with running_server(folder) as first:
        first.ask("Where is anything?", desk.project)
        assert is_silent(desk.run(helper_ended(), **environ))
        first.stop(9)
        assert [one.text for one in heard_by(first)] == [_SAID]
    assert is_silent(desk.run(stop("It is also 3 in a.py:1."), **environ))
    with running_server(folder) as second:
        wait_for(second, desk.project, "hook_events", 1)
        # It is counted before it is written down.
        until = time.monotonic() + 30
        while "It is also 3 in a.py:1." not in [one.text for one in heard_by(second)]:
            assert time.monotonic() < until
            time.sleep(0.05)  # there is nothing to wait on in another process
        assert (folder / "data/spool.jsonl").read_bytes() == b""


def test_a_server_that_was_told_not_to_keeps_none_whoever_sends_it(
    desk: Desk,  # noqa: F811
    tmp_path: Path,
) -> None:
    with running_server(tmp_path / "server", LIVE_MEMORY_REMEMBER_CONCLUSIONS="off") as server:
        server.ask("Where is anything?", desk.project)
        environ = {"LIVE_MEMORY_DATA_DIR": str(server.data_dir)}
        for payload in (event("UserPromptSubmit", prompt="CANARY?"), stop(), helper_result()):
            assert is_silent(desk.run(payload, **environ))
        assert server.request("GET", f"/stats?cwd={desk.project}").json["hook_events"] == 3
        assert heard_by(server) == []


def test_the_first_session_is_told_once_what_is_kept_and_where(
    desk: Desk,  # noqa: F811
    tmp_path: Path,
) -> None:
    def told(folder: Path, **environ: str) -> str | None:
        named = {"LIVE_MEMORY_DATA_DIR": str(folder), **environ}
        said = json.loads(desk.run(b"", "session_start.py", **named).said)
        assert said["hookSpecificOutput"]["hookEventName"] == "SessionStart"
        message = said.get("systemMessage")
        assert message is None or isinstance(message, str)
        return message

    new, home = tmp_path / "new", tmp_path / "home"
    first = told(new, HOME=str(home))
    assert first is not None
    assert f" in {new}: an index of your code, questions with their answers, and what" in first
    assert first.endswith("(off: /live-memory-config set remember_conclusions=off).")
    assert new.stat().st_mode & 0o777 == 0o700
    assert told(new) is None
    assert told(home / "data", HOME=str(home)) == first.replace(str(new), "~/data")
    without = told(tmp_path / "other", LIVE_MEMORY_REMEMBER_CONCLUSIONS="off")
    assert without is not None
    assert without.endswith("an index of your code, questions with their answers.")
    (tmp_path / "file").touch()
    assert told(tmp_path / "file") is None


def test_what_was_asked_before_the_server_was_there_is_the_task_of_what_comes_live(
    desk: Desk,  # noqa: F811
    tmp_path: Path,
) -> None:
    """It is written down after the server looked for the last time."""
    with running_server(tmp_path / "server") as server:
        server.ask("Where is anything?", desk.project)
        environ = {"LIVE_MEMORY_DATA_DIR": str(server.data_dir)}
        said = server.data_dir / "server.json"
        hidden = said.rename(tmp_path / "hidden")
        assert is_silent(desk.run(event("UserPromptSubmit", prompt="Why is it 3?"), **environ))
        hidden.rename(said)
        assert is_silent(desk.run(stop("It is 3 in a.py:1."), **environ))
        assert [one.task for one in heard_by(server)] == ["Why is it 3?"]
