"""Which dialect a payload is in: the hook says which host called it."""

from collections.abc import Mapping

from live_memory.adapters.hooks.claude_code import ClaudeCode
from live_memory.adapters.hooks.codex import Codex
from live_memory.adapters.hooks.cursor import Cursor
from live_memory.adapters.hooks.gemini import Gemini
from live_memory.adapters.hooks.opencode import OpenCode
from live_memory.adapters.hooks.vscode import VSCode
from live_memory.core.hosts.events import HostReport
from live_memory.ports import HostDialect

__all__ = ["EveryHost"]


class EveryHost:
    """Knows the payloads of all hosts."""

    def __init__(self) -> None:
        """Each has one dialect."""
        self._dialects: Mapping[str, HostDialect] = {
            "claude_code": ClaudeCode(),
            "codex": Codex(),
            "cursor": Cursor(),
            "gemini": Gemini(),
            "opencode": OpenCode(),
            "vscode": VSCode(),
        }

    def parse(self, payload: Mapping[str, object]) -> HostReport:
        """What one payload says in its host's dialect: Claude Code's, if it names no host."""
        host = payload.get("host", "claude_code")
        dialect = self._dialects.get(host) if isinstance(host, str) else None
        if dialect is None:
            return HostReport(None, is_understood=False)
        return dialect.parse(payload)
