"""Whether git would list the same names again, so that it need not be started for each question.

Names change where a file comes, goes or is renamed, which changes its folder's times, where a file
of rules changes, and where git's index does. The bytes of other files have no part in it.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

from anyio import from_thread

from live_memory.adapters.sandbox.git.finding import Refused
from live_memory.adapters.sandbox.git.names import names_in

__all__ = ["Standing"]

# So many folders are looked at in about the time that git takes.
_MOST_FOLDERS = 4_000
# What changed in this time before git was asked may change again and keep its times: file systems
# count in nanoseconds, in ticks of up to 10 ms, or in steps of up to two seconds.
_COARSEST_NS = 2_500_000_000
_RULES, _DATA = ".gitignore", ".git"
# Modification, change, inode, device.
_Look = tuple[int, int, int, int]


class _Git(Protocol):
    """What is asked of git beside the names."""

    def told(self) -> tuple[str | None, Sequence[str]]: ...

    async def ignored(self, folders: Sequence[str]) -> Collection[str]: ...


class _TooMany(Exception):
    """Asking git is cheaper."""


class _Young(Exception):
    """Something changed a moment ago, and may have changed since git was asked."""


@dataclass(slots=True)
class _Grounds:
    """What names that git `said` rest on, by path."""

    said: bytes | None = None
    looks: dict[str, _Look | None] = field(default_factory=dict)

    def hold(self, told: Sequence[str]) -> bool:
        """Whether all of it is as it was, and what tells git is among it."""
        looks = self.looks
        return all(file in looks for file in told) and all(
            _look(path) == before for path, before in looks.items()
        )


class Standing:
    """Knows what git's last words rest on; its methods block, in threads of the event loop."""

    def __init__(self, git: _Git, root: str) -> None:
        self._git, self._root = git, root
        self._grounds = _Grounds()
        self._too_much: bytes | None = None

    def is_of(self, said: bytes | None, problem: str | None) -> bool:
        """Whether git, asked now, would say this again; false where that is not known.

        `problem` is what was wrong with its data then.
        """
        grounds = self._grounds
        if not grounds.looks or said is not grounds.said:
            return False
        try:
            now, told = self._git.told()
        except Refused:
            return False
        return now == problem and grounds.hold(told)

    def found_same(self, said: bytes | None, asked_ns: int) -> None:
        """Git said the same again, asked at this time of day: look at what that rests on.

        Nothing is known where any of it changed shortly before, as it may have changed since.
        """
        if said is None or said is self._too_much:
            return
        self._grounds = _Grounds()
        try:
            self._grounds = _Grounds(said, self._looked_at(names_in(said), asked_ns))
        except _TooMany:
            self._too_much = said
        except (_Young, Refused, OSError):
            return

    def _looked_at(self, names: Sequence[str], asked_ns: int) -> dict[str, _Look | None]:
        looks: dict[str, _Look | None] = {}
        folders = _folders_of(names)
        if len(folders) > _MOST_FOLDERS:
            raise _TooMany
        listed = (f"{self._root}/{folder}" for folder in folders)
        # Looking is quick, reading all folders is not.
        for path in chain(self._git.told()[1], listed, self._resting(folders, frozenset(names))):
            look = looks[path] = _look(path)
            if look is not None and max(look[:2]) > asked_ns - _COARSEST_NS:
                raise _Young
        return looks

    def _resting(self, listed: frozenset[str], names: frozenset[str]) -> Iterator[str]:
        """The folders in which a new name would be listed, and the rules and git data in them."""
        waiting, bare = [""], list[str]()
        count = 0
        while waiting:
            folder = waiting.pop()
            count += 1
            if count > _MOST_FOLDERS:
                raise _TooMany
            yield f"{self._root}/{folder}"
            for name in self._telling(folder):
                below = f"{folder}{name}/"
                if name == _RULES or below[:-1] in names or below in names:
                    # A repository of its own is one name to git while its data are there.
                    yield f"{self._root}/{below[:-1] if name == _RULES else below + _DATA}"
                elif name != _DATA:
                    (waiting if below in listed else bare).append(below)
            if not waiting and bare:
                ignored = from_thread.run(self._git.ignored, bare)
                waiting, bare = [each for each in bare if each not in ignored], []

    def _telling(self, folder: str) -> list[str]:
        """The folders in a folder, and its rules."""
        with os.scandir(f"{self._root}/{folder}") as entries:
            return [
                entry.name
                for entry in entries
                if entry.name == _RULES or entry.is_dir(follow_symlinks=False)
            ]


def _look(path: str) -> _Look | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev


def _folders_of(names: Iterable[str]) -> frozenset[str]:
    """The folders that names lie in and those above them, each ended by a slash."""
    found = {""}
    for folder in {name[: name.rfind("/") + 1] for name in names}:
        end = folder.find("/")
        while end >= 0:
            found.add(folder[: end + 1])
            end = folder.find("/", end + 1)
    return frozenset(found)
