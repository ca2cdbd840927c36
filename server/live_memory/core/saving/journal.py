"""The records of a journal, how they are written down, and how they bring a snapshot up to date.

A line is one JSON object with the length and the checksum of the record in it. What follows the
last record is empty lines: room that is written ahead (`adapters/store/journal_file`).
"""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import assert_never

from live_memory.core.errors import SnapshotUnreadable
from live_memory.core.hosts.notices import (
    AnythingChanged,
    Conclusion,
    FileInterest,
    Interest,
    Search,
)
from live_memory.core.memory.window import MemoryEvent, apply
from live_memory.core.reading.redaction import Redactor
from live_memory.core.saving.codec import Form, form_of, get, read, written
from live_memory.core.saving.snapshot import VERSION, Memory, version_of

__all__ = [
    "Broken",
    "EventApplied",
    "HostNotice",
    "JournalHeader",
    "JournalRecord",
    "Record",
    "begun_in",
    "holds_secret",
    "line_of",
    "records_in",
    "replayed",
]

_COMPACT = json.JSONEncoder(separators=(",", ":")).encode
_LINE = re.compile(rb'\{"crc":"([0-9a-f]{8})","size":([0-9]{1,9}),"record":(.*)\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class JournalHeader:
    """The first record of a journal: it has what came after the snapshots of lower generations."""

    generation: int
    root: str


@dataclass(frozen=True, slots=True)
class EventApplied:
    """An event that brought the window to this revision."""

    revision: int
    event: MemoryEvent


@dataclass(frozen=True, slots=True)
class HostNotice:
    """What a host told, to be looked at."""

    subjects: tuple[Interest, ...]


JournalRecord = EventApplied | HostNotice
Record = JournalHeader | JournalRecord
_KINDS: Mapping[type[Record], str] = {
    JournalHeader: "begun",
    EventApplied: "happened",
    HostNotice: "heard",
}
_RECORDS = {name: kind for kind, name in _KINDS.items()}


class Broken(SnapshotUnreadable):
    """A journal that cannot be read to its end; `so_far` is the memory up to there."""

    def __init__(self, message: str, *, so_far: Memory) -> None:
        super().__init__(message)
        self.so_far = so_far


def holds_secret(subject: Interest, redactor: Redactor) -> bool:
    """Whether a name or an expression in it is a secret, which must not be written down."""
    match subject:
        case FileInterest():
            words = [subject.path]
        case Search():
            words = [subject.path, subject.grep.regex, subject.grep.glob or ""]
        case AnythingChanged() | Conclusion():  # secrets in a conclusion were replaced
            words = []
        case _:
            assert_never(subject)
    return any(_is_secret(word, redactor) for word in words)


# Agents come back to the same files: looking at a name takes 0.1 ms.
@lru_cache(maxsize=4_096)
def _is_secret(word: str, redactor: Redactor) -> bool:
    return redactor.redact(word).count > 0


def line_of(record: Record) -> bytes:
    """A record as a line of the journal."""
    # ASCII only: a name on disk may hold what UTF-8 cannot say.
    form = {"kind": _KINDS[type(record)], **written(record)}
    if isinstance(record, JournalHeader):
        form["version"] = VERSION
    data = _COMPACT(form).encode("ascii")
    return b'{"crc":"%08x","size":%d,"record":%b}\n' % (zlib.crc32(data), len(data), data)


def records_in(data: bytes) -> Iterator[Record]:
    """The records up to the end.

    Raises:
        SnapshotTooNew: a newer version wrote it.
        SnapshotUnreadable: what comes next is torn, damaged or no record.
    """
    lines = data.split(b"\n")
    for line in lines[:-1]:
        if line:
            yield _record(line)
    if lines[-1]:
        raise SnapshotUnreadable("the last record is torn")


def begun_in(data: bytes) -> JournalHeader:
    """How a journal begins.

    Raises:
        SnapshotTooNew: a newer version wrote it.
        SnapshotUnreadable: it does not begin as a journal.
    """
    first = next(records_in(data), None)
    if not isinstance(first, JournalHeader):
        raise SnapshotUnreadable("it does not begin as a journal")
    return first


def replayed(memory: Memory, records: Iterable[Record]) -> Memory:
    """The memory after what a journal tells; what it has already is passed over.

    Raises:
        Broken: a record is damaged, or something is missing before it.
    """
    told = iter(records)
    while True:
        try:
            record = next(told)
            memory = _with(memory, record)
        except StopIteration:
            return memory
        except SnapshotUnreadable as problem:
            raise Broken(str(problem), so_far=memory) from problem


def _with(memory: Memory, record: Record) -> Memory:
    match record:
        case JournalHeader():
            return memory
        case HostNotice(subjects):
            return replace(memory, heard=(*memory.heard, *subjects))
        case EventApplied(revision, happened):
            if revision <= memory.window.revision:
                return memory
            if revision > memory.window.revision + 1:
                raise SnapshotUnreadable(f"what came before revision {revision} is missing")
            return replace(memory, window=apply(memory.window, happened))
        case _:
            assert_never(record)


def _record(line: bytes) -> Record:
    found = _LINE.fullmatch(line)
    if found is None:
        raise SnapshotUnreadable("a record is torn or damaged")
    crc, size, data = found.groups()
    if int(size) != len(data) or int(crc, 16) != zlib.crc32(data):
        raise SnapshotUnreadable("a record has a wrong checksum")
    try:
        return _read(form_of(json.loads(data)))
    except (ValueError, RecursionError) as problem:
        raise SnapshotUnreadable("a record is no JSON") from problem


def _read(form: Form) -> Record:
    kind = get(form, "kind", str)
    if kind not in _RECORDS:
        raise SnapshotUnreadable(f"unknown kind of record {kind!r}")
    if kind == "begun":
        version_of(form)
    record: Record = read(_RECORDS[kind], form)
    return record
