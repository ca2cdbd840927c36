"""What tokens cost, by published price tables, and what a provider counted of one call."""

from dataclasses import dataclass

__all__ = ["DEEPSEEK", "HAIKU", "Counted", "Prices"]


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens, and where they were published."""

    name: str
    input: float
    cache_read: float
    cache_write: float
    output: float
    source: str


HAIKU = Prices(
    "Haiku-class",
    input=1.0,
    cache_read=0.10,
    cache_write=1.25,
    output=5.0,
    source="claude-haiku-4-5 in genai-prices 0.2.3, as of October 2026",
)
DEEPSEEK = Prices(
    "DeepSeek-class",
    input=0.15,
    cache_read=0.003,
    cache_write=0.15,
    output=0.60,
    source="deepseek-flash off peak in genai-prices 0.2.3, since September 2026",
)


@dataclass(frozen=True, slots=True)
class Counted:
    """Tokens of one call or of several: paid in full, read from the cache, written to it, said."""

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0

    @property
    def prompt(self) -> int:
        """All tokens that were sent."""
        return self.input + self.cached + self.written

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(
            self.input + other.input,
            self.cached + other.cached,
            self.written + other.written,
            self.output + other.output,
        )

    def cost(self, prices: Prices) -> float:
        """What that costs, in US dollars."""
        parts = (
            self.input * prices.input,
            self.cached * prices.cache_read,
            self.written * prices.cache_write,
            self.output * prices.output,
        )
        return sum(parts) / 1e6
