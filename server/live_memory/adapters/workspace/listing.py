"""Which files of a workspace are worth knowing: git's own list, or a walk by the same rules.

No link is ever followed, so there are no loops. Left out besides what ignore rules name: what the
root hides (`.git`, our own data, what a person's settings ignore), anything that is not a regular
file, git data under any name, submodules and repositories in a work tree (workspaces of their own),
and names that cannot be cited as `path:line`.
"""

import gc
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter, is_
from typing import Self

from live_memory.adapters.workspace.git_history import Tree
from live_memory.adapters.workspace.git_ignore import LARGEST_RULES, UserExcludes
from live_memory.adapters.workspace.git_repository import (
    citable,
    has_git,
    is_repository_data,
    names_in,
)
from live_memory.adapters.workspace.safe_open import SafeRoot, signature_of
from live_memory.core.errors import refuse_exhausted
from live_memory.core.reading.lookup import Listing, ListingWay
from live_memory.core.reading.observation import FileRead, ListedFile
from live_memory.core.values import RelPath

__all__ = ["Lister"]

# Ten times the largest repository we measure (xarray, flask, gin: 200 to 20,000 files); listing
# this many takes 3 s, and a tree beyond it is no code base that one memory can hold.
MOST_ENTRIES = 200_000
# Disks answer 100,000 entries a second and more; this bounds hostile rules and hung mounts.
_LONGEST_WALK_S = 8.0
# A look for garbage through 60,000 files takes 160 ms, and nothing else runs meanwhile.
_MANY = 5_000


class Lister:
    """Lists one workspace, and gives again what is as it was.

    Every file is looked at each time. What has the signature it had is the very value from before,
    and so is a listing of which all is the same: who compares two need not look into them.
    """

    def __init__(self, root: SafeRoot, excludes: UserExcludes | None = None) -> None:
        """`excludes` are the rules of the person for whom all is listed."""
        self._root, self._excludes = root, excludes or UserExcludes()
        self.plan = _Plan()
        self._last = Listing(())
        self._passed_over: Sequence[str] | None = None
        self._spared = 0

    def by_names(self, said: bytes, problem: str | None = None) -> Listing:
        """Keep the names that are regular files now: as git says them, each ended by NUL."""
        self.plan = _Plan.of(self._root, said, problem, before=self._by_name())
        return self.look(self.plan)

    def look(self, plan: "_Plan") -> Listing:
        """Look at all names of a plan; the one to begin with names nothing."""
        if plan.said is None:
            return self._last
        self._passed_over = None
        files = [file for folder in plan.folders for file in _regular(self._root, folder)]
        return self._same(Listing((), plan.is_cut, ListingWay.GIT, plan.problem), files)

    def by_walk(self, why: str | None = None) -> Listing:
        """Walk the folders that no rule ignores; `why` git did not list what it should."""
        walk = _Walk(self._root, self._excludes, before=self._by_name())
        while walk.waiting and not walk.is_over:
            walk.visit(*walk.waiting.pop())
        self._passed_over = walk.passed_over
        problem = why if has_git(self._root.root) else None
        return self._same(
            Listing((), walk.is_over, ListingWay.WALK, problem, walk.is_unsure), walk.files
        )

    def unlisted(self) -> Sequence[str]:
        """The names that no rule ignores and that the last listing leaves out."""
        if self._passed_over is not None:
            return self._passed_over
        listed = {file.path.text for file in self._last.files}
        return [name for name in names_in(self.plan.said or b"") if name not in listed]

    def _by_name(self) -> Mapping[str, ListedFile]:
        return {file.path.text: file for file in self._last.files}

    def _same(self, made: Listing, files: list[ListedFile]) -> Listing:
        """The listing from before where it has these very files, else what was made, with them."""
        files.sort(key=attrgetter("path.text"))
        last = self._last
        is_same = len(files) == len(last.files) and all(map(is_, files, last.files))
        if not is_same or made != replace(last, files=()):
            self._last = last = replace(made, files=tuple(files))
            self._spare_the_collector(len(files))
        return last

    def _spare_the_collector(self, count: int) -> None:
        """Keep files that live as long as this from being looked through again and again."""
        if count >= self._spared + _MANY:
            self._spared = count
            gc.freeze()


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
    problem: str | None = None

    @classmethod
    def of(
        cls,
        root: SafeRoot,
        said: bytes,
        problem: str | None = None,
        *,
        before: Mapping[str, ListedFile],
    ) -> Self:
        """Leave out names that are not listed; what was listed before needs no second look."""
        names = names_in(said)
        folders: dict[str, _Folder] = {}
        for name in _without_git_data(root, [*dict.fromkeys(names[:MOST_ENTRIES])]):
            known = before.get(name)
            path = citable(root, name) if known is None else known.path
            if path is None:
                continue
            folder = name.rpartition("/")[0]
            if folder not in folders:
                folders[folder] = _Folder(RelPath(folder) if folder else None)
            folders[folder].files.append(path)
            folders[folder].seen.append(known)
        return cls(said, tuple(folders.values()), len(names) > MOST_ENTRIES, problem)


class _Walk:
    """A walk under way: folders still to visit by name, so that no chain of them is held open."""

    def __init__(
        self, root: SafeRoot, excludes: UserExcludes, *, before: Mapping[str, ListedFile]
    ) -> None:
        self._root, self._excludes, self._before = root, excludes, before
        self._seen, self._ends_at = 0, time.monotonic() + _LONGEST_WALK_S
        self.files: list[ListedFile] = []
        self.passed_over: list[str] = []
        self.is_unsure = False
        tree = self._tree_at("") or Tree.plain(root.root, excludes)
        # Of a folder that rules ignore only what is tracked is taken.
        self.waiting: list[tuple[str, Tree, bool]] = [("", tree, False)]

    @property
    def is_over(self) -> bool:
        """Whether there is more than we take."""
        return self._seen > MOST_ENTRIES or time.monotonic() > self._ends_at

    def visit(self, folder: str, tree: Tree, is_ignored: bool) -> None:
        """Take the files of a folder and put its folders in line."""
        try:
            descriptor = self._root.open_folder(RelPath(folder) if folder else None)
        except OSError as problem:
            refuse_exhausted(problem)
            return
        # A folder that goes away while we read it ends the visit, not the walk.
        try:
            inner = self._tree_of(folder, tree) if folder else tree
            if inner is None:
                return
            is_ignored = is_ignored and inner is tree
            below = f"{folder}/" if folder else ""
            rules = _rules_in(self._root, f"{below}.gitignore")
            inner.rules.add(folder[len(inner.below) :], rules)
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    self._take(below + entry.name, entry, inner, is_ignored)
                    if self.is_over:
                        return
        except OSError as problem:
            refuse_exhausted(problem)
            return
        finally:
            os.close(descriptor)

    def _tree_of(self, folder: str, around: Tree) -> Tree | None:
        """Whose rules count in a folder; nothing for git data, or a work tree in another one."""
        if is_repository_data(f"{self._root.root}/{folder}"):
            return None
        inner = self._tree_at(folder)
        if inner is not None and around.is_repository:
            self.passed_over.append(folder)
            return None
        return inner or around

    def _tree_at(self, folder: str) -> Tree | None:
        tree = Tree.of(self._root.root, folder, self._excludes)
        self.is_unsure |= tree is not None and tree.is_unsure
        return tree

    def _take(self, name: str, entry: os.DirEntry[str], tree: Tree, is_ignored: bool) -> None:
        self._seen += 1
        if self._seen > MOST_ENTRIES:
            return
        is_folder = entry.is_dir(follow_symlinks=False)
        told = name[len(tree.below) :]
        if not tree.is_tracked(told, is_folder=is_folder):
            is_ignored = is_ignored or tree.rules.covers(told, is_folder=is_folder)
            if is_ignored:
                return
        elif is_folder:
            is_ignored = is_ignored or tree.rules.covers(told, is_folder=True)
        if not is_folder and not entry.is_file(follow_symlinks=False):
            if entry.is_symlink():
                self.passed_over.append(name)
            return
        known = self._before.get(name)
        path = citable(self._root, name) if known is None else known.path
        if path is None:
            return
        if is_folder:
            self.waiting.append((name, tree, is_ignored))
        else:
            self.files.append(_listed(path, entry.stat(follow_symlinks=False), known))


def _without_git_data(root: SafeRoot, names: list[str]) -> list[str]:
    """The names that do not lie in git data under another name than `.git`."""
    heads = (name[: -len("HEAD")] for name in names if name.endswith("/HEAD"))
    data = tuple(below for below in heads if is_repository_data(f"{root.root}/{below}"))
    return [name for name in names if not name.startswith(data)] if data else names


def _regular(root: SafeRoot, folder: _Folder) -> Iterator[ListedFile]:
    """The names of a folder that are regular files now."""
    try:
        descriptor = root.open_folder(folder.path)
    except OSError as problem:
        refuse_exhausted(problem)
        return
    start = len(folder.path.text) + 1 if folder.path else 0
    try:
        for at, (path, known) in enumerate(zip(folder.files, folder.seen, strict=True)):
            try:
                status = os.stat(path.text[start:], dir_fd=descriptor, follow_symlinks=False)
            except OSError as problem:
                refuse_exhausted(problem)
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
    read = root.read(name, max_bytes=LARGEST_RULES)
    return read.data.decode("utf-8", "replace") if isinstance(read, FileRead) else ""
