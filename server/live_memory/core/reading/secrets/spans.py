"""Where a secret stands, and where texts are found."""

from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Span", "folded", "sites"]


class Span(NamedTuple):
    """Where a secret stands and what kind it is."""

    start: int
    end: int
    kind: str


def folded(text: str) -> str:
    """Lower case with every position kept: only the dotted capital I would grow."""
    return text.replace("\u0130", "I").lower()


def sites(text: str, literal: str) -> Iterator[int]:
    """Where a literal stands, without overlaps."""
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + len(literal))
