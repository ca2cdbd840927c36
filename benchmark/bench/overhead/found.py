"""What one part of the suite found, and how samples become figures."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.figures import Chart
from bench.report import Bar, Table
from bench.scores import percentile

__all__ = ["Found", "Row", "median", "p50", "p99", "thousandths"]

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Found:
    """A part's share of the outcome."""

    tables: tuple[Table, ...] = ()
    bars: tuple[Bar, ...] = ()
    charts: tuple[Chart, ...] = ()
    rows: tuple[Row, ...] = ()
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def thousandths(seconds: Sequence[float]) -> list[float]:
    """Seconds as milliseconds."""
    return [1_000 * one for one in seconds]


def median(values: Sequence[float]) -> float | None:
    """The middle value; nothing where there is none."""
    return statistics.median(values) if values else None


def p50(seconds: Sequence[float]) -> float | None:
    """The median in milliseconds."""
    return median(thousandths(seconds))


def p99(seconds: Sequence[float]) -> float | None:
    """What one in a hundred passes, in milliseconds."""
    return percentile(thousandths(seconds), 0.99)
