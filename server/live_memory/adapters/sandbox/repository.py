"""Git without the repository's configuration: where its data lie, and a private git dir over them.

A hostile repository can make plain git run programs, whatever flags it is given (filters have no
flag). So git gets a git dir made by us, with a config that holds nothing, whose HEAD was checked
and whose refs, index and objects are those of the repository.
"""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "GitData",
    "PrivateGitDir",
    "Refused",
    "git_folders",
    "kind_of",
    "locate",
    "named_work_tree",
    "resolved",
    "small_file",
]

_LARGEST_POINTER = 64 * 1024
_HEAD = re.compile(rb"(?:ref: refs/[^\x00-\x20\x7f~^:?*\[\\]{1,1000}|[0-9a-f]{40}|[0-9a-f]{64})\n?")
_SHA256 = re.compile(rb"^\s*objectformat\s*=\s*sha256\s*$", re.IGNORECASE | re.MULTILINE)
_WORKTREE = re.compile(rb"^\s*worktree\s*=\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)
# Also what a partial clone or a shared index consists of; each is read by git as it stands.
_LINKED = ("packed-refs", "shallow")
_NOT_THIS_FOLDER = "git data is refused: '.git' leads to data that does not name this folder"

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
}


class Refused(Exception):
    """Git data that is not there or not to be trusted; the text says why."""


@dataclass(frozen=True, slots=True)
class GitData:
    """Where a repository's data lie; `objects_problem` says why its objects are not read.

    Nobody reads objects that nobody checked.
    """

    own: str  # HEAD and index: `.git`, or that of a linked worktree or submodule
    common: str  # refs, objects and info
    head: bytes
    is_sha256: bool
    objects_problem: str | None = "git history is refused: its object store was not checked"

    def must_have_objects(self) -> None:
        """Go on only where commits can be read.

        Raises:
            Refused: the object store is not to be trusted.
        """
        if self.objects_problem:
            raise Refused(self.objects_problem)


def locate(root: str) -> GitData:
    """Find and check the git data of a work tree, all but its objects.

    Raises:
        Refused: there is none, or it leads to data that does not name this work tree.
    """
    own, common = git_folders(root)
    head = small_file(os.path.join(own, "HEAD"))
    if head is None or not _HEAD.fullmatch(head):
        raise Refused("git data is refused: HEAD is missing or malformed")
    if kind_of(os.path.join(common, "reftable")) is not None:
        raise Refused("git history is not available: refs are stored as reftable")
    for folder in ("refs", "objects"):
        kind = kind_of(os.path.join(common, folder))
        if kind is None or not stat.S_ISDIR(kind):
            raise Refused(f"git data is refused: '{folder}' is no folder")
    config = small_file(os.path.join(common, "config")) or b""
    return GitData(own, common, head, bool(_SHA256.search(config)))


def git_folders(root: str) -> tuple[str, str]:
    """The folders of a work tree's own git data and of what all its repository's trees share.

    Raises:
        Refused: there is none, or it leads to data that does not name this work tree.
    """
    dot = os.path.join(root, ".git")
    kind = kind_of(dot)
    if kind is None:
        raise Refused("not a git work tree")
    if stat.S_ISDIR(kind):
        if kind_of(os.path.join(dot, "commondir")) is not None:
            raise Refused("git data is refused: '.git' leads to another repository")
        return dot, dot
    if stat.S_ISREG(kind):
        return _pointed_at(root, dot)
    raise Refused("git data is refused: '.git' is a link or a special file")


def named_work_tree(folder: str) -> str | None:
    """The real path of the work tree that git data name in their config.

    Raises:
        Refused: it leads nowhere.
    """
    pointer = _WORKTREE.search(small_file(os.path.join(folder, "config")) or b"")
    return None if pointer is None else resolved(folder, pointer[1].strip(b'"'))


class PrivateGitDir:
    """A git dir of ours for one work tree, 0700, brought up to date before each use."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._folder: Path | None = None

    def environment(self, data: GitData) -> Mapping[str, str]:
        """What git must be told so that it sees the repository through our folder."""
        folder = self._folder or Path(tempfile.mkdtemp(prefix="live-memory-git-"))
        self._folder = folder
        (folder / "empty").mkdir(exist_ok=True)
        (folder / "info").mkdir(exist_ok=True)
        version = "1\n[extensions]\n\tobjectFormat = sha256" if data.is_sha256 else "0"
        _write(folder / "config", f"[core]\n\trepositoryFormatVersion = {version}\n".encode())
        _write(folder / "HEAD", data.head)
        _write(folder / "info" / "exclude", small_file(f"{data.common}/info/exclude") or b"")
        _link(folder / "refs", f"{data.common}/refs")
        for name in _LINKED:
            _link(folder / name, f"{data.common}/{name}")
        for name in _shared_indexes(data.own):
            _link(folder / name, f"{data.own}/{name}")
        objects = "objects" if data.objects_problem is None else None
        return _ENVIRONMENT | {
            "GIT_DIR": str(folder),
            "GIT_WORK_TREE": self._root,
            "GIT_INDEX_FILE": os.path.join(data.own, "index"),
            "GIT_OBJECT_DIRECTORY": f"{data.common}/{objects}" if objects else f"{folder}/empty",
        }

    def close(self) -> None:
        """Remove the folder."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _pointed_at(root: str, dot: str) -> tuple[str, str]:
    """Follow a `.git` file to a linked worktree's or a submodule's data, if they point back."""
    text = small_file(dot) or b""
    if not text.startswith(b"gitdir:"):
        raise Refused("git data is refused: '.git' is no pointer to git data")
    own = resolved(root, text[len(b"gitdir:") :])
    _refuse_strangers(own)
    common_text = small_file(os.path.join(own, "commondir"))
    if common_text is None:
        if named_work_tree(own) != root:
            raise Refused(_NOT_THIS_FOLDER)
        return own, own
    common = resolved(own, common_text)
    _refuse_strangers(common)
    back = small_file(os.path.join(own, "gitdir"))
    is_ours = os.path.dirname(own) == os.path.join(common, "worktrees")
    if not is_ours or back is None or resolved(own, back) != dot:
        raise Refused(_NOT_THIS_FOLDER)
    return own, common


def resolved(base: str, pointer: bytes) -> str:
    """Where a path in git data leads.

    Raises:
        Refused: nowhere.
    """
    name = os.fsdecode(pointer.strip())
    try:
        return os.path.realpath(os.path.join(base, name), strict=True)
    except (OSError, ValueError) as problem:
        raise Refused("git data is refused: a pointer in '.git' leads nowhere") from problem


def _refuse_strangers(folder: str) -> None:
    try:
        status = os.stat(folder)
    except OSError as problem:
        raise Refused("git data is refused: it cannot be read") from problem
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise Refused("git data is refused: it belongs to another user")


def _shared_indexes(own: str) -> Iterator[str]:
    with suppress(OSError), os.scandir(own) as entries:
        for entry in entries:
            if entry.name.startswith("sharedindex.") and entry.is_file(follow_symlinks=False):
                yield entry.name


def kind_of(path: str) -> int | None:
    """A name's mode, links not followed; nothing where there is no such name."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return None


def small_file(path: str) -> bytes | None:
    """A small regular file's bytes; nothing when it is anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
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


def _write(path: Path, data: bytes) -> None:
    """Write a file of ours, in one step for a git that reads meanwhile, if it is not so already."""
    with suppress(OSError):
        if path.read_bytes() == data:
            return
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    os.replace(name, path)


def _link(path: Path, target: str) -> None:
    """Point a name of ours at the repository's data; what is missing there is missing here."""
    with suppress(OSError):
        if os.readlink(path) == target:
            return
    path.unlink(missing_ok=True)
    path.symlink_to(target)
