"""What becomes of the places of conclusions: other words, other lines, or no file."""

import codecs
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.conclusions.claims import Claim, Told
from bench.scores import Place

__all__ = ["CHANGES", "deleted", "edited", "moved"]

Change = Callable[[Path, Sequence[Told]], None]

_WORD = re.compile(r"[A-Za-z_]\w{2,}|\d+")
_HASH = frozenset({".cfg", ".pl", ".py", ".pyi", ".pyx", ".rb", ".sh", ".toml", ".yaml", ".yml"})
_LINES = 20
_DIGITS = str.maketrans("0123456789", "1234567890")


def edited(tree: Path, rows: Sequence[Told]) -> None:
    """Other names and values in the cited lines: of every second row all, of the others one.

    The one is, if there is such, one that the sentence names.
    """
    whole = {place for row in rows[::2] for place in row.places}
    done = {(place.path, n) for place in whole for n in range(place.start, place.end + 1)}
    for path in dict.fromkeys(place.path for row in rows for place in row.places):
        text = _read(tree / path).split("\n")
        for number, line in enumerate(text, 1):
            if (path, number) in done:
                text[number - 1] = _WORD.sub(lambda found: _other(found[0]), line)
        for claim in (claim for row in rows[1::2] for claim in row.claims):
            for place in claim.places:
                if place.path == path:
                    _edit_one(text, place, claim, done)
        _write(tree / path, "\n".join(text))


def moved(tree: Path, rows: Sequence[Told]) -> None:
    """Twenty lines of remarks at the head of every cited file."""
    for path in dict.fromkeys(place.path for row in rows for place in row.places):
        mark = "#" if Path(path).suffix in _HASH else "//"
        remarks = "".join(f"{mark} Remark {n} of {_LINES}.\n" for n in range(1, _LINES + 1))
        text = _read(tree / path)
        first, newline, rest = text.partition("\n")
        starts = f"{first}{newline}{remarks}{rest}" if first.startswith("#!") else remarks + text
        _write(tree / path, starts)


def deleted(tree: Path, rows: Sequence[Told]) -> None:
    """Every cited file is gone."""
    for path in dict.fromkeys(place.path for row in rows for place in row.places):
        (tree / path).unlink()


CHANGES: Mapping[str, Change] = {"edited": edited, "moved": moved, "deleted": deleted}


def _edit_one(text: list[str], place: Place, claim: Claim, done: set[tuple[str, int]]) -> None:
    numbers = range(place.start, place.end + 1)
    # Changed twice, a word would be as it was.
    if any((place.path, number) in done for number in numbers):
        return
    words = [
        (n, found) for n in numbers for found in _WORD.finditer(text[n - 1]) if _is_name(found[0])
    ]
    named = set(_WORD.findall(claim.text))
    words.sort(key=lambda one: one[1][0] not in named)
    for number, found in words[:1]:
        done.add((place.path, number))
        line = text[number - 1]
        text[number - 1] = line[: found.start()] + _other(found[0]) + line[found.end() :]


def _other(word: str) -> str:
    """Another word of the same length, the same each time."""
    return codecs.encode(word, "rot13").translate(_DIGITS) if _is_name(word) else word


def _is_name(word: str) -> bool:
    return not keyword.iskeyword(word)


def _read(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "surrogateescape")


def _write(file: Path, text: str) -> None:
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
