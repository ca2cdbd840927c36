"""Questions about a repository's past and about what differs from it, by plumbing commands only.

Whatever a caller names is data: a revision is resolved to an id first, a path is a literal
pathspec after `--`, a text is glued to its own option.
"""

import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha1, sha256
from threading import Lock
from typing import Self

from anyio import to_thread

from live_memory.adapters.workspace.git_ignore import (
    DIFF,
    LONGEST_TEXT,
    IgnoreRules,
    UserExcludes,
    changes_by_commit,
    searched_text,
    text_file,
    told,
)
from live_memory.adapters.workspace.git_repository import (
    GitData,
    GitDataRefused,
    Names,
    PrivateGitDir,
    find_data,
    is_sha256,
    kind_of,
    locate,
    names_in,
    resolved,
    shallow_ends,
    small_file,
)
from live_memory.adapters.workspace.git_state import tracked_names
from live_memory.adapters.workspace.ripgrep import Invocation, InvocationResult, Runner
from live_memory.adapters.workspace.safe_open import MAX_HASHED_BYTES, SafeRoot
from live_memory.core.errors import Exhausted, InvalidRequest, refuse_exhausted
from live_memory.core.reading.lookup import (
    ChangedFiles,
    Commit,
    CommitSearch,
    FirstCommit,
    History,
    HistoryQuery,
    LogQuery,
)
from live_memory.core.reading.observation import FileRead
from live_memory.core.reading.redaction import DEFAULT, Redactor
from live_memory.core.values import RelPath

__all__ = ["Git", "ObjectStore", "Tree", "bounded"]

_FORMAT = "--format=tformat:%H%x00%at%x00%an%x00%s"
LOG = (
    *("-z", _FORMAT, "--no-show-signature", "--no-color"),
    *("--no-decorate", "--no-mailmap", "--no-notes"),
)


def commits_in(out: bytes) -> list[Commit]:
    """The commits that `git log` says with `LOG`, in its order."""
    fields = out.decode("utf-8", "replace").split("\0")[:-1]
    rows = zip(fields[::4], fields[1::4], fields[2::4], fields[3::4], strict=False)
    return [Commit(id_, float(at), author, subject) for id_, at, author, subject in rows]


def marked(history: History, common: str) -> History:
    """Say where the history of a shallow clone ends, by its common git folder."""
    ends = shallow_ends(common)
    return history if ends is None else replace(history, is_shallow=True, ends=ends)


def pathspec(path: str | None) -> tuple[str, ...]:
    """The arguments that keep to a path below the root.

    Raises:
        OutsideWorkspace: it does not lead into the workspace.
    """
    if path in (None, ".", "./"):
        return ("--",)
    return ("--", RelPath.parse(path or "").text)


@dataclass(frozen=True, slots=True)
class TreeDifference:
    """A line of `diff-index --raw`."""

    name: str
    status: str
    blob: str  # what the revision holds
    is_unsure: bool  # only the time stamps are known to differ
    is_link: bool

    @classmethod
    def parse(cls, raw: str, name: str) -> Self:
        old_mode, new_mode, blob, new_blob, status = raw.removeprefix(":").split(" ")
        is_unsure = status == "M" and old_mode == new_mode and not new_blob.strip("0")
        return cls(name, status[:1], blob, is_unsure, is_link=new_mode == "120000")


def real_differences(root: SafeRoot, rows: Sequence[TreeDifference]) -> Sequence[TreeDifference]:
    """Drop files whose time stamps alone differ."""
    return [row for row in rows if not (row.is_unsure and _is_same(root, row))]


def _is_same(root: SafeRoot, row: TreeDifference) -> bool:
    if row.is_link:
        data = root.link_text(row.name)
    else:
        read = root.read(row.name, max_bytes=MAX_HASHED_BYTES)
        data = read.data if isinstance(read, FileRead) else None
    if data is None:
        return False
    # A repository may keep LF where the work tree has CRLF.
    return row.blob in (
        _blob_id(data, row.blob),
        _blob_id(data.replace(b"\r\n", b"\n"), row.blob),
    )


def _blob_id(data: bytes, like: str) -> str:
    """The id git gives to these bytes, in the hash that the id `like` has."""
    blob = b"blob %d\0" % len(data) + data
    # git's own naming, no protection: both sides are the user's files.
    return (
        sha256(blob).hexdigest()
        if len(like) == 64
        else sha1(blob, usedforsecurity=False).hexdigest()
    )


_MOST_STORES = 5  # git itself follows five
# A folder that changed this short a while ago may change again without a new time (opener.py).
_TICK_NS = 12_000_000

# Device, inode, times: a name that comes or goes in a folder moves its ctime, which nobody sets.
_State = tuple[int, int, int, int]


class ObjectStore:
    """Judges the objects of one work tree; what was fine needs no second look while it rests.

    All of them must lie in the workspace. Looking at every object takes 3 ms for 2,000 of them,
    before every question; so a store that was fine stays so while each of its folders is as it was.
    """

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
        except GitDataRefused as problem:
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
                raise GitDataRefused("git history is refused: its alternates cannot be read")
            for line in (text or b"").splitlines():
                if not line.strip() or line.startswith(b"#"):
                    continue
                borrowed = resolved(store, line)
                if not borrowed.startswith(self._root + "/") or len(seen) > _MOST_STORES:
                    raise GitDataRefused("git history is refused: it borrows objects from outside")
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


_MOST_COMMITS, _MOST_CHANGED = 200, 5_000
# A pickaxe over a long history takes minutes; what was found by then is shown, marked as cut.
_QUERY_S, _PICKAXE_S = 8.0, 6.0
# 200,000 names of 160 bytes.
_NAMES_BYTES = 32 * 1024 * 1024
_ID = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})\n?")


@dataclass(frozen=True, slots=True)
class _Repository:
    data: GitData
    env: Mapping[str, str]


class Git:
    """Reads one work tree's git data."""

    def __init__(
        self,
        root: SafeRoot,
        runner: Runner,
        program: str | None,
        excludes: UserExcludes,
        redactor: Redactor = DEFAULT,
    ) -> None:
        self._root, self._runner, self._program = root, runner, program
        self._excludes, self._redactor = excludes, redactor
        self._private, self._objects = PrivateGitDir(root.root), ObjectStore(root.root)
        # One at a time brings the private git dir up to date.
        self._setup = Lock()

    async def names(self) -> Names:
        """Tracked names and untracked ones that no rule ignores.

        Raises:
            Refused: git cannot say.
            Exhausted: it cannot be asked now.
        """
        repository = await self._repository()
        options = ("-c", "-o", "--exclude-standard", "-z", "--deduplicate")
        ran = await self._git(repository, "ls-files", *options, max_output=_NAMES_BYTES)
        if ran.is_exhausted:
            raise Exhausted("git could not be started: this machine has no room for a process")
        if not ran.is_fine and not ran.is_cut:
            raise GitDataRefused(
                "git cannot list: its index is damaged, or of a form it does not know"
            )
        return Names(ran.out, repository.data.problem)

    def told(self) -> tuple[str | None, Sequence[str]]:
        """What is wrong with the git data, and the files that tell git what to list; this blocks.

        They are brought up to date.

        Raises:
            Refused: git cannot say.
        """
        with self._setup:
            data = locate(self._root.root)
            env = self._environment(data)
        private = (f"{env['GIT_DIR']}/{name}" for name in ("info/exclude", "git/ignore", "config"))
        return data.problem, (env["GIT_INDEX_FILE"], *private)

    async def ignored(self, folders: Sequence[str]) -> frozenset[str]:
        """Those of some folders, each ended by a slash, that a rule is about.

        Raises:
            Refused: git cannot say.
        """
        # It takes no literal pathspecs, and a dot in front makes a name one.
        stdin = b"".join(b"./" + os.fsencode(name) + b"\0" for name in folders)
        arguments = ("--no-literal-pathspecs", "check-ignore", "-z", "--stdin")
        ran = await self._git(await self._repository(), *arguments, stdin=stdin)
        return frozenset(name.removeprefix("./") for name in names_in(ran.out))

    async def history(self, query: HistoryQuery) -> History:
        """Answer one question; `problem` says why there is no history.

        Raises:
            InvalidRequest: a revision is unknown, or a text cannot be searched for.
            OutsideWorkspace: a path does not lead into the workspace.
        """
        paths = pathspec(query.path if isinstance(query, LogQuery | CommitSearch) else None)
        text = searched_text(query.text) if isinstance(query, CommitSearch) else ""
        try:
            repository = await self._repository()
            repository.data.must_have_objects()
            match query:
                case LogQuery():
                    found = await self._log(repository, paths, query.limit)
                    return await to_thread.run_sync(marked, found, repository.data.common)
                case CommitSearch():
                    found = await self._searched(repository, text, paths, query.limit)
                    return await to_thread.run_sync(marked, found, repository.data.common)
                case ChangedFiles():
                    return await self._changed(repository, query)
                case FirstCommit():
                    return await self._first(repository, query.known)
        except GitDataRefused as problem:
            return History(problem=str(problem))

    async def aclose(self) -> None:
        """Remove the private git dir."""
        await to_thread.run_sync(self._private.close)

    async def _repository(self) -> _Repository:
        return await to_thread.run_sync(self._prepare)

    def _prepare(self) -> _Repository:
        with self._setup:
            data = locate(self._root.root)
            problem = data.problem or self._objects.problem(data.common)
            data = replace(data, objects_problem=problem)
            return _Repository(data, self._environment(data))

    def _environment(self, data: GitData) -> Mapping[str, str]:
        if self._program is None:
            raise GitDataRefused("git is not installed")
        excludes = self._excludes.text(self._root.root, own=data.own, common=data.common)
        try:
            return self._private.environment(data, excludes)
        except OSError as problem:
            refuse_exhausted(problem)
            raise GitDataRefused("no private folder can be made for git") from problem

    async def _log(self, repository: _Repository, paths: Sequence[str], limit: int) -> History:
        head = await self._resolved(repository, "HEAD")
        if head is None:
            return History()
        limit = bounded(limit, _MOST_COMMITS)
        commits, is_cut = await self._commits(repository, (f"-n{limit + 1}", head, *paths))
        shown = await self._with_files(repository, commits[:limit])
        return History(shown, is_cut=is_cut or len(commits) > limit)

    async def _first(self, repository: _Repository, known: str | None) -> History:
        where = ["-n1", known] if known and await self._resolved(repository, known) else []
        common = repository.data.common
        if not where and await to_thread.run_sync(shallow_ends, common) is None:
            head = await self._resolved(repository, "HEAD")
            where = ["-n1", "--first-parent", "--max-parents=0", head] if head else []
        commits, _ = await self._commits(repository, (*where, "--")) if where else ([], False)
        return History(tuple(commits))

    async def _searched(
        self, repository: _Repository, text: str, paths: Sequence[str], limit: int
    ) -> History:
        head = await self._resolved(repository, "HEAD")
        if head is None:
            return History()
        limit = bounded(limit, _MOST_COMMITS)
        judged = partial(
            told, text=text, paths=paths, redactor=self._redactor, hides=self._root.hides
        )
        shown: list[Commit] = []
        is_cut = False
        # Most searches find nothing that may not be told; where one did, all hits are judged.
        for most in (limit + 1, _MOST_COMMITS + 1):
            by_message = (f"-n{most}", "--fixed-strings", f"--grep={text}", head, *paths)
            by_lines = (f"-n{most}", *DIFF, f"-S{text}", head, *paths)
            found, is_message_cut = await self._commits(repository, by_message)
            more, is_line_cut = await self._commits(repository, by_lines, timeout_s=_PICKAXE_S)
            unique = {commit.id: commit for commit in (*found, *more)}
            may_be_told = await judged(partial(self._git, repository), [*unique])
            commits = sorted((unique[id_] for id_ in may_be_told), key=lambda commit: -commit.at)
            shown, is_cut = commits[:limit], len(commits) > limit or is_message_cut or is_line_cut
            if is_cut or max(len(found), len(more)) < most:
                break
        return History(await self._with_files(repository, shown), is_cut=is_cut)

    async def _changed(self, repository: _Repository, query: ChangedFiles) -> History:
        base = await self._resolved(repository, query.since)
        changed: dict[str, str] = {}
        if base is None and query.since != "HEAD":
            raise InvalidRequest("'since' is not a revision of this repository")
        if base is None:
            tracked = await self._must(repository, "ls-files", "-c", "-z", "--deduplicate")
            changed |= dict.fromkeys(names_in(tracked.out), "A")
        else:
            # Never `git diff`: it refreshes the index, so it locks and writes it.
            diff = ("diff-index", "--raw", "-z", *DIFF, base, "--")
            fields = names_in((await self._must(repository, *diff)).out)
            pairs = zip(fields[::2], fields[1::2], strict=False)
            differences = [TreeDifference.parse(raw, name) for raw, name in pairs]
            real = await to_thread.run_sync(real_differences, self._root, differences)
            changed |= {row.name: row.status for row in real}
        untracked = await self._must(repository, "ls-files", "-o", "--exclude-standard", "-z")
        for name in names_in(untracked.out):
            # In the revision and on disk, only the index does not know it.
            changed[name] = "M" if name in changed else "?"
        rows = sorted((name, status) for name, status in changed.items() if not name.endswith("/"))
        limit = bounded(query.limit, _MOST_CHANGED)
        shown = tuple((status, name) for name, status in rows[:limit])
        return History(changed=shown, is_cut=len(rows) > limit)

    async def _commits(
        self, repository: _Repository, arguments: Sequence[str], *, timeout_s: float = _QUERY_S
    ) -> tuple[list[Commit], bool]:
        """Commits, newest first, and whether git was ended before it was through."""
        ran = await self._git(repository, "log", *LOG, *arguments, timeout_s=timeout_s)
        if not ran.is_fine and not ran.is_late and not ran.is_cut:
            raise GitDataRefused(
                "git could not read the history: objects may be missing or damaged"
            )
        return commits_in(ran.out), ran.is_late or ran.is_cut

    async def _with_files(
        self, repository: _Repository, commits: Sequence[Commit]
    ) -> tuple[Commit, ...]:
        """Add the names each commit touched; none for a merge."""
        if not commits:
            return ()
        ids = "".join(f"{commit.id}\n" for commit in commits).encode()
        options = ("--stdin", "--root", "-r", "-z", "--raw", *DIFF)
        ran = await self._git(repository, "diff-tree", *options, stdin=ids)
        files = {id_: [c.name for c in each] for id_, each in changes_by_commit(ran.out).items()}
        return tuple(replace(each, files=tuple(files.get(each.id, ()))) for each in commits)

    async def _resolved(self, repository: _Repository, revision: str) -> str | None:
        """The commit that a revision means, as an id; nothing when there is none."""
        if not revision or "\0" in revision or len(revision) > LONGEST_TEXT:
            return None
        arguments = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        ran = await self._git(repository, "rev-parse", *arguments)
        return ran.out.decode().strip() if ran.is_fine and _ID.fullmatch(ran.out) else None

    async def _must(self, repository: _Repository, *arguments: str) -> InvocationResult:
        ran = await self._git(repository, *arguments, max_output=_NAMES_BYTES)
        if not ran.is_fine:
            raise GitDataRefused("git could not compare: its data may be missing or damaged")
        return ran

    async def _git(
        self,
        repository: _Repository,
        *arguments: str,
        stdin: bytes | None = None,
        timeout_s: float = _QUERY_S,
        max_output: int = 4 * 1024 * 1024,
    ) -> InvocationResult:
        assert self._program is not None
        return await self._runner.run(
            Invocation(
                (self._program, "--no-pager", *arguments),
                cwd=self._root.root,
                env=repository.env,
                stdin=stdin,
                timeout_s=timeout_s,
                max_output=max_output,
            )
        )


def bounded(limit: int, most: int) -> int:
    """A limit that a caller asked for, within what we give."""
    return max(1, min(limit, most))


@dataclass(frozen=True, slots=True)
class Tree:
    """Folders under one set of rules; names are told from `below`, its prefix in the workspace."""

    below: str
    rules: IgnoreRules
    is_repository: bool = False
    is_unsure: bool = False  # which names are tracked
    tracked: frozenset[str] = frozenset()
    holding_tracked: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def plain(cls, root: str, excludes: UserExcludes) -> Self:
        """A folder that is no repository: what its user leaves out everywhere counts here too."""
        return cls("", IgnoreRules(last=(excludes.text(root),)))

    @classmethod
    def of(cls, root: str, folder: str, excludes: UserExcludes) -> Self | None:
        """The work tree in a folder of the workspace; nothing where there is none."""
        place = os.path.join(root, folder) if folder else root
        below = f"{folder}/" if folder else ""
        try:
            data = find_data(place)
        except GitDataRefused:
            store = _jujutsu_store(place)
            if store is None:
                return None
            return cls(below, _rules(place, None, store, excludes), is_repository=True)
        tracked = tracked_names(data.own, is_sha256=is_sha256(data.common))
        rules = _rules(place, data.own, data.common, excludes)
        names = tracked or frozenset()
        return cls(below, rules, True, tracked is None, names, _folders_above(names))

    def is_tracked(self, name: str, *, is_folder: bool) -> bool:
        """Whether rules say nothing of a name: it is tracked, or holds what is."""
        return name in (self.holding_tracked if is_folder else self.tracked)


def _rules(root: str, own: str | None, common: str, excludes: UserExcludes) -> IgnoreRules:
    last = excludes.text(root, own=own, common=common)
    own_last = text_file(os.path.join(common, "info", "exclude"))
    return IgnoreRules(last=(last, own_last), is_repository=True)


def _jujutsu_store(folder: str) -> str | None:
    """The git data behind a workspace of Jujutsu, or where they would be."""
    inside = os.path.join(folder, ".jj")
    if not os.path.isdir(inside):
        return None
    repository = os.path.join(inside, "repo")
    if os.path.isfile(repository):
        repository = os.path.join(inside, text_file(repository).strip())
    store = os.path.join(repository, "store")
    target = text_file(os.path.join(store, "git_target")).strip()
    return os.path.join(store, target or "git")


def _folders_above(names: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in names:
        while "/" in name and (name := name.rpartition("/")[0]) not in found:
            found.add(name)
    return frozenset(found)
