"""Tells who watches how far a suite is, and how long it takes yet; a log gets nothing of it."""

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

__all__ = ["during", "each"]

_T = TypeVar("_T")


def each(what: str, items: Sequence[_T]) -> Iterator[_T]:
    """The items, one after the other; what is left is estimated by those that are done."""
    began = time.monotonic()
    try:
        for done, item in enumerate(items):
            left_s = (time.monotonic() - began) / done * (len(items) - done) if done else None
            _show(f"{what}: {done + 1} of {len(items)}{_left(left_s)}")
            yield item
    finally:
        _show("")


def during(what: str, seconds: float) -> Iterator[None]:
    """Turns, until so much time has passed."""
    until = time.monotonic() + seconds
    try:
        while (left_s := until - time.monotonic()) > 0:
            _show(f"{what}{_left(left_s)}")
            yield
    finally:
        _show("")


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"


def _show(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
