"""Where in the window prompts begin: far back only while a provider's cache keeps it for us."""

from dataclasses import dataclass, replace
from typing import Self

from live_memory.core.companion.chat import ModelUsage
from live_memory.core.memory.events import EntryNumber
from live_memory.core.memory.window import Window

__all__ = ["PromptStart"]

_FIRST = EntryNumber(1)
# A cache that gave less than this share of a prompt whose start it could know did not help.
_HELPS = 0.1


@dataclass(frozen=True, slots=True)
class PromptStart:
    """The first entry that prompts show, and what is known of the provider's cache.

    A cache that has gone cold makes all it would have held dear, ten times as dear as before: the
    next prompt begins with what is new, and grows again from there. A provider that never said
    that its cache helped says nothing by not saying so.
    """

    first: EntryNumber = _FIRST
    ends: tuple[EntryNumber, ...] = ()  # the number of the entry after each earlier prompt's last
    budget_tokens: int = 0  # what the estimate allowed when prompts began here
    compactions: int | None = None  # at the last prompt; one since moved its start
    has_helped: bool = False
    is_cold: bool = False

    def begun(self, window: Window, *, compactions: int, budget_tokens: int) -> tuple[Self, bool]:
        """For a prompt that is made now; and whether the one before began the same way.

        The budget stays between two starts: an estimate that moves would move the prompt's start.
        """
        if not self.is_cold and self.compactions == compactions:
            return self, True
        first = window.next_number if self.is_cold else self.first
        moved = replace(self, first=first, ends=(), is_cold=False, compactions=compactions)
        return replace(moved, budget_tokens=budget_tokens), False

    def ended(self, window: Window) -> Self:
        """After a prompt that shows all of this window."""
        is_new = not self.ends or self.ends[-1] < window.next_number
        return replace(self, ends=(*self.ends, window.next_number)) if is_new else self

    def heard(self, usage: ModelUsage, *, is_known: bool) -> Self:
        """After a prompt's first reply; `is_known` where its start was sent before."""
        helped = usage.cache_read > 0
        failed = usage.cache_read < _HELPS * usage.input and not usage.is_estimated
        is_cold = is_known and self.has_helped and failed
        return replace(self, has_helped=self.has_helped or helped, is_cold=is_cold)
