"""From absolute paths, globs and searches to files of one workspace that may be remembered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import anyio.to_thread

from live_memory.core.errors import LiveMemoryError, OutsideWorkspace
from live_memory.core.hosts.events import Cut
from live_memory.core.hosts.notices import Notice
from live_memory.core.hosts.paths import inside
from live_memory.core.hosts.shell import Search
from live_memory.core.memory.coverage import merged
from live_memory.core.reading.admission import refusal_of_name
from live_memory.core.reading.lookup import NamePattern, TextPattern
from live_memory.core.reading.redaction import Redactor
from live_memory.core.values import RelPath, StatSignature
from live_memory.ports import Sandbox

__all__ = ["Finder"]

# Files that one glob or one search may bring in: more than that nobody has read.
_MOST_FILES = 20
_MOST_MATCHES = 200
_MOST_IGNORED = 1_000
# Names that were looked at for secrets: 0.1 ms each, and agents come back to their files.
_MOST_SCREENED = 4_096


class Finder:
    """Knows the root's name and which files the listing leaves out."""

    def __init__(
        self,
        root: str,
        *,
        sandbox: Sandbox,
        listed: Callable[[], Mapping[RelPath, StatSignature]],
        redactor: Redactor,
    ) -> None:
        self._root = root
        self._sandbox = sandbox
        self._indexed = listed
        self._redactor = redactor
        self._listed: frozenset[RelPath] = frozenset()
        self._ignored: set[RelPath] = set()
        self._is_secret: dict[str, bool] = {}

    async def files(self, notices: Sequence[Notice]) -> dict[RelPath, Notice]:
        """The names that notices are about, each once; what lies elsewhere is left out."""
        found: dict[RelPath, Notice] = {}
        names = await self._names([n.path for n in notices])
        await self._screen(names)
        for notice, name in zip(notices, names, strict=True):
            for one in await self._expanded(name) if notice.is_glob else (name,):
                path = self._admitted(one)
                if path is not None:
                    one_notice = replace(notice, path=path.text, is_glob=False)
                    known = found.get(path)
                    found[path] = known.with_later(one_notice) if known else one_notice
        return found

    async def searched(self, searches: Sequence[Search]) -> dict[RelPath, Notice]:
        """The lines that searches showed, found again."""
        found: dict[RelPath, Notice] = {}
        for search, name in zip(
            searches, await self._names([s.path for s in searches]), strict=True
        ):
            for path, notice in (await self._matches(search, name)).items():
                found[path] = found[path].with_later(notice) if path in found else notice
        return found

    async def kept(self, paths: Iterable[RelPath]) -> frozenset[RelPath]:
        """Those that git's ignore rules keep: a file that is ignored is not remembered."""
        wanted = frozenset(paths)
        if any(path.name == ".gitignore" for path in wanted):
            self._ignored.clear()
        unknown = wanted - self._ignored - self._indexed().keys() - self._listed
        if unknown:
            listing = await self._sandbox.list()
            self._listed = frozenset(file.path for file in listing.files)
            if len(self._ignored) > _MOST_IGNORED:
                self._ignored.clear()
            self._ignored |= unknown - self._listed
        return wanted - self._ignored

    async def _names(self, paths: Sequence[str]) -> list[str | None]:
        """Names below the root, "" for the root itself."""
        names = [_below(self._root, path) for path in paths]
        elsewhere = [path for path, name in zip(paths, names, strict=True) if name is None]
        if elsewhere:
            # The host may spell the root by a link.
            located = dict(zip(elsewhere, await self._sandbox.locate(elsewhere), strict=True))
            for n, path in enumerate(paths):
                there = located.get(path)
                if names[n] is None and there is not None:
                    names[n] = there.text
        return names

    def _admitted(self, name: str | None) -> RelPath | None:
        try:
            path = RelPath.parse(name or "")
        except OutsideWorkspace:
            return None
        if path in self._ignored or refusal_of_name(path) is not None:
            return None
        # A name can be a secret too, and names are kept on disk.
        is_secret = self._is_secret.get(path.text)
        if is_secret is None:
            is_secret = self._holds_secret(path.text)
        return None if is_secret else path

    async def _screen(self, names: Sequence[str | None]) -> None:
        """Look at new names in a thread: a batch of them would hold up the loop for 3 ms."""
        new = [name for name in names if name and name not in self._is_secret]
        if new:
            found = await anyio.to_thread.run_sync(lambda: [*map(self._holds_secret, new)])
            if len(self._is_secret) + len(new) > _MOST_SCREENED:
                self._is_secret.clear()
            self._is_secret.update(zip(new, found, strict=True))

    def _holds_secret(self, name: str) -> bool:
        return self._redactor.redact(name).count > 0

    async def _expanded(self, glob: str | None) -> Sequence[str]:
        if not glob:
            return ()
        try:
            paths = await self._sandbox.find(NamePattern(glob, limit=_MOST_FILES * 10))
        except LiveMemoryError:
            return ()
        return [path.text for path in paths if _is_as_deep(path, glob)][:_MOST_FILES]

    async def _matches(self, search: Search, name: str | None) -> dict[RelPath, Notice]:
        if name is None:
            return {}
        grep = search.grep
        limit = min(grep.limit or _MOST_MATCHES, _MOST_MATCHES)
        under, glob = (".", name) if search.is_glob else (name or ".", grep.glob)
        pattern = TextPattern(grep.regex, under, glob, grep.ignore_case, limit)
        try:
            result = await self._sandbox.search(pattern)
        except LiveMemoryError:
            return {}
        lines: dict[RelPath, list[tuple[int, int]]] = {}
        for match in result.matches:
            around = (max(1, match.line - grep.before), match.line + grep.after)
            lines.setdefault(match.path, []).append(around)
        if result.is_cut and len(lines) > 1:
            return {}  # programs search folders in another order: these may be other lines
        found = {}
        for path, spans in list(lines.items())[:_MOST_FILES]:
            if search.is_glob and not _is_as_deep(path, name):
                continue
            if self._admitted(path.text) is not None:
                views = tuple((Cut(start - 1, end),) for start, end in merged(spans))
                found[path] = Notice(path.text, views=views)
        return found


def _is_as_deep(path: RelPath, glob: str) -> bool:
    """A shell's `*` stays in one folder; ours without a `/` is looked for in every folder."""
    return "**" in glob or path.text.count("/") == glob.count("/")


def _below(root: str, path: str) -> str | None:
    return "" if path.rstrip("/") == root.rstrip("/") else inside(root, path)
