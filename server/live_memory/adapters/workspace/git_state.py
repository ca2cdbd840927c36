"""Whether git would list the same names again, so that it need not be started for each question.

Names change where a file comes, goes or is renamed, which changes its folder's times, where a file
of rules changes, and where git's index does. The bytes of other files have no part in it.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Protocol

import anyio
from anyio import from_thread, to_thread

from live_memory.adapters.workspace.git_repository import (
    GitDataRefused,
    git_folders,
    named_work_tree,
    names_in,
    resolved,
    small_file,
)
from live_memory.core.hosts.events import inside

__all__ = ["GitState", "GitWorktrees", "tracked_names"]

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


class GitState:
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
        except GitDataRefused:
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
        except (_Young, GitDataRefused, OSError):
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


# Half a million names; a larger index is no code base that one memory can hold.
_LARGEST = 64 * 1024 * 1024
_HEADER, _BEFORE_ID, _EXTENDED, _LONGEST = 12, 40, 0x4000, 0xFFF
_KNOWN_VERSIONS = (2, 3, 4)
# The extension that says so stands first.
_SPLIT = b"link"


def tracked_names(git_folder: str, *, is_sha256: bool) -> frozenset[str] | None:
    """The names in a git folder's index; nothing where it is damaged, or in another form.

    Rules are for untracked names alone. Asked for only where git itself cannot list.
    """
    index = os.path.join(git_folder, "index")
    data = _bytes_of(index)
    if not data and not os.path.lexists(index):
        return frozenset()
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in _KNOWN_VERSIONS:
        return None
    try:
        names = _names(data, version, 32 if is_sha256 else 20)
        return frozenset(name.decode("utf-8", "surrogateescape") for name in names)
    except (IndexError, ValueError):
        return None


def _names(data: bytes, version: int, id_size: int) -> Iterator[bytes]:
    """The names in order; an `IndexError` or `ValueError` where the index is torn or damaged."""
    at, before = _HEADER, b""
    for _ in range(int.from_bytes(data[8:12], "big")):
        start = at
        at += _BEFORE_ID + id_size
        flags = int.from_bytes(data[at : at + 2], "big")
        at += 4 if version > 2 and flags & _EXTENDED else 2
        if version == 4:
            # As git's packs write an offset: how much of the name before is left out.
            left_out, at = _offset(data, at)
            end = data.index(b"\0", at)
            name = before[: len(before) - left_out] + data[at:end]
            at = end + 1
        else:
            length = flags & _LONGEST
            end = data.index(b"\0", at) if length == _LONGEST else at + length
            name = data[at:end]
            at = start + (end - start + 8) // 8 * 8
        if not name or end >= len(data):
            raise ValueError("a name is empty, or the index ends in it")
        yield (before := name)
    if data[at : at + 4] == _SPLIT:
        raise ValueError("most names are in another file")


def _offset(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _bytes_of(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return b""
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


# More than this nobody works in.
_MOST = 100
# A burst asks a thousand times a second, most repositories have one work tree, and most folders lie
# in no repository of their own. An agent takes longer to make another one and to read in it.
_HERE_S, _MOST_WORKTREES = 0.5, 1_024
# A work tree is linked when it is made. Facts that go to another one are looked at there once more,
# so that nothing is told wrongly where that changes.
_MAIN_S = 5.0


class GitWorktrees:
    """Tells to which work tree of a repository a path belongs.

    Each work tree must point back at the repository, so a path that is made up opens no folder.
    """

    def __init__(self) -> None:
        self._here_until: dict[tuple[str, str], float] = {}
        # What was found out for each root, and until when that counts.
        self._mains: dict[str, tuple[str | None, float]] = {}

    async def holding(self, paths: Sequence[str], *, beside: str) -> Sequence[str | None]:
        """The root of the other work tree or repository that each path lies in, if any."""
        now = anyio.current_time()
        folders = [(beside, os.path.dirname(path)) for path in paths]
        if all(now < self._here_until.get(folder, now) for folder in folders):
            return [None] * len(paths)
        count, found = await to_thread.run_sync(_holding, paths, beside)
        if count == 1 and not any(found) and all(inside(beside, path) for path in paths):
            if len(self._here_until) > _MOST_WORKTREES:
                self._here_until.clear()
            self._here_until |= dict.fromkeys(folders, now + _HERE_S)
        return found

    async def main(self, root: str) -> str | None:
        """The main work tree of the repository that `root` is a linked work tree of."""
        now = anyio.current_time()
        found, until = self._mains.get(root, (None, now))
        if now >= until:
            found = await to_thread.run_sync(_main, root)
            if len(self._mains) > _MOST_WORKTREES:
                self._mains.clear()
            self._mains[root] = found, now + _MAIN_S
        return found


def _main(root: str) -> str | None:
    try:
        common = git_folders(root)[1]
        main = os.path.dirname(common) if os.path.basename(common) == ".git" else None
        main = main or named_work_tree(common)
        is_theirs = main is not None and main != root and git_folders(main)[1] == common
    except GitDataRefused:  # no repository, or one that is not to be believed
        return None
    return main if is_theirs else None


def _holding(paths: Sequence[str], root: str) -> tuple[int, Sequence[str | None]]:
    """How many work trees the repository at `root` has, and the other one that holds each path."""
    roots = sorted({root, *_worktrees(root)}, key=len, reverse=True)
    nearest = (_nearest(path, roots) for path in paths)
    return len(roots), [None if found == root else found for found in nearest]


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
    except GitDataRefused:
        return
    for candidate in _named(common):
        with suppress(GitDataRefused):  # removed, moved, or another repository's
            if git_folders(candidate)[1] == common:
                yield candidate


def _named(common: str) -> Iterator[str]:
    """The real roots that shared git data lie in or name; not yet checked."""
    with suppress(GitDataRefused):
        beside = os.path.dirname(common) if os.path.basename(common) == ".git" else None
        main = beside or named_work_tree(common)
        if main is not None:
            yield main
    with suppress(OSError), os.scandir(os.path.join(common, "worktrees")) as entries:
        for entry in islice(entries, _MOST):
            pointer = small_file(os.path.join(entry.path, "gitdir"))
            with suppress(GitDataRefused):
                if pointer is not None:
                    yield os.path.dirname(resolved(entry.path, pointer))
