"""Whether lines hold something telling of what is said to stand there.

What is nearest to a place counts first. Lines hold it where its code stands on them, or where they
are as like it as other lines of their file. Where it says too little to be looked for, the rest
of the sentence counts, and at last the whole text.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from keyword import kwlist
from typing import Self

from live_memory.core.checking.claims import Piece, PieceKind, Sentence, pieces_of
from live_memory.core.checking.shown import Lines, SourceFile
from live_memory.core.checking.stating import is_quoted, missing_pieces
from live_memory.core.evidence.question import is_plain
from live_memory.core.evidence.words import tokens_of_word, words_of

__all__ = ["Said", "holds", "only_place"]

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
class Said:
    """Some words, and the pieces of code among them."""

    text: str
    pieces: tuple[Piece, ...]
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

    def without(self, name: Set[str]) -> "Said":
        """What is said but for a file's name."""
        known = self._without.get(frozenset(name))
        if known is None:
            kept = tuple(p for p in self.pieces if not set(words_of(p.text)) <= name)
            text = _WORD.sub(lambda word: "" if word[0] in name else word[0], self.text)
            known = self._without[frozenset(name)] = Said(text, kept)
        return known

    @cached_property
    def _without(self) -> dict[frozenset[str], "Said"]:
        """What is worked out for one place of a text serves for its others."""
        return {}

    @cached_property
    def nearest(self) -> "Said":
        """What stands behind the last semicolon or colon."""
        at = max(self.text.rfind("; "), self.text.rfind(": ")) + 1
        return Said(self.text[at:], tuple(p for p in self.pieces if p.offset - self.offset >= at))

    @cached_property
    def telling(self) -> tuple[Piece, ...]:
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


def holds(lines: Lines, said: Sequence[Said]) -> bool:
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


def _shows(lines: Lines, said: Said) -> bool:
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


def _stands_elsewhere(said: Said, lines: Lines) -> bool:
    """Whether a name that is said stands on few lines of the file, and on none of these."""
    return any(0 < len(lines.file.words.get(name, ())) <= _SELDOM for name in said.names)


def only_place(pieces: Sequence[Piece], file: SourceFile) -> Lines | None:
    """The line of the most telling piece, where it stands on one line of the file and no other.

    That is a quotation, else a setting, else the name on the fewest lines, with the values that
    are said of it.
    """
    quotes = [p.text for p in pieces if p.kind is PieceKind.QUOTE]
    found = [[line for line in file.singles if is_quoted(quote, (line,))] for quote in quotes]
    if not any(found):
        kinds = {p.kind for p in pieces} & {PieceKind.SETTING} or {PieceKind.NAME}
        names = {p.text for p in pieces if p.kind in kinds}
        values = [p for p in pieces if p.kind is PieceKind.VALUE]
        on = ([file.singles[n - 1] for n in file.words.get(name, ())] for name in names)
        found = [[line for line in each if not missing_pieces(values, (line,))] for each in on]
    best = min(filter(None, found), key=len, default=[])
    return best[0] if len(best) == 1 else None


def _is_on(said: Said, lines: Lines) -> bool:
    return not said.numbers.isdisjoint(lines.words) or any(
        is_quoted(piece.text, (lines,))
        if piece.kind is PieceKind.QUOTE
        else piece.text.strip("\"'") in lines.words
        for piece in said.telling
    )


def _offset(piece: Piece) -> int:
    return piece.offset


def _is_telling(piece: Piece) -> bool:
    bare = piece.text.strip("\"'")
    least = 2 if piece.kind is PieceKind.VALUE else 3
    return len(bare) >= least and bare.lower() not in _SAY_LITTLE
