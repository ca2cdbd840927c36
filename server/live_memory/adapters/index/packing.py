"""Rows of numbers as bytes, the same on every machine."""

from __future__ import annotations  # arrays take no index at run time before 3.12

import sys
from array import array
from collections.abc import Iterable

from live_memory.adapters.index.database import Damaged

__all__ = ["numbers", "packed"]


def packed(values: Iterable[int]) -> bytes:
    """Four bytes a number, little-endian."""
    row = array("I", values)
    if sys.byteorder == "big":
        row.byteswap()
    return row.tobytes()


def numbers(data: bytes) -> array[int]:
    """Undo `packed`.

    Raises:
        Damaged: these are not such bytes.
    """
    row = array("I")
    try:
        row.frombytes(data)
    except (ValueError, TypeError) as problem:
        raise Damaged("a row of numbers is torn") from problem
    if sys.byteorder == "big":
        row.byteswap()
    return row
