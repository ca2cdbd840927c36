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

from live_memory.adapters.sandbox.git.finding import (
    Refused,
    find_data,
    is_sha256,
    kind_of,
    small_file,
)

__all__ = ["GitData", "PrivateGitDir", "locate"]

_HEAD = re.compile(rb"(?:ref: refs/[^\x00-\x20\x7f~^:?*\[\\]{1,1000}|[0-9a-f]{40}|[0-9a-f]{64})\n?")
# Also what a partial clone or a shared index consists of; each is read by git as it stands.
_LINKED = ("packed-refs", "shallow")

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
    # What is wrong with all but HEAD and index: names are told from these, and no commit is.
    problem: str | None = None

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
    found = find_data(root)
    head = small_file(os.path.join(found.own, "HEAD"))
    if head is None or not _HEAD.fullmatch(head):
        raise Refused("git data is refused: HEAD is missing or malformed")
    if not _is_plain(os.path.join(found.own, "index")):
        raise Refused("git data is refused: 'index' is a link or a special file")
    problem = found.problem or _problem_of(found.common)
    return GitData(found.own, found.common, head, is_sha256(found.common), problem=problem)


def _problem_of(common: str) -> str | None:
    """Why nothing but rules and names can be had from shared git data."""
    if kind_of(os.path.join(common, "reftable")) is not None:
        return "git history is not available: refs are stored as reftable"
    for folder in ("refs", "objects"):
        kind = kind_of(os.path.join(common, folder))
        if kind is None or not stat.S_ISDIR(kind):
            return f"git data is refused: '{folder}' is no folder"
    for name in _LINKED:
        if not _is_plain(os.path.join(common, name)):
            return f"git data is refused: '{name}' is a link or a special file"
    return None


def _is_plain(path: str) -> bool:
    """Whether git may open it: no link to another's names, no pipe that it would wait for."""
    kind = kind_of(path)
    return kind is None or stat.S_ISREG(kind)


class PrivateGitDir:
    """A git dir of ours for one work tree, 0700, brought up to date before each use."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._folder: Path | None = None

    def environment(self, data: GitData, excludes: str = "") -> Mapping[str, str]:
        """What git must be told so that it sees the repository through our folder.

        `excludes` are the rules that count in every repository of the user.
        """
        folder = self._folder or Path(self._new_folder())
        self._folder = folder
        (folder / "empty").mkdir(exist_ok=True)
        (folder / "info").mkdir(exist_ok=True)
        version = "1\n[extensions]\n\tobjectFormat = sha256" if data.is_sha256 else "0"
        _write(folder / "config", f"[core]\n\trepositoryFormatVersion = {version}\n".encode())
        _write(folder / "HEAD", data.head)
        _write(folder / "info" / "exclude", small_file(f"{data.common}/info/exclude") or b"")
        # Where git looks for its user's rules by itself; no configuration names them.
        (folder / "git").mkdir(exist_ok=True)
        _write(folder / "git" / "ignore", excludes.encode())
        _link(folder / "refs", f"{data.common}/refs" if data.problem is None else f"{folder}/empty")
        for name in _LINKED:
            _link(folder / name, f"{data.common}/{name}")
        for name in _shared_indexes(data.own):
            _link(folder / name, f"{data.own}/{name}")
        objects = f"{folder}/empty" if data.objects_problem else f"{data.common}/objects"
        return _ENVIRONMENT | {
            "XDG_CONFIG_HOME": str(folder),
            "GIT_DIR": str(folder),
            "GIT_WORK_TREE": self._root,
            "GIT_INDEX_FILE": os.path.join(data.own, "index"),
            "GIT_OBJECT_DIRECTORY": objects,
        }

    def _new_folder(self) -> str:
        # Where no usual place can be written to, the last one that is tried is the current folder.
        if f"{os.path.realpath(tempfile.gettempdir())}/".startswith(f"{self._root}/"):
            raise PermissionError("nothing is made in a workspace")
        return tempfile.mkdtemp(prefix="live-memory-git-")

    def close(self) -> None:
        """Remove the folder."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _shared_indexes(own: str) -> Iterator[str]:
    with suppress(OSError), os.scandir(own) as entries:
        for entry in entries:
            if entry.name.startswith("sharedindex.") and entry.is_file(follow_symlinks=False):
                yield entry.name


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
