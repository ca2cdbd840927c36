"""Reads files of one workspace for whoever needs their text: bytes of this moment, redacted."""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio.to_thread

from live_memory.core.evidence.absence import BeyondIndex
from live_memory.core.evidence.packet import Excerpt, excerpt
from live_memory.core.evidence.places import (
    Candidates,
    Definition,
    Evidence,
    Place,
    RankedFileText,
    RankedUnit,
    Terms,
)
from live_memory.core.evidence.uses import is_definition_of
from live_memory.core.reading.admission import observe
from live_memory.core.reading.lookup import LARGEST_SEARCHED, Listing
from live_memory.core.reading.observation import (
    SEARCHED,
    FileRead,
    ListedFile,
    Observation,
    Skipped,
    refusal_of_name,
)
from live_memory.core.reading.redaction import KnownSignatures, Redactor
from live_memory.core.values import ContentHash, RelPath
from live_memory.ports import EvidenceIndex, Sandbox

__all__ = ["FileCache", "QuestionFiles", "Reader"]

# So many bytes are redacted in two milliseconds, faster than a busy pool gives a thread.
_LITTLE = 16_000


@dataclass(frozen=True, slots=True)
class Reader:
    """The sandbox, what hides secrets, and how many bytes of a file are read at most."""

    sandbox: Sandbox
    redactor: Redactor
    max_bytes: int

    async def bytes_of(
        self, names: Sequence[str], *, max_bytes: int | None = None
    ) -> Sequence[FileRead | Skipped]:
        """Read files as they are now, each from its beginning; outcomes are in the order of names.

        Raises:
            LiveMemoryError: the workspace cannot be read.
        """
        if not names:
            return ()
        return await self.sandbox.read(
            names, max_bytes=self.max_bytes if max_bytes is None else max_bytes
        )

    def observe(self, read: FileRead | Skipped) -> Observation | Skipped:
        """Redact what was read; for a thread, where it is much."""
        return read if isinstance(read, Skipped) else observe(read, redactor=self.redactor)

    async def observed(
        self, reads: Sequence[FileRead | Skipped]
    ) -> Sequence[Observation | Skipped]:
        """Redact what was read, off the loop where it is much."""
        size = sum(len(read.data) for read in reads if isinstance(read, FileRead))
        if size > _LITTLE:
            return await anyio.to_thread.run_sync(lambda: [*map(self.observe, reads)])
        return [*map(self.observe, reads)]

    def redacted(self, text: str) -> str:
        """A text without secrets."""
        return self.redactor.redact(text).text.text


# A question opens ten to twenty files of some 15 kB, and much the same ones as those before it: 48
# unlike questions about sphinx open 4 MB. What is kept takes three times this in memory.
_KEPT_CHARACTERS = 4_000_000
# So many files are compared with what is known in two milliseconds.
_MANY = 2_000


class FileCache:
    """Reads files of one workspace, and keeps what it redacted by the hash of the bytes."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.sandbox = reader, reader.sandbox
        self._kept: OrderedDict[tuple[RelPath, ContentHash], Observation] = OrderedDict()
        self._size = 0
        self.listed: Listing | None = None
        self._searchable: tuple[Listing | None, Sequence[ListedFile]] = None, ()
        self._unlearned: tuple[Listing, KnownSignatures, Sequence[RelPath]] | None = None

    async def listing(self) -> Listing:
        """The last one that a pass over the workspace made, else a new one."""
        return self.listed or await self.sandbox.list()

    async def unlearned(self, index: EvidenceIndex) -> Sequence[RelPath]:
        """The files that the index does not hold whole and that may be searched."""
        listing, known, last = await self.listing(), await index.known(), self._unlearned
        if last is None or last[0] is not listing or last[1] is not known:
            work = partial(self._beside, listing, known, await index.unlearned())
            is_much = len(listing.files) > _MANY
            paths = await anyio.to_thread.run_sync(work) if is_much else work()
            self._unlearned = last = listing, known, paths
        return last[2]

    def _beside(
        self, listing: Listing, known: KnownSignatures, part: Collection[RelPath]
    ) -> Sequence[RelPath]:
        """What may be searched of a listing and is not known, or only in `part`."""
        last, files = self._searchable
        if last is not listing:
            files = [
                file
                for file in listing.files
                if file.signature.size <= LARGEST_SEARCHED
                and refusal_of_name(file.path) in SEARCHED
            ]
            self._searchable = listing, files
        return [f.path for f in files if f.path in part or known.get(f.path) != f.signature]

    async def read(self, paths: Iterable[RelPath]) -> Sequence[Observation]:
        """Open the files that have text, as they are now."""
        outcomes = await self.reader.bytes_of([path.text for path in paths])
        reads = [outcome for outcome in outcomes if isinstance(outcome, FileRead)]
        new = [read for read in reads if (read.path, read.sha) not in self._kept]
        for seen in await self.reader.observed(new):
            if isinstance(seen, Observation):
                self._keep(seen)
        found = [self._taken(read) for read in reads]
        self._make_room()
        return [seen for seen in found if seen is not None]

    def _taken(self, read: FileRead) -> Observation | None:
        key = read.path, read.sha
        seen = self._kept.get(key)
        if seen is None:
            return None
        self._kept.move_to_end(key)
        return replace(seen, signature=read.signature)

    def _keep(self, seen: Observation) -> None:
        key = seen.path, seen.sha
        if key not in self._kept:
            self._size += len(seen.text.text)
            self._kept[key] = seen

    def _make_room(self) -> None:
        while self._size > _KEPT_CHARACTERS:
            _, dropped = self._kept.popitem(last=False)
            self._size -= len(dropped.text.text)


class QuestionFiles:
    """What is open for one question: each file once, for all that is made of it."""

    def __init__(self, shelf: FileCache, index: EvidenceIndex) -> None:
        self.shelf, self.index = shelf, index
        self.files: dict[RelPath, RankedFileText] = {}
        self._found: dict[Terms, Candidates] = {}
        self._defined: dict[str, Sequence[Definition]] = {}
        self._used: dict[str, Sequence[Place]] = {}
        self._shown: dict[tuple[Place, bool], tuple[Excerpt, Definition | None]] = {}
        # What was found beyond the index, by what was looked for.
        self.beyond: dict[tuple[Terms, tuple[str, ...], bool], BeyondIndex] = {}

    async def look_up(self, terms: Terms, *, limit: int) -> Evidence:
        """Search and open what was found."""
        if terms not in self._found:
            self._found[terms] = await self._opened(terms, limit)
        return Evidence(self._found[terms], self.files)

    async def open(self, paths: Iterable[RelPath]) -> None:
        """Open these too."""
        wanted = [path for path in dict.fromkeys(paths) if path not in self.files]
        self.files.update(await self.current(wanted))

    async def current(self, paths: Iterable[RelPath]) -> Mapping[RelPath, RankedFileText]:
        """Open files as they are now, with the definitions of the index that are in them."""
        found = {}
        for each in await self.shelf.read(paths):
            outline = await self.index.outline(each.path)
            file = RankedFileText(each.path, each.sha, each.lines, outline, each.is_clipped)
            there = tuple(d for d in outline if is_definition_of(file, d))
            found[each.path] = replace(file, outline=there)
        return found

    async def definitions(self, name: str) -> Sequence[Definition]:
        """Where a name is defined; units of a question use much the same names."""
        if name not in self._defined:
            self._defined[name] = await self.index.definitions(name)
        return self._defined[name]

    async def references(self, name: str) -> Sequence[Place]:
        """Where a name is used; asked for as often as where it is defined."""
        if name not in self._used:
            self._used[name] = await self.index.references(name)
        return self._used[name]

    def shown(self, unit: RankedUnit, *, is_first: bool) -> Excerpt:
        """How a place is shown: the same one without a model and to it, so it is rendered once."""
        file, owner = self.files[unit.place.path], unit.definition
        known, of = self._shown.get((unit.place, is_first), (None, None))
        if known is None or known.file is not file or of is not owner:
            known = excerpt(file, unit.place, owner, is_first=is_first)
            self._shown[unit.place, is_first] = known, owner
        return known

    async def _opened(self, terms: Terms, limit: int) -> Candidates:
        """Search and open; once more where the bytes turn out to be others than were indexed."""
        candidates = await self.index.search(terms, limit=limit)
        seen = await self.shelf.read(file.path for file in candidates.files)
        indexed = {file.path: file.sha for file in candidates.files}
        changed = [each for each in seen if each.sha != indexed[each.path]]
        if changed:
            await self.index.update(changed, textless={}, gone=())
            candidates = await self.index.search(terms, limit=limit)
            new = [file.path for file in candidates.files if file.path not in indexed]
            seen = [*seen, *await self.shelf.read(new)]
        await self._take_indexed(candidates, seen)
        return candidates

    async def _take_indexed(self, candidates: Candidates, seen: Sequence[Observation]) -> None:
        """Keep what is the very version that the index ranked."""
        ranked = {file.path: file.sha for file in candidates.files}
        for each in seen:
            if ranked.get(each.path) == each.sha:
                outline = await self.index.outline(each.path)
                self.files[each.path] = RankedFileText(
                    each.path, each.sha, each.lines, outline, each.is_clipped
                )
