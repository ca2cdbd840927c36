"""Programs that show files, and the lines they show."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from live_memory.core.hosts.events import Cut, Cuts
from live_memory.core.hosts.grep import Grep, grep_of
from live_memory.core.hosts.options import Options, as_number, parsed
from live_memory.core.hosts.words import Command, Word, words_in

__all__ = ["Piece", "program_of", "shown"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines of what a word names; with `grep`, those of them that match.

    `from_start` and `from_end` say whether a line's number in the stream, counted from there, is
    still its number in the piece: not behind lines of another file, and not out of order.
    """

    word: Word
    cuts: Cuts = ()
    grep: Grep | None = None
    from_start: bool = True
    from_end: bool = True


Pieces = tuple[Piece, ...]
Show = Callable[[Sequence[Word], Pieces], Pieces]

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_IN_FRONT = frozenset({"time", "command", "builtin", "!", "nice", "nohup"})
_SED_PRINT = re.compile(r"(?:(\d{1,9})(?:,(\d{1,9}|\$|\+\d{1,9}))?|(\$))p")
_SED_QUIT = re.compile(r"(\d{1,9})q")
_AWK_ACTION = re.compile(r"\{\s*+printf?\b(?:(?!\{\s*print)[^}|>])*+\}\s*$")
_AWK_BOUND = re.compile(r"F?NR\s*(==|>=|<=|>|<)\s*(\d{1,9})")
# The number of a line in all files together; `FNR` is that in its own file.
_AWK_IN_ALL = re.compile(r"(?<!F)NR")
_AWK_JOIN = re.compile(r"&&|,|[\s()]")
_BAT_RANGE = re.compile(r"(\d{0,9}):(\d{0,9})")


def program_of(command: Command) -> tuple[str, tuple[Word, ...]] | None:
    """The program's name and arguments, without variables and words in front."""
    words = list(command.words)
    while words and (_ASSIGNMENT.match(words[0].text) or words[0].text in _IN_FRONT):
        words.pop(0)
    if not words or not words[0].is_known or words[0].is_glob:
        return None
    return words[0].text.rpartition("/")[2], tuple(words[1:])


def shown(name: str, arguments: Sequence[Word], incoming: Pieces) -> Pieces:
    """What a program shows of its operands, or of what comes in where it has none."""
    show = _SHOW.get(name)
    return show(arguments, incoming) if show else ()


def _of_operands(operands: Sequence[Word], incoming: Pieces) -> Pieces:
    if not operands:
        return incoming
    named = ((Piece(word),) if word.text != "-" else incoming for word in operands)
    return tuple(chain.from_iterable(named))


def _each(pieces: Pieces, cut: Cut) -> Pieces:
    return tuple(replace(piece, cuts=(*piece.cuts, cut)) for piece in pieces)


def _uncountable(pieces: Pieces) -> Pieces:
    """The same lines in another order or with others between: no number leads to one."""
    return tuple(replace(piece, from_start=False, from_end=False) for piece in pieces)


def _joined(pieces: Pieces, cut: Cut) -> Pieces:
    """Cut what several files give one after the other, as far as that stays in one of them."""
    is_from_end = cut.start is not None and cut.start < 0
    if not pieces:
        return ()
    piece = pieces[-1 if is_from_end else 0]
    if not (piece.from_end if is_from_end else piece.from_start):
        return ()
    if piece.grep is not None:
        is_head = cut.start in (None, 0) and cut.stop is not None and cut.stop > 0
        limited = piece.grep.limited(cut.stop or 0) if is_head and len(pieces) == 1 else None
        return (replace(piece, grep=limited),) if limited is not None else ()
    if piece.word.is_glob:
        return ()  # which of its files is the first or the last is not told
    if len(pieces) > 1:
        piece = replace(piece, from_start=not is_from_end, from_end=is_from_end)
    return _each((piece,), cut)


def _cat(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
    options = parsed(arguments)
    pieces = _of_operands(options.operands, incoming)
    return _uncountable(pieces) if options.has("s", "squeeze-blank") else pieces


def _tac(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
    return _uncountable(_whole(arguments, incoming))


def _nl(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
    return _of_operands(parsed(arguments, with_value="bhvwilnsd").operands, incoming)


def _whole(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
    return _of_operands(parsed(arguments).operands, incoming)


def _bat(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
    named = words_in("line-range language style color theme paging")
    options = parsed(arguments, with_value="rlm", long=named)
    pieces = _of_operands(options.operands, incoming)
    ranges = options.values("r", "line-range")
    if not ranges:
        return pieces
    found = _BAT_RANGE.fullmatch(ranges[0])
    if len(ranges) > 1 or found is None:
        return ()
    first, last = as_number(found[1]), as_number(found[2])
    return _each(pieces, Cut(max(0, (first or 1) - 1), last))


def _counted(options: Options) -> str | None:
    """The count that `head` and `tail` were given."""
    if options.has("c", "bytes") or options.values("c", "bytes"):
        return None
    given = options.values("n", "lines", "#")
    return given[-1] if given else "10"


def _head(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
    options = parsed(arguments, with_value="nc", long=frozenset({"lines", "bytes"}))
    count = _counted(options) or ""
    number = as_number(count.lstrip("-+"))
    if number is None:
        return ()
    is_old_form = count in options.values("#")
    cut = Cut(None, -number) if count.startswith("-") and not is_old_form else Cut(None, number)
    pieces = _of_operands(options.operands, incoming)
    return _ends(options, pieces, cut)


def _tail(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
    options = parsed(arguments, with_value="nc", long=frozenset({"lines", "bytes"}))
    count = _counted(options) or ""
    number = as_number(count.lstrip("-+"))
    if number is None:
        return ()
    if count.startswith("+"):
        cut = Cut(max(0, number - 1), None)
    else:
        cut = Cut(-number, None) if number else Cut(0, 0)
    pieces = _of_operands(options.operands, incoming)
    return _ends(options, pieces, cut)


def _ends(options: Options, pieces: Pieces, cut: Cut) -> Pieces:
    """`head` and `tail` cut each file by itself, and say its name above where there are more."""
    if not options.operands:
        return _joined(pieces, cut)
    if any(word.text == "-" for word in options.operands):
        return ()
    has_names = options.has("v", "verbose") or len(pieces) > 1 or pieces[0].word.is_glob
    is_quiet = options.has("q", "quiet", "silent")
    cuts = _each(pieces, cut)
    return _uncountable(cuts) if has_names and not is_quiet else cuts


def _sed(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
    options = parsed(arguments, with_value="ef", long=frozenset({"expression", "file"}))
    scripts, operands = options.values("e", "expression"), options.operands
    if not scripts and operands:
        scripts, operands = (operands[0].text,), operands[1:]
    pieces = _of_operands(operands, incoming)
    cut_by = _each if options.has("s", "separate") else _joined
    script = ";".join(scripts).replace(" ", "").strip(";")
    if not options.has("n", "quiet", "silent"):
        stop = _SED_QUIT.fullmatch(script)
        return _joined(pieces, Cut(None, int(stop[1]))) if stop else ()
    shows: list[Piece] = []
    for one in re.split(r"[;\n]", script):
        cut = _sed_cut(one)
        if cut is not None:
            shows += cut_by(pieces, cut)
        elif not _SED_QUIT.fullmatch(one):
            return ()
    return tuple(shows)


def _sed_cut(script: str) -> Cut | None:
    found = _SED_PRINT.fullmatch(script)
    if found is None:
        return None
    if found[3]:
        return Cut(-1, None)
    first, last = int(found[1]), found[2]
    if last is None:
        return Cut(first - 1 if first else 0, first)
    if last == "$":
        return Cut(max(0, first - 1), None)
    stop = first + int(last[1:]) if last.startswith("+") else max(first, int(last))
    return Cut(max(0, first - 1), stop)


def _awk(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
    options = parsed(arguments, with_value="Fvf")
    if not options.operands or options.values("f"):
        return ()
    script, operands = options.operands[0].text, options.operands[1:]
    condition = _AWK_ACTION.sub("", script)
    bounds = _AWK_BOUND.findall(condition)
    rest = _AWK_JOIN.sub("", _AWK_BOUND.sub("", condition))
    if rest or not 0 < len(bounds) <= 2:
        return ()
    first, last = 1, None
    for sign, digits in bounds:
        number = int(digits)
        if sign in (">=", ">"):
            first = number + (sign == ">")
        elif sign in ("<=", "<"):
            last = number - (sign == "<")
        elif "," in condition and (sign, digits) == bounds[-1]:
            last = number
        else:
            first, last = number, number
    cut_by = _each if operands and not _AWK_IN_ALL.search(condition) else _joined
    return cut_by(_of_operands(operands, incoming), Cut(max(0, first - 1), last))


def _grep(program: str) -> Show:
    def show(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
        found = grep_of(program, arguments)
        if found is None:
            return ()
        grep, operands = found
        pieces = _of_operands(operands, incoming)
        if not operands and not incoming:
            pieces = (Piece(Word(".")),)
        if any(piece.cuts or piece.grep for piece in pieces):
            return ()  # which of these lines matched cannot be told without counting them
        return tuple(replace(piece, grep=grep) for piece in pieces)

    return show


_SHOW: dict[str, Show] = {
    "cat": _cat,
    "tac": _tac,
    "nl": _nl,
    "less": _whole,
    "more": _whole,
    "bat": _bat,
    "batcat": _bat,
    "head": _head,
    "tail": _tail,
    "sed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    **{name: _grep(name) for name in ("grep", "egrep", "fgrep", "rg")},
}
