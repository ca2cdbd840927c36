"""Flags of a command line that a question names, and the places that declare them."""

import re
from collections.abc import Sequence
from dataclasses import replace

from live_memory.core.evidence.natures import Nature, nature_of
from live_memory.core.evidence.places import Evidence, RankedUnit

__all__ = ["flags_first"]

_FLAG = re.compile(r"(?<![\w-])--([a-z][\w-]{1,60})(?![\w-])")
# What is said of a flag where it is declared, so many lines below its name.
_TOLD = re.compile(r"\b(?:help|default(?:s|_value)?|desc\w*|metavar|usage|about)\b", re.IGNORECASE)
_BELOW = 12


def flags_first(question: str, evidence: Evidence) -> Evidence:
    """Lead with the program that declares a flag of the question: there it says what it does and
    what it is without it.
    """
    for flag in _FLAG.findall(question):
        name = re.escape(flag)
        # In quotes, with its short form or its value, as an argument: `"-j, --jobs <n>",`
        literal = re.compile(
            rf"""(["'`])(?:-\w\W{{1,9}})?(?:--)?{name}(?:[ =]\W\w+\W)?\1\s*(?:[,:)\]}}]|$)"""
        )
        units = evidence.units
        found = [u for u in units if _declares(_lines(u, evidence), literal, u)]
        if found:
            rest = [unit for unit in units if unit is not found[0]]
            candidates = replace(evidence.candidates, units=(found[0], *rest))
            return replace(evidence, candidates=candidates)
    return evidence


def _lines(unit: RankedUnit, evidence: Evidence) -> Sequence[str]:
    return evidence.files[unit.place.path].lines[unit.place.start - 1 : unit.place.end]


def _declares(lines: Sequence[str], literal: re.Pattern[str], unit: RankedUnit) -> bool:
    if nature_of(unit.place.path) is not Nature.CODE:
        return False
    at = (n for n, line in enumerate(lines) if literal.search(line))
    return any(_TOLD.search("\n".join(lines[n : n + _BELOW])) for n in at)
