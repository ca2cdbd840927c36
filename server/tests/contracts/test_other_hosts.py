# ruff: noqa: E501
"""What hosts besides Claude Code tell: from what each sends, through the hook, to what is understood.

Codex, Gemini and opencode were recorded (`tests/hosts_real`); VS Code and Cursor are as their
documentation has them. opencode's go through our plugin file, as node runs it.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from live_memory.adapters.hooks.every_host import EveryHost
from live_memory.client import hook
from live_memory.core.hosts.events import HostReport
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


def told(payloads: list[Payload], host: str) -> Iterator[str]:
    """A line for each payload: the event, whether it is understood, and what it tells."""
    for payload in payloads:
        report = understood(payload, host)
        name = hook.name_of(payload)
        tool = payload.get("tool_name", "")
        if report is None:
            yield f"{name} {tool}: not sent"
        else:
            mark = "" if report.is_understood else " (not understood)"
            yield f"{name} {tool}{mark}: {', '.join(map(repr, report.events))}"


def test_codex() -> None:
    assert list(told(_lines(_FILES["codex"]), "codex")) == snapshot(
        [
            "SessionStart : SessionBegan(session='01a23133-9c52-7fa2-ac04-0c39987eb872')",
            "UserPromptSubmit : TaskGiven(session='01a23133-9c52-7fa2-ac04-0c39987eb872', agent='', text='Raise the limit.')",
            "PostToolUse mcp__live_memory__ask_live_memory (not understood): ",
            "PostToolUse Bash: CommandRan(command='sed -n 1,3p settings.py', cwd='/home/user/project', ending=<Ending.SUCCEEDED: 'succeeded'>)",
            "PostToolUse Bash: CommandRan(command='cat client.py missing.py', cwd='/home/user/project', ending=<Ending.SUCCEEDED: 'succeeded'>)",
            "PostToolUse Bash: CommandRan(command='cat HEAD', cwd='/home/user/project/.git', ending=<Ending.SUCCEEDED: 'succeeded'>)",
            "PostToolUse apply_patch: FileEdited(path='/home/user/project/settings.py', regions=())",
            "PostToolUse apply_patch: FileWritten(path='/home/user/project/notes.md'), FileTouched(path='/home/user/project/client.py'), FileEdited(path='/home/user/project/sender.py', regions=())",
            "PostToolUse apply_patch: FileTouched(path='/home/user/project/notes.md')",
            "PostToolUse spawn_agent (not understood): ",
            "SubagentStart  (not understood): ",
            "UserPromptSubmit : TaskGiven(session='01a23133-9c52-7fa2-ac04-0c39987eb872', agent='01a23133-9e93-7360-a8a4-b934232a5e74', text='Look at the settings.')",
            "PostToolUse Bash: CommandRan(command='cat settings.py', cwd='/home/user/project', ending=<Ending.SUCCEEDED: 'succeeded'>)",
            "SubagentStop : AgentConcluded(session='01a23133-9c52-7fa2-ac04-0c39987eb872', agent='01a23133-9e93-7360-a8a4-b934232a5e74', text='RETRY_LIMIT stands at settings.py:4.', author=<Author.SUBAGENT: 'subagent'>)",
            "PostToolUse multi_agent_v1wait_agent (not understood): ",
            "Stop : AgentConcluded(session='01a23133-9c52-7fa2-ac04-0c39987eb872', agent='', text='RETRY_LIMIT is 8 (settings.py:4), used by send (client.py:4).', author=<Author.AGENT: 'agent'>)",
            "SessionEnd : SessionEnded(session='01a23133-9c52-7fa2-ac04-0c39987eb872')",
        ]
    )


def test_gemini() -> None:
    assert list(told(_lines(_FILES["gemini"]), "gemini")) == snapshot(
        [
            "SessionStart : SessionBegan(session='f73e4393-d57b-44a7-bc90-7fdc1f7de59e')",
            "BeforeAgent : TaskGiven(session='f73e4393-d57b-44a7-bc90-7fdc1f7de59e', agent='', text='Raise the limit.')",
            "AfterTool mcp_live-memory_ask_live_memory (not understood): ",
            "AfterTool read_file: FileViewed(path='/home/user/project/settings.py', cuts=(LineSlice(start=0, stop=3),))",
            "AfterTool read_file: FileViewed(path='/home/user/project/client.py', cuts=())",
            "AfterTool read_file: ",
            "AfterTool grep_search: ",
            "AfterTool list_directory: ",
            "AfterTool replace: FileEdited(path='/home/user/project/settings.py', regions=((1, 4),))",
            "AfterTool replace: ",
            "AfterTool write_file: FileWritten(path='/home/user/project/notes.md')",
            "AfterTool run_shell_command: CommandRan(command='cat client.py', cwd='/home/user/project', ending=<Ending.SUCCEEDED: 'succeeded'>)",
            "AfterTool run_shell_command: CommandRan(command='cat missing.py', cwd='/home/user/project', ending=<Ending.FAILED: 'failed'>)",
            "AfterTool read_file: FileViewed(path='/home/user/project/settings.py', cuts=())",
            "AfterTool complete_task: ",
            "AfterTool invoke_agent: TaskGiven(session='f73e4393-d57b-44a7-bc90-7fdc1f7de59e', agent='generalist', text='Look at the settings.'), AgentConcluded(session='f73e4393-d57b-44a7-bc90-7fdc1f7de59e', agent='generalist', text='RETRY_LIMIT stands at settings.py:4.', author=<Author.SUBAGENT: 'subagent'>)",
            "AfterAgent : AgentConcluded(session='f73e4393-d57b-44a7-bc90-7fdc1f7de59e', agent='', text='RETRY_LIMIT is 8 (settings.py:4), used by send (client.py:4).', author=<Author.AGENT: 'agent'>)",
            "SessionEnd : SessionEnded(session='f73e4393-d57b-44a7-bc90-7fdc1f7de59e')",
        ]
    )


def test_vscode() -> None:
    assert list(told(_lines(_FILES["vscode"]), "vscode")) == snapshot(
        [
            "SessionStart : SessionBegan(session='v1')",
            "UserPromptSubmit : TaskGiven(session='v1', agent='', text='Why is it rounded?')",
            "PostToolUse read_file: FileViewed(path='/home/dev/app/src/cart.py', cuts=(LineSlice(start=0, stop=2000),))",
            "PostToolUse read_file: FileViewed(path='/home/dev/app/src/cart.py', cuts=(LineSlice(start=4, stop=40),))",
            "PostToolUse read_file: FileViewed(path='/home/dev/app/src/cart.py', cuts=(LineSlice(start=4, stop=14),))",
            "PostToolUse create_file: FileWritten(path='/home/dev/app/src/new.py')",
            "PostToolUse replace_string_in_file: FileEdited(path='/home/dev/app/src/cart.py', regions=())",
            "PostToolUse multi_replace_string_in_file: FileEdited(path='/home/dev/app/src/cart.py', regions=()), FileEdited(path='/home/dev/app/src/bill.py', regions=())",
            "PostToolUse insert_edit_into_file: FileEdited(path='/home/dev/app/src/cart.py', regions=())",
            "PostToolUse apply_patch: FileEdited(path='/home/dev/app/src/cart.py', regions=())",
            "PostToolUse run_in_terminal: CommandRan(command='cat src/cart.py', cwd='/home/dev/app', ending=<Ending.SUCCEEDED: 'succeeded'>)",
            "PostToolUse grep_search: ",
            "PostToolUse mcp_live-memory_ask_live_memory (not understood): ",
            "PostToolUse read_file: FileViewed(path='/home/dev/app/src/cart.py', cuts=(LineSlice(start=0, stop=2000),))",
            "SubagentStop : not sent",
            "Stop : not sent",
        ]
    )


def test_cursor() -> None:
    assert list(told(_lines(_FILES["cursor"]), "cursor")) == snapshot(
        [
            "sessionStart : SessionBegan(session='k1')",
            "beforeSubmitPrompt : TaskGiven(session='k1', agent='', text='Why is it rounded?')",
            "beforeReadFile : FileViewed(path='/home/dev/app/src/cart.py', cuts=())",
            "afterFileEdit : FileEdited(path='/home/dev/app/src/cart.py', regions=())",
            "afterShellExecution : CommandRan(command='cat src/cart.py', cwd='/home/dev/app', ending=<Ending.SUCCEEDED: 'succeeded'>)",
            "afterAgentResponse : AgentConcluded(session='k1', agent='', text='It rounds in src/cart.py:12.', author=<Author.AGENT: 'agent'>)",
            "subagentStop : TaskGiven(session='k1', agent='explore', text='Find the rounding.'), AgentConcluded(session='k1', agent='explore', text='It is in src/cart.py:12.', author=<Author.SUBAGENT: 'subagent'>)",
            "stop : ",
            "sessionEnd : SessionEnded(session='k1')",
            "postToolUse Shell: CommandRan(command='cat src/cart.py', cwd='/home/dev/app', ending=<Ending.SUCCEEDED: 'succeeded'>)",
            "postToolUse Read: FileViewed(path='/home/dev/app/src/cart.py', cuts=())",
            "postToolUse Write: FileEdited(path='/home/dev/app/src/cart.py', regions=())",
            "postToolUse Delete: FileTouched(path='/home/dev/app/src/old.py')",
            "postToolUseFailure Shell: CommandRan(command='cat src/cart.py missing.py', cwd='/home/dev/app', ending=<Ending.FAILED: 'failed'>)",
            "postToolUseFailure Write: ",
            "PostToolUse Shell: CommandRan(command='cat src/cart.py', cwd='/home/dev/app', ending=<Ending.SUCCEEDED: 'succeeded'>)",
        ]
    )


def of_opencode(name: str, folder: Path, *, count: int) -> list[Payload]:
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


@pytest.mark.real("node")
def test_opencode(tmp_path: Path) -> None:
    assert sorted(told(of_opencode("opencode", tmp_path, count=13), "opencode")) == snapshot(
        [
            "chat.message : TaskGiven(session='ses_dcecc33faffe8qWwGgFXrela2G', agent='', text='Look at the settings.')",
            "chat.message : TaskGiven(session='ses_dcecc3cdfffetJ3PofB0uoeBkE', agent='', text='\"Raise the limit.\"')",
            "session.created : SessionBegan(session='ses_dcecc33faffe8qWwGgFXrela2G')",
            "session.created : SessionBegan(session='ses_dcecc3cdfffetJ3PofB0uoeBkE')",
            "session.idle : AgentConcluded(session='ses_dcecc33faffe8qWwGgFXrela2G', agent='', text='RETRY_LIMIT stands at settings.py:4.', author=<Author.SUBAGENT: 'subagent'>)",
            "session.idle : AgentConcluded(session='ses_dcecc3cdfffetJ3PofB0uoeBkE', agent='', text='RETRY_LIMIT is 8 (settings.py:4), used by send (client.py:4).', author=<Author.AGENT: 'agent'>)",
            "tool.execute.after bash: CommandRan(command='cat client.py', cwd='/home/user/project', ending=<Ending.SUCCEEDED: 'succeeded'>)",
            "tool.execute.after bash: CommandRan(command='cat missing.py', cwd='/home/user/project', ending=<Ending.FAILED: 'failed'>)",
            "tool.execute.after edit: FileEdited(path='/home/user/project/settings.py', regions=((1, 4),))",
            "tool.execute.after read: FileViewed(path='/home/user/project/client.py', cuts=(LineSlice(start=0, stop=4),))",
            "tool.execute.after read: FileViewed(path='/home/user/project/settings.py', cuts=(LineSlice(start=0, stop=3),))",
            "tool.execute.after read: FileViewed(path='/home/user/project/settings.py', cuts=(LineSlice(start=0, stop=4),))",
            "tool.execute.after write: FileWritten(path='/home/user/project/notes.md')",
        ]
    )


@pytest.mark.real("node")
def test_opencode_with_a_model_that_patches(tmp_path: Path) -> None:
    assert sorted(told(of_opencode("opencode-gpt-5", tmp_path, count=4), "opencode")) == snapshot(
        [
            "chat.message : TaskGiven(session='ses_dcecc6cb4ffedqJPez6NjZ7DjO', agent='', text='\"Raise the limit.\"')",
            "session.created : SessionBegan(session='ses_dcecc6cb4ffedqJPez6NjZ7DjO')",
            "session.idle : AgentConcluded(session='ses_dcecc6cb4ffedqJPez6NjZ7DjO', agent='', text='RETRY_LIMIT is 8 (settings.py:4), used by send (client.py:4).', author=<Author.AGENT: 'agent'>)",
            "tool.execute.after apply_patch: FileEdited(path='/home/user/project/settings.py', regions=((1, 4),)), FileWritten(path='/home/user/project/notes.md')",
        ]
    )


@pytest.mark.real("node")
def test_no_text_of_a_file_and_no_output_leaves_opencode(tmp_path: Path) -> None:
    said = json.dumps(of_opencode("opencode", tmp_path, count=13))
    for text in ("Settings.", "RETRY_LIMIT = ", "from settings", "# Notes", "No such file"):
        assert text in (_RECORDED / "opencode.jsonl").read_text()
        assert text not in said


# What holds for all.

_ALL = [(host, payload) for host, file in _FILES.items() for payload in _lines(file)]
each_payload = pytest.mark.parametrize(
    ("host", "payload"), _ALL, ids=[f"{host}-{n}" for n, (host, _) in enumerate(_ALL)]
)


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
