# ruff: noqa: E501
"""What hosts besides Claude Code tell: from what each sends, through the hook, to what is understood.

Codex, Gemini and opencode were recorded (`tests/hosts_real`); VS Code and Cursor are as their
documentation has them. opencode's go through our plugin file, as node runs it.
"""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from live_memory.adapters.hooks.every_host import EveryHost
from live_memory.client import hook
from live_memory.core.hosts.events import HostEvent, HostReport
from live_memory.core.hosts.registrations import REGISTERED, hook_entries
from tests.contracts.test_host_dialect import json_values

_TESTS = Path(__file__).parents[1]
_PLUGIN = _TESTS.parent / "live_memory/client/opencode_plugin.js"
_RECORDED = _TESTS / "hosts_real/payloads"
_FILES = {
    "codex": _RECORDED / "codex.jsonl",
    "gemini": _RECORDED / "gemini.jsonl",
    "vscode": _TESTS / "hosts/payloads/vscode.jsonl",
    "cursor": _TESTS / "hosts/payloads/cursor.jsonl",
}
# Runs our plugin file on what opencode gave a plugin, with a program that keeps what it is told.
_STAGE = """\
import { readFileSync } from "node:fs"
const [, , plugin, recorded] = process.argv
const lines = readFileSync(recorded, "utf8").trim().split("\\n").map((line) => JSON.parse(line))
const asked = (name) => async ({ path }) => ({
  data: lines.find(({ hook, output }) =>
    hook === name && (output.id ?? output[0].info.sessionID) === path.id).output,
})
const client = { session: { get: asked("client.session.get"), messages: asked("client.session.messages") } }
const { LiveMemory } = await import(plugin)
const hooks = await LiveMemory({ client, directory: "/home/user/project" })
for (const line of lines) {
  if (line.hook.startsWith("client.")) continue
  await (line.hook === "event" ? hooks.event(line) : hooks[line.hook](line.input, line.output))
}
"""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|ses_\w+")
Payload = dict[str, object]


def _lines(file: Path) -> list[Payload]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture(autouse=True)
def _hook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its budget begins when it is loaded, and conclusions are wanted."""
    monkeypatch.setattr(hook, "UNTIL", time.monotonic() + 60)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def understood(payload: Payload, host: str) -> HostReport | None:
    """What the server understands of what the hook sends."""
    event = hook.event_of(payload, host)
    return None if event is None else EveryHost().parse(json.loads(json.dumps(event)))


def told(payloads: list[Payload], host: str, recorded: Path) -> Iterator[str]:
    """A line for each payload: the event, whether it is understood, and what it tells."""
    # Sessions and agents are numbered as they come.
    named = dict.fromkeys(_ID.findall(recorded.read_text()))
    numbers = {name: f"#{number}" for number, name in enumerate(named, 1)}
    for payload in payloads:
        report = understood(payload, host)
        name = f"{hook.name_of(payload)} {payload.get('tool_name', '')}".strip()
        if report is None:
            yield f"{name}: not sent"
        else:
            mark = "" if report.is_understood else " (not understood)"
            line = f"{name}{mark}: {', '.join(map(_shown, report.events))}"
            yield _ID.sub(lambda found: numbers[found[0]], line)


def _shown(event: HostEvent) -> str:
    """Without what it has anyway."""
    values = [(getattr(event, field.name), field.default) for field in fields(event)]
    said = ", ".join(str(value) for value, default in values if value != default)
    return f"{type(event).__name__}({said})"


def of(host: str) -> list[str]:
    """What is told by all that is on file."""
    return list(told(_lines(_FILES[host]), host, _FILES[host]))


def test_codex() -> None:
    assert of("codex") == snapshot(
        [
            "SessionStart: SessionBegan(#1)",
            "UserPromptSubmit: TaskGiven(#1, , Raise the limit.)",
            "PostToolUse mcp__live_memory__ask_live_memory (not understood): ",
            "PostToolUse Bash: CommandRan(sed -n 1,3p settings.py, /home/user/project)",
            "PostToolUse Bash: CommandRan(cat client.py missing.py, /home/user/project)",
            "PostToolUse Bash: CommandRan(cat HEAD, /home/user/project/.git)",
            "PostToolUse apply_patch: FileEdited(/home/user/project/settings.py)",
            "PostToolUse apply_patch: FileWritten(/home/user/project/notes.md), FileTouched(/home/user/project/client.py), FileEdited(/home/user/project/sender.py)",
            "PostToolUse apply_patch: FileTouched(/home/user/project/notes.md)",
            "PostToolUse spawn_agent (not understood): ",
            "SubagentStart (not understood): ",
            "UserPromptSubmit: TaskGiven(#1, #3, Look at the settings.)",
            "PostToolUse Bash: CommandRan(cat settings.py, /home/user/project)",
            "SubagentStop: AgentConcluded(#1, #3, RETRY_LIMIT stands at settings.py:4., subagent)",
            "PostToolUse multi_agent_v1wait_agent (not understood): ",
            "Stop: AgentConcluded(#1, , RETRY_LIMIT is 8 (settings.py:4), used by send (client.py:4).)",
            "SessionEnd: SessionEnded(#1)",
        ]
    )


def test_gemini() -> None:
    assert of("gemini") == snapshot(
        [
            "SessionStart: SessionBegan(#1)",
            "BeforeAgent: TaskGiven(#1, , Raise the limit.)",
            "AfterTool mcp_live-memory_ask_live_memory (not understood): ",
            "AfterTool read_file: FileViewed(/home/user/project/settings.py, (LineSlice(start=0, stop=3),))",
            "AfterTool read_file: FileViewed(/home/user/project/client.py)",
            "AfterTool read_file: ",
            "AfterTool grep_search: ",
            "AfterTool list_directory: ",
            "AfterTool replace: FileEdited(/home/user/project/settings.py, ((1, 4),))",
            "AfterTool replace: ",
            "AfterTool write_file: FileWritten(/home/user/project/notes.md)",
            "AfterTool run_shell_command: CommandRan(cat client.py, /home/user/project)",
            "AfterTool run_shell_command: CommandRan(cat missing.py, /home/user/project, failed)",
            "AfterTool read_file: FileViewed(/home/user/project/settings.py)",
            "AfterTool complete_task: ",
            "AfterTool invoke_agent: TaskGiven(#1, generalist, Look at the settings.), AgentConcluded(#1, generalist, RETRY_LIMIT stands at settings.py:4., subagent)",
            "AfterAgent: AgentConcluded(#1, , RETRY_LIMIT is 8 (settings.py:4), used by send (client.py:4).)",
            "SessionEnd: SessionEnded(#1)",
        ]
    )


def test_vscode() -> None:
    assert of("vscode") == snapshot(
        [
            "SessionStart: SessionBegan(v1)",
            "UserPromptSubmit: TaskGiven(v1, , Why is it rounded?)",
            "PostToolUse read_file: FileViewed(/home/dev/app/src/cart.py, (LineSlice(start=0, stop=2000),))",
            "PostToolUse read_file: FileViewed(/home/dev/app/src/cart.py, (LineSlice(start=4, stop=40),))",
            "PostToolUse read_file: FileViewed(/home/dev/app/src/cart.py, (LineSlice(start=4, stop=14),))",
            "PostToolUse create_file: FileWritten(/home/dev/app/src/new.py)",
            "PostToolUse replace_string_in_file: FileEdited(/home/dev/app/src/cart.py)",
            "PostToolUse multi_replace_string_in_file: FileEdited(/home/dev/app/src/cart.py), FileEdited(/home/dev/app/src/bill.py)",
            "PostToolUse insert_edit_into_file: FileEdited(/home/dev/app/src/cart.py)",
            "PostToolUse apply_patch: FileEdited(/home/dev/app/src/cart.py)",
            "PostToolUse run_in_terminal: CommandRan(cat src/cart.py, /home/dev/app)",
            "PostToolUse grep_search: ",
            "PostToolUse mcp_live-memory_ask_live_memory (not understood): ",
            "PostToolUse read_file: FileViewed(/home/dev/app/src/cart.py, (LineSlice(start=0, stop=2000),))",
            "SubagentStop: not sent",
            "Stop: not sent",
        ]
    )


def test_cursor() -> None:
    assert of("cursor") == snapshot(
        [
            "sessionStart: SessionBegan(k1)",
            "beforeSubmitPrompt: TaskGiven(k1, , Why is it rounded?)",
            "beforeReadFile: FileViewed(/home/dev/app/src/cart.py)",
            "afterFileEdit: FileEdited(/home/dev/app/src/cart.py)",
            "afterShellExecution: CommandRan(cat src/cart.py, /home/dev/app)",
            "afterAgentResponse: AgentConcluded(k1, , It rounds in src/cart.py:12.)",
            "subagentStop: TaskGiven(k1, explore, Find the rounding.), AgentConcluded(k1, explore, It is in src/cart.py:12., subagent)",
            "stop: ",
            "sessionEnd: SessionEnded(k1)",
            "postToolUse Shell: CommandRan(cat src/cart.py, /home/dev/app)",
            "postToolUse Read: FileViewed(/home/dev/app/src/cart.py)",
            "postToolUse Write: FileEdited(/home/dev/app/src/cart.py)",
            "postToolUse Delete: FileTouched(/home/dev/app/src/old.py)",
            "postToolUseFailure Shell: CommandRan(cat src/cart.py missing.py, /home/dev/app, failed)",
            "postToolUseFailure Write: ",
            "PostToolUse Shell: CommandRan(cat src/cart.py, /home/dev/app)",
        ]
    )


def from_plugin(name: str, folder: Path, *, count: int) -> list[Payload]:
    """What the hook is given by our plugin file, for what was recorded; in any order."""
    (folder / "told").mkdir()
    keep = f'cat > "{folder}/$$" && mv "{folder}/$$" "{folder}/told"'
    (folder / "live-memory").write_text(f"#!/bin/sh\n{keep}\n")
    (folder / "live-memory").chmod(0o755)
    (folder / "plugin.mjs").write_text(_PLUGIN.read_text())
    (folder / "stage.mjs").write_text(_STAGE)
    recorded = _RECORDED / f"{name}.jsonl"
    subprocess.run(
        ["node", "stage.mjs", "./plugin.mjs", str(recorded)],
        cwd=folder,
        env={"PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin"},
        check=True,
        timeout=60,
    )
    until = time.monotonic() + 20
    while len(files := list((folder / "told").iterdir())) < count and time.monotonic() < until:
        time.sleep(0.02)  # there is nothing to wait on in processes that nobody waits for
    return [json.loads(file.read_text()) for file in files]


def of_opencode(name: str, folder: Path, *, count: int) -> list[str]:
    """What is told by all that was recorded."""
    payloads = from_plugin(name, folder, count=count)
    return sorted(told(payloads, "opencode", _RECORDED / f"{name}.jsonl"))


@pytest.mark.real("node")
def test_opencode(tmp_path: Path) -> None:
    assert of_opencode("opencode", tmp_path, count=13) == snapshot(
        [
            'chat.message: TaskGiven(#1, , "Raise the limit.")',
            "chat.message: TaskGiven(#2, , Look at the settings.)",
            "session.created: SessionBegan(#1)",
            "session.created: SessionBegan(#2)",
            "session.idle: AgentConcluded(#1, , RETRY_LIMIT is 8 (settings.py:4), used by send (client.py:4).)",
            "session.idle: AgentConcluded(#2, , RETRY_LIMIT stands at settings.py:4., subagent)",
            "tool.execute.after bash: CommandRan(cat client.py, /home/user/project)",
            "tool.execute.after bash: CommandRan(cat missing.py, /home/user/project, failed)",
            "tool.execute.after edit: FileEdited(/home/user/project/settings.py, ((1, 4),))",
            "tool.execute.after read: FileViewed(/home/user/project/client.py, (LineSlice(start=0, stop=4),))",
            "tool.execute.after read: FileViewed(/home/user/project/settings.py, (LineSlice(start=0, stop=3),))",
            "tool.execute.after read: FileViewed(/home/user/project/settings.py, (LineSlice(start=0, stop=4),))",
            "tool.execute.after write: FileWritten(/home/user/project/notes.md)",
        ]
    )


@pytest.mark.real("node")
def test_opencode_with_a_model_that_patches(tmp_path: Path) -> None:
    assert of_opencode("opencode-gpt-5", tmp_path, count=4) == snapshot(
        [
            'chat.message: TaskGiven(#1, , "Raise the limit.")',
            "session.created: SessionBegan(#1)",
            "session.idle: AgentConcluded(#1, , RETRY_LIMIT is 8 (settings.py:4), used by send (client.py:4).)",
            "tool.execute.after apply_patch: FileEdited(/home/user/project/settings.py, ((1, 4),)), FileWritten(/home/user/project/notes.md)",
        ]
    )


@pytest.mark.real("node")
def test_no_text_of_a_file_and_no_output_leaves_opencode(tmp_path: Path) -> None:
    said = json.dumps(from_plugin("opencode", tmp_path, count=13))
    for text in ("Settings.", "RETRY_LIMIT = ", "from settings", "# Notes", "No such file"):
        assert text in (_RECORDED / "opencode.jsonl").read_text()
        assert text not in said


# What holds for all.

_ALL = [(host, payload) for host, file in _FILES.items() for payload in _lines(file)]
each_payload = pytest.mark.parametrize(
    ("host", "payload"), _ALL, ids=[f"{host}-{n}" for n, (host, _) in enumerate(_ALL)]
)


@pytest.mark.parametrize("host", REGISTERED)
def test_what_a_host_runs_us_for_is_on_file_and_understood(host: str) -> None:
    payloads = _lines(_FILES[host])
    for event, entry in hook_entries(host).items():
        matcher = re.compile(str(entry.get("matcher", ".*")))
        ours = [one for one in payloads if hook.name_of(one) == event]
        called = [one for one in ours if matcher.search(str(one.get("tool_name", "")))]
        reports = [understood(one, host) for one in called]
        assert any(report is not None and report.events for report in reports), event
        if "matcher" in entry:
            assert all(report is not None and report.is_understood for report in reports), event
            tools = {str(one["tool_name"]) for one in called}
            assert tools == set(str(entry["matcher"]).strip("^()$").split("|"))


@each_payload
def test_who_calls_is_told_by_what_it_sends(host: str, payload: Payload) -> None:
    """Codex, VS Code and Cursor run Claude Code's hooks, which name no host."""
    found = hook.host_of(payload)
    # Gemini runs none, and says of the start of a session what another would.
    assert found == host or (host == "gemini" and hook.name_of(payload).startswith("Session"))


@pytest.mark.parametrize(
    "file", sorted((_TESTS / "hosts/payloads/claude-code").glob("*.json")), ids=lambda f: f.stem
)
def test_claude_code_is_taken_for_no_other(file: Path) -> None:
    payload = json.loads(file.read_text())
    assert hook.host_of(payload) == "claude_code"
    assert hook.event_of(payload) == hook.event_of(payload, "claude_code")
    # A newer one may have fields that others have today.
    newer = {**payload, "timestamp": "2027-01-01T00:00:00Z", "turn_id": "1"}
    assert hook.host_of(newer) == "claude_code" or payload.get("tool_name") not in hook.CLAUDES


def _marked(value: object, names: tuple[str, ...] = ()) -> object:
    """The value with a mark in every text that no field of a name, a command or words holds."""
    if isinstance(value, dict):
        return {key: _marked(inner, (*names, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_marked(inner, names) for inner in value]
    if not isinstance(value, str) or names[-1] in _SENT or names in _WORDS:
        return value
    return f"CANARY {value}"


_SENT = {
    *hook.PATHS, "hook_event_name", "hookEventName", "session_id", "sessionId", "agent_id",
    "conversation_id", "agent_type", "cwd", "transcript_path", "tool_name", "tool_use_id", "event",
    "source", "reason", "dir_path", "workdir", "working_directory", "workspace_roots", "type",
    "agent_name", "subagent_type",
}  # fmt: skip
_WORDS = {
    *((name,) for name in (*hook.ASKED.values(), *hook.SAID.values())),
    ("tool_input", "prompt"),
    ("tool_response", "returnDisplay", "result"),
}


@each_payload
def test_no_text_but_names_and_commands_leaves_the_hook(host: str, payload: Payload) -> None:
    """A command is one of a shell: what holds a patch by that name is file text."""
    is_shell = payload.get("tool_name") in ("Bash", "Shell", "run_shell_command", "run_in_terminal")
    marked = _marked(payload)
    assert isinstance(marked, dict)
    given, command = payload.get("tool_input"), payload.get("command")
    if hook.name_of(payload) == "afterShellExecution":
        marked["command"] = command
    if isinstance(given, dict) and payload.get("tool_name") == "apply_patch":
        patch = str(given.get("command") or given.get("input"))
        marked["tool_input"] = dict.fromkeys(given, patch.replace("\n+", "\n+CANARY "))
    elif isinstance(given, dict) and is_shell:
        marked["tool_input"] = {**marked["tool_input"], "command": given["command"]}
    sent = hook.event_of(marked, host)
    assert "CANARY" not in json.dumps(sent)
    assert sent is None or set(sent) <= {"host", "prompt", "last_assistant_message", *hook.KEPT}


each_host = pytest.mark.parametrize("host", _FILES)


@each_host
@given(data=st.data(), key=st.text(min_size=1, max_size=8), value=json_values)
def test_a_field_that_is_new_changes_nothing(
    host: str, data: st.DataObject, key: str, value: object
) -> None:
    """C07: a newer host may send more."""
    payload = data.draw(st.sampled_from(_lines(_FILES[host])))
    assert understood({f"x_{key}": value, **payload}, host) == understood(payload, host)


@each_host
@settings(max_examples=100)
@given(data=st.data())
def test_a_field_of_another_type_or_none_at_all_never_raises(
    host: str, data: st.DataObject
) -> None:
    """S32."""
    changed = json.loads(json.dumps(data.draw(st.sampled_from(_lines(_FILES[host])))))
    for _ in range(data.draw(st.integers(1, 3))):
        inner = [value for value in changed.values() if isinstance(value, dict)]
        holder = data.draw(st.sampled_from([changed, *inner]))
        if holder:
            name = data.draw(st.sampled_from(sorted(holder)))
            holder[name] = data.draw(json_values | st.lists(st.just(holder.get(name))))
    hook.host_of(changed)
    event = hook.event_of(changed, host)
    hook.is_noise(event or {}, "/data")
    hook.project_of(event or {}, host)
    understood(changed, host)
    # Whatever was sent by another program than the hook.
    EveryHost().parse({**changed, "host": host})


@pytest.mark.parametrize("host", ["vim", "", 5, None, ["codex"]])
def test_a_host_that_nobody_knows_is_not_understood(host: object) -> None:
    payload = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/p", "host": host}
    assert EveryHost().parse(payload) == HostReport(None, is_understood=False)


def test_a_payload_without_a_host_is_claude_code_s() -> None:
    """What an older hook sent, or wrote down."""
    file = _TESTS / "hosts/payloads/claude-code/PostToolUse-Read-2.1.332.json"
    payload = json.loads(file.read_text())
    assert (
        EveryHost().parse(payload).events
        == EveryHost().parse({**payload, "host": "claude_code"}).events
        != ()
    )
