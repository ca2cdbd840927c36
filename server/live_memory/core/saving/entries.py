"""The saved form of everything that can happen to a memory; the text of files stays out."""

from typing import assert_never

from live_memory.core.errors import SnapshotUnreadable
from live_memory.core.memory.events import (
    Compacted,
    EntryNumber,
    FactPinned,
    FileChanged,
    FileGone,
    FileObserved,
    Forgotten,
    MemoryEvent,
    NoteWritten,
    QuestionAnswered,
)
from live_memory.core.memory.ledger import FactId
from live_memory.core.memory.window import Entry, EntryContent
from live_memory.core.saving.answers import answered, answered_form
from live_memory.core.saving.facts import fact, fact_form
from live_memory.core.saving.fields import Form, every, get, number, numbers, texts
from live_memory.core.values import ContentHash, Instant, Origin, RelPath

__all__ = ["entry", "entry_form", "event", "event_form"]


def entry_form(entry: Entry) -> dict[str, object]:
    """An entry of the window as JSON values."""
    return {"number": entry.number, **_content_form(entry.content)}


def entry(form: Form) -> Entry:
    """An entry from its form.

    Raises:
        LiveMemoryError, ValueError: it is not what `entry_form` writes.
    """
    return Entry(EntryNumber(get(form, "number", int)), _content(form))


def event_form(event: MemoryEvent) -> dict[str, object]:
    """An event as JSON values."""
    match event:
        case Compacted(covers, facts, rejected):
            return {
                "kind": "compacted",
                "covers": sorted(covers),
                "facts": [fact_form(one) for one in facts],
                "front": [],  # only earlier versions read it
                "rejected": rejected,
            }
        case FactPinned(pinned):
            return {"kind": "pinned", "fact": pinned}
        case Forgotten(entries, forgotten):
            return {"kind": "forgotten", "entries": sorted(entries), "facts": sorted(forgotten)}
        case _:
            return _content_form(event)


def event(form: Form) -> MemoryEvent:
    """An event from its form.

    Raises:
        LiveMemoryError, ValueError: it is not what `event_form` writes.
    """
    match get(form, "kind", str):
        case "compacted":
            return Compacted(
                covers=_entries(form, "covers"),
                facts=every(form, "facts", fact),
                rejected=get(form, "rejected", int),
            )
        case "pinned":
            return FactPinned(FactId(get(form, "fact", str)))
        case "forgotten":
            facts = frozenset(FactId(one) for one in texts(form, "facts"))
            return Forgotten(_entries(form, "entries"), facts)
        case _:
            return _content(form)


def _entries(form: Form, key: str) -> frozenset[EntryNumber]:
    count = len(get(form, key, list))
    return frozenset(EntryNumber(one) for one in numbers(form, key, count))


def _content_form(content: EntryContent) -> dict[str, object]:
    match content:
        case FileObserved(path, sha, start, end, total, origin, at):
            return {
                "kind": "observed",
                "path": path.text,
                "sha": sha.hex,
                "lines": [start, end, total],
                "origin": origin.value,
                "at": at,
            }
        case FileChanged(path, sha, at):
            return {"kind": "changed", "path": path.text, "sha": sha.hex, "at": at}
        case FileGone(path, at):
            return {"kind": "gone", "path": path.text, "at": at}
        case NoteWritten(text, at):
            return {"kind": "note", "text": text, "at": at}
        case QuestionAnswered():
            return answered_form(content)
        case _:
            assert_never(content)


def _content(form: Form) -> EntryContent:
    kind = get(form, "kind", str)
    if kind == "answered":
        return answered(form)
    at = Instant(number(form, "at"))
    if kind == "note":
        return NoteWritten(get(form, "text", str), at)
    path = RelPath(get(form, "path", str))
    if kind == "gone":
        return FileGone(path, at)
    sha = ContentHash(get(form, "sha", str))
    if kind == "changed":
        return FileChanged(path, sha, at)
    if kind == "observed":
        start, end, total = numbers(form, "lines", 3)
        origin = Origin(get(form, "origin", str))
        return FileObserved(path, sha, start, end, total, origin, at)
    raise SnapshotUnreadable(f"unknown kind of entry {kind!r}")
