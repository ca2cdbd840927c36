"""Whether a sentence stands on the lines it names: the check of answers, but stricter.

An answer is read once, a fact for months. So every name and all code must be there, a constant
must stand on a line that sets it, what is written as a proper noun must occur in the source, and
no place is moved to where the sentence would stand.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from live_memory.core.checking.shown import Lines, SourceFile
from live_memory.core.checking.stating import are_set, are_there
from live_memory.core.compacting.stating import Stated, stated
from live_memory.core.evidence.places import Place
from live_memory.core.evidence.words import tokens_of_word, vocabulary, words_of
from live_memory.core.memory.coverage import Span, merged
from live_memory.core.values import ContentHash, RelPath

__all__ = ["SourceText", "clipped", "standing"]

# Where the cited lines are copied to, so that several places are checked as one.
_COPY = RelPath("copied/lines.c")
_WORD = re.compile(r"0[xXbBoO]\w+|[A-Za-z_$][\w$]*|\d[\d_.]*\d|\d")
_PATH_WORD = re.compile(r"\w+")
_ASSIGNED = re.compile(
    r"(?<![\w$.])(?:self\.|this\.)?([A-Za-z_$][\w$]*)[\"']?\s*(?::[^=,]{1,40})?[:=]\s*"
    r"(\"[^\"]*\"|'[^']*'|-?\d[\w.]*|[Tt]rue|[Ff]alse|None|null|nil)\s*(?:[,;)}#]|//|$)"
)


@dataclass(frozen=True)  # without slots, to keep what is worked out once for all that is said of it
class SourceText:
    """Current redacted lines of a file, by number, and the hash of its whole bytes."""

    path: RelPath
    sha: ContentHash
    lines: Mapping[int, str]

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The runs of lines that are shown."""
        return merged((n, n) for n in self.lines)

    @cached_property
    def where(self) -> Mapping[str, Sequence[int]]:
        """The lines that a word stands on."""
        found: dict[str, list[int]] = {}
        for number, line in self.lines.items():
            for word in set(_WORD.findall(line)):
                found.setdefault(word, []).append(number)
        return found

    @cached_property
    def constants(self) -> frozenset[str]:
        """The names that a line gives a literal."""
        lines = self.lines.values()
        return frozenset(name for line in lines for name, _ in _ASSIGNED.findall(line))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The tokens of all words on them and of its path."""
        return frozenset(vocabulary(self.text) | vocabulary(self.path.text))

    @cached_property
    def text(self) -> str:
        """All of them."""
        return "\n".join(self.lines.values())


def clipped(place: Place, page: SourceText) -> Place | None:
    """The part of a place that is shown, where no more is cut off than stays."""
    parts = [(max(place.start, a), min(place.end, b)) for a, b in page.spans]
    start, end = max(parts, key=lambda part: part[1] - part[0], default=(1, 0))
    kept, asked = end - start + 1, place.end - place.start + 1
    return Place(place.path, start, end) if kept >= 1 and asked - kept <= kept else None


def standing(
    text: str, places: Sequence[Place], pages: Mapping[RelPath, SourceText]
) -> tuple[Place, ...] | None:
    """The places on which a text stands, with further lines for its names; nothing if it does not.

    All `places` lie within `pages`.
    """
    said = stated(text)
    cited = [pages[path] for path in dict.fromkeys(place.path for place in places)]
    if not cited or not said.is_checkable or not _is_of_these(said, cited):
        return None
    names = said.names - {word for page in cited for word in _path_words(page.path)}
    if names and not any(_is_on(name, page, places) for name in names for page in cited):
        return None
    whole = _with_names(said, places, cited)
    return whole if whole and _holds(said, whole, pages) else None


def _is_of_these(said: Stated, cited: Sequence[SourceText]) -> bool:
    """Whether all that is said in prose, and all that leads elsewhere, occurs in the sources."""

    def is_written(text: str) -> bool:
        return any(text in page.text or text in page.path.text for page in cited)

    def is_word(word: str) -> bool:
        return word in in_paths or any(word in page.where for page in cited)

    in_paths = {word for page in cited for word in _path_words(page.path)}
    proper = (part for word in said.proper for part in words_of(word))
    tokens = (token for part in proper for token in tokens_of_word(part)[:1])
    return (
        all(any(token in page.vocabulary for page in cited) for token in tokens)
        and all(map(is_written, said.addresses))
        and all(is_written(w) or all(map(is_word, _WORD.findall(w))) for w in said.codelike)
    )


def _with_names(
    said: Stated, places: Sequence[Place], cited: Sequence[SourceText]
) -> tuple[Place, ...] | None:
    """The places, and the nearest line of the same files for each name that they leave out."""
    found = [*places]
    in_paths = {word for page in cited for word in _path_words(page.path)}
    for name in sorted(said.names):
        if name not in in_paths and not any(_is_on(name, page, places) for page in cited):
            line = _nearest(name, places, cited)
            if line is None:
                return None
            found.append(line)
    spans: dict[RelPath, list[Span]] = {}
    for place in found:
        spans.setdefault(place.path, []).append((place.start, place.end))
    return tuple(Place(path, *span) for path, each in spans.items() for span in merged(each))


def _is_on(name: str, page: SourceText, places: Sequence[Place]) -> bool:
    numbers = page.where.get(name, ())
    return any(p.start <= n <= p.end for p in places if p.path == page.path for n in numbers)


def _nearest(name: str, places: Sequence[Place], cited: Sequence[SourceText]) -> Place | None:
    """The line with a name that is nearest to a place, rather above it than below."""
    near = [
        (n > place.start, abs(n - place.start), Place(page.path, n, n))
        for page in cited
        for n in page.where.get(name, ())
        for place in places
        if place.path == page.path
    ]
    return min(near, key=lambda each: each[:2])[2] if near else None


def _holds(said: Stated, places: Sequence[Place], pages: Mapping[RelPath, SourceText]) -> bool:
    """Whether the lines of the places, taken together, hold what the text states."""
    lines = [pages[place.path].lines[n] for place in places for n in _numbers(place)]
    # What a path says is no more than that a name is in it, so each word is a line of its own.
    copy = [*lines, *(word for place in places for word in _path_words(place.path))]
    shown = Lines(SourceFile(places[0].path, copy), 1, len(copy))
    if not (are_there(said.pieces, shown) and are_set(said.settings, shown)):
        return False
    words = [frozenset(_WORD.findall(line)) for line in lines]
    there = {_plain(word) for each in words for word in each}
    if not all(_plain(number) in there for number in said.numbers):
        return False
    constants = {name for place in places for name in pages[place.path].constants}
    return constants.isdisjoint(said.names) or all(
        _is_bound(v, said, lines, words) for v in _all_values(said)
    )


def _is_bound(
    value: str, said: Stated, lines: Sequence[str], words: Sequence[frozenset[str]]
) -> bool:
    """Whether a value shares a line with a name: else it may be any other constant's value."""
    bare = value.strip("\"'")
    return any(
        bool(said.names & on_it) and (_plain(bare) in map(_plain, on_it) or bare in line)
        for line, on_it in zip(lines, words, strict=True)
    )


def _all_values(said: Stated) -> Iterable[str]:
    return (*said.values, *said.numbers)


def _numbers(place: Place) -> range:
    return range(place.start, place.end + 1)


def _path_words(path: RelPath) -> Iterator[str]:
    """What a path can name; a number in it is no value of anything."""
    words = (*_PATH_WORD.findall(path.text), *_WORD.findall(path.text))
    return (word for word in words if not word[0].isdigit())


def _plain(number: str) -> str:
    return number.replace("_", "").replace(",", "").lstrip("-") if number[-1:].isdigit() else number
