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
    # Whether everything before in a chain of `&&` was a `cd`: one that failed leads nowhere, so
    # what is said of the rest of its chain is about no file at all.
    only_moves = True
    for pipeline in found:
        del folders[pipeline.depth + 1 :]
        folders += folders[-1:] * (pipeline.depth + 1 - len(folders))
        if pipeline.is_alternative:
            only_moves = False
            continue
        only_moves |= not pipeline.is_conditional
        moved = _moved(pipeline, folders[-1])
        if moved is not None:
            folders[-1] = moved[0]
            continue
        if _leaves(pipeline, ending):
            return
        is_sure = only_moves and pipeline.depth == 0 and pipeline is not found[-1]
        if ending is Ending.SUCCEEDED or (ending is Ending.FAILED and is_sure):
            yield folders[-1], pipeline
        only_moves = False


def _leaves(pipeline: Pipeline, ending: Ending) -> bool:
    """Whether what stands behind it may not have run."""
    name = (program_of(pipeline.commands[0]) or ("",))[0]
    if ending is Ending.FAILED and name == "set":
        return True
    return name in _LEAVES and pipeline.depth == 0 and not pipeline.is_conditional


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
