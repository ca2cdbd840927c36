"""What hosts send to a hook: each sends what is on file in `payloads`, and dialects read that.

The session that is recorded also has the server wired by hand, over HTTP.
`LIVE_MEMORY_WRITE_GOLDEN=1` writes the files anew.
"""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from live_memory.web.identity import ensure_token
from tests.hosts_real.hosts import CODEX, GEMINI, OPENCODE, Host, Turn, called
from tests.hosts_real.stage import Stage, set_stage

_FILES = Path(__file__).parent / "payloads"
_ASK = "Where is RETRY_LIMIT set?"
_CONCLUSION = "RETRY_LIMIT is 8 (settings.py:4), used by send (client.py:4)."
_HELPER = "Look at the settings."
_FOUND = "RETRY_LIMIT stands at settings.py:4."
_CODEX_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"),
    *("SubagentStart", "SubagentStop"),
)
_GEMINI_EVENTS = ("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd")
_PLUGIN = """\
import { appendFileSync } from "node:fs"
const put = (line) => appendFileSync(%s, JSON.stringify(line) + "\\n")
export const Recorder = async ({ client, directory, worktree }) => ({
  event: async ({ event }) => {
    if (event.type === "session.created") put({ hook: "event", directory, worktree, event })
    if (event.type !== "session.idle") return
    put({ hook: "event", directory, worktree, event })
    const path = { id: event.properties.sessionID }
    put({ hook: "client.session.get", output: (await client.session.get({ path })).data })
    const said = await client.session.messages({ path })
    put({ hook: "client.session.messages", output: said.data.slice(-1) })
  },
  "chat.message": async (input, output) => put({ hook: "chat.message", input, output }),
  "tool.execute.after": async (input, output) =>
    put({ hook: "tool.execute.after", input, output }),
})
"""


@dataclass(frozen=True, slots=True)
class _Recording:
    """How a host's hooks are written down, and what its model does meanwhile."""

    host: Host
    turns: Sequence[Turn]
    helper: Sequence[Turn] = ()
    model: str = ""

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.host.name, self.model)))


def _patch(*lines: str) -> Turn:
    return "apply_patch", "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))


_RECORDINGS = (
    _Recording(
        CODEX,
        turns=[
            called(CODEX.tool, question=_ASK, cwd="{project}"),
            called("exec_command", cmd="sed -n 1,3p settings.py"),
            called("exec_command", cmd="cat client.py missing.py"),
            # Where a command is run is not told.
            called("exec_command", cmd="cat HEAD", workdir="{project}/.git"),
            _patch("*** Update File: settings.py", "@@", "-RETRY_LIMIT = 7", "+RETRY_LIMIT = 8"),
            _patch(
                *("*** Add File: notes.md", "+# Notes"),
                *("*** Update File: client.py", "*** Move to: sender.py", "@@"),
                *(" from settings import RETRY_LIMIT", "+LIMIT = RETRY_LIMIT"),
            ),
            _patch("*** Delete File: notes.md"),
            _patch("*** Update File: settings.py", "@@", "-not there", "+x"),
            called("multi_agent_v1/spawn_agent", message=_HELPER),
            called("multi_agent_v1/wait_agent", targets=["{agent}"]),
            _CONCLUSION,
        ],
        helper=[called("exec_command", cmd="cat settings.py"), _FOUND],
    ),
    _Recording(
        GEMINI,
        turns=[
            called(GEMINI.tool, question=_ASK, cwd="{project}"),
            called("read_file", file_path="settings.py", start_line=1, end_line=3),
            called("read_file", file_path="{project}/client.py"),
            called("read_file", file_path="missing.py"),
            called("grep_search", pattern="RETRY_LIMIT"),
            called("list_directory", dir_path="."),
            called(
                "replace",
                file_path="settings.py",
                old_string="RETRY_LIMIT = 7",
                new_string="RETRY_LIMIT = 8",
                instruction="Raise the limit.",
            ),
            called(
                "replace",
                file_path="settings.py",
                old_string="not there",
                new_string="x",
                instruction="Fail.",
            ),
            called("write_file", file_path="notes.md", content="# Notes\n"),
            called("run_shell_command", command="cat client.py"),
            called("run_shell_command", command="cat missing.py", dir_path="."),
            called("invoke_agent", agent_name="generalist", prompt=_HELPER),
            _CONCLUSION,
        ],
        helper=[
            called("read_file", file_path="settings.py"),
            called("complete_task", result={"response": _FOUND}),
        ],
    ),
    _Recording(
        OPENCODE,
        turns=[
            called(OPENCODE.tool, question=_ASK, cwd="{project}"),
            called("read", filePath="{project}/settings.py", offset=1, limit=3),
            called("read", filePath="client.py"),
            called("read", filePath="missing.py"),
            called("grep", pattern="RETRY_LIMIT"),
            called("glob", pattern="*.py"),
            called(
                "edit",
                filePath="{project}/settings.py",
                oldString="RETRY_LIMIT = 7",
                newString="RETRY_LIMIT = 8",
            ),
            called("write", filePath="{project}/notes.md", content="# Notes\n"),
            called("bash", command="cat client.py", description="Show the client"),
            called("bash", command="cat missing.py", description="Fail", workdir="{project}"),
            called("task", description="Look", prompt=_HELPER, subagent_type="general"),
            _CONCLUSION,
        ],
        helper=[called("read", filePath="settings.py"), _FOUND],
    ),
    _Recording(
        OPENCODE,
        turns=[
            called(OPENCODE.tool, question=_ASK, cwd="{project}"),
            called(
                "apply_patch",
                patchText="*** Begin Patch\n*** Update File: settings.py\n@@\n-RETRY_LIMIT = 7\n"
                "+RETRY_LIMIT = 8\n*** Add File: notes.md\n+# Notes\n*** End Patch\n",
            ),
            _CONCLUSION,
        ],
        model="gpt-5",
    ),
)


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(recording, id=recording.name, marks=pytest.mark.real(recording.host.name))
        for recording in _RECORDINGS
    ],
)
def test_a_host_shows_our_answer_to_its_model_and_sends_its_hooks_what_is_on_file(
    recording: _Recording, tmp_path: Path
) -> None:
    stage = set_stage(tmp_path, recording.host)
    heard = tmp_path / "heard.jsonl"
    stage.write(_wired(stage, heard))
    turns = [
        turn
        if isinstance(turn, str)
        else (turn[0], turn[1].replace("{project}", f"{stage.project}"))
        for turn in recording.turns
    ]

    model = ["-m", f"played/{recording.model}"] if recording.model else []
    outcome = stage.play(
        ["live-memory", "start"],
        stage.session("Raise the limit.", *model),
        turns=turns,
        helpers={_HELPER: recording.helper},
    )

    assert [run.returncode for run in outcome.runs] == [0, 0], outcome.runs
    assert "4|RETRY_LIMIT = 7" in outcome.runs[-1].said()
    lines = heard.read_text().replace(str(stage.home), "/home/user").splitlines()
    on_file = _FILES / f"{recording.name}.jsonl"
    if os.environ.get("LIVE_MEMORY_WRITE_GOLDEN"):
        on_file.write_text("".join(f"{line}\n" for line in lines))
    assert _forms(lines) == _forms(on_file.read_text().splitlines())


def _wired(stage: Stage, heard: Path) -> Mapping[str, str]:
    """The host's configuration with our server, and with hooks that write down what they hear."""
    url = f"http://127.0.0.1:{stage.port}/mcp"
    token = ensure_token(stage.data_dir)
    # One write a line, for helpers run beside the main conversation.
    hook = {"type": "command", "command": f"printf '%s\\n' \"$(cat)\" >> {shlex.quote(str(heard))}"}
    name, text = next(iter(stage.host.files.items()))
    if stage.host is CODEX:
        ours = (
            f'[mcp_servers.live-memory]\nurl = "{url}"\n'
            f'http_headers = {{ Authorization = "Bearer {token}" }}\n'
        )
        hooks = {"hooks": {event: [{"hooks": [hook]}] for event in _CODEX_EVENTS}}
        return {name: f"{text}\n{ours}", ".codex/hooks.json": json.dumps(hooks)}
    headers = {"Authorization": f"Bearer {token}"}
    if stage.host is GEMINI:
        server = {"httpUrl": url, "headers": headers, "trust": True}
        hooks = {"hooks": {event: [{"hooks": [hook]}] for event in _GEMINI_EVENTS}}
        ours = json.dumps({"mcpServers": {"live-memory": server}, **hooks})
        return {name: text.rstrip().removesuffix("}").rstrip() + f",\n  {ours[1:-1]}\n}}\n"}
    remote = {"type": "remote", "url": url, "headers": headers}
    return {
        name: json.dumps({**json.loads(text), "mcp": {"live-memory": remote}}),
        ".config/opencode/plugins/recorder.js": _PLUGIN % json.dumps(str(heard)),
    }


def _forms(lines: Sequence[str]) -> list[str]:
    """The names and types of payloads: in which order, and how often, is the script's business."""
    return sorted({json.dumps(_form(json.loads(line)), sort_keys=True) for line in lines})


def _form(value: object, name: str = "") -> object:
    if isinstance(value, dict):
        return {key: _form(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_form(inner) for inner in value]
    if name in {"hook", "hook_event_name", "tool_name", "tool", "type", "role"}:
        return value
    return type(value).__name__
