"""Cursor's hook payloads, as its documentation of 2026-10 has them.

Its own hooks are about one thing each; Claude Code's, which it may run too, know its own tools.
"""

from collections.abc import Iterator, Mapping

from live_memory.adapters.hooks.mapping import (
    MappedDialect,
    Reader,
    Told,
    asked,
    began,
    concluded,
    edited,
    ended,
    nothing,
    ran,
    touched,
    viewed,
)
from live_memory.core.hosts.events import HostEvent

__all__ = ["Cursor"]


def _helper_ended(told: Told) -> Iterator[HostEvent]:
    yield from asked(told)
    yield from concluded(told)


_EVENTS: Mapping[str, Reader] = {
    "sessionStart": began,
    "sessionEnd": ended,
    "beforeSubmitPrompt": asked,
    "beforeReadFile": viewed,
    "afterFileEdit": edited,
    "afterShellExecution": ran,
    "afterAgentResponse": concluded,
    "subagentStop": _helper_ended,
    "stop": nothing,
}


class Cursor(MappedDialect):
    """Knows the payloads of one host."""

    def __init__(self) -> None:
        """It has nothing to remember."""
        super().__init__(
            _EVENTS,
            after_tool="postToolUse",
            after_failure="postToolUseFailure",
            tools={
                "Read": viewed,
                # Claude Code's `Edit` as well.
                "Write": edited,
                "Delete": touched,
                "Shell": ran,
                "Grep": nothing,
                "Task": nothing,
            },
        )
