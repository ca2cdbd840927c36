"""What `grep` and `rg` were asked for, as an expression that we can look for ourselves."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from live_memory.core.hosts.options import parsed
from live_memory.core.hosts.words import Word, words_in

__all__ = ["Grep", "grep_of"]

_WITH_VALUE = {
    "grep": "efmABCdD",
    "rg": "efmABCgtTMjErdT",
}
_LONG_WITH_VALUE = words_in(
    """
    regexp file max-count after-context before-context context include exclude exclude-dir glob
    type type-not max-columns max-depth sort color colors threads
    """
)
# These print names, counts or what did not match: no lines of the file as they are.
_SHOWS_NO_LINES = words_in(
    "l L c q v files-with-matches files-without-match count quiet silent invert-match files"
)
_BASIC_SPECIAL = "|(){}+?"
_BASIC = re.compile(r"\\(.)|([|(){}+?])", re.DOTALL)
_CLASSES = {
    "[:space:]": r"\s",
    "[:digit:]": r"\d",
    "[:alpha:]": "a-zA-Z",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:blank:]": r" \t",
}


@dataclass(frozen=True, slots=True)
class Grep:
    """An expression as `TextPattern` takes it; `limit` is how many lines were shown at most."""

    regex: str
    ignore_case: bool = False
    glob: str | None = None
    before: int = 0
    after: int = 0
    limit: int | None = None

    def limited(self, count: int) -> "Grep | None":
        """What of it the first lines of its output surely hold; nothing if that is no match.

        Lines around a match are lines of the output too, and so is the mark between two matches.
        """
        around = self.before + self.after
        matches = (count + 1) // (around + 2) if around else count
        if not matches:
            return None
        return replace(self, limit=matches if self.limit is None else min(self.limit, matches))


def grep_of(program: str, arguments: Sequence[Word]) -> tuple[Grep, tuple[Word, ...]] | None:
    """The expression and the places to look in; nothing where no whole lines are shown."""
    is_rg = program == "rg"
    options = parsed(
        arguments, with_value=_WITH_VALUE["rg" if is_rg else "grep"], long=_LONG_WITH_VALUE
    )
    if not _SHOWS_NO_LINES.isdisjoint(options.flags):
        return None
    given = options.values("e", "regexp")
    operands = options.operands
    if not given:
        if not operands or not operands[0].is_known:
            return None
        given, operands = (operands[0].text,), operands[1:]
    if options.values("f", "file"):
        return None
    is_plain = program == "fgrep" or options.has("F", "fixed-strings")
    is_basic = not (is_rg or program == "egrep" or options.has("E", "P", "extended-regexp"))
    regexes = [re.escape(g) if is_plain else _from_basic(g) if is_basic else g for g in given]
    regex = "|".join(_with_classes(one) for one in regexes)
    if options.has("w", "word-regexp"):
        regex = rf"\b(?:{regex})\b"
    around = options.number("C", "context")
    globs = options.values("g", "glob") if is_rg else options.values("include")
    grep = Grep(
        regex,
        ignore_case=options.has("i", "ignore-case")
        or (is_rg and options.has("S") and regex.islower()),
        glob=globs[0] if len(globs) == 1 and not globs[0].startswith("!") else None,
        before=options.number("B", "before-context") or around or 0,
        after=options.number("A", "after-context") or around or 0,
        limit=options.number("m", "max-count"),
    )
    return grep, operands


def _from_basic(regex: str) -> str:
    """In a basic expression `\\|` is special and `|` is itself."""

    def turned(found: re.Match[str]) -> str:
        escaped, bare = found.groups()
        if bare is not None:
            return "\\" + bare
        return escaped if escaped in _BASIC_SPECIAL else found[0]

    return _BASIC.sub(turned, regex)


def _with_classes(regex: str) -> str:
    for name, members in _CLASSES.items():
        regex = regex.replace(name, members)
    return regex
