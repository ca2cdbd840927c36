"""Figures from ranked places: pure functions, tested by themselves."""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = [
    "Place",
    "bootstrap",
    "files_in_order",
    "hit_at",
    "identifier_share",
    "line_overlap",
    "mean",
    "percentile",
    "recall_at",
    "reciprocal_rank",
]

Ranges = Mapping[str, Sequence[Sequence[int]]]


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file that an answer cites, in the order of its citations."""

    path: str
    start: int
    end: int


def files_in_order(places: Iterable[Place]) -> list[str]:
    """Each cited file once, by its first citation."""
    return list(dict.fromkeys(place.path for place in places))


def hit_at(files: Sequence[str], gold: Iterable[str], count: int) -> float:
    """1 where a gold file is among the first `count`."""
    return float(not set(gold).isdisjoint(files[:count]))


def recall_at(files: Sequence[str], gold: Sequence[str], count: int) -> float:
    """Share of the gold files that are among the first `count`."""
    return len(set(gold) & set(files[:count])) / len(set(gold))


def reciprocal_rank(files: Sequence[str], gold: Iterable[str]) -> float:
    """One through the rank of the first gold file, 0 without one."""
    wanted = set(gold)
    return next((1 / n for n, file in enumerate(files, 1) if file in wanted), 0.0)


def line_overlap(places: Sequence[Place], gold: Ranges) -> float | None:
    """Share of the gold ranges that a cited range touches; nothing where there are none."""
    ranges = [(path, first, last) for path, some in gold.items() for first, last in some]
    if not ranges:
        return None
    touched = sum(
        any(p.path == path and p.start <= last and first <= p.end for p in places)
        for path, first, last in ranges
    )
    return touched / len(ranges)


def identifier_share(text: str, wanted: Sequence[str]) -> float | None:
    """Share of the wanted identifiers that a text holds; nothing where none are wanted."""
    names = [name for name in wanted if name.strip()]
    return sum(name in text for name in names) / len(names) if names else None


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that there are."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that `share` of all values do not pass."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


def bootstrap(
    values: Sequence[float | None],
    *,
    seed: int,
    rounds: int = 2_000,
    statistic: Callable[[Iterable[float | None]], float | None] = mean,
) -> tuple[float, float] | None:
    """The interval that holds 95 % of the statistic over resampled values."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    draw = random.Random(seed)
    found = []
    for _ in range(rounds):
        one = statistic(draw.choices(known, k=len(known)))
        if one is not None:
            found.append(one)
    low, high = percentile(found, 0.025), percentile(found, 0.975)
    return None if low is None or high is None else (low, high)
