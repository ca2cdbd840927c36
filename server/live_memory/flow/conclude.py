"""Makes findings of what agents conclude: opens what a text cites, and keeps what holds."""

from collections.abc import Sequence
from functools import partial

import anyio.to_thread

from live_memory.core.checking.citations import named_paths
from live_memory.core.findings.conclusions import findings_of
from live_memory.core.hosts.notices import Conclusion
from live_memory.core.memory.notebook import Note
from live_memory.core.memory.window import Concluded, Window, questions
from live_memory.core.notes.note_relevance import notes_repeated_in
from live_memory.core.values import Author
from live_memory.flow.indexing import Indexer
from live_memory.flow.reader import QuestionFiles
from live_memory.ports import Clock

__all__ = ["Admission"]

# A text that cites more files than this lists a folder.
_MOST_FILES = 40
# Our own answers that a text may repeat: those of a long session.
_MOST_ANSWERS = 50


class Admission:
    """Judges the conclusions of one workspace."""

    def __init__(self, indexer: Indexer, *, clock: Clock) -> None:
        self._indexer = indexer
        self._clock = clock

    async def __call__(self, said: Conclusion, window: Window) -> Concluded | None:
        """What holds of a text; nothing where nothing of it cites a file that is here.

        Raises:
            LiveMemoryError: the workspace cannot be read.
        """
        shelf = self._indexer.shelf
        listed = {file.path for file in (await shelf.listing()).files}
        work = partial(named_paths, said.text, opened=(), listed=listed)
        paths = await anyio.to_thread.run_sync(work)
        desk = QuestionFiles(shelf, self._indexer.index)
        files = await desk.current(paths[:_MOST_FILES])
        # What the companion says is our own answer, and no echo of it; a note it read is told by
        # somebody else.
        ours = () if said.author is Author.COMPANION else questions(window)[-_MOST_ANSWERS:]
        answers = [asked.answer.text for asked in ours]
        notes = window.notebook.notes
        now = self._clock.now()

        def judged() -> Concluded:
            said_before = [*answers, *_told_before(said, notes)]
            return findings_of(said, files, window.ledger, answers=said_before, now=now)

        found = await anyio.to_thread.run_sync(judged)
        return found if found.facts or found.rejected else None


def _told_before(said: Conclusion, notes: Sequence[Note]) -> Sequence[str]:
    """What notes say that is no finding of who repeats it: what others told, and what is wrong."""
    is_ours = said.author is not Author.COMPANION
    return [
        note.text
        for note in notes_repeated_in(said.text, notes)
        if note.withdrawn is not None or not (is_ours and note.writer.session == said.session)
    ]
