"""Codex's hook payloads, as version 0.171 sends them: Claude Code's events, and two tools.

It has no tool that reads: an agent looks at files in the shell. How a command ended is not told.
"""

from live_memory.adapters.hooks.mapping import (
    MappedDialect,
    asked,
    began,
    concluded,
    ended,
    patched,
    ran,
)

__all__ = ["Codex"]


class Codex(MappedDialect):
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
            },
            after_tool="PostToolUse",
            tools={"Bash": ran, "apply_patch": patched},
        )
