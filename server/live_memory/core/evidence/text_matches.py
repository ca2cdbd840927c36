"""Which texts tell the files that a question is about, and which of those files come first.

For files of which nothing is known but their names and how often each holds these texts.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.evidence.outline import is_code
from live_memory.core.evidence.question import is_plain, joined_forms, terms_of
from live_memory.core.evidence.words import identifiers, is_compound, stem, unique, words_of
from live_memory.core.reading.observation import ListedFile
from live_memory.core.values import RelPath

__all__ = [
    "Mentions",
    "best_first",
    "leading",
    "likely_first",
    "nearly_as_good",
    "portions",
    "telling",
    "texts_of",
]

# A pasted log names hundreds of things; these many are looked for at once.
_MOST_TEXTS = 24
_SHORTEST = 3
# What stands in every fourth file tells nothing of where to look.
_EVERYWHERE = 0.25
# A name in a path says as much as a file full of it.
_IN_PATH = 8
# As BM25 has it: what is said often in a short file is what the file is about.
_SATURATION, _BY_LENGTH = 1.2, 0.75
_NEARLY = 0.5
# Manuals say all words of a question, often in ten languages, and seldom what the code does.
_PROSE = 0.6


@dataclass(frozen=True, slots=True)
class Mentions:
    """How often each file holds each text; `is_cut` where not all of the files were looked at."""

    counts: Mapping[RelPath, Mapping[str, int]]
    is_cut: bool = False


def texts_of(question: str) -> Sequence[str]:
    """What to look for in lower case: names as they are written, other words by their stems."""
    names = [text for name in terms_of(question).names for text in _parts(name)]
    words = [_text(word) for word in words_of(question) if not is_plain(word)]
    found = unique([*names, *joined_forms(question), *words])
    return [text for text in found if len(text) >= _SHORTEST][:_MOST_TEXTS]


def telling(texts: Sequence[str], sample: Mentions, *, size: int) -> Sequence[str]:
    """Leave out what many of so many files hold, unless that leaves nothing: then the rarest."""
    held = {text: sum(text in counts for counts in sample.counts.values()) for text in texts}
    rare = [text for text in texts if held[text] <= _EVERYWHERE * size]
    return rare or sorted(texts, key=held.__getitem__)[:1]


def likely_first(files: Sequence[ListedFile], texts: Sequence[str]) -> Sequence[ListedFile]:
    """The order to look in where there may be no time for all: named so, programs, the rest."""

    def order(file: ListedFile) -> tuple[bool, bool]:
        lower = file.path.text.lower()
        return not any(text in lower for text in texts), not is_code(file.path)

    return sorted(files, key=order)


def best_first(
    files: Sequence[ListedFile], texts: Sequence[str], found: Mentions
) -> Mapping[ListedFile, float]:
    """The files that hold any of these texts, or are called so, with what they are worth."""
    held = {file: counts for file in files if (counts := _held(file.path, texts, found))}
    spread = Counter(text for counts in held.values() for text in counts)
    worth = {text: math.log(1 + len(files) / spread[text]) for text in spread}
    usual = sum(file.signature.size for file in files) / len(files) if files else 1
    scores = {}
    for file, counts in held.items():
        enough = _SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * file.signature.size / (usual or 1))
        score = sum(worth[text] * n / (n + enough) for text, n in counts.items())
        scores[file] = score if is_code(file.path) else _PROSE * score
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))


def leading(
    files: Iterable[ListedFile], texts: Sequence[str], found: Mentions
) -> Sequence[ListedFile]:
    """For each text the first of these files that holds it, so that none is denied."""
    first: dict[str, ListedFile] = {}
    for file in files:
        for text in found.counts.get(file.path, ()):
            first.setdefault(text, file)
    return unique(first[text] for text in texts if text in first)


def nearly_as_good(scores: Mapping[ListedFile, float]) -> frozenset[ListedFile]:
    """The files that may be what is asked for as well as the best may."""
    least = _NEARLY * max(scores.values(), default=0)
    return frozenset(file for file, score in scores.items() if score >= least)


def _parts(name: str) -> Iterator[str]:
    """A dotted name, path or quoted text is seldom written the same way twice."""
    for text in identifiers(name):
        if is_compound(text) or not is_plain(text):
            yield text.lower()


def _text(word: str) -> str:
    lower = word.lower()
    if is_compound(word) or not word.isascii():
        return lower
    # `retri` is how `retry` and `retries` begin, and `retry` does not hold it.
    return stem(lower).removesuffix("i")


def _held(path: RelPath, texts: Sequence[str], found: Mentions) -> Mapping[str, int]:
    """How often a file holds each text; a name in its path counts too."""
    lower, counts = path.text.lower(), found.counts.get(path, {})
    named = {text: counts.get(text, 0) + _IN_PATH for text in texts if text in lower}
    return {**counts, **named} if named else counts


def portions(
    files: Sequence[ListedFile], *, most: int, most_bytes: int
) -> Iterator[Sequence[ListedFile]]:
    """So many files and bytes at a time, in order; one file at least."""
    portion: list[ListedFile] = []
    size = 0
    for file in files:
        if portion and (len(portion) == most or size + file.signature.size > most_bytes):
            yield portion
            portion, size = [], 0
        portion.append(file)
        size += file.signature.size
    if portion:
        yield portion
