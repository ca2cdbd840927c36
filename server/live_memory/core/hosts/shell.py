"""Which files a shell command showed, which lines of them, and whether it may have changed any.

It is told from the command's text alone. What is not understood shows nothing and may have changed
anything: a wrong guess would claim that the agent saw what it did not.

Of a command that failed, only what ran for sure counts, and not its last part: how that ended is
how the whole ended.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from live_memory.core.hosts.events import Cuts, Ending
from live_memory.core.hosts.grep import Grep
from live_memory.core.hosts.paths import joined
from live_memory.core.hosts.programs import Piece, changes_nothing, program_of, shown
from live_memory.core.hosts.words import Command, Pipeline, pipelines

__all__ = ["Search", "ShellReading", "View", "read_command"]

# No person looks at more places in one command; what is beyond them is found when asked for.
_MOST = 50
# After one of these the rest may never have run, even where the whole succeeded; or, with `set -e`,
# where it failed.
_LEAVES = frozenset({"exit", "exec", "return"})
_NEVER_FAIL = frozenset({"echo", "printf", "pwd", "true", ":"})


@dataclass(frozen=True, slots=True)
class View:
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


@dataclass(frozen=True, slots=True)
class ShellReading:
    """What a command did as far as its text tells."""

    views: tuple[View, ...] = ()
    searches: tuple[Search, ...] = ()
    may_change: bool = False


def read_command(
    command: str, *, cwd: str | None, ending: Ending = Ending.SUCCEEDED
) -> ShellReading:
    """Understand a command that began in the folder `cwd`."""
    found = pipelines(command)
    if found is None:
        return ShellReading(may_change=True)
    may_change = not all(changes_nothing(c) for pipeline in found for c in pipeline.commands)
    views: list[View] = []
    searches: list[Search] = []
    for folder, pipeline in _that_ran(found, cwd, ending):
        for piece in _through(pipeline):
            path = joined(folder, piece.word.text) if piece.word.is_known else None
            if path is None:
                continue
            if piece.grep is not None:
                searches.append(Search(path, piece.grep, piece.word.is_glob))
            else:
                views.append(View(path, piece.cuts, piece.word.is_glob))
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


def _through(pipeline: Pipeline) -> tuple[Piece, ...]:
    pieces: tuple[Piece, ...] = ()
    for command in pipeline.commands:
        found = program_of(command)
        if found is None or not command.is_shown:
            return ()
        if command.stdin is not None:
            pieces = (Piece(command.stdin),)
        pieces = shown(*found, pieces)
        if not pieces:
            return ()
    return pieces


def _moved(pipeline: Pipeline, folder: str | None) -> tuple[str | None] | None:
    """The folder after a `cd`, if it is one; a folder that cannot be told is nothing."""
    if len(pipeline.commands) > 1:
        return None
    command: Command = pipeline.commands[0]
    found = program_of(command)
    if found is None or found[0] not in ("cd", "pushd", "popd"):
        return None
    name, arguments = found
    if name == "popd" or len(arguments) != 1 or not arguments[0].is_known or arguments[0].is_glob:
        return (None,)
    return (joined(folder, arguments[0].text),)
