"""The answer without a model: alone, as a head start, and as the fallback.

The index says where to look; what is said comes from bytes read now, and from nothing else.
"""

from collections.abc import Iterable, Sequence
from types import MappingProxyType

import anyio.to_thread

from live_memory.core.asking.answer import Answer, Mode, Question
from live_memory.core.evidence.composition import Composed, compose, nothing
from live_memory.core.evidence.finding import Finding, Saying, say, say_uses, subjects
from live_memory.core.evidence.places import (
    Candidates,
    Definition,
    DefinitionKind,
    Evidence,
    OpenedFile,
    Place,
    Terms,
)
from live_memory.core.evidence.question import asked_for_uses, terms_of
from live_memory.core.evidence.ranking import is_test
from live_memory.core.evidence.snippets import key_lines
from live_memory.core.evidence.support import Standing, support
from live_memory.core.evidence.uses import in_reading_order, is_definition_of, names_on, uses_of
from live_memory.core.evidence.words import base_name, unique
from live_memory.core.reading.admission import observe
from live_memory.core.reading.observation import FileRead, Observation
from live_memory.core.reading.redaction import DEFAULT, Redactor
from live_memory.core.values import RelPath
from live_memory.ports import EvidenceIndex, Sandbox

__all__ = ["answer_from_evidence"]

# Recall is judged, and people read, within the first ten files.
_MOST_FILES = 10
# What is opened beyond the ranked files bounds the work of a question.
_MOST_OPENED, _MOST_CALLS_TRIED, _MOST_CALLERS = 12, 8, 3
_LINES_FOLLOWED, _MOST_NAMES_FOLLOWED, _MOST_RELATED = 4, 8, 2
# A name that more definitions share says nothing of which one is called.
_MOST_NAMESAKES = 3
_MAX_BYTES = 256 * 1024


async def answer_from_evidence(
    question: Question,
    *,
    sandbox: Sandbox,
    index: EvidenceIndex,
    redactor: Redactor = DEFAULT,
    max_bytes: int = _MAX_BYTES,
) -> Answer:
    """Find places, open them again, and say what stands there now.

    The caller has brought the index up to date; a file that changed since is indexed again here.
    """
    desk = _Desk(sandbox, index, redactor=redactor, max_bytes=max_bytes)
    terms = terms_of(question.text)
    evidence = await desk.look_up(terms)
    composed = await _composed(question, terms, evidence, desk)
    used = {citation.path for citation in composed.citations}
    return Answer(
        text=composed.text,
        mode=Mode.EVIDENCE,
        grounding=composed.grounding,
        citations=composed.citations,
        evidence=MappingProxyType({path: evidence.files[path].sha for path in sorted(used)}),
    )


class _Desk:
    """Opens files for one question, each once."""

    def __init__(
        self, sandbox: Sandbox, index: EvidenceIndex, *, redactor: Redactor, max_bytes: int
    ) -> None:
        self._sandbox, self.index = sandbox, index
        self._redactor, self._max_bytes = redactor, max_bytes
        self._files: dict[RelPath, OpenedFile] = {}

    async def look_up(self, terms: Terms) -> Evidence:
        """Search and open what was found; once more where the bytes turn out to be others."""
        candidates = await self.index.search(terms, limit=_MOST_FILES)
        seen = await self._read(file.path for file in candidates.files)
        indexed = {file.path: file.sha for file in candidates.files}
        changed = [each for each in seen if each.sha != indexed[each.path]]
        if changed:
            await self.index.update(changed, textless={}, gone=())
            candidates = await self.index.search(terms, limit=_MOST_FILES)
            tried = set(indexed)
            new = [file.path for file in candidates.files if file.path not in tried]
            seen = [*seen, *await self._read(new)]
        await self._take_indexed(candidates, seen)
        return Evidence(candidates, self._files)

    async def open(self, paths: Iterable[RelPath]) -> None:
        """Open these too, with the definitions that are still where the index has them."""
        for each in await self._read(p for p in dict.fromkeys(paths) if p not in self._files):
            outline = await self.index.outline(each.path)
            file = OpenedFile(each.path, each.sha, each.lines, outline)
            there = tuple(d for d in outline if is_definition_of(file, d))
            self._files[each.path] = OpenedFile(each.path, each.sha, each.lines, there)

    async def _take_indexed(self, candidates: Candidates, seen: Sequence[Observation]) -> None:
        """Keep what is the very version that the index ranked."""
        ranked = {file.path: file.sha for file in candidates.files}
        for each in seen:
            if ranked.get(each.path) == each.sha:
                outline = await self.index.outline(each.path)
                self._files[each.path] = OpenedFile(each.path, each.sha, each.lines, outline)

    async def _read(self, paths: Iterable[RelPath]) -> Sequence[Observation]:
        names = [path.text for path in paths]
        if not names:
            return []
        outcomes = await self._sandbox.read(names, max_bytes=self._max_bytes)
        reads = [outcome for outcome in outcomes if isinstance(outcome, FileRead)]
        return await anyio.to_thread.run_sync(_observed, reads, self._redactor)


def _observed(reads: Sequence[FileRead], redactor: Redactor) -> list[Observation]:
    seen = (observe(read, redactor=redactor) for read in reads)
    return [each for each in seen if isinstance(each, Observation)]


async def _composed(question: Question, terms: Terms, evidence: Evidence, desk: _Desk) -> Composed:
    found = support(question.text, terms, evidence)
    name = asked_for_uses(question.text)
    defined = await desk.index.definitions(name) if name else ()
    if name and defined:
        saying = await _uses(base_name(name), defined, evidence, desk)
        return compose(saying, defined, evidence, found, budget=question.budget)
    chosen = subjects(evidence, terms.names)
    if not chosen or found.standing is Standing.NONE:
        return nothing(evidence, found)
    saying = await _finding(chosen, evidence, desk)
    return compose(saying, chosen, evidence, found, budget=question.budget)


async def _uses(
    name: str, defined: Sequence[Definition], evidence: Evidence, desk: _Desk
) -> Saying:
    near = [*(d.place.path for d in defined), *(file.path for file in evidence.best)]
    places = in_reading_order(await desk.index.references(name), near, defined)
    paths = [*(d.place.path for d in defined[:_MOST_NAMESAKES]), *(p.path for p in places)]
    await desk.open([path for path in unique(paths) if path not in evidence.files][:_MOST_OPENED])
    uses = uses_of(name, places, evidence.files)
    unopened = sum(place.path not in evidence.files for place in places)
    return say_uses(name, _there(defined, evidence), uses, evidence.files, unopened=unopened)


async def _finding(chosen: Sequence[Definition], evidence: Evidence, desk: _Desk) -> Saying:
    lead = chosen[0]
    places = await _calls_of(lead, evidence, desk)
    related = await _related(lead, evidence, desk)
    await desk.open([*(place.path for place in places), *(d.place.path for d in related)])
    uses = uses_of(base_name(lead.name), places, evidence.files)
    callers = [use for use in uses if use.within != lead and not use.is_import]
    others = [other for other in _there(related, evidence) if other not in chosen]
    return say(Finding(chosen, callers[:_MOST_CALLERS], others[:_MOST_RELATED]), evidence)


def _there(definitions: Sequence[Definition], evidence: Evidence) -> list[Definition]:
    """Those that the opened files really have."""
    files = evidence.files
    opened = [d for d in definitions if d.place.path in files]
    return [d for d in opened if is_definition_of(files[d.place.path], d)]


async def _calls_of(lead: Definition, evidence: Evidence, desk: _Desk) -> Sequence[Place]:
    name = base_name(lead.name)
    namesakes = await desk.index.definitions(name)
    if not 1 <= len(namesakes) <= _MOST_NAMESAKES:
        return ()
    near = [lead.place.path, *(file.path for file in evidence.best)]
    places = in_reading_order(await desk.index.references(name), near, namesakes)
    return places[:_MOST_CALLS_TRIED]


async def _related(lead: Definition, evidence: Evidence, desk: _Desk) -> Sequence[Definition]:
    """What the lead's most telling lines use, where only one place defines it."""
    file = evidence.files[lead.place.path]
    numbers = key_lines(file, lead, evidence.candidates.worth, most=_LINES_FOLLOWED)
    names = unique(names_on([file.lines[number - 1] for number in numbers]))
    found: list[Definition] = []
    for name, is_own in names[:_MOST_NAMES_FOLLOWED]:
        here = await desk.index.definitions(name)
        if len(here) == 1 and name != base_name(lead.name):
            is_near = is_own or here[0].place.path == lead.place.path
            found += [other for other in here if is_near and _may_follow(lead, other)]
    return found


def _may_follow(lead: Definition, other: Definition) -> bool:
    """Whether a name on a line of `lead` is worth following to that definition."""
    is_telling = other.kind is not DefinitionKind.VALUE or base_name(other.name).isupper()
    return is_telling and is_test(other.place.path) == is_test(lead.place.path)
