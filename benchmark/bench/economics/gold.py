"""The places that a question needs, and whether a request shows them as they are now."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.head_start import LONGEST_SPAN
from bench.scores import Place
from bench.views import Lines

__all__ = ["ENOUGH", "Quest", "current", "is_shown", "lines_shown", "missing", "resolved"]

# A place is present when this share of its lines that say something are in the request.
ENOUGH = 0.8
# A span as long as a file is not a place; it stands for its head.
_HEAD = 5
_BEFORE = re.compile(r"^(?:[\w.@/+-]+[:-])?\s*\d*\s*[|:│→\t-]\s?")
_SAYS = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Quest:
    """A question, and the places that its answer rests on, with their lines as they are now."""

    question: str
    places: tuple[Place, ...]
    texts: dict[Place, tuple[str, ...]] = field(default_factory=dict, compare=False)


def resolved(lines: Lines, cited: Iterable[Sequence[object]], names: Sequence[str]) -> list[Place]:
    """Cited ranges that name one file of the tree; a base name does where only one file has it."""
    found = []
    for name, first, last in cited:
        start = int(str(first))
        fitting = [str(name)] if lines.of(str(name)) else _ending(str(name), names)
        if len(fitting) != 1 or not 1 <= start <= len(lines.of(fitting[0])):
            continue
        end = min(int(str(last)), len(lines.of(fitting[0])))
        if end - start >= LONGEST_SPAN:
            end = start + _HEAD - 1
        found.append(Place(fitting[0], start, max(start, end)))
    return list(dict.fromkeys(found))


def current(tree: Path, question: str, places: Iterable[Place]) -> Quest:
    """A quest with the lines of its places as they are on disk."""
    lines, texts = Lines(tree), {}
    for place in places:
        shown = lines.of(place.path)[place.start - 1 : place.end]
        texts[place] = tuple(text for line in shown if (text := _plain(line)))
    return Quest(question, tuple(texts), texts)


def lines_shown(text: str) -> frozenset[str]:
    """Every line of a request, with and without what stands before it."""
    found: set[str] = set()
    for line in text.splitlines():
        found.add(_plain(line))
        bare = _BEFORE.sub("", line, count=1)
        found.add(_plain(bare))
        # A quoted answer may hold a numbered line behind its own bar.
        found.add(_plain(_BEFORE.sub("", bare, count=1)))
    return frozenset(found)


def is_shown(quest: Quest, place: Place, shown: frozenset[str]) -> bool:
    """Whether enough lines of a place are there; blanks and lines of marks do not count."""
    wanted = [text for text in quest.texts[place] if _SAYS.search(text)]
    return sum(text in shown for text in wanted) >= ENOUGH * len(wanted)


def missing(quest: Quest, text: str) -> list[Place]:
    """The places that a request does not show."""
    shown = lines_shown(text)
    return [place for place in quest.places if not is_shown(quest, place, shown)]


def _plain(line: str) -> str:
    return " ".join(line.split())


def _ending(name: str, names: Sequence[str]) -> list[str]:
    return [one for one in names if one.endswith(f"/{name}")]
