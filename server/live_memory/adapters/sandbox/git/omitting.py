"""What a listing leaves out although no rule ignores it, and repositories that rules do ignore.

Nothing is opened here but folders of the workspace: it names what was not looked at.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from live_memory.adapters.sandbox.git.names import TOOL_FOLDERS, citable
from live_memory.adapters.sandbox.opener import SafeRoot
from live_memory.core.reading.lookup import Omission, Omitted
from live_memory.core.values import RelPath

__all__ = ["MOST_OMITTED", "omitted"]

# Names of a sparse checkout may be many; more of them say no more.
MOST_OMITTED = 20_000
# Folders that may hold a repository are looked at from the top; 10,000 of them take 0.2 s.
_MOST_FOLDERS, _LONGEST_LOOK_S = 10_000, 0.5


def omitted(
    root: SafeRoot, unlisted: Iterable[str], *, listed: Collection[RelPath]
) -> list[Omitted]:
    """Say of each name why it is not `listed`, and name the repositories below the root."""
    found: dict[RelPath, Omitted] = {}
    folders = {above for path in listed for above in _above(path.text)}
    names = sorted({name.rstrip("/") for name in unlisted})
    for each in (*_of_names(root, names), *_repositories(root)):
        if each.path.text not in folders and len(found) < MOST_OMITTED:
            found.setdefault(each.path, each)
    for path in listed:
        if not os.access(f"{root.root}/{path}", os.R_OK) and len(found) < MOST_OMITTED:
            found[path] = Omitted(path, Omission.UNREADABLE)
    return list(found.values())


def _above(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _of_names(root: SafeRoot, names: Iterable[str]) -> Iterator[Omitted]:
    for folder, group in groupby(names, key=lambda name: name.rpartition("/")[0]):
        paths = [path for name in group if (path := citable(root, name)) is not None]
        try:
            descriptor = root.open_folder(RelPath(folder) if folder else None)
        except PermissionError:
            yield Omitted(RelPath(folder), Omission.UNREADABLE)
        except OSError:
            yield from (Omitted(path, Omission.ABSENT) for path in paths)
        else:
            try:
                for path in paths:
                    yield from _of_name(root, path, descriptor)
            finally:
                os.close(descriptor)


def _of_name(root: SafeRoot, path: RelPath, folder: int) -> Iterator[Omitted]:
    try:
        mode = os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode
    except PermissionError:
        yield Omitted(path, Omission.UNREADABLE)
    except OSError:
        yield Omitted(path, Omission.ABSENT)
    else:
        if stat.S_ISLNK(mode):
            yield Omitted(path, Omission.LINK, _target(root, path))
        elif stat.S_ISDIR(mode):
            yield from _of_folder(root, path)


def _of_folder(root: SafeRoot, path: RelPath) -> Iterator[Omitted]:
    """A folder that git names as one: a repository, or where a submodule would be."""
    try:
        names = _names_in(root, path)
    except OSError:
        yield Omitted(path, Omission.UNREADABLE)
        return
    if ".git" in names:
        is_file = os.path.isfile(f"{root.root}/{path}/.git")
        yield Omitted(path, Omission.SUBMODULE if is_file else Omission.REPOSITORY)
    elif not names:
        yield Omitted(path, Omission.NOT_CHECKED_OUT)


def _target(root: SafeRoot, path: RelPath) -> RelPath | None:
    """What a link leads to, where that may be told."""
    real = os.path.realpath(f"{root.root}/{path}")
    if not real.startswith(f"{root.root}/") or not os.path.exists(real):
        return None
    return citable(root, real[len(root.root) + 1 :])


def _repositories(root: SafeRoot) -> Iterator[Omitted]:
    """Repositories in folders that rules may ignore, and folders that cannot be read."""
    ends_at, waiting, seen = time.monotonic() + _LONGEST_LOOK_S, deque[RelPath | None]([None]), 0
    while waiting and seen < _MOST_FOLDERS and time.monotonic() < ends_at:
        folder, seen = waiting.popleft(), seen + 1
        try:
            names = _names_in(root, folder)
        except PermissionError:
            if folder is not None:
                yield Omitted(folder, Omission.UNREADABLE)
            continue
        except OSError:
            continue
        if folder is not None and ".git" in names:
            yield Omitted(folder, Omission.REPOSITORY)
            continue
        for name, is_folder in names.items():
            if is_folder and name.casefold() not in TOOL_FOLDERS:
                below = citable(root, f"{folder}/{name}" if folder else name)
                waiting.extend([below] if below else [])


def _names_in(root: SafeRoot, folder: RelPath | None) -> dict[str, bool]:
    """The names in a folder, and which of them are folders themselves."""
    descriptor = root.open_folder(folder)
    try:
        with os.scandir(descriptor) as entries:
            return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    finally:
        os.close(descriptor)
