"""What a stretch of a program looks like, packed into a number that the index keeps."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from live_memory.core.evidence.docs import spoken_lines, told_lines
from live_memory.core.evidence.places import Definition
from live_memory.core.evidence.uses import import_lines, unquoted

__all__ = ["Traits", "traits_of", "unpacked"]

_BRANCH = re.compile(r"\b(?:if|match|switch|case|else|elif|elsif|unless|when)\b|\?\s.{0,120}:")
_TEST = re.compile(r"(?:^|[.:])(?:[Tt]ests?|test_\w+)(?:[.:]|$)")
# A line of a list: strings and numbers alone, as in word lists and tables of bytes.
_STRING = "|".join(rf"{mark}[^{mark}]{{0,300}}+{mark}" for mark in "\"'`")
_VALUE = rf"(?:[bBfFrRuU]{{0,2}}+(?:{_STRING})|-?\d[\w.]{{0,40}}+)"
_LISTED = re.compile(rf"\s*+{_VALUE}(?:\s*+,\s*+{_VALUE})*+\s*+[,;]?\s*+")
_BEGINS_LISTED = frozenset("\"'`-0123456789")  # few lines do, and only these are looked at
_FEWEST_LISTED = 8
_STEPS = 15  # of four bits
# A line in three that decides is as much as there can be; of less than four lines none decides.
_FULL_SHARE, _FEWEST = 3, 4
_MOSTLY = 0.6


@dataclass(frozen=True, slots=True)
class Traits:
    """How much of a place decides something, and how much is comment, both 0 to 1.

    `is_list` says that there are imports, or strings and numbers, one after the other.
    """

    branching: float
    comment: float
    is_list: bool
    is_test: bool


def traits_of(lines: Sequence[str], first: int, last: int, owner: Definition | None) -> int:
    """Look at lines `first` to `last`, and pack what is seen."""
    rows = [line for line in lines[first - 1 : last] if line.strip()]
    spoken = spoken_lines(lines, first, last)
    told = told_lines(lines, first, last, spoken=spoken)
    branches = sum(
        _BRANCH.search(unquoted(lines[n - 1])) is not None
        for n in range(first, last + 1)
        if n not in told
    )
    branching = min(1.0, _FULL_SHARE * branches / max(_FEWEST, len(rows)))
    comment = len(spoken) / (last - first + 1)
    values = [row for row in rows if row.lstrip()[:1] in _BEGINS_LISTED]
    listed = sum(_LISTED.fullmatch(row) is not None for row in values)
    listed = listed if listed >= _FEWEST_LISTED else 0
    is_list = max(listed, len(import_lines(rows, len(rows)))) > _MOSTLY * len(rows)
    is_in_test = owner is not None and _TEST.search(owner.name) is not None
    shares = round(branching * _STEPS) | round(comment * _STEPS) << 4
    return shares | is_list << 8 | is_in_test << 9


@lru_cache(2_048)
def unpacked(traits: int) -> Traits:
    """Undo the packing."""
    return Traits(
        branching=(traits & 15) / _STEPS,
        comment=(traits >> 4 & 15) / _STEPS,
        is_list=bool(traits & 256),
        is_test=bool(traits & 512),
    )
