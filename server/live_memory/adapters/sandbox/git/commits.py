"""How git is asked for commits, and how what it says is read."""

from dataclasses import replace

from live_memory.adapters.sandbox.git.finding import shallow_ends
from live_memory.core.reading.lookup import Commit, History
from live_memory.core.values import RelPath

__all__ = ["LOG", "commits_in", "marked", "pathspec"]

_FORMAT = "--format=tformat:%H%x00%at%x00%an%x00%s"
LOG = (
    *("-z", _FORMAT, "--no-show-signature", "--no-color"),
    *("--no-decorate", "--no-mailmap", "--no-notes"),
)


def commits_in(out: bytes) -> list[Commit]:
    """The commits that `git log` says with `LOG`, in its order."""
    fields = out.decode("utf-8", "replace").split("\0")[:-1]
    rows = zip(fields[::4], fields[1::4], fields[2::4], fields[3::4], strict=False)
    return [Commit(id_, float(at), author, subject) for id_, at, author, subject in rows]


def marked(history: History, common: str) -> History:
    """Say where the history of a shallow clone ends, by its common git folder."""
    ends = shallow_ends(common)
    return history if ends is None else replace(history, is_shallow=True, ends=ends)


def pathspec(path: str | None) -> tuple[str, ...]:
    """The arguments that keep to a path below the root.

    Raises:
        OutsideWorkspace: it does not lead into the workspace.
    """
    if path in (None, ".", "./"):
        return ("--",)
    return ("--", RelPath.parse(path or "").text)
