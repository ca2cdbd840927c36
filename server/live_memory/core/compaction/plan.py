"""When the window is compacted, and exactly which of its entries go.

What later entries replaced goes first: it costs no model call and loses nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from live_memory.core.answer import CUT_OFF
from live_memory.core.compaction.fact_check import SourceText
from live_memory.core.companion.chat import Block, Cause, ModelRequest, UserTurn
from live_memory.core.companion.prompt import numbered, one_line, quoted, render_fact
from live_memory.core.memory.learning import Span, merged, missing
from live_memory.core.memory.ledger import Fact
from live_memory.core.memory.notebook import Note
from live_memory.core.memory.window import (
    Entry,
    EntryNumber,
    FileChanged,
    FileGone,
    FileObserved,
    NoteWritten,
    QuestionAnswered,
    Window,
    current_hashes,
)
from live_memory.core.values import RelPath

__all__ = [
    "COMPACT_AT",
    "COMPACT_TO",
    "RECENT_QUESTIONS",
    "CompactionPlan",
    "ShownLines",
    "plan",
    "summary_request",
    "superseded",
]

# Trigger high, compact low. A compaction moves the prompt's start and so loses the provider's
# cache; equal marks would pay that at every question.
COMPACT_AT, COMPACT_TO = 0.85, 0.25
# What was asked last is what is being worked on: its words stay, and no summary sees them.
RECENT_QUESTIONS = 3
# Lines that a prompt only names are read again for the summary. Measured on this repository.
_TOKENS_A_LINE = 15


@dataclass(frozen=True, slots=True)
class ShownLines:
    """Lines of a file, as the entries that go have shown them."""

    path: RelPath
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The entries that go, and what of them is still worth a fact."""

    covers: frozenset[EntryNumber]
    views: tuple[ShownLines, ...] = ()
    answers: tuple[QuestionAnswered, ...] = ()

    @property
    def needs_summary(self) -> bool:
        """Whether anything goes that nothing else in the window holds."""
        return bool(self.views or self.answers)


def superseded(window: Window) -> frozenset[EntryNumber]:
    """The entries that later entries of the same file replaced; never a question or a note.

    The newest entry of each file stays, so what is known of every file stays what it was.
    """
    newest = current_hashes(window)
    later: dict[RelPath, list[Span]] = {}  # of the newest bytes
    found: set[EntryNumber] = set()
    for entry in reversed(window.entries):
        content = entry.content
        if not isinstance(content, FileObserved | FileChanged | FileGone):
            continue
        is_newest = content.path not in later
        spans = later.setdefault(content.path, [])
        if is_newest or not _is_replaced(content, newest, spans):
            if isinstance(content, FileObserved):
                spans.append((content.start, content.end))
        else:
            found.add(entry.number)
    return frozenset(found)


def plan(
    window: Window, sizes: Mapping[EntryNumber, int], *, budget: int, most_input: int
) -> CompactionPlan | None:
    """What to compact of entries with these sizes in tokens; nothing below the high mark.

    Replaced entries alone go where that reaches the low mark. The high mark is not low enough: the
    next entry would be over it again, and the cache lost twice for little. Else the oldest entries
    go with them, until the low mark is reached or what is to be summarised takes `most_input`.
    """
    kept = sum(sizes.get(entry.number, 0) for entry in window.entries)
    if kept < COMPACT_AT * budget:
        return None
    covers = set(superseded(window))
    kept -= sum(sizes.get(number, 0) for number in covers)
    low, read = COMPACT_TO * budget, 0
    oldest: list[Entry] = []
    for entry in _coverable(window, covers):
        size = sizes.get(entry.number, 0)
        cost = _cost_of_reading(entry, size)
        # One entry at least, so that one that is too long by itself does not stand in the way.
        if kept <= low or (oldest and read + cost > most_input):
            break
        kept, read = kept - size, read + cost
        oldest.append(entry)
    covers.update(entry.number for entry in oldest)
    if not covers:
        return None
    return CompactionPlan(frozenset(covers), _views(oldest), _made_by_a_model(oldest))


def _made_by_a_model(covered: list[Entry]) -> tuple[QuestionAnswered, ...]:
    """The answers that say more than the index does, which finds the same places again."""
    asked = [e.content for e in covered if isinstance(e.content, QuestionAnswered)]
    return tuple(each for each in asked if each.answer.model is not None)


def _is_replaced(
    content: FileObserved | FileChanged | FileGone,
    newest: Mapping[RelPath, object],
    later: list[Span],
) -> bool:
    """Whether an entry that is not its file's newest says nothing more."""
    if not isinstance(content, FileObserved) or content.sha != newest[content.path]:
        return True
    return bool(later) and not missing([(content.start, content.end)], later)


def _coverable(window: Window, covered: set[EntryNumber]) -> list[Entry]:
    """What may go besides, oldest first.

    A note stays: it is no statement about code, so no fact could take its place.
    """
    asked = [e.number for e in window.entries if isinstance(e.content, QuestionAnswered)]
    kept = covered.union(asked[-RECENT_QUESTIONS:])
    return [
        entry
        for entry in window.entries
        if entry.number not in kept and not isinstance(entry.content, NoteWritten)
    ]


def _cost_of_reading(entry: Entry, size: int) -> int:
    content = entry.content
    if isinstance(content, FileObserved):
        return max(size, _TOKENS_A_LINE * (content.end - content.start + 1))
    return size


def _views(covered: list[Entry]) -> tuple[ShownLines, ...]:
    """The lines that go and are current, by file in the order of their first appearance.

    Lines of other bytes, and of files that are gone, are replaced and so not among these.
    """
    spans: dict[RelPath, list[Span]] = {}
    for entry in covered:
        content = entry.content
        if isinstance(content, FileObserved):
            spans.setdefault(content.path, []).append((content.start, content.end))
    views = (ShownLines(path, merged(found)) for path, found in spans.items())
    return tuple(view for view in views if view.spans)


# A fact of two sentences with its place, as a JSON line; all of them must fit one reply of the
# cheap models there are.
_TOKENS_A_FACT, _MOST_TOKENS = 130, 8_000


def summary_request(
    sources: Sequence[SourceText],
    answers: Sequence[QuestionAnswered],
    doubtful: Sequence[Fact],
    *,
    most_facts: int,
    told: Sequence[Note] = (),
) -> ModelRequest:
    """Ask for the facts that these lines hold, beside what was `told` about their files.

    The model gets no tools, and neither the question at hand nor the last ones: a summary should
    serve whatever is asked next.
    """
    parts = [text for source in sources for text in _shown(source)]
    for asked in answers:
        parts.append(f"=== earlier question\n{quoted(asked.question.text)}")
        is_whole = CUT_OFF not in (asked.answer.notice or "")
        what = "a hint" if is_whole else "a hint that was cut off before its end"
        parts.append(f"=== its answer, {what}\n{quoted(asked.answer.text)}")
    if doubtful:
        old = "".join(quoted(render_fact(fact)) for fact in doubtful)
        parts.append(f"=== facts whose source changed since\n{old}")
    if told:
        known = "".join(quoted(" ".join(note.text.split())) for note in told)
        parts.append(
            f"=== told already by agents and people, no facts and not to be restated\n{known}"
        )
    parts.append(f"=== task\nWrite at most {most_facts} facts as JSON lines.\n")
    page = resources.files("live_memory.core.compaction").joinpath("summary.md")
    return ModelRequest(
        system=(Block(page.read_text(encoding="utf-8"), is_cache_end=True),),
        messages=(UserTurn(tuple(Block(part) for part in parts)),),
        max_output_tokens=max(_TOKENS_A_FACT, min(_TOKENS_A_FACT * most_facts, _MOST_TOKENS)),
        cause=Cause.COMPACTION,
    )


def _shown(source: SourceText) -> Iterator[str]:
    """Each run of lines under its own header, so that gaps show."""
    for start, end in merged((n, n) for n in source.lines):
        yield _header(source.path, (start, end)) + numbered(
            tuple(one_line(source.lines[n]) for n in range(start, end + 1)), start=start
        )


def _header(path: RelPath, lines: Span) -> str:
    return f"=== file {one_line(path.text)}, lines {lines[0]}-{lines[1]}\n"
