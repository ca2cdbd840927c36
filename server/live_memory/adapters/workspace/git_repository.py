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

from live_memory.adapters.workspace.safe_open import SafeRoot
from live_memory.core.errors import OutsideWorkspace, refuse_exhausted
from live_memory.core.values import RelPath

__all__ = [
    "TOOL_FOLDERS",
    "GitData",
    "GitDataRefused",
    "Names",
    "PrivateGitDir",
    "citable",
    "entries",
    "find_data",
    "git_folders",
    "is_marked",
    "is_repository_data",
    "is_sha256",
    "kind_of",
    "locate",
    "named_work_tree",
    "names_in",
    "resolved",
    "shallow_ends",
    "small_file",
]

_LARGEST_POINTER = 64 * 1024
_SHA256 = re.compile(rb"^[ \t]*objectformat[ \t]*=[ \t]*sha256\s?$", re.IGNORECASE | re.MULTILINE)
_WORKTREE = re.compile(rb"^[ \t]*worktree[ \t]*=[ \t]*([^\s].*)$", re.IGNORECASE | re.MULTILINE)
_NOT_THIS_FOLDER = "git data is refused: '.git' leads to data that does not name this folder"


class GitDataRefused(Exception):
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
        raise GitDataRefused(found.problem)
    return found.own, found.common


def find_data(root: str) -> FoundData:
    """Find the git data that `.git` leads to, whether or not they name this work tree.

    Raises:
        Refused: there is none, nobody's, or a repository's without a work tree.
    """
    dot = os.path.join(root, ".git")
    kind = kind_of(dot)
    if kind is None:
        raise GitDataRefused("not a git work tree")
    if stat.S_ISDIR(kind):
        found = FoundData(dot, dot)
        if kind_of(os.path.join(dot, "commondir")) is not None:
            found = FoundData(dot, dot, "git data is refused: '.git' leads to another repository")
    elif stat.S_ISREG(kind):
        found = _pointed_at(root, dot)
    elif stat.S_ISLNK(kind):
        found = _behind(root, resolved(root, b".git"))
    else:
        raise GitDataRefused("git data is refused: '.git' is a special file")
    if kind_of(os.path.join(found.own, "HEAD")) is None:
        raise GitDataRefused("git data is refused: HEAD is missing or malformed")
    if found.own == found.common and _is_bare(found.own):
        raise GitDataRefused("not a git work tree: '.git' leads to a repository without one")
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
        raise GitDataRefused("git data is refused: '.git' is no pointer to git data")
    return _behind(root, resolved(root, text[len(b"gitdir:") :]))


def _behind(root: str, own: str) -> FoundData:
    """Data outside of the work tree; they are trusted if they point back."""
    _refuse_strangers(own)
    common_text = small_file(os.path.join(own, "commondir"))
    common = own if common_text is None else resolved(own, common_text)
    _refuse_strangers(common)
    try:
        is_named = _names(own, common, root)
    except GitDataRefused:  # what it names is gone: the work tree was moved
        is_named = False
    return FoundData(own, common, None if is_named else _NOT_THIS_FOLDER)


def _names(own: str, common: str, root: str) -> bool:
    """Whether git data say that they are this work tree's; refused where that leads nowhere."""
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
        raise GitDataRefused("git data is refused: a pointer in '.git' leads nowhere") from problem


def _refuse_strangers(folder: str) -> None:
    try:
        status = os.stat(folder)
    except OSError as problem:
        refuse_exhausted(problem)
        raise GitDataRefused("git data is refused: it cannot be read") from problem
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise GitDataRefused("git data is refused: it belongs to another user")


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
            raise GitDataRefused(self.objects_problem)


def locate(root: str) -> GitData:
    """Find and check the git data of a work tree, all but its objects.

    Raises:
        Refused: there is none, or it leads to data that does not name this work tree.
    """
    found = find_data(root)
    head = small_file(os.path.join(found.own, "HEAD"))
    if head is None or not _HEAD.fullmatch(head):
        raise GitDataRefused("git data is refused: HEAD is missing or malformed")
    if not _is_plain(os.path.join(found.own, "index")):
        raise GitDataRefused("git data is refused: 'index' is a link or a special file")
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


_ESCAPED = {"n": "\n", "t": "\t", "b": "\b"}


def entries(text: str) -> Iterator[tuple[str, str]]:
    """The entries in order, as `core.excludesfile` or `includeif.gitdir:~/a/.path`, and values.

    Section and key are in lower case, a subsection as it is written. A key without a value is
    `true`. What is malformed is skipped, as is the rest of its line. They are read as data: nothing
    that they name is started or followed here.
    """
    section = ""
    for line in _joined(text):
        rest = line.strip()
        if rest.startswith("["):
            head, is_closed, rest = _head(rest)
            section = head if is_closed else ""
            rest = rest.strip()
        if not section or not rest or rest[0] in "#;":
            continue
        key, equals, value = rest.partition("=")
        name = key.strip().lower()
        if name.replace("-", "").isalnum():
            yield f"{section}.{name}", _value(value) if equals else "true"


def _joined(text: str) -> Iterator[str]:
    """Lines, those that end in a backslash with the next one."""
    waiting: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if not waiting and line.lstrip().startswith(("#", ";")):
            continue
        # An even number of backslashes is that many halves of a character each.
        if (len(line) - len(line.rstrip("\\"))) % 2:
            waiting.append(line[:-1])
        else:
            yield "".join((*waiting, line))
            waiting.clear()
    if waiting:
        yield "".join(waiting)


def _head(line: str) -> tuple[str, bool, str]:
    """The section that a line begins, whether its bracket is closed, and the rest of the line."""
    name, quote, rest = line[1:].partition('"')
    if not quote or "]" in name:
        name, bracket, rest = line[1:].partition("]")
        return name.strip().lower(), bool(bracket), rest
    below: list[str] = []
    characters = iter(rest)
    for char in characters:
        if char == '"':
            break
        below.append(next(characters, "") if char == "\\" else char)
    between, bracket, rest = "".join(characters).partition("]")
    is_closed = bool(bracket) and not between.strip()
    return f"{name.strip().lower()}.{''.join(below)}", is_closed, rest


def _value(text: str) -> str:
    """A value without its quotes, its comment and the blanks around it."""
    shown: list[str] = []
    kept, is_quoted = 0, False  # how much of it no blank ends
    characters = iter(text.lstrip())
    for char in characters:
        if char == '"':
            is_quoted = not is_quoted
        elif char == "\\":
            escaped = next(characters, "")
            shown.append(_ESCAPED.get(escaped, escaped))
        elif char in "#;" and not is_quoted:
            break
        else:
            shown.append(char)
            if char in " \t" and not is_quoted:
                continue
        kept = len(shown)
    return "".join(shown[:kept])


_GIT_DATA = ("HEAD", "objects", "refs")
# What stands in the folder's top where one of the other systems keeps a repository; the newer
# Subversion alone has no such folder in every folder below.
_OTHERS = (".jj", ".hg", ".sl", ".bzr", ".pijul", ".svn/wc.db")


def is_repository_data(folder: str) -> bool:
    """Whether a folder is itself git data, whatever its name: HEAD, objects and refs."""
    head, *folders = (os.path.join(folder, name) for name in _GIT_DATA)
    # An old HEAD is a link, and folders are linked where work trees share them.
    return os.path.lexists(head) and not os.path.isdir(head) and all(map(os.path.isdir, folders))


def is_marked(folder: str) -> bool:
    """Whether a folder is the root of something under version control."""
    return has_git(folder) or any(os.path.lexists(os.path.join(folder, name)) for name in _OTHERS)


def has_git(folder: str) -> bool:
    """Whether a folder is a work tree of git: `.git` leads to data, or is a pointer file."""
    dot = os.path.join(folder, ".git")
    try:
        if stat.S_ISREG(os.lstat(dot).st_mode):
            return True
        return stat.S_ISREG(os.stat(os.path.join(dot, "HEAD")).st_mode)
    except (OSError, ValueError) as problem:
        refuse_exhausted(problem)
        return False


# Folders that hold what tools made; in a git work tree its own rules say so instead.
TOOL_FOLDERS = frozenset(
    {
        "node_modules", "bower_components", "jspm_packages",
        "__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs",
        ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
        ".gradle", ".terraform", ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo",
    }
)  # fmt: skip
_UNCITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Names:
    """Names as git says them: each ends with NUL, and the last may be torn.

    With a `problem`, the index they are from may be another work tree's: a name that is not on disk
    is not to be told.
    """

    said: bytes
    problem: str | None = None


def names_in(out: bytes) -> list[str]:
    """Names that git ended with NUL, a torn last one dropped."""
    return [raw.decode("utf-8", "surrogateescape") for raw in out.split(b"\0")[:-1]]


def citable(root: SafeRoot, name: str) -> RelPath | None:
    """The path of a name that may be listed."""
    if _UNCITABLE.search(name):
        return None
    try:
        path = RelPath(name)
    except OutsideWorkspace:
        return None
    return None if root.hides(path) else path
