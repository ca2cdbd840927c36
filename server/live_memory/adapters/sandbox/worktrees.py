"""The work trees of one repository, found from its own git data, and repositories that lie in them.

Each work tree must point back at the repository, so a path that somebody made up opens no folder.
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
# A burst asks a thousand times a second, most repositories have one work tree, and most folders lie
# in no repository of their own. An agent takes longer to make another one and to read in it.
_HERE_S, _MOST_FOLDERS = 0.1, 1_024
# A work tree is linked when it is made. Facts that go to another one are looked at there once more,
# so that nothing is told wrongly where that changes.
_MAIN_S = 5.0


class GitWorktrees:
    """Tells to which work tree of a repository a path belongs."""

    def __init__(self) -> None:
        self._here_until: dict[tuple[str, str], float] = {}
        # What was found out for each root, and until when that counts.
        self._mains: dict[str, tuple[str | None, float]] = {}

    async def holding(self, paths: Sequence[str], *, beside: str) -> Sequence[str | None]:
        """The root of the other work tree or repository that each path lies in; nothing for the
        rest.
        """
        now = anyio.current_time()
        folders = [(beside, os.path.dirname(path)) for path in paths]
        if all(now < self._here_until.get(folder, now) for folder in folders):
            return [None] * len(paths)
        roots = await to_thread.run_sync(_roots, beside)
        found = await to_thread.run_sync(_holding, paths, beside, roots)
        if len(roots) == 1 and not any(found) and all(inside(beside, path) for path in paths):
            if len(self._here_until) > _MOST_FOLDERS:
                self._here_until.clear()
            self._here_until |= dict.fromkeys(folders, now + _HERE_S)
        return found

    async def main(self, root: str) -> str | None:
        """The main work tree of the repository that `root` is a linked work tree of."""
        now = anyio.current_time()
        found, until = self._mains.get(root, (None, now))
        if now >= until:
            found = await to_thread.run_sync(_main, root)
            if len(self._mains) > _MOST_FOLDERS:
                self._mains.clear()
            self._mains[root] = found, now + _MAIN_S
        return found


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
    nearest = (_nearest(path, roots) for path in paths)
    return [None if found == root else found for found in nearest]


def _nearest(path: str, roots: Sequence[str]) -> str | None:
    """The repository that a path lies in, where that is one of these or within one of them."""
    folder, _, name = path.rpartition("/")
    try:
        real = path if path in roots else os.path.join(os.path.realpath(folder or "/"), name)
    except (OSError, ValueError):
        return None
    root = next((r for r in roots if real == r or inside(r, real) is not None), None)
    while root is not None and real != root:
        if os.path.lexists(os.path.join(real, ".git")):
            return real
        real = os.path.dirname(real)
    return root


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
