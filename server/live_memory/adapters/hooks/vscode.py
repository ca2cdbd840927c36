"""The hook payloads of agents in VS Code, as its documentation of 2026-07 has them.

It runs Claude Code's hooks too, with its own payloads; it has no matchers, so each tool tells.
"""

from functools import partial

from live_memory.adapters.hooks.mapping import (
    MappedDialect,
    asked,
    began,
    concluded,
    edited,
    edited_each,
    nothing,
    patched,
    ran,
    viewed,
    written,
)

__all__ = ["VSCode"]

# Lines that it shows where it was asked for a whole file.
_MOST_LINES = 2_000


class VSCode(MappedDialect):
    """Knows the payloads of one host."""

    def __init__(self) -> None:
        """It has nothing to remember."""
        super().__init__(
            {
                "SessionStart": began,
                "UserPromptSubmit": asked,
                "Stop": concluded,
                "SubagentStop": concluded,
            },
            after_tool="PostToolUse",
            tools={
                "read_file": partial(viewed, most=_MOST_LINES),
                "create_file": written,
                "replace_string_in_file": edited,
                "multi_replace_string_in_file": edited_each,
                "insert_edit_into_file": edited,
                "edit_notebook_file": edited,
                "apply_patch": patched,
                "run_in_terminal": ran,
                "file_search": nothing,
                "get_errors": nothing,
                "grep_search": nothing,
                "list_dir": nothing,
                "semantic_search": nothing,
            },
        )
