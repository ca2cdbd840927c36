"""The one dialect of regular expressions, whatever engine searches.

Python's engine decides what matches, on text. For ripgrep an expression over bytes is derived
that finds at least every file Python would: zero-width assertions are dropped, a class of
characters takes any run of bytes outside ASCII, and a file that is not plainly UTF-8 is found
whatever it holds. So ripgrep can only narrow, never change, a result.
"""

import re
from dataclasses import dataclass

from live_memory.core.errors import InvalidRequest

__all__ = ["NOT_PLAIN_UTF8", "Expression", "compile_expression"]

_LONGEST = 1_000
_DEEPEST = 50
# Size of an expression with its counted repetitions written out; ripgrep's own limit lies higher.
_LARGEST = 2_000
_QUANTIFIER = re.compile(r"[*+?]|\{(\d{1,4})(?:(,)(\d{1,4})?)?\}")
# Python repeats, older engines take it literally.
_OPEN_COUNT = re.compile(r"\{,\d*\}")
_GROUP = re.compile(r"\((?:\?(?::|P?<[A-Za-z_]\w*>))?")
_OUTSIDE_ASCII = r"[\x80-\xff]+"
# A line that is not UTF-8, or holds a NUL: its file's encoding is found out by reading it.
NOT_PLAIN_UTF8 = "|".join(
    (
        r"[\x00\xc0\xc1\xf5-\xff]",
        r"(?:^|[\x00-\x7f])[\x80-\xbf]",
        r"[\xc2-\xf4](?:[^\x80-\xbf]|$)",
        r"[\xe0-\xf4][\x80-\xbf](?:[^\x80-\xbf]|$)",
        r"[\xf0-\xf4][\x80-\xbf]{2}(?:[^\x80-\xbf]|$)",
        r"[\xc2-\xdf][\x80-\xbf]{2}",
        r"[\xe0-\xef][\x80-\xbf]{3}",
        r"[\xf0-\xf4][\x80-\xbf]{4}",
        r"\xe0[\x80-\x9f]|\xed[\xa0-\xbf]|\xf0[\x80-\x8f]|\xf4[\x90-\xbf]",
    )
)
# Python's case folding takes these ASCII letters to letters outside ASCII, and back.
_FOLDED_LETTERS = frozenset("iksIKS")
_NOT_IN_A_LINE = frozenset("\n\r\0")


@dataclass(frozen=True, slots=True)
class Expression:
    """`python` decides; `bytes_superset` (ripgrep syntax) finds every file where it does."""

    python: str
    bytes_superset: str
    ignore_case: bool


@dataclass(frozen=True, slots=True)
class _Piece:
    python: str
    rg: str
    weight: int
    can_repeat: bool = True


def compile_expression(regex: str, *, ignore_case: bool) -> Expression:
    """Read an expression in the common dialect.

    Raises:
        InvalidRequest: it is malformed, too large, or uses what the dialect leaves out.
    """
    if regex.startswith("(?i)"):
        regex, ignore_case = regex[4:], True
    if not regex:
        raise InvalidRequest("the expression is empty")
    if len(regex) > _LONGEST:
        raise InvalidRequest(f"the expression is longer than {_LONGEST:,} characters")
    if any("\ud800" <= char <= "\udfff" for char in regex):
        raise InvalidRequest("the expression is not valid text")
    parser = _Parser(regex, ignore_case=ignore_case)
    piece = parser.alternation(depth=0)
    if parser.at < len(regex):
        raise InvalidRequest("the expression closes a group that it did not open: write \\) for )")
    try:
        re.compile(piece.python, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError) as problem:
        raise InvalidRequest(f"not a regular expression: {problem}") from problem
    return Expression(piece.python, f"(?-u:{piece.rg}|{NOT_PLAIN_UTF8})", ignore_case)


class _Parser:
    """Recursive descent, one method a level."""

    def __init__(self, text: str, *, ignore_case: bool) -> None:
        self.text, self.at = text, 0
        self._flags = re.IGNORECASE if ignore_case else re.RegexFlag(0)

    def alternation(self, *, depth: int) -> _Piece:
        if depth > _DEEPEST:
            raise InvalidRequest("the expression nests groups too deeply")
        branches = [self._sequence(depth)]
        while self._peek() == "|":
            self.at += 1
            branches.append(self._sequence(depth))
        return _Piece(
            "|".join(branch.python for branch in branches),
            "|".join(branch.rg for branch in branches),
            self._bounded(sum(branch.weight for branch in branches)),
        )

    def _sequence(self, depth: int) -> _Piece:
        pieces: list[_Piece] = []
        while self._peek() not in ("", "|", ")"):
            pieces.append(self._quantified(self._atom(depth)))
        return _Piece(
            "".join(piece.python for piece in pieces),
            "".join(piece.rg for piece in pieces),
            self._bounded(sum(piece.weight for piece in pieces)),
        )

    def _quantified(self, piece: _Piece) -> _Piece:
        found = _QUANTIFIER.match(self.text, self.at)
        if not found:
            return piece
        if not piece.can_repeat:
            raise InvalidRequest(f"nothing to repeat before '{found[0]}': write \\{found[0]}")
        self.at = found.end()
        laziness = "?" if self._peek() == "?" else ""
        self.at += len(laziness)
        if _QUANTIFIER.match(self.text, self.at):
            raise InvalidRequest("two repetitions follow each other: put a group around the first")
        low, high = int(found[1] or 0), int(found[3] or found[1] or 1)
        if found[3] and high < low:
            raise InvalidRequest(f"the repetition '{found[0]}' ends before it starts")
        suffix = found[0] + laziness
        return _Piece(
            piece.python + suffix, piece.rg + suffix, self._bounded(piece.weight * max(high, 1))
        )

    def _atom(self, depth: int) -> _Piece:
        char = self._peek()
        if char == "(":
            return self._group(depth)
        if char == "[":
            return self._class(self._set())
        if char == "\\":
            return self._escape()
        if _QUANTIFIER.match(self.text, self.at):
            raise InvalidRequest(f"nothing to repeat before '{char}': write \\{char}")
        if _OPEN_COUNT.match(self.text, self.at):
            raise InvalidRequest("a repetition needs its lower bound: write {0,n} or \\{")
        self.at += 1
        if char in "^$":
            return _Piece(char, "", 0, can_repeat=False)
        return self._class(".") if char == "." else self._literal(char)

    def _group(self, depth: int) -> _Piece:
        opening = _GROUP.match(self.text, self.at)
        assert opening is not None
        self.at = opening.end()
        if self._peek() == "?":
            raise InvalidRequest("look-around, inline flags and comments are not supported")
        inner = self.alternation(depth=depth + 1)
        if self._peek() != ")":
            raise InvalidRequest("the expression opens a group that it does not close: write \\(")
        self.at += 1
        return _Piece(f"(?:{inner.python})", f"(?:{inner.rg})", inner.weight)

    def _escape(self) -> _Piece:
        char = self._escaped()
        if char in "dDwWsS":
            return self._class("\\" + char)
        if char in "bB":
            return _Piece("\\" + char, "", 0, can_repeat=False)
        return self._literal(_plain(char))

    def _escaped(self) -> str:
        self.at += 1
        char = self._peek()
        if not char:
            raise InvalidRequest("the expression ends in a backslash: write \\\\ for one")
        if char in "nr":
            raise InvalidRequest("an expression matches within one line: leave out \\n and \\r")
        if char in "<>" or (char.isalnum() and char not in "dDwWsSbBtfv"):
            raise InvalidRequest(f"'\\{char}' is not supported: use \\b, \\d, \\w, \\s or a set")
        self.at += 1
        return char

    def _set(self) -> str:
        """Read `[...]` and write it so that Python has nothing to guess."""
        start = self.at
        self.at += 1
        negation = "^" if self._peek() == "^" else ""
        self.at += len(negation)
        items: list[str] = []
        while self._peek() != "]" or not items:
            low = self._member()
            if self.text[self.at : self.at + 1] == "-" and self.text[
                self.at + 1 : self.at + 2
            ] not in ("]", ""):
                self.at += 1
                high = self._member()
                if len(low) > 1 or len(high) > 1 or high < low:
                    raise InvalidRequest(f"bad range in the set at position {start + 1}")
                items.append(f"{_in_set(low)}-{_in_set(high)}")
            else:
                items.append(low if len(low) > 1 else _in_set(low))
        self.at += 1
        return f"[{negation}{''.join(items)}]"

    def _member(self) -> str:
        """One character of a set, or a class such as `\\d`."""
        char = self._peek()
        if not char:
            raise InvalidRequest("the expression opens a set that it does not close: write \\[")
        if self.text.startswith(("[:", "[.", "[="), self.at):
            raise InvalidRequest("named classes are not supported: use \\d, \\w, \\s or ranges")
        if char != "\\":
            self.at += 1
            return char
        char = self._escaped()
        if char in "bB":
            raise InvalidRequest("'\\b' has no meaning in a set")
        return "\\" + char if char in "dDwWsS" else _plain(char)

    def _literal(self, char: str) -> _Piece:
        if not char.isascii() and not self._flags:
            rg = "".join(f"\\x{byte:02x}" for byte in char.encode())
            return _Piece(re.escape(char), f"(?:{rg})", 1)
        if not char.isascii() or (self._flags and char in _FOLDED_LETTERS):
            return self._class(re.escape(char))
        both = {char.lower(), char.upper()} if self._flags else {char}
        rg = "".join(f"\\x{ord(each):02x}" for each in sorted(both))
        return _Piece(re.escape(char), f"[{rg}]" if len(both) > 1 else rg, 1)

    def _class(self, python: str) -> _Piece:
        """A class of characters: its ASCII members asked of Python itself, the rest any bytes."""
        matches = re.compile(python, self._flags).fullmatch
        ascii_members = "".join(
            f"\\x{code:02x}"
            for code in range(128)
            if chr(code) not in _NOT_IN_A_LINE and matches(chr(code))
        )
        rg = f"(?:[{ascii_members}]|{_OUTSIDE_ASCII})" if ascii_members else f"(?:{_OUTSIDE_ASCII})"
        return _Piece(python, rg, 1)

    def _bounded(self, weight: int) -> int:
        if weight > _LARGEST:
            raise InvalidRequest("the expression repeats too much: use * or + for large counts")
        return weight

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]


def _plain(char: str) -> str:
    return {"t": "\t", "f": "\f", "v": "\v"}.get(char, char)


def _in_set(char: str) -> str:
    return char if char.isalnum() else re.escape(char) if char.isascii() else char
