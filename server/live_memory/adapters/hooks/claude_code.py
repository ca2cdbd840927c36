"""Claude Code's hook payloads, as version 2.1 sends them."""

from collections.abc import Iterator

from live_memory.adapters.hooks.mapping import (
    MappedDialect,
    Told,
    asked,
    began,
    concluded,
    edited,
    ended,
    helped,
    nothing,
    ran,
    ran_elsewhere,
    touched,
    viewed,
    written,
)
from live_memory.core.hosts.events import HostEvent

__all__ = ["ClaudeCode"]

_TOUCHES = ("add", "change", "unlink")


def _changed(told: Told) -> Iterator[HostEvent]:
    return touched(told) if told.payload.get("event") in _TOUCHES else nothing(told)


class ClaudeCode(MappedDialect):
    """Knows the payloads of one host."""

    def __init__(self) -> None:
        """It has nothing to remember."""
        super().__init__(
            {
                "SessionStart": began,
                "SessionEnd": ended,
                "UserPromptSubmit": asked,
                "Stop": concluded,
                "SubagentStop": concluded,
                "FileChanged": _changed,
            },
            after_tool="PostToolUse",
            after_failure="PostToolUseFailure",
            tools={
                "Read": viewed,
                "Write": written,
                "Edit": edited,
                "MultiEdit": edited,
                "NotebookEdit": edited,
                "Bash": ran,
                "PowerShell": ran_elsewhere,
                "Agent": helped,
                "Task": helped,
                "Grep": nothing,
                "Glob": nothing,
            },
        )
