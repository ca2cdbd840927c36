"""What is to be looked at of each file, and what agents concluded, gathered from host events.

Many events of one file become one notice, and reading the file once answers all of them: the last
bytes win, and the lines the agent saw add up.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import assert_never

from live_memory.core.hosts.commands import (
    Grep,
    Pipeline,
    PrintedLines,
    ShellCommand,
    parsed,
    pipelines,
    program_of,
    shown,
    words_in,
)
from live_memory.core.hosts.events import (
    AgentConcluded,
    CommandRan,
    Cuts,
    Ending,
    FileEdited,
    FileTouched,
    FileViewed,
    FileWritten,
    HostEvent,
    SessionBegan,
    SessionEnded,
    TaskGiven,
    joined,
)
from live_memory.core.values import Author, ContentHash, Instant, RelPath

__all__ = [
    "LONGEST_CONCLUSION",
    "LONGEST_TASK",
    "AnythingChanged",
    "Conclusion",
    "FileInterest",
    "Interest",
    "Search",
    "notices_of",
    "read_command",
]

# No person looks at more places in one command; what is beyond them is found when asked for.
_MOST = 50
# After one of these the rest may never have run, even where the whole succeeded; or, with `set -e`,
# where it failed.
_LEAVES = frozenset({"exit", "exec", "return"})
_NEVER_FAIL = frozenset({"echo", "printf", "pwd", "true", ":"})

_QUIET = words_in(
    """
    cat head tail sed nl awk gawk mawk less more bat batcat rg grep egrep fgrep zgrep ls find tree
    wc sort uniq cut tr column diff cmp comm file stat du df pwd cd pushd popd echo printf true
    false test [ [[ ]] which whereis type date basename dirname realpath readlink seq sleep jq od
    xxd hexdump strings sha256sum sha1sum md5sum tac rev paste fold fmt ps id whoami uname hostname
    printenv git xargs set export exit : help man fd ag ack nproc uptime free env locale
    """
)
_GIT_QUIET = words_in(
    """
    status log show diff blame grep ls-files ls-tree rev-parse describe shortlog cat-file
    merge-base for-each-ref rev-list name-rev whatchanged reflog
    """
)
_FIND_CHANGES = ("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fls")
_AWK_CHANGES = re.compile(r"print(?:(?!print)[^;}>|])*+[>|]|system|getline|inplace|^-i")


@dataclass(frozen=True, slots=True)
class ShellView:
    """Lines of the file with this absolute path, or of every file that a glob means."""

    path: str
    cuts: Cuts = ()
    is_glob: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """The lines that matched, in a file or below a folder."""

    path: str
    grep: Grep
    is_glob: bool = False

    @property
    def key(self) -> object:
        """The same search twice finds the same."""
        return self

    def with_later(self, _later: "Search") -> "Search":
        """Both together."""
        return self


@dataclass(frozen=True, slots=True)
class ShellReading:
    """What a command did as far as its text tells.

    What is not understood shows nothing and may have changed anything: a wrong guess would claim
    that the agent saw what it did not. Of a command that failed, only what ran for sure counts, and
    not its last part: how that ended is how the whole ended.
    """

    views: tuple[ShellView, ...] = ()
    searches: tuple[Search, ...] = ()
    may_change: bool = False


def read_command(
    command: str, *, cwd: str | None, ending: Ending = Ending.SUCCEEDED
) -> ShellReading:
    """Understand a command that began in the folder `cwd`."""
    found = pipelines(command)
    if found is None:
        return ShellReading(may_change=True)
    may_change = not all(_changes_nothing(c) for pipeline in found for c in pipeline.commands)
    views: list[ShellView] = []
    searches: list[Search] = []
    for folder, pipeline in _that_ran(found, cwd, ending):
        for piece in _through(pipeline):
            path = joined(folder, piece.word.text) if piece.word.is_known else None
            if path is None:
                continue
            if piece.grep is not None:
                searches.append(Search(path, piece.grep, piece.word.is_glob))
            else:
                views.append(ShellView(path, piece.cuts, piece.word.is_glob))
    return ShellReading(tuple(views[:_MOST]), tuple(searches[:_MOST]), may_change)


def _that_ran(
    found: Sequence[Pipeline], cwd: str | None, ending: Ending
) -> Iterator[tuple[str | None, Pipeline]]:
    """The pipelines that ran for sure, each with the folder it ran in; none but `cd` left out."""
    folders: list[str | None] = [cwd]
    # Whether everything before in a chain of `&&` was a `cd`, or cannot fail: a `cd` that failed
    # leads nowhere, so what is said of the rest of its chain is about no file at all.
    is_on = True
    # The depth of a subshell whose rest may not have run.
    left: int | None = None
    for n, pipeline in enumerate(found):
        depth = pipeline.depth
        del folders[depth + 1 :]
        folders += folders[-1:] * (depth + 1 - len(folders))
        is_on = (is_on or not pipeline.is_conditional) and not pipeline.is_alternative
        left = left if left is not None and depth >= left else None
        if left is not None:
            continue
        ran = not pipeline.is_alternative and (
            is_on or pipeline.ran_if_all_succeeded(found[n + 1 :])
        )
        moved = _moved(pipeline, folders[-1])
        if moved is not None:
            folders[-1] = moved[0] if ran else None
            continue
        if _may_leave(pipeline, ending, is_sure=ran):
            left = depth
            continue
        is_sure = is_on and depth == 0 and pipeline is not found[-1]
        if (ran and ending is Ending.SUCCEEDED) or (is_sure and ending is Ending.FAILED):
            yield folders[-1], pipeline
        is_on = is_on and _cannot_fail(pipeline)


def _may_leave(pipeline: Pipeline, ending: Ending, *, is_sure: bool) -> bool:
    """Whether what stands behind it may not have run."""
    name, arguments = program_of(pipeline.commands[0]) or ("", ())
    if name == "set":
        return ending is Ending.FAILED
    if name not in _LEAVES:
        return False
    if is_sure or name == "exec" or ending is not Ending.SUCCEEDED or pipeline.depth:
        return True
    # One that gives a failure was not reached, as the whole succeeded.
    status = arguments[0].text if arguments else str(int(pipeline.is_alternative))
    return not status.isdigit() or int(status) % 256 == 0


def _cannot_fail(pipeline: Pipeline) -> bool:
    (first, *more) = pipeline.commands
    name = (program_of(first) or ("",))[0]
    return not more and not first.writes and name in _NEVER_FAIL


def _through(pipeline: Pipeline) -> tuple[PrintedLines, ...]:
    pieces: tuple[PrintedLines, ...] = ()
    for command in pipeline.commands:
        found = program_of(command)
        if found is None or not command.is_shown:
            return ()
        if command.stdin is not None:
            pieces = (PrintedLines(command.stdin),)
        pieces = shown(*found, pieces)
        if not pieces:
            return ()
    return pieces


def _moved(pipeline: Pipeline, folder: str | None) -> tuple[str | None] | None:
    """The folder after a `cd`, if it is one; a folder that cannot be told is nothing."""
    if len(pipeline.commands) > 1:
        return None
    command: ShellCommand = pipeline.commands[0]
    found = program_of(command)
    if found is None or found[0] not in ("cd", "pushd", "popd"):
        return None
    name, arguments = found
    if name == "popd" or len(arguments) != 1 or not arguments[0].is_known or arguments[0].is_glob:
        return (None,)
    return (joined(folder, arguments[0].text),)


def _changes_nothing(command: ShellCommand) -> bool:
    """Whether it is known that a command leaves every file as it is."""
    found = program_of(command)
    if command.writes or (found is None and command.words):
        return False
    if found is None:
        return True
    name, arguments = found
    texts = [word.text for word in arguments]
    match name:
        case "sed":
            edits = any(t.startswith(("-i", "--in-place")) or _with_i(t) for t in texts)
            return not edits and not any(re.search(r"(?:^|[;}\d/$])\s*[wWe]\b", t) for t in texts)
        case "find" | "fd":
            return not any(text.startswith((*_FIND_CHANGES, "-x", "-X")) for text in texts)
        case "sort":
            return not any(text.startswith(("-o", "--output")) for text in texts)
        case "awk" | "gawk" | "mawk":
            return not any(_AWK_CHANGES.search(text) for text in texts)
        case "git":
            verb = next((text for text in texts if not text.startswith("-")), "")
            return verb in _GIT_QUIET and not any(t.startswith("--output") for t in texts)
        case "xargs" | "env":
            inner = parsed(arguments, with_value="nILPdEsa").operands
            return not inner or _changes_nothing(ShellCommand(inner))
        case _:
            return name in _QUIET


def _with_i(text: str) -> bool:
    return re.fullmatch(r"-[nErsz]+i\S*", text) is not None


# Different looks and edits of one file between two readings of it; the latest count.
_MOST_VIEWS, _MOST_REGIONS = 256, 64


@dataclass(frozen=True, slots=True)
class FileInterest:
    """A file, or the files of a glob, by absolute path: seen, edited, or only touched."""

    path: str
    is_glob: bool = False
    views: tuple[Cuts, ...] = ()
    regions: tuple[tuple[int, int], ...] = ()
    is_edited: bool = False

    @property
    def key(self) -> object:
        """Notices with equal keys become one."""
        return (self.path, self.is_glob)

    def with_later(self, later: "FileInterest") -> "FileInterest":
        """Both together; the lines of an edit that came before another are only about right."""
        views = tuple(dict.fromkeys((*self.views, *later.views)))
        regions = tuple(dict.fromkeys((*self.regions, *later.regions)))
        return replace(
            self,
            views=views[-_MOST_VIEWS:],
            regions=regions[-_MOST_REGIONS:],
            is_edited=self.is_edited or later.is_edited,
        )


@dataclass(frozen=True, slots=True)
class AnythingChanged:
    """Whatever is in view may have other bytes now."""


# Characters of a text and of a task that are kept; a longer text is a listing.
LONGEST_CONCLUSION, LONGEST_TASK = 16_000, 300


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What an agent said at the end of its work, where it cites a place.

    `text` and `task`, what it was asked to do, hold no recognised secret; at most 16,000 and 300
    characters. A host that names no session, or no task, gives "". `evidence` has the hashes of
    files as they were for it, where they are known. Without `said_at` it is just now.
    """

    text: str
    author: Author
    session: str
    task: str
    evidence: Mapping[RelPath, ContentHash] = field(default_factory=lambda: MappingProxyType({}))
    said_at: Instant | None = None

    @property
    def key(self) -> object:
        """The same text of the same session twice is one."""
        return (self.session, self.text)

    def with_later(self, later: "Conclusion") -> "Conclusion":
        """Both together: a host may tell it once with its task and once without."""
        return self if self.task else later


Interest = FileInterest | Search | AnythingChanged | Conclusion


def notices_of(event: HostEvent) -> Iterator[Interest]:
    """What an event asks us to look at."""
    match event:
        case FileViewed(path, cuts):
            yield FileInterest(path, views=(cuts,))
        case FileWritten(path):
            yield FileInterest(path, is_edited=True)
        case FileEdited(path, regions):
            yield FileInterest(path, regions=regions, is_edited=True)
        case FileTouched(path):
            yield FileInterest(path)
        case CommandRan():
            yield from _of_command(event)
        case SessionBegan() | SessionEnded() | TaskGiven() | AgentConcluded():
            return
        case _:
            assert_never(event)


def _of_command(event: CommandRan) -> Iterator[Interest]:
    reading = read_command(event.command, cwd=event.cwd, ending=event.ending)
    for view in reading.views:
        yield FileInterest(view.path, view.is_glob, views=(view.cuts,))
    yield from reading.searches
    if reading.may_change:
        yield AnythingChanged()
