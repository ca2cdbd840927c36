"""Looks where the index did not, before anything is said not to be there.

All files that the listing has are searched, generated ones and the ends of long ones too; what
cannot be searched is named. Most questions need no such look.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

import anyio
import anyio.to_thread

from live_memory.core.absence.excerpts import Opened, found_in, head_of, opened
from live_memory.core.absence.saying import Beyond, Found, not_learned, statement, unseen_parts
from live_memory.core.absence.seeking import Sought, sought_in
from live_memory.core.errors import LiveMemoryError
from live_memory.core.evidence.places import Evidence, Terms
from live_memory.core.evidence.support import Standing, Support
from live_memory.core.evidence.words import base_name, tokens
from live_memory.core.reading.lookup import (
    LARGEST_SEARCHED,
    Listing,
    Match,
    Matches,
    Omitted,
    TextPattern,
)
from live_memory.core.reading.names import SEARCHED, refusal_of_name
from live_memory.core.reading.observation import FileRead, SkipReason
from live_memory.core.values import ContentHash, RelPath
from live_memory.flow.evidence.desk import Desk, Shelf

__all__ = ["look_beyond"]

# A question with more unknown names than these is a pasted log.
_MOST_NAMES, _MOST_PLACES, _MOST_MATCHES = 10, 3, 200
# What is opened is redacted whole, 8 MB a second.
_MOST_OPENED, _MOST_CHARACTERS = 6, LARGEST_SEARCHED
# Less than a question keeps back of its time to answer from what is known.
_LOOK_S = 1.5
# What a search gives of a line.
_CUT_EXCERPT = 500
# So many listed files are gone through in some milliseconds.
_FEW = 2_000
T = TypeVar("T")


async def look_beyond(terms: Terms, support: Support, evidence: Evidence, *, desk: Desk) -> Beyond:
    """Look for the names that the index lacks, and for definitions of those it only sees used."""
    is_denied = support.standing in (Standing.APART, Standing.NONE)
    asked = terms, support.unknown, is_denied
    if asked in desk.beyond:
        return desk.beyond[asked]
    look = _Look(desk.shelf)
    with anyio.move_on_after(_LOOK_S) as looking:
        if support.unknown or is_denied:
            names = [*support.unknown, *(name for name in terms.names if not tokens(name))]
            await look.whole(sought_in(names), await desk.shelf.unlearned(desk.index))
        elif undefined := await _undefined(terms, evidence, desk):
            files = await desk.shelf.unlearned(desk.index)
            await look.search(sought_in(undefined)[:_MOST_NAMES], files, defined_only=True)
    found = look.result(is_late=looking.cancelled_caught)
    if not looking.cancelled_caught:
        desk.beyond[asked] = found
    return found


async def _undefined(terms: Terms, evidence: Evidence, desk: Desk) -> list[str]:
    """The names that are used somewhere and defined in nothing that was learned."""
    opened = {base_name(d.name) for file in evidence.files.values() for d in file.outline}
    names = [n for n in terms.names if base_name(n).isidentifier() and "/" not in n]
    unseen = [name for name in names if base_name(name) not in opened]
    return [name for name in unseen if not await desk.definitions(name)]


def _lines_with(sought: Sought, matches: Iterable[Match]) -> dict[RelPath, list[int]]:
    """The lines of each file that hold a name, or may do so behind the end of the excerpt."""
    found: dict[RelPath, list[int]] = {}
    for match in matches:
        if len(match.text) >= _CUT_EXCERPT or sought.at(match.text) is not None:
            found.setdefault(match.path, []).append(match.line)
    return found


async def _gone_through(listing: Listing, work: Callable[[Listing], T]) -> T:
    """Do what looks at each listed file; in a thread where they are many."""
    if len(listing.files) <= _FEW:
        return work(listing)
    return await anyio.to_thread.run_sync(work, listing)


def _unsearched(listing: Listing) -> tuple[list[RelPath], list[RelPath]]:
    """The files that are never opened, and those that are too large to be searched."""
    secret, large = [], []
    for file in listing.files:
        why = refusal_of_name(file.path)
        if why is SkipReason.CREDENTIALS:
            secret.append(file.path)
        elif why in SEARCHED and file.signature.size > LARGEST_SEARCHED:
            large.append(file.path)
    return secret, large


def _called_so(sought: Sought, listing: Listing) -> list[RelPath]:
    """The first listed files that a name names."""
    named = (file.path for file in listing.files if sought.is_named_by(file.path))
    return list(islice(named, _MOST_PLACES))


class _Look:
    """One look beyond the index, and what it gave so far."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._found: list[Found] = []
        self._hashes: dict[RelPath, ContentHash] = {}
        # By what they tell, so that two words for one thing tell it once.
        self._statements: dict[str, None] = {}
        self._named: set[str] = set()
        self._unseen: list[str] = []

    def result(self, *, is_late: bool) -> Beyond:
        """All of it; what there was no time for is not looked at."""
        if is_late:
            self._unseen.append("all that is not learned, for want of time")
        statements, named = tuple(self._statements), frozenset(self._named)
        return Beyond(tuple(self._found), statements, named, tuple(self._unseen), self._hashes)

    async def whole(self, names: Sequence[Sought], files: Sequence[RelPath]) -> None:
        """Look at everything that can be looked at, and name the rest."""
        listing = await self._shelf.listing()
        try:
            omitted = await self._shelf.reader.sandbox.omitted(listing)
        except LiveMemoryError as problem:
            self._unseen.append(f"what the listing leaves out ({problem})")
            omitted = ()
        secret, large = await _gone_through(listing, _unsearched)
        for sought in names:
            await self._by_name(sought, listing, omitted)
        await self.search(names[:_MOST_NAMES], files)
        if len(names) > _MOST_NAMES and files:
            self._unseen.append(f"files that are not learned, for all but {_MOST_NAMES} names")
        self._unseen += unseen_parts(omitted, too_large=large, credentials=secret)
        if listing.is_unsure:
            self._unseen.append("tracked files that ignore rules name (an index cannot be read)")
        if listing.is_cut:
            self._unseen.append(f"all but the first {len(listing.files):,} files")

    async def search(
        self, names: Sequence[Sought], files: Sequence[RelPath], *, defined_only: bool = False
    ) -> None:
        """Look for these names at once, and for each alone where one hides the others."""
        matches = await self._matches(names, files)
        for sought in names:
            places = _lines_with(sought, matches.matches)
            if matches.is_cut and not places and len(names) > 1:
                await self.search([sought], files, defined_only=defined_only)
                continue
            found: list[Found] = []
            for file in await self._open([*places][:_MOST_OPENED]):
                found += found_in(file, sought, places[file.path])
            found = [each for each in found if each.is_defined or not defined_only]
            found.sort(key=lambda each: not each.is_defined)
            self._found += found[:_MOST_PLACES]
            if matches.is_cut and not found:
                self._unseen.append(f"some of the lines that may hold `{sought.name}`")

    async def _matches(self, names: Sequence[Sought], files: Sequence[RelPath]) -> Matches:
        regex = "|".join(re.escape(sought.text) for sought in names)
        if not regex or not files:
            return Matches(())
        pattern = TextPattern(regex, ignore_case=True, limit=_MOST_MATCHES, among=tuple(files))
        try:
            return await self._shelf.reader.sandbox.search(pattern)
        except LiveMemoryError as problem:
            self._unseen.append(f"{len(files):,} files that are not learned ({problem})")
            return Matches(())

    async def _by_name(self, sought: Sought, listing: Listing, omitted: Iterable[Omitted]) -> None:
        """Tell of what is called so: files that are not learned, links, repositories."""
        called = [each for each in omitted if sought.is_named_by(each.path)][:_MOST_PLACES]
        targets = {each.target: each.path for each in called if each.target is not None}
        files = await self._open(list(targets))
        self._found += [head_of(file, link=targets[file.path]) for file in files]
        opened_too = {targets[file.path] for file in files}
        said = [statement(each) for each in called if each.path not in opened_too]
        there = await _gone_through(listing, partial(_called_so, sought))
        said += [not_learned(path, refusal_of_name(path)) for path in there]
        self._statements |= dict.fromkeys(said)
        if called or there:
            self._named.add(sought.name)

    async def _open(self, paths: Sequence[RelPath]) -> Sequence[Opened]:
        names = [path.text for path in paths]
        if not names:
            return ()
        reads = await self._shelf.reader.bytes_of(names, max_bytes=LARGEST_SEARCHED)
        whole: list[FileRead] = []
        for read in reads:
            size = sum(len(each.data) for each in whole)
            if isinstance(read, FileRead) and not read.is_clipped and size < _MOST_CHARACTERS:
                whole.append(read)
        files = [each for each in await anyio.to_thread.run_sync(self._opened, whole) if each]
        self._hashes |= {file.path: file.sha for file in files}
        return files

    def _opened(self, reads: Iterable[FileRead]) -> list[Opened | None]:
        reader = self._shelf.reader
        return [opened(r, redactor=reader.redactor, max_bytes=reader.max_bytes) for r in reads]
