"""Which files of a workspace are worth knowing: git's own list, or a walk by the same rules.

No link is ever followed, so there are no loops. Left out besides what ignore rules name: what the
root hides (`.git`, our own data, what a person's settings ignore), anything that is not a regular
file, submodules and nested repositories (workspaces of their own), and names that cannot be cited
as `path:line`.
"""

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from live_memory.adapters.sandbox.opener import SafeRoot, signature_of
from live_memory.core.errors import OutsideWorkspace
from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import FileRead, ListedFile
from live_memory.core.values import RelPath

__all__ = ["IgnoreRules", "list_by_walk", "list_names"]

# Ten times the largest repository we measure (xarray, flask, gin: 200 to 20,000 files); listing
# this many takes 3 s, and a tree beyond it is no code base that one memory can hold.
MOST_ENTRIES = 200_000
_LARGEST_RULES = 256 * 1024
# Folders that hold what tools made; in a git work tree its own rules say so instead.
_TOOL_FOLDERS = frozenset(
    {
        "node_modules", "bower_components", "jspm_packages",
        "__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs",
        ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
        ".gradle", ".terraform", ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo",
        ".hg", ".svn", ".bzr", ".jj",
    }
)  # fmt: skip
# Disks answer 100,000 entries a second and more; this bounds hostile rules and hung mounts.
_LONGEST_WALK_S = 8.0
_MOST_STARS, _LONGEST_RULE = 3, 500
_ANYTHING = re.compile(r".+")
_SET_OPERATION = re.compile(r"\[.*(?:\[|--|&&|~~|\|\|)")
_UNCITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line: whether it ignores, and what of a folder's names it is about.

    Only the name itself counts: what lies in an ignored folder is never looked at, and a folder
    that is kept by a rule does not keep what is in it.
    """

    ignores: bool
    expression: re.Pattern[str]

    def matches(self, name: str) -> bool:
        """Whether the rule is about this name, which ends in a slash where it is a folder's."""
        return self.expression.fullmatch(name) is not None


class IgnoreRules:
    """The `.gitignore` files met so far; the deepest rule that says something wins."""

    def __init__(self) -> None:
        self._rules: dict[str, Sequence[_Rule]] = {}

    def add(self, folder: str, text: str) -> None:
        """Take in a folder's rules (`""` is the root); lines that are no pattern are skipped."""
        rules = [rule for line in text.splitlines() for rule in _rules_of(line)]
        if rules:
            self._rules[folder] = tuple(reversed(rules))

    def covers(self, name: str, *, is_folder: bool) -> bool:
        """Whether a name is ignored, its folders being kept."""
        if is_folder and name.rpartition("/")[2].casefold() in _TOOL_FOLDERS:
            return True
        if not self._rules:
            return False
        parts = name.split("/")
        for depth in range(len(parts) - 1, -1, -1):
            below = "/".join(parts[depth:]) + ("/" if is_folder else "")
            for rule in self._rules.get("/".join(parts[:depth]), ()):
                if rule.matches(below):
                    return rule.ignores
        return False


def list_names(root: SafeRoot, names: Sequence[str]) -> Listing:
    """Keep the names that are regular files now, folder by folder."""
    folders: dict[str, set[str]] = {}
    for name in names[:MOST_ENTRIES]:
        folder, _, last = name.rpartition("/")
        folders.setdefault(folder, set()).add(last)
    files = [
        listed for folder, lasts in folders.items() for listed in _regular(root, folder, lasts)
    ]
    return Listing(tuple(sorted(files, key=_by_path)), is_cut=len(names) > MOST_ENTRIES)


def list_by_walk(root: SafeRoot) -> Listing:
    """Walk the folders that no rule ignores."""
    walk = _Walk(root)
    while walk.waiting and not walk.is_over:
        walk.visit(walk.waiting.pop())
    return Listing(tuple(sorted(walk.files, key=_by_path)), is_cut=walk.is_over)


class _Walk:
    """A walk under way: folders still to visit by name, so that no chain of them is held open."""

    def __init__(self, root: SafeRoot) -> None:
        self._root, self._rules = root, IgnoreRules()
        self._seen, self._ends_at = 0, time.monotonic() + _LONGEST_WALK_S
        self.files: list[ListedFile] = []
        self.waiting = [""]

    @property
    def is_over(self) -> bool:
        """Whether there is more than we take."""
        return self._seen > MOST_ENTRIES or time.monotonic() > self._ends_at

    def visit(self, folder: str) -> None:
        """Take the files of a folder and put its folders in line."""
        try:
            descriptor = self._root.open_folder(RelPath(folder) if folder else None)
        except OSError:
            return
        below = f"{folder}/" if folder else ""
        self._rules.add(folder, _rules_in(self._root, f"{below}.gitignore"))
        # A folder that goes away while we read it ends the visit, not the walk.
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    self._take(below + entry.name, entry)
                    if self.is_over:
                        return
        except OSError:
            return
        finally:
            os.close(descriptor)

    def _take(self, name: str, entry: os.DirEntry[str]) -> None:
        self._seen += 1
        if self._seen > MOST_ENTRIES:
            return
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder and not entry.is_file(follow_symlinks=False):
            return
        path = _citable(self._root, name)
        if path is None or self._rules.covers(name, is_folder=is_folder):
            return
        if is_folder:
            self.waiting.append(name)
        else:
            self.files.append(ListedFile(path, signature_of(entry.stat(follow_symlinks=False))))


def _regular(root: SafeRoot, folder: str, lasts: Iterable[str]) -> Iterator[ListedFile]:
    try:
        descriptor = root.open_folder(RelPath(folder) if folder else None)
    except (OSError, OutsideWorkspace):
        return
    try:
        for last in lasts:
            path = _citable(root, f"{folder}/{last}" if folder else last)
            if path is None:
                continue
            try:
                status = os.stat(last, dir_fd=descriptor, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield ListedFile(path, signature_of(status))
    finally:
        os.close(descriptor)


def _citable(root: SafeRoot, name: str) -> RelPath | None:
    """The path of a name that may be listed."""
    if _UNCITABLE.search(name):
        return None
    try:
        path = RelPath(name)
    except OutsideWorkspace:
        return None
    return None if root.hides(path) else path


def _by_path(listed: ListedFile) -> str:
    return listed.path.text


def _rules_in(root: SafeRoot, name: str) -> str:
    read = root.read(name, max_bytes=_LARGEST_RULES)
    return read.data.decode("utf-8", "replace") if isinstance(read, FileRead) else ""


def _rules_of(line: str) -> Sequence[_Rule]:
    # A stranger's ignore file must not stop us: `[z-a]` raises `re.error`, `!` alone a pattern
    # error that is a `ValueError`, sets within sets warn, and many stars in one rule take
    # pathspec's engine minutes on one long name.
    stars = line.replace("**/", "").replace("/**", "").count("*")
    if stars > _MOST_STARS or len(line) > _LONGEST_RULE or _SET_OPERATION.search(line):
        return ()
    try:
        # Git's `a/**` is all in `a`, and not `a` itself, which pathspec takes along as `a/`.
        pattern = GitIgnoreSpecPattern(f"{line}/*" if line.endswith("/**") else line)
    except (re.error, ValueError):
        return ()
    if pattern.include is None or pattern.regex is None:
        return ()
    # A lone star is compiled to one character, because pathspec looks for the start of a match.
    expression = _ANYTHING if pattern.regex.pattern == "." else pattern.regex
    return (_Rule(pattern.include, expression),)
