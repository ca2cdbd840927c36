"""A workspace held in memory, for tests of what uses one, demos and dry runs.

It passes the same contract suite as the workspace on disk.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from live_memory.adapters.workspace.disk import MOST_MATCHES, MOST_NAMES
from live_memory.adapters.workspace.git_history import bounded
from live_memory.adapters.workspace.git_ignore import IgnoreRules, searched_text
from live_memory.adapters.workspace.matcher import matching_lines
from live_memory.adapters.workspace.patterns import compile_expression
from live_memory.adapters.workspace.ripgrep import searchable, texts_of
from live_memory.adapters.workspace.safe_open import is_git_data
from live_memory.core.errors import InvalidRequest, OutsideWorkspace
from live_memory.core.evidence.text_matches import Mentions
from live_memory.core.reading.lookup import (
    LARGEST_SEARCHED,
    ChangedFiles,
    Commit,
    CommitSearch,
    FirstCommit,
    History,
    HistoryQuery,
    Listing,
    LogQuery,
    Match,
    Matches,
    NamePattern,
    Omitted,
    TextPattern,
)
from live_memory.core.reading.observation import (
    FileRead,
    ListedFile,
    Skipped,
    SkipReason,
    decode,
    refusal_of_name,
)
from live_memory.core.reading.redaction import DEFAULT, compile_glob
from live_memory.core.values import ContentHash, RelPath, StatSignature, WorkspaceKey
from live_memory.ports import Sandbox, WorkspaceIdentity

__all__ = ["InMemorySandbox", "InMemoryWorkspaces", "InMemoryWorktrees", "PastCommit"]

_DEVICE = 1


@dataclass(frozen=True, slots=True)
class PastCommit:
    """A commit with every file it holds."""

    commit: Commit
    files: Mapping[str, bytes]


class InMemorySandbox:
    """Files and commits that a test writes down."""

    def __init__(
        self,
        files: Mapping[str, bytes] | None = None,
        *,
        commits: Sequence[PastCommit] | None = None,
    ) -> None:
        """Take files by name, and commits oldest first; no commits at all means no git."""
        self._files: dict[RelPath, tuple[bytes, int]] = {}
        self._commits = commits
        self._version = 0
        self.is_replaced = False
        self.is_closed = False
        for name, data in (files or {}).items():
            self.put(name, data)

    def put(self, name: str, data: bytes) -> None:
        """Write a file, as somebody else would."""
        self._version += 1
        self._files[RelPath(name)] = (data, self._version)

    def remove(self, name: str) -> None:
        """Remove a file, as somebody else would."""
        del self._files[RelPath(name)]

    async def is_same_root(self) -> bool:
        return not self.is_replaced

    async def list(self) -> Listing:
        rules = IgnoreRules()
        for path in self._files:
            if path.name == ".gitignore":
                folder = path.text.rpartition("/")[0]
                rules.add(folder, self._files[path][0].decode("utf-8", "replace"))
        kept = (path for path in sorted(self._files) if not _is_ignored(rules, path))
        return Listing(tuple(ListedFile(path, self._signature(path)) for path in kept))

    async def omitted(self, listing: Listing) -> Sequence[Omitted]:
        return ()

    async def read(self, names: Sequence[str], *, max_bytes: int) -> Sequence[FileRead | Skipped]:
        return [self._read(name, max_bytes) for name in names]

    async def locate(self, paths: Sequence[str]) -> Sequence[RelPath | None]:
        return [None for _ in paths]

    async def search(self, pattern: TextPattern) -> Matches:
        expression = compile_expression(pattern.regex, ignore_case=pattern.ignore_case)
        is_named = compile_glob(pattern.glob) if pattern.glob is not None else None
        place = self._place(pattern.under)
        if pattern.among is not None:
            names = list(pattern.among)
        elif place in self._files:
            names = searchable([ListedFile(place, self._signature(place))])
        else:
            names = searchable((await self.list()).files, below=place, is_named=is_named)
        texts = texts_of([self._read(name.text, LARGEST_SEARCHED) for name in names], DEFAULT)
        rows = matching_lines(
            (text.data.decode() for text in texts),
            expression.python,
            ignore_case=expression.ignore_case,
        )
        limit = bounded(pattern.limit, MOST_MATCHES)
        matches = [Match(texts[number].path, line, excerpt) for number, line, excerpt in rows]
        return Matches(tuple(matches[:limit]), is_cut=len(matches) > limit)

    async def mentions(self, texts: Sequence[str], *, among: Sequence[ListedFile]) -> Mentions:
        found = {}
        for path in (file.path for file in among if file.path in self._files):
            data = self._files[path][0].decode("utf-8", "replace").lower()
            counts = {text: data.count(text) for text in texts if text in data}
            if counts:
                found[path] = counts
        return Mentions(found)

    async def find(self, pattern: NamePattern) -> Sequence[RelPath]:
        is_named = compile_glob(pattern.glob)
        found = [listed.path for listed in (await self.list()).files if is_named(listed.path)]
        return found[: bounded(pattern.limit, MOST_NAMES)]

    async def history(self, query: HistoryQuery) -> History:
        path = query.path if isinstance(query, LogQuery | CommitSearch) else None
        below = None if path in (None, ".", "./") else RelPath.parse(path or "")
        text = searched_text(query.text) if isinstance(query, CommitSearch) else None
        if self._commits is None:
            return History(problem="not a git work tree")
        if isinstance(query, ChangedFiles):
            return await self._changed(query)
        if isinstance(query, FirstCommit):
            known = [each.commit for each in self._commits if each.commit.id == query.known]
            return History(tuple([*known, *(each.commit for each in self._commits[:1])][:1]))
        past: dict[str, bytes] = {}
        found: list[Commit] = []
        for each in self._commits:
            touched = _touched(past, each.files, below)
            if touched and (text is None or _holds(each, past, text, touched)):
                found.insert(0, each.commit)
            past = dict(each.files)
        return History(tuple(found[: query.limit]), is_cut=len(found) > query.limit)

    async def aclose(self) -> None:
        self.is_closed = True

    async def _changed(self, query: ChangedFiles) -> History:
        base = self._tree_of(query.since)
        latest = self._commits[-1].files if self._commits else {}
        now = {each.path.text: self._files[each.path][0] for each in (await self.list()).files}
        now |= {
            path.text: data
            for path, (data, _) in self._files.items()
            if path.text in {*base, *latest}
        }
        rows = {name: "D" for name in base if name not in now}
        for name, data in now.items():
            if name not in base:
                rows[name] = "A" if name in latest else "?"
            elif data != base[name]:
                rows[name] = "M"
        shown = tuple((status, name) for name, status in sorted(rows.items())[: query.limit])
        return History(changed=shown, is_cut=len(rows) > query.limit)

    def _tree_of(self, revision: str) -> Mapping[str, bytes]:
        commits = self._commits or ()
        if revision == "HEAD":
            return commits[-1].files if commits else {}
        for each in commits:
            if len(revision) >= 4 and each.commit.id.startswith(revision):
                return each.files
        raise InvalidRequest("'since' is not a revision of this repository")

    def _read(self, name: str, max_bytes: int) -> FileRead | Skipped:
        try:
            path = RelPath.parse(name)
        except OutsideWorkspace:
            return Skipped(name, SkipReason.OUTSIDE)
        if is_git_data(path):
            return Skipped(name, SkipReason.IGNORED)
        if path not in self._files:
            reason = SkipReason.NOT_REGULAR if self._is_folder(path) else SkipReason.OUTSIDE
            return Skipped(name, reason)
        data, _ = self._files[path]
        return FileRead(path, self._signature(path), ContentHash.of(data), data[:max_bytes])

    def _place(self, under: str) -> RelPath | None:
        if under in (".", "./"):
            return None
        path = RelPath.parse(under)
        if is_git_data(path) or not (path in self._files or self._is_folder(path)):
            raise OutsideWorkspace("not a path in this workspace")
        return path

    def _is_folder(self, path: RelPath) -> bool:
        return any(each.text.startswith(f"{path}/") for each in self._files)

    def _signature(self, path: RelPath) -> StatSignature:
        data, version = self._files[path]
        return StatSignature(len(data), version, version, version, _DEVICE)


class InMemoryWorkspaces:
    """Workspaces by their root; a folder below a root belongs to it."""

    def __init__(self, sandboxes: Mapping[str, Sandbox]) -> None:
        self._sandboxes = sandboxes

    async def resolve(self, cwd: str) -> WorkspaceIdentity:
        if not cwd.startswith("/") or "\0" in cwd:
            raise InvalidRequest("'cwd' must be an absolute path: send the project's folder")
        for root in sorted(self._sandboxes, key=len, reverse=True):
            if f"{cwd}/".startswith(f"{root}/"):
                return WorkspaceIdentity(root, WorkspaceKey.of_root(root))
        raise InvalidRequest("'cwd' is not an existing folder")

    async def open(self, workspace: WorkspaceIdentity) -> Sandbox:
        return self._sandboxes[workspace.root]


class InMemoryWorktrees:
    """Work trees of one repository, by their roots."""

    def __init__(self, roots: Sequence[str] = ()) -> None:
        self.roots = list(roots)

    async def holding(self, paths: Sequence[str], *, beside: str) -> Sequence[str | None]:
        roots = sorted(self.roots, key=len, reverse=True) if beside in self.roots else []
        nearest = [next((r for r in roots if f"{p}/".startswith(f"{r}/")), None) for p in paths]
        return [None if root == beside else root for root in nearest]

    async def main(self, root: str) -> str | None:
        return self.roots[0] if root in self.roots[1:] else None


def _is_ignored(rules: IgnoreRules, path: RelPath) -> bool:
    parts = path.text.split("/")
    folders = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    return (
        is_git_data(path)
        or any(rules.covers(folder, is_folder=True) for folder in folders)
        or rules.covers(path.text, is_folder=False)
    )


def _touched(
    before: Mapping[str, bytes], after: Mapping[str, bytes], below: RelPath | None
) -> set[str]:
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    if below is None:
        return changed
    return {name for name in changed if name == below.text or name.startswith(f"{below}/")}


def _holds(each: PastCommit, before: Mapping[str, bytes], text: str, touched: set[str]) -> bool:
    return text in _told(each.commit.subject.encode()) or any(
        _told(before.get(name, b"")).count(text) != _told(each.files.get(name, b"")).count(text)
        for name in touched
        if refusal_of_name(RelPath(name)) is not SkipReason.CREDENTIALS
    )


def _told(data: bytes) -> str:
    decoded = decode(data)
    return DEFAULT.redact(decoded).text.text if decoded else ""
