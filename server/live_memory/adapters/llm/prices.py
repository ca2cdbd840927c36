"""Context sizes and prices by model name; what is not known is not guessed."""

import re
from dataclasses import dataclass

from live_memory.core.companion.chat import ModelUsage

__all__ = ["Prices", "context_tokens", "cost_usd"]

# From the tables of genai-prices 0.2.3; an endpoint's own word wins over them.
_CONTEXT: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern), tokens)
    for pattern, tokens in (
        (r"claude-.{0,80}-4-[6-9]\b|claude-[a-z]+-[5-9]\b", 1_000_000),
        (r"claude-", 200_000),
        (r"gpt-(5\.[4-9]|[6-9])[\w.-]{0,80}(mini|nano)", 400_000),
        (r"gpt-5\.3(?!-codex)", 128_000),
        (r"gpt-(4\.1|5\.[4-9]|[6-9])", 1_000_000),
        (r"gpt-5", 400_000),
        (r"gpt-4o|gpt-4-turbo|gpt-oss", 128_000),
        (r"gpt-4", 8_192),
        (r"gpt-3\.5", 16_385),
        (r"\bo[134]\b", 200_000),
        (r"deepseek-(v[4-9]|flash)", 1_000_000),
        (r"deepseek-(chat|reasoner)$", 64_000),
        (r"gemini-", 1_000_000),
    )
)
# A model that nobody listed is most likely a local one, started with a small window.
_UNLISTED = 8_192


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens; the multipliers apply to `input`."""

    input: float
    output: float
    cache_read_multiplier: float = 0.1
    cache_write_multiplier: float = 1.25

    def cost_usd(self, usage: ModelUsage) -> float:
        """What a call cost."""
        fresh = max(0, usage.input - usage.cache_read - usage.cache_write)
        cached = (
            usage.cache_read * self.cache_read_multiplier
            + usage.cache_write * self.cache_write_multiplier
        )
        return ((fresh + cached) * self.input + usage.output * self.output) / 1_000_000


def context_tokens(model: str) -> int:
    """The size of a model's window, or a small one where the name says nothing."""
    name = model.lower().rpartition("/")[2]
    return next((size for pattern, size in _CONTEXT if pattern.search(name)), _UNLISTED)


def cost_usd(usage: ModelUsage, model: str, *, base_url: str) -> float | None:
    """What a call cost at the maker's list price, where model and endpoint are known to it.

    A gateway or local server asks its own price, so only a person's settings can name it.
    """
    # Imported here because it brings its tables of 45 providers; nothing at start needs them.
    from genai_prices import Usage, calc_price  # noqa: PLC0415

    counted = Usage(
        input_tokens=usage.input,
        cache_read_tokens=min(usage.cache_read, usage.input),
        cache_write_tokens=min(usage.cache_write, usage.input - min(usage.cache_read, usage.input)),
        output_tokens=usage.output,
    )
    try:
        return float(calc_price(counted, model, provider_api_url=base_url).total_price)
    except (LookupError, ValueError):
        return None
