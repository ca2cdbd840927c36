"""The one reference to the model in use; a change of settings swaps it under running questions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from live_memory.flow.companion.reply import Companion

__all__ = ["ModelDesk"]


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
