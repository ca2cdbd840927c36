"""Where the git data of a folder lie: what `.git` leads to, and whether that names the folder."""

import os
import re
import stat
from dataclasses import dataclass

from live_memory.core.errors import refuse_exhausted

__all__ = [
    "FoundData",
    "Refused",
    "find_data",
    "git_folders",
    "is_sha256",
    "kind_of",
    "named_work_tree",
    "resolved",
    "shallow_ends",
    "small_file",
]

_LARGEST_POINTER = 64 * 1024
_SHA256 = re.compile(rb"^[ \t]*objectformat[ \t]*=[ \t]*sha256\s?$", re.IGNORECASE | re.MULTILINE)
_WORKTREE = re.compile(rb"^[ \t]*worktree[ \t]*=[ \t]*([^\s].*)$", re.IGNORECASE | re.MULTILINE)
_NOT_THIS_FOLDER = "git data is refused: '.git' leads to data that does not name this folder"


class Refused(Exception):
    """Git data that is not there or not to be trusted; the text says why."""


@dataclass(frozen=True, slots=True)
class FoundData:
    """Where a work tree's git data seem to be; `problem` says why they are not to be trusted.

    Rules are read there all the same, and names are told that stand in the work tree too.
    """

    own: str
    common: str
    problem: str | None = None


def git_folders(root: str) -> tuple[str, str]:
    """The folders of a work tree's own git data and of what all its repository's trees share.

    Raises:
        Refused: there is none, or it leads to data that does not name this work tree.
    """
    found = find_data(root)
    if found.problem is not None:
        raise Refused(found.problem)
    return found.own, found.common


def find_data(root: str) -> FoundData:
    """Find the git data that `.git` leads to, whether or not they name this work tree.

    Raises:
        Refused: there is none, nobody's, or a repository's without a work tree.
    """
    dot = os.path.join(root, ".git")
    kind = kind_of(dot)
    if kind is None:
        raise Refused("not a git work tree")
    if stat.S_ISDIR(kind):
        found = FoundData(dot, dot)
        if kind_of(os.path.join(dot, "commondir")) is not None:
            found = FoundData(dot, dot, "git data is refused: '.git' leads to another repository")
    elif stat.S_ISREG(kind):
        found = _pointed_at(root, dot)
    elif stat.S_ISLNK(kind):
        found = _behind(root, resolved(root, b".git"))
    else:
        raise Refused("git data is refused: '.git' is a special file")
    if kind_of(os.path.join(found.own, "HEAD")) is None:
        raise Refused("git data is refused: HEAD is missing or malformed")
    if found.own == found.common and _is_bare(found.own):
        raise Refused("not a git work tree: '.git' leads to a repository without one")
    return found


def _is_bare(folder: str) -> bool:
    """Whether git data say that they have no work tree, and never had one."""
    config = (small_file(os.path.join(folder, "config")) or b"").lower().splitlines()
    says_so = any(b"".join(line.split()) == b"bare=true" for line in config)
    return says_so and kind_of(os.path.join(folder, "index")) is None


def named_work_tree(folder: str) -> str | None:
    """The real path of the work tree that git data name in their config.

    Raises:
        Refused: it leads nowhere.
    """
    pointer = _WORKTREE.search(small_file(os.path.join(folder, "config")) or b"")
    return None if pointer is None else resolved(folder, pointer[1].strip().strip(b'"'))


def is_sha256(common: str) -> bool:
    """Whether a repository's ids are those of SHA-256."""
    return bool(_SHA256.search(small_file(os.path.join(common, "config")) or b""))


def _pointed_at(root: str, dot: str) -> FoundData:
    """Follow a `.git` file to a linked worktree's or a submodule's data."""
    text = small_file(dot) or b""
    if not text.startswith(b"gitdir:"):
        raise Refused("git data is refused: '.git' is no pointer to git data")
    return _behind(root, resolved(root, text[len(b"gitdir:") :]))


def _behind(root: str, own: str) -> FoundData:
    """Data outside of the work tree; they are trusted if they point back."""
    _refuse_strangers(own)
    common_text = small_file(os.path.join(own, "commondir"))
    common = own if common_text is None else resolved(own, common_text)
    _refuse_strangers(common)
    try:
        is_named = _names(own, common, root)
    except Refused:  # what it names is gone: the work tree was moved
        is_named = False
    return FoundData(own, common, None if is_named else _NOT_THIS_FOLDER)


def _names(own: str, common: str, root: str) -> bool:
    """Whether git data say that they are those of this work tree.

    Raises:
        Refused: what they say leads nowhere.
    """
    if own == common:
        return named_work_tree(own) == root
    back = small_file(os.path.join(own, "gitdir"))
    is_listed = os.path.dirname(own) == os.path.join(common, "worktrees")
    return is_listed and back is not None and resolved(own, back) == os.path.join(root, ".git")


def resolved(base: str, pointer: bytes) -> str:
    """Where a path in git data leads.

    Raises:
        Refused: nowhere.
    """
    name = os.fsdecode(pointer.strip())
    try:
        return os.path.realpath(os.path.join(base, name), strict=True)
    except (OSError, ValueError) as problem:
        refuse_exhausted(problem)
        raise Refused("git data is refused: a pointer in '.git' leads nowhere") from problem


def _refuse_strangers(folder: str) -> None:
    try:
        status = os.stat(folder)
    except OSError as problem:
        refuse_exhausted(problem)
        raise Refused("git data is refused: it cannot be read") from problem
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise Refused("git data is refused: it belongs to another user")


def shallow_ends(common: str) -> frozenset[str] | None:
    """The commits at which a shallow clone was cut off; nothing where it is none.

    Git keeps an id a line.
    """
    shallow = os.path.join(common, "shallow")
    if kind_of(shallow) is None:
        return None
    return frozenset((small_file(shallow) or b"").decode("ascii", "replace").split())


def kind_of(path: str) -> int | None:
    """A name's mode, links not followed; nothing where there is no such name."""
    try:
        return os.lstat(path).st_mode
    except OSError as problem:
        refuse_exhausted(problem)
        return None


def small_file(path: str) -> bytes | None:
    """A small regular file's bytes; nothing when it is anything else.

    Raises:
        Exhausted: it cannot be looked at now.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as problem:
        refuse_exhausted(problem)
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = os.read(descriptor, _LARGEST_POINTER + 1)
        return data if len(data) <= _LARGEST_POINTER else None
    except OSError:
        return None
    finally:
        os.close(descriptor)
