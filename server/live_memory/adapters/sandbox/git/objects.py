"""Whether a repository's objects and refs may be read: all of them must lie in the workspace.

Looking at every object takes 3 ms for 2,000 of them, before every question; so a store that was
found fine stays so while each folder of it is as it was.
"""

import os
import stat
import time
from collections.abc import Iterator

from live_memory.adapters.sandbox.git.finding import Refused, kind_of, resolved, small_file

__all__ = ["ObjectStore"]

_MOST_STORES = 5  # git itself follows five
# A folder that changed this short a while ago may change again without a new time (opener.py).
_TICK_NS = 12_000_000

# Device, inode, times: a name that comes or goes in a folder moves its ctime, which nobody sets.
_State = tuple[int, int, int, int]


class ObjectStore:
    """Judges the objects of one work tree; what was fine needs no second look while it rests."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._fine: _Look | None = None

    def problem(self, common: str) -> str | None:
        """Why the history in this git folder is not read: parts of it lie elsewhere."""
        objects, fine = os.path.join(common, "objects"), self._fine
        if fine is not None and objects in fine.folders and fine.still_holds():
            return None
        began_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
        look = _Look(self._root)
        problem = look.problem(objects) or look.problem_of_refs(os.path.join(common, "refs"))
        self._fine = look if problem is None and look.is_settled(began_ns) else None
        return problem


class _Look:
    """One look through an object store, with the state of each folder before it was read."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.folders: dict[str, _State | None] = {}
        self.alternates: dict[str, bytes | None] = {}

    def problem(self, objects: str) -> str | None:
        """Why the store is not read, if so."""
        try:
            for store in self._stores(objects):
                if any(entry.is_symlink() for entry in self._entries(store)):
                    return "git history is refused: its object store holds links"
        except Refused as problem:
            return str(problem)
        except OSError:
            return "git history is refused: its object store cannot be read"
        return None

    def problem_of_refs(self, refs: str) -> str | None:
        """Why the refs are not read, if so: git follows links and waits for pipes."""
        waiting = [refs] if kind_of(refs) is not None else []
        try:
            while waiting:
                folder = waiting.pop()
                self.folders[folder] = _state_of(folder)
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                        elif not entry.is_file(follow_symlinks=False):
                            return "git history is refused: its refs hold links or special files"
        except OSError:
            return "git history is refused: its refs cannot be read"
        return None

    def still_holds(self) -> bool:
        """Whether nothing has moved that the verdict rests on."""
        return all(_state_of(name) == state for name, state in self.folders.items()) and all(
            small_file(name) == text for name, text in self.alternates.items()
        )

    def is_settled(self, began_ns: int) -> bool:
        """Whether every folder was at rest before the look began."""
        return all(s is not None and s[3] + _TICK_NS < began_ns for s in self.folders.values())

    def _stores(self, objects: str) -> Iterator[str]:
        """An object store and those it borrows from, each of which must lie in the workspace."""
        waiting, seen = [objects], {objects}
        while waiting:
            store = waiting.pop()
            yield store
            alternates = os.path.join(store, "info", "alternates")
            text = self.alternates[alternates] = small_file(alternates)
            if text is None and kind_of(alternates) is not None:
                raise Refused("git history is refused: its alternates cannot be read")
            for line in (text or b"").splitlines():
                if not line.strip() or line.startswith(b"#"):
                    continue
                borrowed = resolved(store, line)
                if not borrowed.startswith(self._root + "/") or len(seen) > _MOST_STORES:
                    raise Refused("git history is refused: it borrows objects from outside")
                if borrowed not in seen:
                    seen.add(borrowed)
                    waiting.append(borrowed)

    def _entries(self, objects: str) -> Iterator[os.DirEntry[str]]:
        """The entries of an object store and of its folders (`pack`, `info`, `00` to `ff`)."""
        self.folders[objects] = _state_of(objects)
        with os.scandir(objects) as folders:
            for folder in folders:
                yield folder
                if folder.is_dir(follow_symlinks=False):
                    self.folders[folder.path] = _state_of(folder.path)
                    with os.scandir(folder.path) as entries:
                        yield from entries


def _state_of(folder: str) -> _State | None:
    try:
        status = os.lstat(folder)
    except OSError:
        return None
    if not stat.S_ISDIR(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns
