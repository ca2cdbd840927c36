"""Which values, settings and quotations of a sentence stand at none of its places.

A value, a constant with its value and a definition must stand there as they are said: an answer
that is stale differs from a true one in nothing else. A call with its arguments is often an
example, and a long text often has something filled in, so these are held to less.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from live_memory.core.checking.claims import LITERAL, Piece, PieceKind
from live_memory.core.checking.shown import Lines, as_broken, as_code, words_in
from live_memory.core.evidence.words import words_of

__all__ = ["are_set", "are_there", "is_quoted", "is_text", "missing_pieces"]

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


def missing_pieces(pieces: Sequence[Piece], shown: Sequence[Lines]) -> Sequence[Piece]:
    """Those values, settings and quotations that stand at none of the places shown."""
    said = {piece.value or piece.text for piece in pieces}
    return [piece for piece in pieces if not _stands(piece, shown, said)]


def are_there(pieces: Iterable[Piece], lines: Lines) -> bool:
    """Whether all values and quotations stand on the lines as they are; nothing is an example."""
    return all(
        is_quoted(piece.text, (lines,))
        if piece.kind is PieceKind.QUOTE
        else _has(piece.text, lines.text, lines.words)
        for piece in pieces
        if piece.kind in (PieceKind.QUOTE, PieceKind.VALUE)
    )


def are_set(settings: Iterable[tuple[str, str]], lines: Lines) -> bool:
    """Whether a line gives each name its value."""
    return all(any(_sets(line, *setting) for line in lines.text) for setting in settings)


def _stands(piece: Piece, shown: Sequence[Lines], said: set[str]) -> bool:
    if piece.is_denied:
        return True
    match piece.kind:
        case PieceKind.NAME:
            return True
        case PieceKind.VALUE:
            return any(_has(piece.text, lines.text, lines.words) for lines in shown)
        case PieceKind.SETTING:
            return _is_set(piece, shown, said)
        case PieceKind.QUOTE:
            return is_quoted(piece.text, shown) or _is_example(piece.text, shown)


def is_quoted(code: str, shown: Iterable[Lines]) -> bool:
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


def _is_set(piece: Piece, shown: Sequence[Lines], said: set[str]) -> bool:
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


def _values_of(name: str, shown: Sequence[Lines]) -> Iterator[str]:
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


def _is_example(code: str, shown: Sequence[Lines]) -> bool:
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


def _is_call_like(code: str, name: str, literals: Sequence[str], shown: Sequence[Lines]) -> bool:
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
