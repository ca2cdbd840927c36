"""What our plugin file in opencode says (`client/opencode_plugin.js`), as of version 1.18.

A helper's session is one of its own.
"""

from live_memory.adapters.hooks.mapping import (
    MappedDialect,
    asked,
    began,
    concluded,
    edited,
    nothing,
    patched,
    ran,
    viewed,
    written,
)

__all__ = ["OpenCode"]


class OpenCode(MappedDialect):
    """Knows the payloads of one host."""

    def __init__(self) -> None:
        """It has nothing to remember."""
        super().__init__(
            {"session.created": began, "chat.message": asked, "session.idle": concluded},
            after_tool="tool.execute.after",
            tools={
                "read": viewed,
                "write": written,
                "edit": edited,
                "multiedit": edited,
                "apply_patch": patched,
                "patch": patched,
                "bash": ran,
                "glob": nothing,
                "grep": nothing,
                "list": nothing,
                "task": nothing,
            },
        )
