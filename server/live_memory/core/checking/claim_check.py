"""Whether lines hold something telling of what is said to stand there.

What is nearest to a place counts first. Lines hold it where its code stands on them, or where they
are as like it as other lines of their file. Where it says too little to be looked for, the rest
of the sentence counts, and at last the whole text.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from keyword import kwlist
from math import log
from typing import Self

from live_memory.core.checking.claims import (
    LITERAL,
    ClaimPiece,
    ClaimPieceKind,
    Sentence,
    pieces_of,
)
from live_memory.core.evidence.places import Definition, DefinitionKind
from live_memory.core.evidence.question import is_plain
from live_memory.core.evidence.words import base_name, tokens_of_word, vocabulary, words_of
from live_memory.core.values import RelPath

__all__ = [
    "LineRange",
    "SourceFile",
    "Statement",
    "are_set",
    "are_there",
    "holds",
    "is_text",
    "missing_pieces",
    "only_place",
]

_CODE_WORD = re.compile(r"0[xXbBoO]\w+|[A-Za-z_$][\w$]*|\d[\d_.]*\d|\d")
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
    def singles(self) -> "Sequence[LineRange]":
        """Each line alone."""
        return [LineRange(self, n, n) for n in range(1, len(self.lines) + 1)]

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
class LineRange:
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

    def is_within(self, other: "LineRange") -> bool:
        """Whether they are there and others hold them all."""
        same = self.file is other.file and self.is_there
        return same and other.start <= self.start and self.end <= other.end

    def is_beside(self, other: "LineRange") -> bool:
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
    return {word for line in lines for word in _CODE_WORD.findall(line)}


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


_ELISION = re.compile(r"\.\.\.|…")
_LITERALS = re.compile(rf"(?<![\w.])[bBrRuUfF]{{0,2}}(?:{LITERAL})(?![\w.])")
_WHOLE_LITERAL = re.compile(LITERAL)
_TRUTH = frozenset({"True", "False", "None", "true", "false", "null", "nil", "undefined"})
_DEFINES = re.compile(
    r"(?:(?:async|export|pub|public|private|static|default|abstract|final)\s+)*"
    r"(?:def|class|function|fn|func|interface|struct|enum|trait|type|module)\s"
)
_CALL = re.compile(r"[^\s(\[]*?(?<![\w$])(?P<name>[\w$]++)[!?]?[(\[].*[)\]][^\w(\[)\]]*+")
_GIVEN = re.compile(rf"(?P<name>\b[A-Za-z_]\w*)\s*=\s*(?P<value>{LITERAL}|\w+)")
_PLAIN_PAIR = re.compile(r"\b[A-Za-z]?[a-z]+ (?=[a-z]+\b)")
# Of a text that long a fifth of the words may be filled in when the program runs.
_LONG, _SHARE = 5, 0.8
# What has no more words than this may be an expression of the writer's own.
_SHORT = 3


def missing_pieces(
    pieces: Sequence[ClaimPiece], shown: Sequence[LineRange]
) -> Sequence[ClaimPiece]:
    """Those values, settings and quotations that stand at none of the places shown.

    A value, a constant with its value and a definition must stand there as they are said: an answer
    that is stale differs from a true one in nothing else. A call with its arguments is often an
    example, and a long text often has something filled in, so these are held to less.
    """
    said = {piece.value or piece.text for piece in pieces}
    return [piece for piece in pieces if not _stands(piece, shown, said)]


def are_there(pieces: Iterable[ClaimPiece], lines: LineRange) -> bool:
    """Whether all values and quotations stand on the lines as they are; nothing is an example."""
    return all(
        is_quoted(piece.text, (lines,))
        if piece.kind is ClaimPieceKind.QUOTE
        else _has(piece.text, lines.text, lines.words)
        for piece in pieces
        if piece.kind in (ClaimPieceKind.QUOTE, ClaimPieceKind.VALUE)
    )


def are_set(settings: Iterable[tuple[str, str]], lines: LineRange) -> bool:
    """Whether a line gives each name its value."""
    return all(any(_sets(line, *setting) for line in lines.text) for setting in settings)


def _stands(piece: ClaimPiece, shown: Sequence[LineRange], said: set[str]) -> bool:
    if piece.is_denied:
        return True
    match piece.kind:
        case ClaimPieceKind.NAME:
            return True
        case ClaimPieceKind.VALUE:
            return any(_has(piece.text, lines.text, lines.words) for lines in shown)
        case ClaimPieceKind.SETTING:
            return _is_set(piece, shown, said)
        case ClaimPieceKind.QUOTE:
            return is_quoted(piece.text, shown) or _is_example(piece.text, shown)


def is_quoted(code: str, shown: Iterable[LineRange]) -> bool:
    """Whether one of the places holds the code but for its format, or its parts around `...`."""
    parts = [part for part in _ELISION.split(code) if part.strip()]
    whole, broken = [as_code(part) for part in parts], [as_broken(part) for part in parts]
    return any(
        all(part in lines.code for part in whole) or all(part in lines.broken for part in broken)
        for lines in shown
    )


def is_text(code: str) -> bool:
    """Whether it is words rather than code: a message, or a sentence of a comment."""
    words = words_of(code)
    return (
        not _DEFINES.match(code)
        and len(words) >= _LONG
        and 2 * len(_PLAIN_PAIR.findall(code)) >= len(words) - 1
    )


def _has(literal: str, text: Sequence[str], words: Collection[str]) -> bool:
    bare = literal.strip("\"'")
    if bare != literal:
        return bare in words or any(bare in line for line in text)
    number = bare.lstrip("-")
    return number in words or number.replace("_", "") in {word.replace("_", "") for word in words}


def _is_set(piece: ClaimPiece, shown: Sequence[LineRange], said: set[str]) -> bool:
    name, value = piece.text, piece.value
    if any(_sets(line, name, value) for lines in shown for line in lines.text):
        return True
    if is_quoted(f"{name}={value}", shown):
        return True
    if not (_WHOLE_LITERAL.fullmatch(value) or value in _TRUTH):
        # `[]` stands anywhere, and `[...]` says nothing; an expression may be broken over lines.
        words = len(words_of(value))
        return is_quoted(value, shown) if words > 1 else not words and bool(_ELISION.search(value))
    if set(_values_of(name, shown)) - said:
        return False
    if value in _TRUTH:  # often a condition, and no statement of what is there
        return True
    return piece.is_argument and any(
        _has(value, lines.file.lines, lines.file.words) for lines in shown
    )


def _values_of(name: str, shown: Sequence[LineRange]) -> Iterator[str]:
    """The literals that the places give a name."""
    gives = re.compile(
        rf"(?<![\w.]){re.escape(name)}[\"']?(?:\s*:[^=,]{{1,40}})?\s*[:=]\s*({LITERAL}|\w+)(?=\s*(?:[,;)}}#]|$))"
    )
    for lines in shown:
        for line in lines.text:
            for found in gives.finditer(line):
                if found[1] in _TRUTH or _WHOLE_LITERAL.fullmatch(found[1]):
                    yield found[1]


def _sets(line: str, name: str, value: str) -> bool:
    """Whether the line gives the name this value, and not one that only begins or ends so."""
    return name in words_in((line,)) and as_code(value) in as_code(line)


def _is_example(code: str, shown: Sequence[LineRange]) -> bool:
    """Whether code that stands nowhere is an example, or a text that is filled in."""
    if _DEFINES.match(code):
        return False
    literals = [found.group() for found in _LITERALS.finditer(code)]
    call = _CALL.fullmatch(code)
    if call:
        return _is_call_like(code, call["name"], literals, shown)
    words = words_of(code)
    if len(words) <= _SHORT:
        return not literals
    wanted = len(words) * (_SHARE if is_text(code) else 1)
    return any(_in_order(words, words_of("\n".join(lines.text))) >= wanted for lines in shown)


def _is_call_like(
    code: str, name: str, literals: Sequence[str], shown: Sequence[LineRange]
) -> bool:
    """Whether a call may be of this file, and contradicts none that the places show."""
    for argument in _GIVEN.finditer(code):
        others = set(_values_of(argument["name"], shown))
        if others and argument["value"] not in others:
            return False
    calls = [lines for lines in shown if name in lines.words]
    if calls:
        return all(any(_has(each, lines.text, lines.words) for lines in calls) for each in literals)
    return any(name in lines.file.words for lines in shown) and all(
        any(_has(each, lines.file.lines, lines.file.words) for lines in shown) for each in literals
    )


def _in_order(wanted: Sequence[str], there: Sequence[str]) -> int:
    """How many of the words are there in this order."""
    at = found = 0
    for word in wanted:
        try:
            at = there.index(word, at) + 1
        except ValueError:
            continue
        found += 1
    return found


# Of what is said, so much of its worth stands together somewhere in the file: enough to look for
# it there, and hardly enough. Chosen like all of these on 112 answers (ADR 16); none
# of them matters within a fifth.
_PRESENT, _HARDLY_PRESENT = 0.25, 0.15
# How much lines hold of it against the most that as many lines of the file do.
_SOMEWHAT, _HALF, _MOSTLY = 0.2, 0.5, 0.85
# Fewer words are a pointer and no claim; a name on more lines tells nothing of one of them.
_FEW, _SELDOM = 3, 30

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"(?<![\w.])(?:\d++\.\d++|\d{2,}+)(?![\w.]*\w)")
_SAY_LITTLE = frozenset(
    {word.lower() for word in kwlist} | {"self", "this", "cls", "null", "nil", "undefined", "void"}
)


@dataclass(frozen=True)
class Statement:
    """Some words, and the pieces of code among them."""

    text: str
    pieces: tuple[ClaimPiece, ...]
    offset: int = 0

    @classmethod
    def by(cls, text: str) -> Self:
        """All that a text says."""
        return cls(text, pieces_of(text))

    @classmethod
    def of(cls, sentence: Sentence, span: tuple[int, int] | None = None) -> Self:
        """What a sentence says, or a part of it."""
        start, end = span or (0, len(sentence.text))
        first = bisect_left(sentence.pieces, start, key=_offset)
        pieces = sentence.pieces[first : bisect_left(sentence.pieces, end, key=_offset)]
        return cls(sentence.text[start:end], pieces, start)

    def without(self, name: Set[str]) -> "Statement":
        """What is said but for a file's name."""
        known = self._without.get(frozenset(name))
        if known is None:
            kept = tuple(p for p in self.pieces if not set(words_of(p.text)) <= name)
            text = _WORD.sub(lambda word: "" if word[0] in name else word[0], self.text)
            known = self._without[frozenset(name)] = Statement(text, kept)
        return known

    @cached_property
    def _without(self) -> dict[frozenset[str], "Statement"]:
        """What is worked out for one place of a text serves for its others."""
        return {}

    @cached_property
    def nearest(self) -> "Statement":
        """What stands behind the last semicolon or colon."""
        at = max(self.text.rfind("; "), self.text.rfind(": ")) + 1
        return Statement(
            self.text[at:], tuple(p for p in self.pieces if p.offset - self.offset >= at)
        )

    @cached_property
    def telling(self) -> tuple[ClaimPiece, ...]:
        """The pieces that do not stand everywhere."""
        return tuple(piece for piece in self.pieces if _is_telling(piece))

    @cached_property
    def names(self) -> frozenset[str]:
        """What the telling pieces name."""
        return frozenset(piece.text for piece in self.telling)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Its numbers that are no counts."""
        return frozenset(_NUMBER.findall(self.text))

    @cached_property
    def tokens(self) -> frozenset[str]:
        """Its content words and their parts, cut to what code may call the same."""
        words = (w for w in words_of(self.text) if len(w) > 2 and not is_plain(w))
        return frozenset(token for word in words for token in tokens_of_word(word))


def holds(lines: LineRange, said: Sequence[Statement]) -> bool:
    """Whether lines hold what is said before the place, behind it, in the sentence, in the text."""
    if any(_shows(lines, one) for one in (said[0], said[0].nearest, said[1]) if one.tokens):
        return True
    before, _, sentence, text = (one.without(lines.file.name) for one in said)
    if _is_on(sentence, lines) and lines.likeness(sentence.tokens)[0] >= _SOMEWHAT:
        return True
    if sentence.telling and sentence.names.isdisjoint(lines.file.words):
        return False
    like_text, _ = lines.likeness(text.tokens)
    # One line alone is like a whole text by chance.
    if like_text >= _MOSTLY and lines.end > lines.start:
        return True
    like, present = lines.likeness(before.tokens)
    if _stands_elsewhere(before, lines) or (present >= _PRESENT and len(before.tokens) > _FEW):
        return False
    is_of_text = _is_on(text, lines) or not lines.inner.isdisjoint(text.names)
    return like >= _MOSTLY or like_text >= (_SOMEWHAT if is_of_text else _HALF)


def _shows(lines: LineRange, said: Statement) -> bool:
    """Whether its code stands on the lines, or they are as like it as others of their file."""
    is_on = _is_on(said, lines)
    said = said.without(lines.file.name)
    like, present = lines.likeness(said.tokens)
    if is_on and (like >= _SOMEWHAT or len(said.tokens) < _FEW):
        return True
    scopes = {word for d in lines.around for word in words_of(d.name)}
    if not lines.inner.isdisjoint(said.names) and said.names <= scopes:
        return True
    if present >= _HARDLY_PRESENT and like >= _MOSTLY:
        return True
    return present >= _PRESENT and like >= _SOMEWHAT and not _stands_elsewhere(said, lines)


def _stands_elsewhere(said: Statement, lines: LineRange) -> bool:
    """Whether a name that is said stands on few lines of the file, and on none of these."""
    return any(0 < len(lines.file.words.get(name, ())) <= _SELDOM for name in said.names)


def only_place(pieces: Sequence[ClaimPiece], file: SourceFile) -> LineRange | None:
    """The line of the most telling piece, where it stands on one line of the file and no other.

    That is a quotation, else a setting, else the name on the fewest lines, with the values that
    are said of it.
    """
    quotes = [p.text for p in pieces if p.kind is ClaimPieceKind.QUOTE]
    found = [[line for line in file.singles if is_quoted(quote, (line,))] for quote in quotes]
    if not any(found):
        kinds = {p.kind for p in pieces} & {ClaimPieceKind.SETTING} or {ClaimPieceKind.NAME}
        names = {p.text for p in pieces if p.kind in kinds}
        values = [p for p in pieces if p.kind is ClaimPieceKind.VALUE]
        on = ([file.singles[n - 1] for n in file.words.get(name, ())] for name in names)
        found = [[line for line in each if not missing_pieces(values, (line,))] for each in on]
    best = min(filter(None, found), key=len, default=[])
    return best[0] if len(best) == 1 else None


def _is_on(said: Statement, lines: LineRange) -> bool:
    return not said.numbers.isdisjoint(lines.words) or any(
        is_quoted(piece.text, (lines,))
        if piece.kind is ClaimPieceKind.QUOTE
        else piece.text.strip("\"'") in lines.words
        for piece in said.telling
    )


def _offset(piece: ClaimPiece) -> int:
    return piece.offset


def _is_telling(piece: ClaimPiece) -> bool:
    bare = piece.text.strip("\"'")
    least = 2 if piece.kind is ClaimPieceKind.VALUE else 3
    return len(bare) >= least and bare.lower() not in _SAY_LITTLE
