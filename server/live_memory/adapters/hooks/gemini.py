"""Gemini CLI's hook payloads, as version 0.61 sends them; its paths may be relative."""

from live_memory.adapters.hooks.mapping import (
    MappedDialect,
    asked,
    began,
    concluded,
    edited,
    ended,
    helped,
    nothing,
    ran,
    viewed,
    written,
)

__all__ = ["Gemini"]


class Gemini(MappedDialect):
    """Knows the payloads of one host."""

    def __init__(self) -> None:
        """It has nothing to remember."""
        super().__init__(
            {
                "SessionStart": began,
                "SessionEnd": ended,
                "BeforeAgent": asked,
                "AfterAgent": concluded,
            },
            after_tool="AfterTool",
            tools={
                "read_file": viewed,
                "replace": edited,
                "write_file": written,
                "run_shell_command": ran,
                "invoke_agent": helped,
                "complete_task": nothing,
                "glob": nothing,
                "grep_search": nothing,
                "list_directory": nothing,
            },
        )
