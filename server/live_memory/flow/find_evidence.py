"""What to show for a question: chosen by what it asks for."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeVar

import anyio
import anyio.to_thread

from live_memory.core.errors import LiveMemoryError
from live_memory.core.evidence.absence import (
    BeyondIndex,
    Opened,
    SoughtName,
    UnindexedName,
    forms_of,
    found_in,
    head_of,
    is_name,
    is_spelled,
    nearest,
    not_learned,
    opened,
    sought_in,
    statement,
    unseen_parts,
)
from live_memory.core.evidence.docs import silent_lines
from live_memory.core.evidence.file_kinds import Nature, is_guide, nature_of
from live_memory.core.evidence.grounding import Sufficiency, Support
from live_memory.core.evidence.outline import enclosing
from live_memory.core.evidence.packet import Excerpt, excerpt, leading, way_lead
from live_memory.core.evidence.places import (
    Definition,
    DefinitionKind,
    Evidence,
    Place,
    RankedUnit,
    Terms,
)
from live_memory.core.evidence.question import (
    asked_for_a_way,
    asked_for_uses,
    asked_of_impact,
    flags_first,
    terms_of,
)
from live_memory.core.evidence.units import LONGEST_WHOLE
from live_memory.core.evidence.uses import in_reading_order, unquoted
from live_memory.core.evidence.words import (
    asks_of,
    base_name,
    identifiers,
    tokens,
    unique,
    vocabulary,
)
from live_memory.core.reading.lookup import (
    LARGEST_SEARCHED,
    Listing,
    Match,
    Matches,
    Omitted,
    TextPattern,
)
from live_memory.core.reading.observation import SEARCHED, FileRead, SkipReason, refusal_of_name
from live_memory.core.values import ContentHash, RelPath
from live_memory.flow.find_uses import MOST_NAMESAKES, users_of, way, with_called
from live_memory.flow.reader import FileCache, QuestionFiles

__all__ = [
    "FoundEvidence",
    "exact_first",
    "found_for",
    "look_beyond",
    "nearest_names",
    "terms_here",
    "unspelled",
]

# Documents at the root that are shown where it is asked what this is.
_MOST_TOLD = 2


@dataclass(frozen=True, slots=True)
class FoundEvidence:
    """What an answer is made of: its first sentence, the places to show, and what ranks beside
    them, for whom there is room for more; `uses` are the lines that the first sentence counts.
    """

    lead: str
    excerpts: Sequence[Excerpt]
    is_settled: bool = False
    further: Sequence[Excerpt] = ()
    uses: Sequence[Place] = ()


async def found_for(
    question: str, evidence: Evidence, desk: QuestionFiles, *, room: int
) -> FoundEvidence:
    """Choose what to show: a way, the users of a name, what the project says of itself, or the
    places that rank; of a budget of so many characters.
    """
    ends = asked_for_a_way(question)
    steps = await way(*ends, desk) if ends else ()
    if steps:
        on_it = unique([*(step.use.within for step in steps), steps[-1].called])
        files = evidence.files
        way_places = [excerpt(files[d.place.path], d.place, d) for d in on_it if d is not None]
        return FoundEvidence(
            way_lead(steps), [*way_places, *_excerpts(evidence, desk)], is_settled=True
        )
    asked = asked_for_uses(question)
    for name in asked_of_impact(question):
        defined = await desk.definitions(name)
        if name.isupper() and defined and all(base_name(d.name) != name for d in defined):
            # A setting in capitals is not the attribute that has it: its places are shown.
            break
        if 1 <= len(defined) <= MOST_NAMESAKES:
            is_asked, base = name == asked, base_name(name)
            used = await users_of(base, defined, evidence, desk, room=room, is_asked=is_asked)
            if used is not None:
                lead, shown, uses = used
                rest = _excerpts(evidence, desk)
                return FoundEvidence(lead, shown, is_settled=True, further=rest, uses=uses)
    asks = asks_of(question)
    if asks.is_on_flags:
        evidence = flags_first(question, evidence)
    if asks.is_on_tested:
        evidence = _tested_first(question, evidence)
    excerpts = _excerpts(await with_called(evidence, desk), desk)
    if asks.is_on_what_it_is and (said := await _said_of_itself(desk)):
        lead = f"What it says of itself: {said[0].file.path}."
        return FoundEvidence(lead, [*said, *excerpts], is_settled=True)
    if not excerpts:
        return FoundEvidence("", ())
    best = next(iter(excerpts[0].places))
    return FoundEvidence(
        leading(best, _owner_of(excerpts[0], evidence), excerpts[0].file), excerpts
    )


async def _said_of_itself(desk: QuestionFiles) -> list[Excerpt]:
    """The beginnings of the documents at the root that say what this is, and of its manifest."""
    names = [path for path in await desk.index.known() if "/" not in path.text]
    guides = (path for path in names if is_guide(path))
    told = sorted(guides, key=lambda path: not path.name.lower().startswith("readme"))[:_MOST_TOLD]
    built = [path for path in names if nature_of(path) is Nature.BUILD][:1]
    await desk.open([*told, *built])
    files = [desk.files[path] for path in (*told, *built) if path in desk.files]
    ends = [(file, min(LONGEST_WHOLE, len(file.lines))) for file in files if file.lines]
    return [Excerpt(file, ((1, end),), (), (1, end)) for file, end in ends]


def _tested_first(question: str, evidence: Evidence) -> Evidence:
    """The definition that is asked for leads before its tests, or else what ranks of programs."""
    said = {word.lower() for word in identifiers(question)}

    def is_below(unit: RankedUnit) -> tuple[bool, bool]:
        is_beside = nature_of(unit.place.path) is not Nature.CODE
        named = unit.definition and base_name(unit.definition.name).lower() in said
        return is_beside, not named

    best = min(evidence.candidates.units, key=is_below, default=None)
    rest = [unit for unit in evidence.candidates.units if unit is not best]
    units = (best, *rest) if best else ()
    return replace(evidence, candidates=replace(evidence.candidates, units=units))


def _excerpts(evidence: Evidence, desk: QuestionFiles) -> list[Excerpt]:
    return [desk.shown(unit, is_first=at == 0) for at, unit in enumerate(evidence.units)]


def _owner_of(shown: Excerpt, evidence: Evidence) -> Definition | None:
    return evidence.units[0].definition if shown.names else None


_SHOWN_WHOLE = (DefinitionKind.FUNCTION, DefinitionKind.METHOD)
# A question with more names is a pasted log.
_MOST_NAMES = 12
# `TESTING`, which may be a setting; `URL`, which may be a word.
_CAPITALS = re.compile(r"(?<![\w.$-])[A-Z][A-Z0-9]{2,}(?![\w.$-]\w|[\w$])")
_MOST_OPENED, _MOST_PLACES = 6, 40
# So many places that have it are shown before what ranks by the other words.
_MOST_EXACT = 4


async def terms_here(question: str, desk: QuestionFiles) -> Terms:
    """What a question is about. A word in capitals that would tell what kind of question it is,
    such as `TESTING`, is a name instead where code here has it as one; others stay words.
    """
    terms = terms_of(question)
    words = unique(_CAPITALS.findall(question))[:_MOST_NAMES]
    telling = (word for word in words if asks_of(_without(question, word)) != terms.asks)
    names = [word for word in telling if await _is_identifier(word, desk)]
    if not names:
        return terms
    asks = asks_of(_without(question, *names))
    return replace(terms, names=unique((*terms.names, *names)), asks=asks)


def _without(question: str, *names: str) -> str:
    return re.sub(rf"\b(?:{'|'.join(names)})\b", "it", question)


async def exact_first(terms: Terms, evidence: Evidence, desk: QuestionFiles) -> Evidence:
    """The places of programs that have a name in capitals lead, those with most of the question
    first; its stem would lead anywhere.
    """
    names = [name for name in terms.names if _CAPITALS.fullmatch(name)]
    found = [
        place
        for name in names
        for place in await _places_of(name, desk)
        if nature_of(place.path) is Nature.CODE and _is_in_code(name, place, desk)
    ]
    if not found:
        return evidence
    worth, units = evidence.candidates.worth, dict[object, RankedUnit]()
    for place in found:
        file = desk.files[place.path]
        owner = enclosing(file.outline, place.start)
        shown = owner.place if owner and owner.kind in _SHOWN_WHOLE else place
        said = vocabulary("\n".join(file.lines[shown.start - 1 : shown.end]))
        score = sum(value for word, value in worth.items() if word in said)
        units.setdefault(owner or place, RankedUnit(place, owner, score))
    best = sorted(units.values(), key=lambda unit: -unit.score)[:_MOST_EXACT]
    rest = [u for u in evidence.candidates.units if u not in best]
    return replace(evidence, candidates=replace(evidence.candidates, units=(*best, *rest)))


async def unspelled(terms: Terms, evidence: Evidence, desk: QuestionFiles) -> frozenset[str]:
    """The names whose stem is here, and that no definition, use, path or ranked file has."""
    worth = evidence.candidates.worth
    names = [name for name in unique(terms.names) if is_name(name)][:_MOST_NAMES]
    known = (name for name in names if not worth.keys().isdisjoint(tokens(base_name(name))[:1]))
    return frozenset([name for name in known if not await _is_there(name, evidence, desk)])


def nearest_names(names: Iterable[str], evidence: Evidence) -> Mapping[str, str]:
    """For each name what is most like it of all that the open files define, and where."""
    outlines = (d for file in evidence.files.values() for d in file.outline)
    defined = {base_name(d.name): d.place for d in outlines}
    found = {name: nearest(name, defined) for name in names if is_name(name)}
    places = {name: (near, defined[near]) for name, near in found.items() if near is not None}
    return {
        name: f"`{near}` at {place.path}:{place.start}" for name, (near, place) in places.items()
    }


async def _is_identifier(word: str, desk: QuestionFiles) -> bool:
    """Whether code defines or uses it in this spelling, or has it as a key in quotes."""
    if any(base_name(d.name) == word for d in await desk.definitions(word)):
        return True
    return any(_is_in_code(word, place, desk) for place in await _places_of(word, desk))


async def _places_of(word: str, desk: QuestionFiles) -> list[Place]:
    """The lines of open files that may use or define a name in this spelling."""
    defined = [d.place for d in await desk.definitions(word) if base_name(d.name) == word]
    heads = [Place(place.path, place.start, place.start) for place in defined]
    used = in_reading_order(await desk.references(word), (), ())
    places = unique([*heads, *used])[:_MOST_PLACES]
    await desk.open(unique(place.path for place in places)[:_MOST_OPENED])
    return [place for place in places if place.path in desk.files]


def _is_in_code(word: str, place: Place, desk: QuestionFiles) -> bool:
    file = desk.files[place.path]
    if place.start > len(file.lines):
        return False
    line, within = file.lines[place.start - 1], enclosing(file.outline, place.start)
    first = within.place.start if within else max(1, place.start - 1)
    if place.start in silent_lines(file.lines, first, place.start):
        return False
    is_used = re.search(rf"(?<![\w$-]){word}(?![\w$-])", unquoted(line)) is not None
    return is_used or any(f"{quote}{word}{quote}" in line for quote in "\"'`")


async def _is_there(name: str, evidence: Evidence, desk: QuestionFiles) -> bool:
    base = base_name(name)
    whole = tokens(base)[0]
    ranked = {file.path for file in evidence.candidates.files if whole in file.words}
    holding = [file for file in evidence.best if file.path in ranked]
    if not holding or any(is_spelled(base, file.lines) for file in holding):
        return True
    for form in (base, *forms_of(base)):
        if await desk.definitions(form) or await desk.references(form):
            return True
    return is_spelled(base, (path.text for path in await desk.index.known()))


# A question with more unknown names than these is a pasted log.
_MOST_SOUGHT_NAMES, _MOST_SOUGHT_PLACES, _MOST_MATCHES = 10, 3, 200
# What is opened is redacted whole, 8 MB a second.
_MOST_SOUGHT_OPENED, _MOST_CHARACTERS = 6, LARGEST_SEARCHED
# Less than a question keeps back of its time to answer from what is known.
_LOOK_S = 1.5
# What a search gives of a line.
_CUT_EXCERPT = 500
# So many listed files are gone through in some milliseconds.
_FEW = 2_000
T = TypeVar("T")


async def look_beyond(
    terms: Terms, support: Support, evidence: Evidence, *, desk: QuestionFiles
) -> BeyondIndex:
    """Look for the names that the index lacks, and for definitions of those it only sees used.

    All files that the listing has are searched, generated ones and the ends of long ones too; what
    cannot be searched is named. Most questions need no such look.
    """
    is_denied = support.standing in (Sufficiency.APART, Sufficiency.NONE)
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
            await look.search(sought_in(undefined)[:_MOST_SOUGHT_NAMES], files, defined_only=True)
    found = look.result(is_late=looking.cancelled_caught)
    if not looking.cancelled_caught:
        desk.beyond[asked] = found
    return found


async def _undefined(terms: Terms, evidence: Evidence, desk: QuestionFiles) -> list[str]:
    """The names that are used somewhere and defined in nothing that was learned."""
    opened = {base_name(d.name) for file in evidence.files.values() for d in file.outline}
    names = [n for n in terms.names if base_name(n).isidentifier() and "/" not in n]
    unseen = [name for name in names if base_name(name) not in opened]
    return [name for name in unseen if not await desk.definitions(name)]


def _lines_with(sought: SoughtName, matches: Iterable[Match]) -> dict[RelPath, list[int]]:
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


def _called_so(sought: SoughtName, listing: Listing) -> list[RelPath]:
    """The first listed files that a name names."""
    named = (file.path for file in listing.files if sought.is_named_by(file.path))
    return list(islice(named, _MOST_SOUGHT_PLACES))


class _Look:
    """One look beyond the index, and what it gave so far."""

    def __init__(self, shelf: FileCache) -> None:
        self._shelf = shelf
        self._found: list[UnindexedName] = []
        self._hashes: dict[RelPath, ContentHash] = {}
        # By what they tell, so that two words for one thing tell it once.
        self._statements: dict[str, None] = {}
        self._named: set[str] = set()
        self._unseen: list[str] = []

    def result(self, *, is_late: bool) -> BeyondIndex:
        """All of it; what there was no time for is not looked at."""
        if is_late:
            self._unseen.append("all that is not learned, for want of time")
        statements, named = tuple(self._statements), frozenset(self._named)
        return BeyondIndex(tuple(self._found), statements, named, tuple(self._unseen), self._hashes)

    async def whole(self, names: Sequence[SoughtName], files: Sequence[RelPath]) -> None:
        """Look at everything that can be looked at, and name the rest."""
        listing = await self._shelf.listing()
        try:
            omitted = await self._shelf.sandbox.omitted(listing)
        except LiveMemoryError as problem:
            self._unseen.append(f"what the listing leaves out ({problem})")
            omitted = ()
        secret, large = await _gone_through(listing, _unsearched)
        for sought in names:
            await self._by_name(sought, listing, omitted)
        await self.search(names[:_MOST_SOUGHT_NAMES], files)
        if len(names) > _MOST_SOUGHT_NAMES and files:
            self._unseen.append(
                f"files that are not learned, for all but {_MOST_SOUGHT_NAMES} names"
            )
        self._unseen += unseen_parts(omitted, too_large=large, credentials=secret)
        if listing.is_unsure:
            self._unseen.append("tracked files that ignore rules name (an index cannot be read)")
        if listing.is_cut:
            self._unseen.append(f"all but the first {len(listing.files):,} files")

    async def search(
        self, names: Sequence[SoughtName], files: Sequence[RelPath], *, defined_only: bool = False
    ) -> None:
        """Look for these names at once, and for each alone where one hides the others."""
        matches = await self._matches(names, files)
        for sought in names:
            places = _lines_with(sought, matches.matches)
            if matches.is_cut and not places and len(names) > 1:
                await self.search([sought], files, defined_only=defined_only)
                continue
            found: list[UnindexedName] = []
            for file in await self._open([*places][:_MOST_SOUGHT_OPENED]):
                found += found_in(file, sought, places[file.path])
            found = [each for each in found if each.is_defined or not defined_only]
            found.sort(key=lambda each: not each.is_defined)
            self._found += found[:_MOST_SOUGHT_PLACES]
            if matches.is_cut and not found:
                self._unseen.append(f"some of the lines that may hold `{sought.name}`")

    async def _matches(self, names: Sequence[SoughtName], files: Sequence[RelPath]) -> Matches:
        regex = "|".join(re.escape(sought.text) for sought in names)
        if not regex or not files:
            return Matches(())
        pattern = TextPattern(regex, ignore_case=True, limit=_MOST_MATCHES, among=tuple(files))
        try:
            return await self._shelf.sandbox.search(pattern)
        except LiveMemoryError as problem:
            self._unseen.append(f"{len(files):,} files that are not learned ({problem})")
            return Matches(())

    async def _by_name(
        self, sought: SoughtName, listing: Listing, omitted: Iterable[Omitted]
    ) -> None:
        """Tell of what is called so: files that are not learned, links, repositories."""
        called = [each for each in omitted if sought.is_named_by(each.path)][:_MOST_SOUGHT_PLACES]
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
