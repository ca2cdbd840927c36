"""Keeps a provider's prompt cache from expiring while a person thinks; off unless it is set.

The last opening of each workspace is sent again with one token of reply, until nobody has asked
for a while. A cache is kept for about five minutes after its last use.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import anyio

from live_memory.core.companion.chat import Cause, ModelRequest
from live_memory.core.errors import ModelUnavailable
from live_memory.flow.models.lending import ModelDesk
from live_memory.flow.models.metering import Meter
from live_memory.flow.workspace import Workspace

__all__ = ["WarmKeeping", "keep_warm"]

_INTERVAL_S = 240.0


@dataclass(frozen=True, slots=True)
class WarmKeeping:
    """How long after the last question the cache is kept."""

    max_idle_s: float


async def keep_warm(
    keeping: WarmKeeping, models: ModelDesk, open_now: Callable[[], Iterable[Workspace]]
) -> None:
    """Send every open workspace's last prompt again, until cancelled."""
    while True:
        await anyio.sleep(_INTERVAL_S)
        for memory in open_now():
            last = memory.last_opening
            if last is None or anyio.current_time() - last.at > keeping.max_idle_s:
                continue
            async with models.borrowed() as companion:
                if companion is not None:
                    await _warm(
                        Meter(companion.model, companion.purse, companion.rest), last.request
                    )


async def _warm(meter: Meter, request: ModelRequest) -> None:
    try:
        await meter.complete(replace(request, cause=Cause.KEEP_WARM, max_output_tokens=1))
    except ModelUnavailable:
        # Nobody waits for this, and the next question says what is wrong.
        return
