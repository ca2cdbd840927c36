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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, is_
from typing import Self

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from live_memory.adapters.sandbox.git.names import TOOL_FOLDERS, citable, names_in
from live_memory.adapters.sandbox.opener import SafeRoot, signature_of
from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import FileRead, ListedFile
from live_memory.core.values import RelPath

__all__ = ["IgnoreRules", "Lister"]

# Ten times the largest repository we measure (xarray, flask, gin: 200 to 20,000 files); listing
# this many takes 3 s, and a tree beyond it is no code base that one memory can hold.
MOST_ENTRIES = 200_000
_LARGEST_RULES = 256 * 1024
# Disks answer 100,000 entries a second and more; this bounds hostile rules and hung mounts.
_LONGEST_WALK_S = 8.0
_MOST_STARS, _LONGEST_RULE = 3, 500
_ANYTHING = re.compile(r".+")
_SET_OPERATION = re.compile(r"\[.*(?:\[|--|&&|~~|\|\|)")


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
        if is_folder and name.rpartition("/")[2].casefold() in TOOL_FOLDERS:
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


class Lister:
    """Lists one workspace, and gives again what is as it was.

    Every file is looked at each time. What has the signature it had is the very value from before,
    and so is a listing of which all is the same: who compares two need not look into them.
    """

    def __init__(self, root: SafeRoot) -> None:
        self._root = root
        self.plan = _Plan()
        self._last = Listing(())
        self._passed_over: Sequence[str] | None = None

    def by_names(self, said: bytes) -> Listing:
        """Keep the names that are regular files now: as git says them, each ended by NUL."""
        self.plan = _Plan.of(self._root, said, before=self._by_name())
        return self.look(self.plan)

    def look(self, plan: "_Plan") -> Listing:
        """Look at all names of a plan; the one to begin with names nothing."""
        if plan.said is None:
            return self._last
        self._passed_over = None
        files = [file for folder in plan.folders for file in _regular(self._root, folder)]
        return self._same(files, is_cut=plan.is_cut)

    def by_walk(self) -> Listing:
        """Walk the folders that no rule ignores."""
        walk = _Walk(self._root, before=self._by_name())
        while walk.waiting and not walk.is_over:
            walk.visit(walk.waiting.pop())
        self._passed_over = walk.passed_over
        return self._same(walk.files, is_cut=walk.is_over)

    def unlisted(self) -> Sequence[str]:
        """The names that no rule ignores and that the last listing leaves out."""
        if self._passed_over is not None:
            return self._passed_over
        listed = {file.path.text for file in self._last.files}
        return [name for name in names_in(self.plan.said or b"") if name not in listed]

    def _by_name(self) -> Mapping[str, ListedFile]:
        return {file.path.text: file for file in self._last.files}

    def _same(self, files: list[ListedFile], *, is_cut: bool) -> Listing:
        """The listing from before where it has these very files, else a new one."""
        files.sort(key=attrgetter("path.text"))
        last = self._last
        is_same = len(files) == len(last.files) and all(map(is_, files, last.files))
        if not is_same or is_cut != last.is_cut:
            self._last = last = Listing(tuple(files), is_cut)
        return last


@dataclass(slots=True)
class _Folder:
    """A folder with the files of it that git names, and what stood there the last time."""

    path: RelPath | None
    files: list[RelPath] = field(default_factory=list)
    seen: list[ListedFile | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What names mean for a listing; they are the same at nearly every look."""

    said: bytes | None = None
    folders: Sequence[_Folder] = ()
    is_cut: bool = False

    @classmethod
    def of(cls, root: SafeRoot, said: bytes, *, before: Mapping[str, ListedFile]) -> Self:
        """Leave out names that are not listed; what was listed before needs no second look."""
        names = names_in(said)
        folders: dict[str, _Folder] = {}
        for name in dict.fromkeys(names[:MOST_ENTRIES]):
            known = before.get(name)
            path = citable(root, name) if known is None else known.path
            if path is None:
                continue
            folder = name.rpartition("/")[0]
            if folder not in folders:
                folders[folder] = _Folder(RelPath(folder) if folder else None)
            folders[folder].files.append(path)
            folders[folder].seen.append(known)
        return cls(said, tuple(folders.values()), is_cut=len(names) > MOST_ENTRIES)


class _Walk:
    """A walk under way: folders still to visit by name, so that no chain of them is held open."""

    def __init__(self, root: SafeRoot, *, before: Mapping[str, ListedFile]) -> None:
        self._root, self._rules, self._before = root, IgnoreRules(), before
        self._seen, self._ends_at = 0, time.monotonic() + _LONGEST_WALK_S
        self.files: list[ListedFile] = []
        self.passed_over: list[str] = []
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
            if entry.is_symlink() and not self._rules.covers(name, is_folder=False):
                self.passed_over.append(name)
            return
        known = self._before.get(name)
        path = citable(self._root, name) if known is None else known.path
        if path is None or self._rules.covers(name, is_folder=is_folder):
            return
        if is_folder:
            self.waiting.append(name)
        else:
            self.files.append(_listed(path, entry.stat(follow_symlinks=False), known))


def _regular(root: SafeRoot, folder: _Folder) -> Iterator[ListedFile]:
    """The names of a folder that are regular files now."""
    try:
        descriptor = root.open_folder(folder.path)
    except OSError:
        return
    start = len(folder.path.text) + 1 if folder.path else 0
    try:
        for at, (path, known) in enumerate(zip(folder.files, folder.seen, strict=True)):
            try:
                status = os.stat(path.text[start:], dir_fd=descriptor, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                file = _listed(path, status, known)
                if file is not known:
                    folder.seen[at] = file
                yield file
    finally:
        os.close(descriptor)


def _listed(path: RelPath, status: os.stat_result, known: ListedFile | None) -> ListedFile:
    """What was known of the file where it is as it was, compared without making anything."""
    if known is not None:
        before = known.signature
        if (
            status.st_ctime_ns == before.changed_ns
            and status.st_mtime_ns == before.modified_ns
            and status.st_size == before.size
            and status.st_ino == before.inode
            and status.st_dev == before.device
        ):
            return known
    return ListedFile(path, signature_of(status))


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
