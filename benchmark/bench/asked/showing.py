"""Answers in the form of a server's: places with numbered lines, rendered and read back."""

import re
from collections.abc import Iterator, Mapping, Sequence

from bench.scores import Place

__all__ = ["places_in", "rendered"]

_PATH = r"(?P<path>[\w.@+-]*(?:/[\w.@+-]+)*\.\w+|[\w.@+-]+(?:/[\w.@+-]+)+|\w*[A-Z]\w*file)"
_PLACE = re.compile(_PATH + r":(?P<start>\d+)(?:-(?P<end>\d+))?")
_FILE = re.compile(r"^\W*(?:file|path):? `?(?P<path>[^\s`,]+)")
_NUMBERED = re.compile(r"^\s*(?P<number>\d+)[:|\t]")


def rendered(places: Sequence[Place], files: Mapping[str, str]) -> str:
    """Each place under its header, every line with its number."""
    if not places:
        return "No place was found."
    return "\n".join(_shown(place, files.get(place.path, "")) for place in places)


def places_in(text: str) -> tuple[Place, ...]:
    """The places that a text shows, in order.

    They are what a header or a sentence names, and lines with numbers below `file PATH`.
    """
    return tuple(dict.fromkeys(_places(text)))


def _shown(place: Place, text: str) -> str:
    lines = enumerate(text.splitlines()[place.start - 1 : place.end], place.start)
    body = "".join(f"{number}|{line}\n" for number, line in lines)
    return f"{place.path}:{place.start}-{place.end}\n{body}"


def _places(text: str) -> Iterator[Place]:
    path, first, last = "", 0, 0
    for line in text.splitlines():
        numbered = _NUMBERED.match(line)
        if numbered and path:
            number = int(numbered["number"])
            if first and number != last + 1:
                yield Place(path, first, last)
                first = 0
            first, last = first or number, number
        elif line.startswith("|") and first:
            last += 1
        elif not numbered:
            if first:
                yield Place(path, first, last)
            path, first = "", 0
            for named in _PLACE.finditer(line):
                start = int(named["start"])
                yield Place(named["path"], start, int(named["end"] or start))
            if found := _FILE.search(line):
                path = found["path"]
    if first:
        yield Place(path, first, last)
