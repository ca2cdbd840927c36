"""Programs that show files, and the lines they show."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from live_memory.core.hosts.events import Cuts, LineSlice

__all__ = [
    "Grep",
    "Pipeline",
    "PrintedLines",
    "ShellCommand",
    "parsed",
    "pipelines",
    "program_of",
    "shown",
    "words_in",
]


def words_in(text: str) -> frozenset[str]:
    """A set of words that were written as one text."""
    return frozenset(text.split())


# Of a command with more characters or more pipelines nothing is told: it is a program with its text
# inside, not a look at a file.
_LONGEST, _MOST = 16_000, 200
_PIECE = re.compile(
    r"(?P<blank>[ \t\r]+|\\\n)"
    r"|(?P<redirect>[0-9]*(?:<|>>|>\||>)(?:&(?:[0-9]+|-))?|&>>?)"
    r"|(?P<end>\|\||&&|;|\n|\|&|\||&|\(|\))"
    r"|'(?P<single>[^']*+)'"
    r'|"(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)"'
    r"|\\(?P<escaped>.)"
    r"|(?P<bare>[^\s|&;()<>'\"\\]++)",
    re.DOTALL,
)
_KEYWORDS = words_in("if then elif else fi for while until do done case esac select function { }")
_GLOB = re.compile(r"[*?\[]|\{[^{}]*,[^{}]*\}")
# In double quotes a backslash is itself, but before these.
_ESCAPED = re.compile(r'\\(["\\$`]|\n)')


@dataclass(frozen=True, slots=True)
class Word:
    """One word without its quotes; one that the shell expands is not known."""

    text: str
    is_glob: bool = False
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A program with its arguments; `is_shown` says that its output goes on or to the agent."""

    words: tuple[Word, ...]
    stdin: Word | None = None
    is_shown: bool = True
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """What joins a pipeline, or the subshell around it, to what stands before: `&&`, `||`, `;`."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands whose output goes from one to the next.

    `marks` are those before each subshell around it, outermost first, and then its own.
    """

    commands: tuple[ShellCommand, ...]
    marks: tuple[Mark, ...]

    @property
    def depth(self) -> int:
        """How many subshells are around it."""
        return len(self.marks) - 1

    @property
    def is_alternative(self) -> bool:
        """Whether it, or a subshell around it, ran only if what stands before failed."""
        return any(mark.text == "||" for mark in self.marks)

    @property
    def is_conditional(self) -> bool:
        """Whether it, or a subshell around it, ran only if what stands before succeeded."""
        return any(mark.text == "&&" for mark in self.marks)

    def ran_if_all_succeeded(self, later: Sequence["Pipeline"]) -> bool:
        """Whether it must have run where the whole ended well and `later` is what followed.

        The end of a chain of `&&` tells of all of it, unless something else followed the chain.
        """
        levels = [n for n, mark in enumerate(self.marks) if mark.text == "&&"]
        if not levels:
            return True
        follow = (mark for each in later for mark in each.marks[: levels[-1] + 1])
        return all(mark.text in ("&&", "(") or mark in self.marks for mark in follow)


@dataclass(slots=True)
class _Draft:
    """A command that is being read."""

    words: list[Word] = field(default_factory=list)
    target: str | None = None
    stdin: Word | None = None
    is_shown: bool = True
    writes: bool = False

    def take(self, word: Word) -> None:
        """The next word is an argument, or where the last redirection leads."""
        redirect, self.target = self.target, None
        if redirect is None:
            self.words.append(word)
        elif redirect.endswith("<"):
            self.stdin = word
        else:
            self.is_shown &= redirect.startswith("2")
            self.writes |= word.text != "/dev/null"

    def done(self) -> ShellCommand:
        return ShellCommand(tuple(self.words), self.stdin, self.is_shown, self.writes)


@dataclass(slots=True)
class _Reader:
    done: list[Pipeline] = field(default_factory=list)
    commands: list[ShellCommand] = field(default_factory=list)
    draft: _Draft = field(default_factory=_Draft)
    mark: Mark = Mark(0, ";")
    # The marks before each subshell that is open.
    around: list[Mark] = field(default_factory=list)

    def step(self, command: str, at: int) -> int | None:
        """Take what begins here; returns where it ends, or nothing if it is not understood."""
        piece = _PIECE.match(command, at)
        if piece is None:
            return None
        if piece["redirect"]:
            if command[piece.end() : piece.end() + 1] in ("<", "("):
                return None
            _redirected(self.draft, piece["redirect"])
        elif piece["end"] in ("|", "|&"):
            self.end_command()
        elif piece["end"]:
            self.end_pipeline(piece["end"])
        elif not piece["blank"]:
            return self._take_word(command, at)
        return piece.end()

    def _take_word(self, command: str, at: int) -> int | None:
        found = _word(command, at)
        if found is None or (not self.draft.words and found[0].text in _KEYWORDS):
            return None
        self.draft.take(found[0])
        return found[1]

    def end_command(self) -> None:
        if self.draft.words or self.draft.writes or self.draft.stdin:
            self.commands.append(self.draft.done())
        self.draft = _Draft()

    def end_pipeline(self, mark: str) -> None:
        self.end_command()
        if self.commands:
            self.done.append(Pipeline(tuple(self.commands), (*self.around, self.mark)))
        self.commands = []
        if mark == "(":
            self.around.append(self.mark)
        elif mark == ")" and self.around:
            self.around.pop()
        self.mark = Mark(self.mark.number + 1, mark)


def pipelines(command: str) -> tuple[Pipeline, ...] | None:
    """The pipelines in order, or nothing where the command is not understood.

    Nothing is run or expanded, so substitutions, here-documents and loops are not understood.
    """
    if len(command) > _LONGEST:
        return None
    reader, at = _Reader(), 0
    while at < len(command):
        if len(reader.done) > _MOST:
            return None
        after = _comment(command, at) or reader.step(command, at)
        if after is None:
            return None
        at = after
    reader.end_pipeline("\n")
    return tuple(reader.done)


def _comment(command: str, at: int) -> int | None:
    """Where the comment ends that begins here, if one does."""
    if command[at] != "#" or (at and command[at - 1] not in " \t\r\n;|&()"):
        return None
    end = command.find("\n", at)
    return len(command) if end < 0 else end


def _redirected(draft: _Draft, redirect: str) -> None:
    if "&" in redirect[1:]:  # one descriptor into another
        draft.is_shown &= not redirect.startswith((">", "1"))
    else:
        draft.target = redirect


def _word(command: str, at: int) -> tuple[Word, int] | None:
    """The word that begins here and where it ends; nothing if it runs something."""
    text: list[str] = []
    is_glob, is_known = False, command[at] != "~"
    while piece := _PIECE.match(command, at):
        if piece["bare"] is not None:
            bare = piece["bare"]
            if "`" in bare or (bare.endswith("$") and command[piece.end() :][:1] == "("):
                return None
            is_glob = is_glob or _GLOB.search(bare) is not None
            is_known = is_known and "$" not in bare
            text.append(bare)
        elif piece["double"] is not None:
            quoted = piece["double"]
            if "`" in quoted or "$(" in quoted:
                return None
            is_known = is_known and re.search(r"(?<!\\)\$[\w{@*#?]", quoted) is None
            text.append(_ESCAPED.sub(lambda found: found[1].strip("\n"), quoted))
        elif piece["single"] is not None:
            text.append(piece["single"])
        elif piece["escaped"] is not None:
            text.append(piece["escaped"])
        else:
            break
        at = piece.end()
    return Word("".join(text), is_glob, is_known), at


@dataclass(frozen=True, slots=True)
class Options:
    """Flags without value, values by option, and what is left."""

    flags: frozenset[str]
    given: tuple[tuple[str, str], ...]
    operands: tuple[Word, ...]

    def has(self, *names: str) -> bool:
        """Whether any of these flags is set."""
        return not self.flags.isdisjoint(names)

    def values(self, *names: str) -> tuple[str, ...]:
        """The values of an option, in order."""
        return tuple(value for name, value in self.given if name in names)

    def number(self, *names: str) -> int | None:
        """The last value of an option, where it is a whole number."""
        found = self.values(*names)
        return as_number(found[-1]) if found else None


def as_number(text: str) -> int | None:
    """A whole number of a reasonable length."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def parsed(
    arguments: Sequence[Word], *, with_value: str = "", long: frozenset[str] = frozenset()
) -> Options:
    """Sort out arguments; `-5` is the value of an option called `#`."""
    flags: set[str] = set()
    given: list[tuple[str, str]] = []
    operands: list[Word] = []
    rest = list(reversed(arguments))
    while rest:
        word = rest.pop()
        text = word.text
        if text == "--":
            operands += reversed(rest)
            break
        if text.startswith("--"):
            name, has_value, value = text[2:].partition("=")
            if has_value:
                given.append((name, value))
            elif name in long and rest:
                given.append((name, rest.pop().text))
            else:
                flags.add(name)
        elif text[:1] in "-+" and len(text) > 1 and text[1:].isdigit():
            given.append(("#", text))
        elif text.startswith("-") and len(text) > 1:
            _short(text[1:], with_value, flags, given, rest)
        else:
            operands.append(word)
    return Options(frozenset(flags), tuple(given), tuple(operands))


def _short(
    letters: str,
    with_value: str,
    flags: set[str],
    given: list[tuple[str, str]],
    rest: list[Word],
) -> None:
    """`-rn`, `-n5`, `-n 5`, `-ne SCRIPT`."""
    for n, letter in enumerate(letters):
        if letter in with_value:
            value = letters[n + 1 :]
            if value or rest:
                given.append((letter, value or rest.pop().text))
            return
        flags.add(letter)


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


@dataclass(frozen=True, slots=True)
class PrintedLines:
    """Some lines of what a word names; with `grep`, those of them that match.

    `from_start` and `from_end` say whether a line's number in the stream, counted from there, is
    still its number in the piece: not behind lines of another file, and not out of order.
    """

    word: Word
    cuts: Cuts = ()
    grep: Grep | None = None
    from_start: bool = True
    from_end: bool = True


Pieces = tuple[PrintedLines, ...]
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


def program_of(command: ShellCommand) -> tuple[str, tuple[Word, ...]] | None:
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
    named = ((PrintedLines(word),) if word.text != "-" else incoming for word in operands)
    return tuple(chain.from_iterable(named))


def _each(pieces: Pieces, cut: LineSlice) -> Pieces:
    return tuple(replace(piece, cuts=(*piece.cuts, cut)) for piece in pieces)


def _uncountable(pieces: Pieces) -> Pieces:
    """The same lines in another order or with others between: no number leads to one."""
    return tuple(replace(piece, from_start=False, from_end=False) for piece in pieces)


def _joined(pieces: Pieces, cut: LineSlice) -> Pieces:
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
    return _each(pieces, LineSlice(max(0, (first or 1) - 1), last))


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
    cut = (
        LineSlice(None, -number)
        if count.startswith("-") and not is_old_form
        else LineSlice(None, number)
    )
    pieces = _of_operands(options.operands, incoming)
    return _ends(options, pieces, cut)


def _tail(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
    options = parsed(arguments, with_value="nc", long=frozenset({"lines", "bytes"}))
    count = _counted(options) or ""
    number = as_number(count.lstrip("-+"))
    if number is None:
        return ()
    if count.startswith("+"):
        cut = LineSlice(max(0, number - 1), None)
    else:
        cut = LineSlice(-number, None) if number else LineSlice(0, 0)
    pieces = _of_operands(options.operands, incoming)
    return _ends(options, pieces, cut)


def _ends(options: Options, pieces: Pieces, cut: LineSlice) -> Pieces:
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
        return _joined(pieces, LineSlice(None, int(stop[1]))) if stop else ()
    shows: list[PrintedLines] = []
    for one in re.split(r"[;\n]", script):
        cut = _sed_cut(one)
        if cut is not None:
            shows += cut_by(pieces, cut)
        elif not _SED_QUIT.fullmatch(one):
            return ()
    return tuple(shows)


def _sed_cut(script: str) -> LineSlice | None:
    found = _SED_PRINT.fullmatch(script)
    if found is None:
        return None
    if found[3]:
        return LineSlice(-1, None)
    first, last = int(found[1]), found[2]
    if last is None:
        return LineSlice(first - 1 if first else 0, first)
    if last == "$":
        return LineSlice(max(0, first - 1), None)
    stop = first + int(last[1:]) if last.startswith("+") else max(first, int(last))
    return LineSlice(max(0, first - 1), stop)


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
    return cut_by(_of_operands(operands, incoming), LineSlice(max(0, first - 1), last))


def _grep(program: str) -> Show:
    def show(arguments: Sequence[Word], incoming: Pieces) -> Pieces:
        found = grep_of(program, arguments)
        if found is None:
            return ()
        grep, operands = found
        pieces = _of_operands(operands, incoming)
        if not operands and not incoming:
            pieces = (PrintedLines(Word(".")),)
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
