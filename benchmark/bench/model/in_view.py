"""What a reader of a prompt sees: lines of files with their places, in the order of the prompt.

It knows no server's format: a line number before a bar or a colon, a `path:line` heading above a
fenced block, and `line N:` notes are how any of them shows code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Line", "asked_name", "in_view", "lines_in"]

_BAR = re.compile(r"^\s*(?P<number>\d+)?\s*[|│→\t] ?(?P<rest>.*)$")
_PATH = r"(?P<path>[\w.@+-]*(?:/[\w.@+-]+)*\.\w+|[\w.@+-]+(?:/[\w.@+-]+)+)"
_PLACE = re.compile(_PATH + r":(?P<start>\d+)(?:-(?P<end>\d+))?")
_HEADING = re.compile(r"\b(?:file|path)\b:? `?" + _PATH)
_NOTE = re.compile(r"\bline (?P<number>\d+): `(?P<text>.+)`")
_QUOTED = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file as the prompt shows it, without its indent."""

    path: str
    number: int
    text: str


def asked_name(prompt: str) -> str | None:
    """The last name in backticks: questions name what they are about so."""
    names = _QUOTED.findall(prompt)
    return names[-1].rpartition(".")[2] if names else None


def in_view(prompt: str, name: str) -> list[Line]:
    """The lines that define or assign a name; only those of a file that the question names."""
    escaped = re.escape(name)
    defines = re.compile(
        rf"^(?:async\s+)?(?:def|class)\s+{escaped}\b|^{escaped}\s*(?::[^=]*)?=(?!=)"
    )
    seen = [line for line in lines_in(prompt) if defines.match(line.text)]
    tail = prompt[-2_000:]
    named = [line for line in seen if f" {line.path}" in _question(tail)]
    return named or seen


def _question(tail: str) -> str:
    """The line of the prompt's end that asks."""
    asking = [line for line in tail.splitlines() if line.rstrip().endswith("?")]
    return asking[-1] if asking else tail


def lines_in(prompt: str) -> Iterator[Line]:
    """Every line of a file that the prompt shows with a number, or below a place.

    Not every line need have its own: those behind a bar below a number count on.
    """
    heading, place, is_fenced, number = "", ("", 0), False, 0
    for raw in prompt.splitlines():
        bar = _BAR.match(raw)
        number = 0 if bar is None else int(bar["number"] or 0) or (number and number + 1)
        if bar and number:
            if heading:
                yield Line(heading, number, bar["rest"].strip())
            continue
        line = bar["rest"] if bar else raw
        if bar is None and (found := _HEADING.search(line) or _PLACE.match(line)):
            heading = found["path"]
        if line.startswith("```"):
            is_fenced = not is_fenced and bool(place[0])
            continue
        if is_fenced:
            yield Line(place[0], place[1], line.strip())
            place = place[0], place[1] + 1
        elif note := _NOTE.search(line):
            if place[0]:
                yield Line(place[0], int(note["number"]), note["text"].strip())
        elif found := _PLACE.search(line):
            place = found["path"], int(found["start"])
            rest = _QUOTED.findall(line[found.end() :])
            yield from (Line(*place, text.strip()) for text in rest[:1])
