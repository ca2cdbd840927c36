"""The model in use, its purse, and the one reference to them, which a change of settings swaps."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import anyio

from live_memory.core.values import TokenCount
from live_memory.flow.models.metering import Purse
from live_memory.flow.models.resting import Rest
from live_memory.ports import Clock, LanguageModel

__all__ = ["Borrowed", "Companion", "ModelDesk"]


@dataclass(frozen=True, slots=True)
class Companion:
    """The model that answers, who pays, how large its window may be, and whether it rests."""

    model: LanguageModel
    purse: Purse
    clock: Clock
    max_context_tokens: int
    rest: Rest

    @property
    def window_tokens(self) -> int:
        """Tokens of memory that fit a prompt, in tokens as we estimate them."""
        abilities = self.model.abilities
        most = min(self.max_context_tokens, abilities.context_tokens)
        one = self.purse.calibration.applied(abilities.model, TokenCount(1_000)) / 1_000
        return int(most / one)


# Lends the companion for one piece of work.
Borrowed = Callable[[], AbstractAsyncContextManager[Companion | None]]


@dataclass(slots=True)
class _Lent:
    """A companion and how many questions use it."""

    companion: Companion
    users: int = 0
    is_retired: bool = False


class ModelDesk:
    """Owner of the companion: questions borrow it, and a retired one closes after its last."""

    def __init__(self, companion: Companion | None = None) -> None:
        self._current = _Lent(companion) if companion else None

    @property
    def companion(self) -> Companion | None:
        """The one that a question would get now."""
        return self._current.companion if self._current else None

    @asynccontextmanager
    async def borrowed(self) -> AsyncIterator[Companion | None]:
        """The companion for one question, or none where there is no model."""
        lent = self._current
        if lent is None:
            yield None
            return
        lent.users += 1
        try:
            yield lent.companion
        finally:
            lent.users -= 1
            await self._close_if_done(lent)

    async def swap(self, companion: Companion | None) -> None:
        """Use this one from now on; running questions finish on the old one."""
        old, self._current = self._current, _Lent(companion) if companion else None
        if old is not None:
            old.is_retired = True
            await self._close_if_done(old)

    async def _close_if_done(self, lent: _Lent) -> None:
        if lent.is_retired and not lent.users:
            with anyio.CancelScope(shield=True):
                await lent.companion.model.aclose()
