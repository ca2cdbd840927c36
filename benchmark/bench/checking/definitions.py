"""Where definitions stand in a file: by their first words and by indentation, in any language."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Definition", "definitions", "indentation"]

_BEFORE = "export|default|pub|async|static|public|private|protected|abstract|final"
_DEFINED = re.compile(
    rf"\s*(?:(?:{_BEFORE})\s+)*(?:def|class|func|fn|function)\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_]\w*)"
)


@dataclass(frozen=True, slots=True)
class Definition:
    """It ends before the next one that is indented no deeper."""

    name: str
    start: int
    end: int
    indent: int


def definitions(lines: Sequence[str]) -> list[Definition]:
    """Every definition of a file, in order."""
    heads = [
        (number, indentation(line), match["name"])
        for number, line in enumerate(lines, 1)
        if (match := _DEFINED.match(line))
    ]
    found = []
    for n, (start, indent, name) in enumerate(heads):
        later = (number for number, deep, _ in heads[n + 1 :] if deep <= indent)
        found.append(Definition(name, start, next(later, len(lines) + 1) - 1, indent))
    return found


def indentation(line: str) -> int:
    """The columns before the first character."""
    wide = line.expandtabs()
    return len(wide) - len(wide.lstrip())
