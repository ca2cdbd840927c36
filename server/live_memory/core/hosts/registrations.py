"""Which hooks each host runs for us: what stands in its own configuration, event by event.

A host asks a person again when a command or its place changes, and trusts what it was shown: so
these entries stay as they are from version to version, and hold nothing that the host does not
know. Claude Code has them from the plugin (`hooks/hooks.json`), opencode from a plugin file of its
own (`client/opencode_plugin.js`), whose first line of code names the program.
"""

import shlex
from collections.abc import Mapping, Sequence

__all__ = ["REGISTERED", "hook_command", "hook_entries"]

Entry = dict[str, object]

# Events of a host, and of which tools. At an end a host may stop what is asynchronous.
_CODEX = {
    "SessionStart": "", "UserPromptSubmit": "", "PostToolUse": "^(Bash|apply_patch)$",
    "Stop": "", "SubagentStop": "", "SessionEnd": "",
}  # fmt: skip
_CODEX_ENDS = ("Stop", "SubagentStop", "SessionEnd")
_GEMINI = {
    "SessionStart": "", "BeforeAgent": "",
    "AfterTool": "^(read_file|replace|write_file|run_shell_command|invoke_agent)$",
    "AfterAgent": "", "SessionEnd": "",
}  # fmt: skip
# It tells nothing that an agent said.
_VSCODE = ("SessionStart", "PostToolUse")
_CURSOR = (
    "sessionStart", "beforeSubmitPrompt", "beforeReadFile", "afterFileEdit", "afterShellExecution",
    "afterAgentResponse", "subagentStop", "sessionEnd",
)  # fmt: skip
# The hosts whose files `hook_entries` knows.
REGISTERED = ("codex", "cursor", "gemini", "vscode")


def hook_command(host: str, program: Sequence[str] = ("live-memory",)) -> str:
    """The command line that a host runs, for a shell."""
    return shlex.join((*program, "hook", host))


def hook_entries(host: str, program: Sequence[str] = ("live-memory",)) -> Mapping[str, Entry]:
    """What goes to the end of each event's list in a host's configuration.

    The lists stand below `hooks`, in `~/.codex/hooks.json`, `~/.gemini/settings.json`,
    `~/.cursor/hooks.json` (with `"version": 1` beside) and a file of ours in `~/.copilot/hooks`.

    Raises:
        KeyError: there is none for this host.
    """
    command = hook_command(host, program)
    hook: Entry
    match host:
        case "codex":
            return {event: _of_codex(event, matcher, command) for event, matcher in _CODEX.items()}
        case "gemini":
            # Milliseconds; it always waits.
            hook = {"type": "command", "command": command, "timeout": 5000}
            return {event: _grouped(matcher, hook) for event, matcher in _GEMINI.items()}
        case "vscode":
            # Seconds; it has no matchers.
            hook = {"type": "command", "command": command, "timeout": 5}
            return dict.fromkeys(_VSCODE, hook)
        case "cursor":
            # Seconds.
            return {event: {"command": command, "timeout": 5} for event in _CURSOR}
        case _:
            raise KeyError(host)


def _of_codex(event: str, matcher: str, command: str) -> Entry:
    # Seconds; at the end of a session it allows at most three.
    timeout = 3 if event == "SessionEnd" else 5
    hook: Entry = {"type": "command", "command": command, "timeout": timeout}
    return _grouped(matcher, hook if event in _CODEX_ENDS else {**hook, "async": True})


def _grouped(matcher: str, hook: Entry) -> Entry:
    return {"matcher": matcher, "hooks": [hook]} if matcher else {"hooks": [hook]}
