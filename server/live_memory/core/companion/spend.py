"""Tokens and money by cause, and the caps that stop spending."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Self

from live_memory.core.companion.chat import Cause, ModelUsage
from live_memory.core.values import Instant

__all__ = ["DAY_S", "Caps", "Payment", "Spend", "Spent", "both"]

_HOUR_S, DAY_S = 3_600, 86_400


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that may be spent: tokens within an hour, US dollars within a day; 0 is no cap."""

    tokens_an_hour: int = 0
    usd_a_day: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What one cause took; `unpriced_calls` are those whose price is not known."""

    calls: int = 0
    tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0

    def plus(self, usage: ModelUsage, cost_usd: float | None) -> Self:
        """Add one call."""
        return replace(
            self,
            calls=self.calls + 1,
            tokens=self.tokens + usage.input + usage.output,
            cached_tokens=self.cached_tokens + usage.cache_read,
            cost_usd=self.cost_usd + (cost_usd or 0.0),
            unpriced_calls=self.unpriced_calls + (cost_usd is None),
        )


@dataclass(frozen=True, slots=True)
class Payment:
    """What one call took, and when."""

    at: Instant
    tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Spend:
    """All that was spent since the start, by cause, and the payments of the last day."""

    by_cause: Mapping[Cause, Spent] = field(default_factory=lambda: MappingProxyType({}))
    recent: tuple[Payment, ...] = ()

    def paid(
        self, cause: Cause, usage: ModelUsage, cost_usd: float | None, *, now: Instant
    ) -> Self:
        """Add one call."""
        spent = self.by_cause.get(cause, Spent()).plus(usage, cost_usd)
        kept = tuple(p for p in self.recent if now - p.at < DAY_S)
        payment = Payment(now, usage.input + usage.output, cost_usd or 0.0)
        by_cause = MappingProxyType({**self.by_cause, cause: spent})
        return replace(self, by_cause=by_cause, recent=(*kept, payment))

    def with_earlier(self, payments: Iterable[Payment]) -> Self:
        """Add what was paid before the start: it counts for the caps, and for nothing else."""
        return replace(self, recent=(*payments, *self.recent))

    def refusal(self, caps: Caps, *, now: Instant) -> str | None:
        """Why nothing may be spent now, if so."""
        tokens = sum(p.tokens for p in self.recent if 0 <= now - p.at < _HOUR_S)
        if caps.tokens_an_hour and tokens >= caps.tokens_an_hour:
            return f"the hourly cap of {caps.tokens_an_hour} tokens is reached"
        dollars = sum(p.cost_usd for p in self.recent if 0 <= now - p.at < DAY_S)
        if caps.usd_a_day and dollars >= caps.usd_a_day:
            return f"the daily cap of ${caps.usd_a_day:.2f} is reached"
        return None


def both(a: ModelUsage, b: ModelUsage) -> ModelUsage:
    """What two calls took together."""
    return ModelUsage(
        a.input + b.input,
        a.cache_read + b.cache_read,
        a.cache_write + b.cache_write,
        a.output + b.output,
        a.is_estimated or b.is_estimated,
    )
