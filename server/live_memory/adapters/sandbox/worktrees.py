"""The work trees of one repository, found from its own git data and from nowhere else.

Each must point back at the repository, so a path that somebody made up opens no folder.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

import anyio
from anyio import to_thread

from live_memory.adapters.sandbox.git.finding import (
    Refused,
    git_folders,
    named_work_tree,
    resolved,
    small_file,
)
from live_memory.core.hosts.paths import inside

__all__ = ["GitWorktrees"]

# More than this nobody works in.
_MOST = 100
# A burst asks a thousand times a second, and most repositories have one work tree. An agent takes
# longer to make another one and to read in it.
_ALONE_S, _MOST_ALONE = 0.1, 64


class GitWorktrees:
    """Tells to which work tree of a repository a path belongs."""

    def __init__(self) -> None:
        self._alone_until: dict[str, float] = {}

    async def holding(self, paths: Sequence[str], *, beside: str) -> Sequence[str | None]:
        """The root of the other work tree that each path lies in; nothing for the rest."""
        now = anyio.current_time()
        is_alone = now < self._alone_until.get(beside, now)
        if is_alone and all(inside(beside, path) is not None for path in paths):
            return [None] * len(paths)
        roots = await to_thread.run_sync(_roots, beside)
        if len(roots) == 1:
            if len(self._alone_until) >= _MOST_ALONE:
                self._alone_until.clear()
            self._alone_until[beside] = now + _ALONE_S
            return [None] * len(paths)
        return await to_thread.run_sync(_holding, paths, beside, roots)

    async def main(self, root: str) -> str | None:
        """The main work tree of the repository that `root` is a linked work tree of."""
        return await to_thread.run_sync(_main, root)


def _main(root: str) -> str | None:
    try:
        common = git_folders(root)[1]
        main = os.path.dirname(common) if os.path.basename(common) == ".git" else None
        main = main or named_work_tree(common)
        is_theirs = main is not None and main != root and git_folders(main)[1] == common
    except Refused:  # no repository, or one that is not to be believed
        return None
    return main if is_theirs else None


def _roots(root: str) -> Sequence[str]:
    """Of all work trees of the repository at `root`, the longest first."""
    return sorted({root, *_worktrees(root)}, key=len, reverse=True)


def _holding(paths: Sequence[str], root: str, roots: Sequence[str]) -> Sequence[str | None]:
    nearest = (next((r for r in roots if _is_in(r, path)), None) for path in paths)
    return [None if found == root else found for found in nearest]


def _is_in(root: str, path: str) -> bool:
    if path == root:
        return True
    folder, _, name = path.rpartition("/")
    try:
        return inside(root, os.path.join(os.path.realpath(folder or "/"), name)) is not None
    except (OSError, ValueError):
        return False


def _worktrees(root: str) -> Iterator[str]:
    """Real roots of the work trees of the repository that `root` is one of."""
    try:
        common = git_folders(root)[1]
    except Refused:
        return
    for candidate in _named(common):
        with suppress(Refused):  # removed, moved, or another repository's
            if git_folders(candidate)[1] == common:
                yield candidate


def _named(common: str) -> Iterator[str]:
    """The real roots that shared git data lie in or name; not yet checked."""
    with suppress(Refused):
        beside = os.path.dirname(common) if os.path.basename(common) == ".git" else None
        main = beside or named_work_tree(common)
        if main is not None:
            yield main
    with suppress(OSError), os.scandir(os.path.join(common, "worktrees")) as entries:
        for entry in islice(entries, _MOST):
            pointer = small_file(os.path.join(entry.path, "gitdir"))
            with suppress(Refused):
                if pointer is not None:
                    yield os.path.dirname(resolved(entry.path, pointer))
