"""Tells beside an answer what agents and people noted about what it shows.

Nothing of it is checked, so nothing of it is part of an answer's text, its citations or what is
kept of it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio.to_thread

from live_memory.core.answer import Answer, CitationStatus, Question
from live_memory.core.errors import LiveMemoryError
from live_memory.core.evidence.places import Place
from live_memory.core.findings.standing import is_as_it_was
from live_memory.core.memory.ledger import Source
from live_memory.core.memory.notebook import Note, NoteId
from live_memory.core.notes.note_relevance import MOST_TOLD, ShownPlaces, relevant_notes
from live_memory.core.notes.quoting import ToldNote, told_lines
from live_memory.core.notes.recollection import Space
from live_memory.core.values import RelPath
from live_memory.flow.answer_from_evidence import MOST_FILES
from live_memory.flow.find_evidence import terms_here
from live_memory.flow.reader import QuestionFiles
from live_memory.flow.workspace import Workspace

__all__ = ["Noted", "NotesBeside", "changed_places"]

Noted = Callable[[], Awaitable[Sequence[Space]]]

# Tokens that notes take beside an answer, and of a short answer which part.
_TOKENS, _PART = 250, 0.25
# So many are gone through faster than a thread is found for it.
_FEW = 300


@dataclass(slots=True)
class NotesBeside:
    """What was told about what the answer to one question shows.

    On the `desk` is what was opened for the question; `noted` gives the spaces in which notes are,
    as they are then. What was found for an answer stays for the next one to the same question: a
    model may have read it.
    """

    memory: Workspace
    question: Question
    edited: frozenset[RelPath]
    noted: Noted
    found: tuple[Note, ...] = ()
    _spaces: Sequence[Space] = ()
    _desk: QuestionFiles | None = None

    @property
    def desk(self) -> QuestionFiles:
        """Made when it is first needed: by then it is known which index is there."""
        if self._desk is None:
            self._desk = QuestionFiles(self.memory.indexer.shelf, self.memory.index)
        return self._desk

    @property
    def ids(self) -> tuple[NoteId, ...]:
        """Those of what was found."""
        return tuple(note.id for note in self.found)

    def counts(self, named: str) -> bool:
        """Whether a note with this id may be told now."""
        now = self.question.asked_at
        notes = (space.window.notebook.note(named) for space in self._spaces)
        return any(note is not None and note.counts_at(now) for note in notes)

    async def told(self, *answers: Answer) -> str:
        """A line for each note that speaks of the question and of what these answers show."""
        self._spaces = await self.noted()
        many = sum(len(space.window.notebook.notes) for space in self._spaces)
        if not many:
            return ""
        try:
            await self._look(answers, many)
            return await self._lines()
        except LiveMemoryError:
            return ""

    async def _look(self, answers: Sequence[Answer], many: int) -> None:
        terms = replace(await terms_here(self.question.text, self.desk), edited=self.edited)
        candidates = (await self.desk.look_up(terms, limit=MOST_FILES)).candidates
        cited = dict.fromkeys(c for answer in answers for c in answer.citations)
        places = [
            Place(c.path, c.start, c.end) for c in cited if c.status is CitationStatus.VERIFIED
        ]
        await self.desk.open(place.path for place in places)
        shown = ShownPlaces(terms.names, places, self._leading(answers), self.desk.files)
        work = partial(
            relevant_notes, self._spaces, terms, candidates, shown, self.question.asked_at
        )
        new = work() if many <= _FEW else await anyio.to_thread.run_sync(work)
        found = dict.fromkeys((*self.found, *new))
        self.found = tuple(note for note in found if self.counts(note.id))[:MOST_TOLD]

    def _leading(self, answers: Sequence[Answer]) -> Sequence[Source]:
        led = {named for answer in answers for named in answer.facts}
        facts = self.memory.window.ledger.facts if led else ()
        return [source for fact in facts if fact.id in led for source in fact.sources]

    async def _lines(self) -> str:
        changed = await changed_places(self.found, self.desk)
        users = [space.window.notebook for space in self._spaces if space.is_users]
        told = [
            ToldNote(
                note,
                changed.get(note.id, ()),
                is_users=any(one.note(note.id) is note for one in users),
            )
            for note in self.found
        ]
        tokens = min(_TOKENS, int(_PART * self.question.budget.answer_tokens))
        return told_lines(told, self.question.asked_at, tokens=tokens)


async def changed_places(
    notes: Sequence[Note], desk: QuestionFiles
) -> dict[str, tuple[Source, ...]]:
    """Which places of these notes have other lines now, by the id of the note."""
    paths = dict.fromkeys(source.path for note in notes for source in note.sources)
    files = await desk.current(paths) if paths else {}
    gone = {note.id: tuple(s for s in note.sources if not is_as_it_was(s, files)) for note in notes}
    return {named: sources for named, sources in gone.items() if sources}
