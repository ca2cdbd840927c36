"""What lines of a file show: their words, their code, and the definitions in which they lie."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import log

from live_memory.core.evidence.places import Definition, DefinitionKind
from live_memory.core.evidence.words import base_name, vocabulary, words_of
from live_memory.core.values import RelPath

__all__ = ["Lines", "SourceFile", "as_broken", "as_code", "words_in"]

_WORD = re.compile(r"0[xXbBoO]\w+|[A-Za-z_$][\w$]*|\d[\d_.]*\d|\d")
_TOKEN = re.compile(r"(?<![\w\"'])[rRbBuUfF]{1,2}[\"']|\d[\w.]*\w|\w+|[^\w\s]")
_COMMENT = re.compile(r"^[^\S\n]*+(?:#++|//[/!]?|\*|--|;++)(?=\s)", re.MULTILINE)
# A string that goes on in the next, as compilers join them: `"a " f"b"`.
_JOINED = re.compile(r" \" \w{0,2}\" ")
_CLOSES = frozenset(")]}")
_SCOPES = (DefinitionKind.FUNCTION, DefinitionKind.METHOD, DefinitionKind.CLASS)


@dataclass(frozen=True)
class SourceFile:
    """The current lines of a file, with the definitions that are in it where they are known."""

    path: RelPath
    lines: Sequence[str]
    outline: Sequence[Definition] = ()

    @cached_property
    def name(self) -> set[str]:
        """The words of its path: to name the file says nothing of its lines."""
        return {*words_of(self.path.text), *vocabulary(self.path.text)}

    @cached_property
    def words(self) -> Mapping[str, Sequence[int]]:
        """All its identifiers and numbers, with the lines, from 1, on which they stand."""
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self.lines, 1):
            for word in words_in((line,)):
                found.setdefault(word, []).append(number)
        return found

    @cached_property
    def singles(self) -> "Sequence[Lines]":
        """Each line alone."""
        return [Lines(self, n, n) for n in range(1, len(self.lines) + 1)]

    @cached_property
    def where(self) -> Mapping[str, Sequence[int]]:
        """The lines, from 1, on which each token of its vocabulary stands."""
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self.lines, 1):
            for token in vocabulary(line):
                found.setdefault(token, []).append(number)
        return found

    def worth(self, token: str) -> float:
        """How much a token tells here: the rarer the more."""
        return log((len(self.lines) + 1) / (len(self.where.get(token, ())) + 0.5))

    @cached_property
    def _known(self) -> dict[tuple[frozenset[str], int], float]:
        """What was worked out for one place of a text serves for its others."""
        return {}

    def whole(self, tokens: frozenset[str]) -> float:
        """The worth of all the tokens."""
        if (tokens, 0) not in self._known:
            self._known[tokens, 0] = sum(map(self.worth, tokens))
        return self._known[tokens, 0]

    def best(self, tokens: frozenset[str], size: int) -> float:
        """The most that any so many lines of it hold of the tokens, by their worth."""
        if (tokens, size) not in self._known:
            self._known[tokens, size] = self._best(tokens, size)
        return self._known[tokens, size]

    def _best(self, tokens: frozenset[str], size: int) -> float:
        worth = {token: self.worth(token) for token in tokens}
        hits = sorted((n, token) for token in tokens for n in self.where.get(token, ()))
        held: Counter[str] = Counter()
        best = total = 0.0
        first = 0
        for number, token in hits:
            while hits[first][0] <= number - size:
                held[hits[first][1]] -= 1
                total -= worth[hits[first][1]] if not held[hits[first][1]] else 0.0
                first += 1
            total += worth[token] if not held[token] else 0.0
            held[token] += 1
            best = max(best, total)
        return best

    def around(self, start: int, end: int) -> Sequence[Definition]:
        """The definitions in which lines from `start` to `end` lie, the innermost first."""
        found = (d for d in self.outline if d.place.start <= start and end <= d.place.end)
        return sorted(
            (d for d in found if d.kind in _SCOPES), key=lambda d: d.place.end - d.place.start
        )


@dataclass(frozen=True)
class Lines:
    """Lines from `start` to `end` of a file; of those beyond its end there are none."""

    file: SourceFile
    start: int
    end: int

    @cached_property
    def text(self) -> Sequence[str]:
        """The lines as they are."""
        return self.file.lines[self.start - 1 : self.end]

    @cached_property
    def is_there(self) -> bool:
        """Whether all of them exist and one says something."""
        return self.end <= len(self.file.lines) and any(line.strip() for line in self.text)

    def is_within(self, other: "Lines") -> bool:
        """Whether they are there and others hold them all."""
        same = self.file is other.file and self.is_there
        return same and other.start <= self.start and self.end <= other.end

    def is_beside(self, other: "Lines") -> bool:
        """Whether they are there and lie in the same definition as others."""
        return self.file is other.file and self.is_there and bool(self.inner & other.inner)

    @cached_property
    def words(self) -> set[str]:
        """The identifiers and numbers on them."""
        return words_in(self.text)

    @cached_property
    def vocabulary(self) -> set[str]:
        """The tokens of all words on them, and of the name of the definition in which they lie."""
        return vocabulary(" ".join((*self.text, *self.inner)))

    @cached_property
    def inner(self) -> frozenset[str]:
        """The name of the innermost definition in which they lie, if they lie in one."""
        return frozenset(base_name(d.name) for d in self.around[:1])

    def likeness(self, tokens: frozenset[str]) -> tuple[float, float]:
        """What they hold of the tokens, against the most that as many lines of the file hold.

        And that most against all of the tokens; both are 0 to 1.
        """
        whole = self.file.whole(tokens)
        best = self.file.best(tokens, self.end - self.start + 1)
        here = sum(map(self.file.worth, tokens & self.vocabulary))
        return (min(1.0, here / best), best / whole) if best else (0.0, 0.0)

    @cached_property
    def code(self) -> str:
        """All of them, as `as_code` writes code."""
        return as_code("\n".join(self.text))

    @cached_property
    def broken(self) -> str:
        """All of them, as `as_broken` writes code."""
        return as_broken("\n".join(self.text))

    @cached_property
    def around(self) -> Sequence[Definition]:
        """The definitions in which they lie, the innermost first."""
        return self.file.around(self.start, min(self.end, len(self.file.lines)))


def words_in(lines: Iterable[str]) -> set[str]:
    """The identifiers and numbers on lines."""
    return {word for line in lines for word in _WORD.findall(line)}


def as_code(text: str) -> str:
    """The tokens of code with a blank around each, so that code is part of other code or is not.

    Blanks, the kind of quotation marks, and a last comma or colon make no difference.
    """
    tokens = _TOKEN.findall(text.replace("'", '"').rstrip(" :;,"))
    behind = chain(tokens[1:], [""])
    kept = (t for t, n in zip(tokens, behind, strict=False) if t != "," or n not in _CLOSES)
    return f" {' '.join(kept)} "


def as_broken(text: str) -> str:
    """The tokens of a text that is broken over lines, without comment marks and string seams."""
    return _JOINED.sub(" ", as_code(_COMMENT.sub("", text)))
