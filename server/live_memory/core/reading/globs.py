"""The one dialect of globs: `*` and `?` within a name, `**` across folders, `[...]`, `{a,b}`.

A glob without `/` is looked for in every folder; one with `/` starts at the workspace's root.
Matching takes time in proportion to glob and name, whatever they are.
"""

import re
from collections.abc import Callable, Sequence

from live_memory.core.errors import InvalidRequest
from live_memory.core.values import RelPath

__all__ = ["compile_glob"]

_LONGEST = 1_000
# `{a,b}{c,d}` multiplies; more alternatives than this are no glob a person would write.
_MOST_ALTERNATIVES = 64
_ANY = None  # stands for `**`

_Segment = Callable[[str], object] | None


def compile_glob(glob: str) -> Callable[[RelPath], bool]:
    """Make a predicate over names.

    Raises:
        InvalidRequest: the glob is malformed or points out of the workspace.
    """
    if not glob.strip() or len(glob) > _LONGEST or "\0" in glob:
        raise InvalidRequest(f"a glob has 1 to {_LONGEST:,} characters and no NUL")
    if glob.startswith(("/", "~", "!")):
        raise InvalidRequest("a glob starts at the workspace's root: leave out a leading /, ~ or !")
    ways = [_segments(each) for each in _alternatives(glob)]
    return lambda path: any(_is_match(way, path.text.split("/")) for way in ways)


def _alternatives(glob: str) -> Sequence[str]:
    """Write `{a,b}` out, innermost braces first, left to right."""
    done: list[str] = []
    waiting = [glob]
    while waiting:
        if len(waiting) + len(done) > _MOST_ALTERNATIVES:
            raise InvalidRequest(f"a glob has at most {_MOST_ALTERNATIVES} alternatives")
        text = waiting.pop()
        close = _bare(text, "}")
        opening = _bare(text[:close], "{", last=True) if close >= 0 else -1
        if opening < 0:
            if close >= 0 or _bare(text, "{") >= 0:
                raise InvalidRequest("the braces of the glob do not match: write [{] for a brace")
            done.append(text)
            continue
        before, choices, after = text[:opening], text[opening + 1 : close], text[close + 1 :]
        waiting += [before + choice + after for choice in choices.split(",")]
    return done


def _bare(text: str, wanted: str, *, last: bool = False) -> int:
    """Where a character stands outside `[...]`, or -1."""
    found, at = -1, 0
    while at < len(text):
        if text[at] == "[":
            at = _set_end(text, at)
        elif text[at] == wanted:
            found = at
            if not last:
                break
        at += 1
    return found


def _set_end(text: str, start: int) -> int:
    """The position of the `]` that closes the set at `start`."""
    first = start + 2 if text[start + 1 : start + 2] in ("!", "^") else start + 1
    end = text.find("]", first + 1)
    if end < 0 or "/" in text[start:end]:
        raise InvalidRequest("the glob opens a set that it does not close: write [[] for a bracket")
    return end


def _segments(glob: str) -> list[_Segment]:
    parts = [part for part in glob.split("/") if part != "."] or [""]
    if ".." in parts:
        raise InvalidRequest("a glob names files below the workspace's root: leave out '..'")
    if len(parts) == 1:
        parts.insert(0, "**")
    if parts[-1] == "":
        parts[-1] = "**"
    segments: list[_Segment] = []
    for part in parts:
        if part == "**":
            if not segments or segments[-1] is not _ANY:
                segments.append(_ANY)
        elif part:
            segments.append(re.compile(_name_expression(part), re.DOTALL).fullmatch)
    if segments[-1] is _ANY:
        segments.append(re.compile(".*", re.DOTALL).fullmatch)
    return segments


def _name_expression(part: str) -> str:
    """One name as an expression that never backtracks: each star takes the earliest fit."""
    pieces, at = [""], 0
    while at < len(part):
        char = part[at]
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "[":
            end = _set_end(part, at)
            pieces[-1] += _set_expression(part[at + 1 : end])
            at = end
        else:
            pieces[-1] += re.escape(char)
        at += 1
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    return (
        first
        + "".join(f"(?>.*?{piece})" for piece in middle if piece)
        + (f".*{last}" if last else ".*")
    )


def _set_expression(body: str) -> str:
    negation = "^" if body[0] in "!^" else ""
    members = body[len(negation) :]
    escaped = "".join(
        char if char == "-" or char.isalnum() else re.escape(char) for char in members
    )
    try:
        re.compile(f"[{negation}{escaped}]")
    except re.error as problem:
        raise InvalidRequest(f"bad set in the glob: [{body}]") from problem
    return f"[{negation}{escaped}]"


def _is_match(way: Sequence[_Segment], names: Sequence[str]) -> bool:
    """Compare name by name; the last `**` takes one more folder each time the rest does not fit."""
    at = here = 0
    star = mark = -1
    while here < len(names):
        segment = way[at] if at < len(way) else None
        if segment is not None and segment(names[here]):
            at += 1
            here += 1
        elif segment is _ANY and at < len(way):
            star, mark = at, here
            at += 1
        elif star >= 0:
            mark += 1
            at, here = star + 1, mark
        else:
            return False
    return at == len(way)
