"""A shell command to its pipelines and words, in one pass; never runs or expands anything.

What cannot be told without running it (substitutions, here-documents, loops) is not understood.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Command", "Mark", "Pipeline", "Word", "pipelines", "words_in"]


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
class Command:
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

    commands: tuple[Command, ...]
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

    def done(self) -> Command:
        return Command(tuple(self.words), self.stdin, self.is_shown, self.writes)


@dataclass(slots=True)
class _Reader:
    done: list[Pipeline] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
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
    """The pipelines in order, or nothing where the command is not understood."""
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
