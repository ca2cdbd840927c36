"""Makes one thing wrong in an answer that is right: a place, or what is said of it."""

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.checking.definitions import definitions, indentation
from bench.checking.prose import (
    Cited,
    Piece,
    citations,
    clause_around,
    code_in,
    code_words,
    masked,
    sentence_around,
    words_of,
    written,
)
from bench.scores import Place
from bench.views import Lines

__all__ = ["BARRED", "KINDS", "Original", "Wrong", "spoiled"]

# Which of the citations that can be made wrong; an answer has a dozen.
_PICKS = (1, 4)
_FEWEST_WORDS = 2
_FARTHEST, _STEP, _FIRST_STEP = 2_000, 37, 60
_MOST_FILES = 40
_VALUE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])|\"[^\"`]{2,40}\"|'[^'`]{2,40}'")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])|\b(?:True|False|true|false)\b")
_OPPOSITE = {"True": "False", "False": "True", "true": "false", "false": "true"}
_NAME = re.compile(r"(?:[\w.]*\.)?(?P<name>[A-Za-z_]\w{2,})(?:\(.*\))?")
# Names that any class has are no mistake that anybody makes.
_TELLING = re.compile(r"(?!__)\w{3,}")
_VERB = re.compile(r"\b(?:is|are|does|has|can)\b(?!['’]|\s+(?:not|no|never)\b)")


@dataclass(frozen=True, slots=True)
class Original:
    """An answer, the tree that it is about, and which of its places a reader found wrong."""

    text: str
    lines: Lines
    labelled: frozenset[Place] = frozenset()

    def candidates(self) -> list[Cited]:
        """Right citations of whose lines the sentence names some code."""
        found = (one for one in citations(self.text) if self.lines.of(one.place.path))
        return [
            one
            for one in found
            if one.place not in self.labelled and len(self.words(one)) >= _FEWEST_WORDS
        ]

    def sentence(self, cited: Cited) -> tuple[int, int]:
        """Where the sentence of a citation begins and ends."""
        return sentence_around(self.text, cited.begin)

    def words(self, cited: Cited) -> frozenset[str]:
        """The words of the code in the sentence of a citation."""
        begin, end = self.sentence(cited)
        return code_words(self.text[begin:end])

    def beside(self, cited: Cited) -> list[Place]:
        """The places of the sentence of a citation."""
        begin, end = self.sentence(cited)
        return [one.place for one in citations(self.text) if begin <= one.begin < end]

    def shown(self, *places: Place) -> str:
        """The lines of some places."""
        each = (self.lines.of(one.path)[one.start - 1 : one.end] for one in places)
        return "\n".join("\n".join(lines) for lines in each)


@dataclass(frozen=True, slots=True)
class Wrong:
    """The answer with one thing made wrong, and the places that now do not hold what is said."""

    text: str
    places: tuple[Place, ...]


Maker = Callable[[Original, Cited], Wrong | None]


def spoiled(original: Original, kind: str) -> list[Wrong]:
    """Up to two answers, each with one thing made wrong in a way of this kind."""
    make, candidates = KINDS[kind], original.candidates()
    if kind not in BARRED:
        candidates = [one for one in candidates if make(original, one) is not None]
    picked = [candidates[pick % len(candidates)] for pick in _PICKS] if candidates else []
    made = (make(original, one) for one in picked)
    return list(dict.fromkeys(one for one in made if one is not None))


def _other_lines(original: Original, cited: Cited) -> Wrong | None:
    """The range moved to where none of the sentence's code words stand."""
    place, said = cited.place, original.words(cited)
    size, last = place.end - place.start, len(original.lines.of(place.path))
    steps = (*range(_FIRST_STEP, _FARTHEST, _STEP), *range(-_FIRST_STEP, -_FARTHEST, -_STEP))
    for start in (place.start + step for step in steps):
        moved = Place(place.path, start, start + size)
        if start < 1 or moved.end > last:
            continue
        shown = original.shown(moved)
        if shown.strip() and not any(word in shown for word in said):
            return _cited_instead(original, cited, moved)
    return None


def _other_file(original: Original, cited: Cited) -> Wrong | None:
    """Another file with enough lines, in which none of the sentence's code words stand."""
    place, said = cited.place, original.words(cited)
    names = sorted(
        _named_like(original.lines.tree, Path(place.path).suffix),
        key=lambda name: zlib.crc32(f"{name}{original.text[:40]}".encode()),
    )
    for name in names[:_MOST_FILES]:
        lines = original.lines.of(name)
        text = "\n".join(lines)
        if name != place.path and len(lines) >= place.end and not any(w in text for w in said):
            return _cited_instead(original, cited, Place(name, place.start, place.end))
    return None


def _next_definition(original: Original, cited: Cited) -> Wrong | None:
    """The range moved to the next definition that is as long and lacks some of what is said."""
    place, lines = cited.place, original.lines.of(cited.place.path)
    size, before = place.end - place.start, words_of(original.shown(place)) & original.words(cited)
    first = next((one for one in lines[place.start - 1 : place.end] if one.strip()), "")
    known = [one.place for one in citations(original.text) if one.place.path == place.path]
    for one in definitions(lines):
        moved = Place(place.path, one.start, one.start + size)
        is_later = one.start > place.end and one.indent <= indentation(first)
        if not is_later or moved.end > one.end or any(_overlap(moved, other) for other in known):
            continue
        if not before <= words_of(original.shown(moved)):
            return _cited_instead(original, cited, moved)
    return None


def _other_value(original: Original, cited: Cited) -> Wrong | None:
    """A number or a string in the code of the sentence changed beyond recognition."""
    for piece, value in _found(original, cited, _VALUE):
        old = value[0]
        is_number = old[0].isdigit()
        new = str(int(float(old)) * 3 + 41) if is_number else f"{old[0]}zq_{old[-2:0:-1]}{old[-1]}"
        places = tuple(original.beside(cited))
        return Wrong(_with(original.text, piece.begin + value.start(), old, new), places)
    return None


def _stale_value(original: Original, cited: Cited) -> Wrong | None:
    """A number that the lines show raised by one, or a truth value turned into its opposite."""
    places = original.beside(cited)
    shown = original.shown(*places)
    for piece, value in _found(original, cited, _NUMBER):
        old = value[0]
        new = _OPPOSITE.get(old) or _raised(old)
        code = _with(piece.text, value.start(), old, new)
        if _stands(old, shown) and code not in shown:
            text = _with(original.text, piece.begin + value.start(), old, new)
            return Wrong(text, tuple(places))
    return None


def _other_name(original: Original, cited: Cited) -> Wrong | None:
    """A name that the lines show swapped for one that is defined elsewhere in the file."""
    shown = words_of(original.shown(cited.place))
    taken = words_of(original.shown(*original.beside(cited))) | words_of(original.text)
    place = cited.place
    defined = definitions(original.lines.of(place.path))
    # Those behind the lines come first.
    names = [one.name for one in sorted(defined, key=lambda one: one.start <= place.end)]
    new = next((one for one in names if _TELLING.fullmatch(one) and one not in taken), None)
    for piece in reversed(list(code_in(original.text, clause_around(original.text, cited)))):
        name = _NAME.fullmatch(piece.text)
        if name and name["name"] in shown and new is not None:
            at = piece.begin + name.start("name")
            return Wrong(_with(original.text, at, name["name"], new), (place,))
    return None


def _negated(original: Original, cited: Cited) -> Wrong | None:
    """The first verb of the clause denied."""
    begin, end = clause_around(original.text, cited)
    first, last = original.sentence(cited)
    verb = _VERB.search(masked(original.text[first:last]), begin - first, end - first)
    if verb is None:
        return None
    return Wrong(_with(original.text, first + verb.end(), "", " not"), (cited.place,))


# In the order of the tables.
KINDS: Mapping[str, Maker] = {
    "lines": _other_lines,
    "value": _other_value,
    "file": _other_file,
    "next definition": _next_definition,
    "name": _other_name,
    "stale value": _stale_value,
    "negation": _negated,
}
# Their bars were set with citations picked before it was known whether they can be made wrong.
BARRED = ("lines", "value", "file")


def _cited_instead(original: Original, cited: Cited, place: Place) -> Wrong:
    text = f"{original.text[: cited.begin]}{written(place)}{original.text[cited.end :]}"
    return Wrong(text, (place,))


def _found(
    original: Original, cited: Cited, pattern: re.Pattern[str]
) -> Iterator[tuple[Piece, re.Match[str]]]:
    """Where a pattern first stands in each piece of code of the sentence."""
    for piece in code_in(original.text, original.sentence(cited)):
        if match := pattern.search(piece.text):
            yield piece, match


def _with(text: str, at: int, old: str, new: str) -> str:
    return f"{text[:at]}{new}{text[at + len(old) :]}"


def _raised(number: str) -> str:
    whole, point, rest = number.partition(".")
    return f"{int(whole) + 1}{point}{rest}"


def _stands(value: str, shown: str) -> bool:
    """Whether a value stands in lines, and not within a longer word or number."""
    return re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", shown) is not None


def _overlap(one: Place, other: Place) -> bool:
    return one.start <= other.end and other.start <= one.end


@cache
def _named_like(tree: Path, suffix: str) -> Sequence[str]:
    """The files of a tree that end so; trees stay as they were exported."""
    names = (file.relative_to(tree).as_posix() for file in tree.rglob(f"*{suffix}"))
    return [name for name in names if not name.startswith(".git/")]
