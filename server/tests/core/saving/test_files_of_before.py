"""What an earlier release wrote is read whole, and what this one writes says the same.

`snapshot.v2.json` and `journal.v2.jsonl` were written by a codec that named each field by hand, and
hold every kind of record with every field away from its default. Those of versions 3 and 4 are
these with what they added, by hand.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from live_memory.core.answer import CitationStatus, Grounding, Mode, StopReason
from live_memory.core.errors import SnapshotUnreadable
from live_memory.core.hosts.commands import Grep
from live_memory.core.hosts.events import LineSlice
from live_memory.core.hosts.notices import AnythingChanged, Conclusion, FileInterest, Search
from live_memory.core.memory.ledger import Fact, FactId, Ledger, Source
from live_memory.core.memory.notebook import (
    Claim,
    Handoff,
    HandoffId,
    Note,
    Notebook,
    NoteCategory,
    NoteId,
    Withdrawal,
    Writer,
)
from live_memory.core.memory.window import (
    Brought,
    Compacted,
    Concluded,
    EntryNumber,
    FactPinned,
    Forgotten,
    HandoffCancelled,
    HandoffClaimed,
    HandoffLeft,
    LearningPaused,
    LearningResumed,
    NotesWithdrawn,
    NoteTold,
    Purged,
    QuestionAnswered,
    Telling,
    Window,
    apply,
)
from live_memory.core.saving.codec import form_of
from live_memory.core.saving.journal import EventApplied, HostNotice, line_of, records_in
from live_memory.core.saving.snapshot import Beginning, from_form, to_form, unsealed
from live_memory.core.values import Author, ContentHash, Instant, RelPath

HERE = Path(__file__).parent
SNAPSHOT = (HERE / "snapshot.v4.json").read_bytes()
JOURNAL = (HERE / "journal.v4.jsonl").read_bytes()
SNAPSHOT_3 = (HERE / "snapshot.v3.json").read_bytes()
JOURNAL_3 = (HERE / "journal.v3.jsonl").read_bytes()
SNAPSHOT_2 = (HERE / "snapshot.v2.json").read_bytes()
JOURNAL_2 = (HERE / "journal.v2.jsonl").read_bytes()
HEARD = (
    FileInterest(
        "/app/a\n\ud800.py",
        is_glob=True,
        views=((LineSlice(0, 40), LineSlice(-5, None)), ()),
        regions=((3, 9),),
        is_edited=True,
    ),
    Search(
        "/app",
        Grep("RETRY_.*", ignore_case=True, glob="*.py", before=1, after=2, limit=20),
        is_glob=True,
    ),
    Search("/app", Grep("x")),
    AnythingChanged(),
    Conclusion(
        "`app/config.py:3` sets `RETRY_LIMIT` to 3.",
        Author.SUBAGENT,
        "s1",
        "Find the limits.",
        said_at=Instant(1780000000.5),
    ),
)

WRITER = Writer(Author.SUBAGENT, "laptop", "codex", "s1")
PERSON = Writer(Author.PERSON)
WITHDRAWAL = Withdrawal(PERSON, Instant(1790000009.0), "it is wrong")
CLAIM = Claim(PERSON, Instant(1790000009.5), "c1")
NOTE = Note(
    NoteId("n1"),
    "`RETRY_LIMIT` is 3, so café.",
    NoteCategory.DECISION,
    WRITER,
    Instant(1790000007.5),
    tags=("retry",),
    is_pinned=True,
    expires_at=Instant(1800000000.0),
    sources=(Source(RelPath("app/config.py"), ContentHash.of(b"1"), 3, 3),),
)
HANDOFF = Handoff(
    HandoffId("h1"),
    "Half is done.",
    WRITER,
    Instant(1790000008.0),
    Instant(1790900000.0),
    next_steps=("Test it.",),
    open_questions=("Why 7?",),
    files=("app/config.py:3",),
    to_agent="codex",
    is_automatic=True,
)


@pytest.mark.promise("nothing-lost")
def test_a_snapshot_is_read_whole_and_written_as_it_was() -> None:
    form = unsealed(SNAPSHOT)
    snapshot = from_form(form)
    assert {"checksum": form["checksum"], **to_form(snapshot)} == form
    memory, window = snapshot.memory, snapshot.memory.window
    assert (snapshot.root, snapshot.generation, memory.heard) == ("/app", 7, HEARD)
    assert memory.beginning == Beginning("cd" * 20, 1_700_000_000.0)
    assert (window.revision, window.next_number, len(window.entries)) == (8, 7, 5)
    (fact,) = window.ledger.facts
    assert (fact.author, fact.is_pinned, fact.is_stale) == (
        Author.SUBAGENT,
        True,
        True,
    )
    assert [source.lines for source in fact.sources] == [ContentHash.of(b"3"), None]
    assert (fact.session, fact.conclusion, fact.uses, fact.novelty) == ("s1", "c1", 2, 0.25)
    assert window.ledger.forgotten == {"y", "z"}
    asked = window.entries[3].content
    assert isinstance(asked, QuestionAnswered)
    assert (asked.question.budget.timeout_s, asked.based_on) == (30.0, 2)
    answer = asked.answer
    assert (answer.mode, answer.grounding, answer.stop) == (
        Mode.COMPANION,
        Grounding.PARTIAL,
        StopReason.DEADLINE,
    )
    assert (answer.usage.input_tokens, answer.notice) == (1200, "It took too long.")
    assert answer.citations[0].status is CitationStatus.CORRECTED
    assert answer.facts == ("f1",)
    assert answer.notes == ("n1",)
    assert window.archive[0].answer.cost_usd is None
    assert window.is_paused
    first, second = window.notebook.notes
    assert first == NOTE
    assert second.withdrawn == WITHDRAWAL
    claimed, cancelled = window.notebook.handoffs
    assert claimed == replace(HANDOFF, claim=CLAIM)
    assert cancelled == replace(HANDOFF, id=HandoffId("h2"), cancelled=WITHDRAWAL)


@pytest.mark.promise("nothing-lost")
def test_a_journal_is_read_whole_and_written_as_it_was() -> None:
    window = from_form(unsealed(SNAPSHOT)).memory.window
    records = list(records_in(JOURNAL))
    again = b"".join(map(line_of, records))
    assert [_record(line) for line in again.splitlines()] == [
        _record(line) for line in JOURNAL.splitlines()
    ]
    assert records[-1] == HostNotice(HEARD)
    events = [record.event for record in records if isinstance(record, EventApplied)]
    told = Compacted | Concluded | FactPinned | Forgotten
    assert [event for event in events if isinstance(event, told)] == [
        Compacted(frozenset({EntryNumber(1), EntryNumber(2)}), window.ledger.facts, 4),
        Concluded(window.ledger.facts, 3),
        FactPinned(FactId("f1")),
        Forgotten(
            frozenset({EntryNumber(3)}),
            frozenset({FactId("f1"), FactId("f2")}),
            frozenset({Instant(1790000002.0)}),
        ),
    ]
    assert events[:5] == [entry.content for entry in window.entries]
    _, withdrawn = window.notebook.notes
    _, cancelled = window.notebook.handoffs
    assert [event for event in events if isinstance(event, Telling)] == [
        NoteTold(NOTE),
        NotesWithdrawn(frozenset({"n1", "n3"}), WITHDRAWAL),
        HandoffLeft(HANDOFF),
        HandoffClaimed(HANDOFF.id, CLAIM),
        HandoffCancelled(HandoffId("h2"), WITHDRAWAL),
        Brought((withdrawn,), (cancelled,), window.ledger.facts, frozenset({FactId("y")})),
        LearningPaused(),
        LearningResumed(),
        Purged(frozenset({"h2", "n2"})),
    ]


@pytest.mark.promise("nothing-lost")
def test_what_version_3_wrote_is_read_whole() -> None:
    memory, now = from_form(unsealed(SNAPSHOT_3)).memory, from_form(unsealed(SNAPSHOT)).memory
    window = replace(now.window, notebook=Notebook(), is_paused=False)
    assert memory == replace(now, window=_without_notes(window))
    before = [one for one in records_in(JOURNAL_3) if isinstance(one, EventApplied)]
    events = [one.event for one in records_in(JOURNAL) if isinstance(one, EventApplied)]
    assert len(before) == len(events) - 9
    (forgotten,) = (one.event for one in before if isinstance(one.event, Forgotten))
    assert not forgotten.asked_at


@pytest.mark.promise("nothing-lost")
def test_what_version_2_wrote_is_read_whole_but_for_facts_by_rule() -> None:
    """The index says what these said; what a model distilled stays, and says who it was."""
    memory = from_form(unsealed(SNAPSHOT_2)).memory
    now = from_form(unsealed(SNAPSHOT)).memory
    assert memory.heard == HEARD[:-1]
    assert memory.window.ledger == Ledger((), frozenset({FactId("y"), FactId("z")}), 4)
    assert _without_facts(memory.window) == _without_facts(now.window)
    form: Any = json.loads(json.dumps(unsealed(SNAPSHOT_2)))
    form["window"]["facts"][0]["origin"] = "summary"
    (fact,) = from_form(form).memory.window.ledger.facts
    (later,) = now.window.ledger.facts
    plain = [replace(source, lines=None) for source in later.sources]
    now_unknown = Fact(FactId("f1"), "", ())
    assert fact == replace(
        later,
        author=Author.SUMMARY,
        sources=tuple(plain),
        session="",
        conclusion="",
        uses=0,
        novelty=now_unknown.novelty,
    )


@pytest.mark.promise("nothing-lost")
def test_what_a_journal_of_version_2_tells_happened_but_for_facts_by_rule() -> None:
    records = list(records_in(JOURNAL_2))
    assert records[-1] == HostNotice(HEARD[:-1])
    events = [record.event for record in records if isinstance(record, EventApplied)]
    assert len(events) == 8
    assert [event for event in events if isinstance(event, Compacted)] == [
        Compacted(frozenset({EntryNumber(1), EntryNumber(2)}), (), 4)
    ]
    window = reduce(apply, events, Window())
    assert not window.ledger.facts
    assert [type(entry.content).__name__ for entry in window.entries][-1] == "NoteWritten"


def _without_notes(window: Window) -> Window:
    """Without what version 4 added to answers."""
    entries = [
        replace(e, content=replace(e.content, answer=replace(e.content.answer, notes=())))
        if isinstance(e.content, QuestionAnswered)
        else e
        for e in window.entries
    ]
    return replace(window, entries=tuple(entries))


def _without_facts(window: Window) -> Window:
    """Without what versions 3 and 4 added."""
    window = replace(_without_notes(window), notebook=Notebook(), is_paused=False)
    entries = [
        replace(e, content=replace(e.content, answer=replace(e.content.answer, facts=())))
        if isinstance(e.content, QuestionAnswered)
        else e
        for e in window.entries
    ]
    return replace(window, ledger=Ledger(), entries=tuple(entries))


def _record(line: bytes) -> object:
    return json.loads(line)["record"]


FIRST = unsealed(SNAPSHOT)
# Not looked at: the seal is checked before, earlier versions alone read "front", and what has a
# kind of its own is named by that.
PASSED_OVER = {"checksum", "front", "kind", "version"}


def _fields(form: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where each field of each record stands."""
    if isinstance(form, dict):
        for key in form.keys() - PASSED_OVER:
            yield (*path, key)
            yield from _fields(form[key], (*path, key))
    elif isinstance(form, list):
        for at, inner in enumerate(form):
            yield from _fields(inner, (*path, at))


@pytest.mark.promise("no-overwrite-of-unreadable")
@pytest.mark.parametrize("path", sorted(_fields(FIRST), key=str), ids=str)
def test_a_field_that_is_something_else_is_named(path: tuple[str | int, ...]) -> None:
    form: Any = json.loads(json.dumps(FIRST))
    *outer, key = path
    reduce(getitem, outer, form)[key] = [[None]]
    named = key if "." not in str(key) else outer[-1]  # by file: the table is named
    with pytest.raises(SnapshotUnreadable, match=f"no proper '{named}'"):
        from_form(form)


def test_a_field_that_is_missing_is_named_unless_nothing_may_be_known_there() -> None:
    may_be_missing = {"beginning", "model", "notice", "cost_usd", "since", "names", "limit"}
    # What version 3 added; of a source, an earlier one kept no hash of its lines.
    may_be_missing |= {"session", "conclusion", "uses", "novelty", "lines", "said_at"}
    # What version 4 added.
    may_be_missing |= {"notebook", "paused", "expires_at", "withdrawn", "claim", "cancelled"}
    for path in _fields(FIRST):
        form: Any = json.loads(json.dumps(FIRST))
        *outer, key = path
        is_added = path[-2:] in (("answer", "facts"), ("answer", "notes"))
        is_added = is_added or (path[0], key) == ("heard", "evidence")
        if "notebook" in path and key in ("session", "lines"):
            continue
        if key in may_be_missing or is_added or "." in str(key):
            continue
        del reduce(getitem, outer, form)[key]
        with pytest.raises(SnapshotUnreadable, match=f"no proper '{key}'"):
            from_form(form)


def test_a_key_of_a_later_release_is_passed_over() -> None:
    form = {**FIRST, "from_later": 1, "window": {**form_of(FIRST["window"]), "from_later": [1]}}
    assert from_form(form) == from_form(FIRST)
