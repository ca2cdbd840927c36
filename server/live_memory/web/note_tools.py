"""The tools by which agents tell each other something: what each gives back is one text."""

from collections.abc import Mapping
from typing import assert_never

from live_memory.core.memory.notebook import Handoff, HandoffState
from live_memory.core.notes.told_to_agents import (
    told_cancelled,
    told_claim,
    told_forgotten,
    told_handoffs,
    told_left,
    told_note,
    told_records,
)
from live_memory.flow.notes import Claimed
from live_memory.ports import Clock
from live_memory.web.note_calls import Caller, Find, HandoffsListed, NoteCalls

__all__ = ["NOTE_TOOLS", "NoteTools"]

NOTE_TOOLS = frozenset({"remember", "recall", "forget", "handoff"})


class NoteTools:
    """What an agent is told of each call."""

    def __init__(self, calls: NoteCalls, *, clock: Clock) -> None:
        self._calls = calls
        self._clock = clock

    async def call(self, name: str, given: Mapping[str, object], find: Find, caller: Caller) -> str:
        """Do what one of `NOTE_TOOLS` is asked for, and say what came of it.

        Raises:
            LiveMemoryError: an argument is not as it must be, or it cannot be kept or read.
        """
        match name:
            case "remember":
                done = await self._calls.remember(given, find, caller)
                return told_note(
                    done.note,
                    is_new=done.is_new,
                    redacted=done.redacted,
                    not_found=done.not_found,
                    now=self._clock.now(),
                )
            case "recall":
                return await self._recalled(given, find)
            case "forget":
                gone = await self._calls.forget(given, find, caller)
                return told_forgotten(gone.forgotten, before=gone.before, unknown=gone.unknown)
            case _:
                return await self._handed_over(given, find, caller)

    async def _recalled(self, given: Mapping[str, object], find: Find) -> str:
        recalled, query = await self._calls.recall(given, find)
        return told_records(
            recalled.found,
            query,
            total=recalled.total,
            changed=recalled.changed,
            root=recalled.workspace.root,
            now=self._clock.now(),
        )

    async def _handed_over(self, given: Mapping[str, object], find: Find, caller: Caller) -> str:
        done, now = await self._calls.handoff(given, find, caller), self._clock.now()
        match done:
            case HandoffsListed():
                return told_handoffs(done.handoffs, root=done.workspace.root, now=now)
            case Claimed(handoff, is_ours=is_ours):
                return told_claim(handoff, is_ours=is_ours, caller=caller.writer, now=now)
            case Handoff():
                is_ended = done.state_at(now) is HandoffState.CANCELLED
                return told_cancelled(done) if is_ended else told_left(done, now=now)
            case _:
                assert_never(done)
