"""A journal brings a snapshot up to date exactly, however often it is read and wherever it ends."""

import json
import zlib
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.errors import SnapshotTooNew, SnapshotUnreadable
from live_memory.core.hosts.commands import Grep
from live_memory.core.hosts.events import LineSlice
from live_memory.core.hosts.notices import (
    AnythingChanged,
    Conclusion,
    FileInterest,
    Interest,
    Search,
)
from live_memory.core.memory.window import MemoryEvent, NoteWritten, Window, apply
from live_memory.core.reading.redaction import Redactor
from live_memory.core.saving.journal import (
    Broken,
    EventApplied,
    HostNotice,
    JournalHeader,
    Record,
    begun_in,
    holds_secret,
    line_of,
    records_in,
    replayed,
)
from live_memory.core.saving.snapshot import Memory
from live_memory.core.values import Author, Instant
from tests.support import strategies as given_a


def _journal(events: list[MemoryEvent]) -> bytes:
    happened: list[Record] = [EventApplied(n, event) for n, event in enumerate(events, 1)]
    return b"".join(line_of(record) for record in [JournalHeader(1, "/w"), *happened])


def _memory(events: list[MemoryEvent]) -> Memory:
    return Memory(reduce(apply, events, Window()))


@pytest.mark.promise("nothing-lost")
@given(st.lists(given_a.events, max_size=12), st.data())
def test_replay_over_any_earlier_or_later_snapshot_gives_the_same_memory(
    events: list[MemoryEvent], data: st.DataObject
) -> None:
    saved = data.draw(st.integers(0, len(events)))
    journal = _journal(events)
    once = replayed(_memory(events[:saved]), records_in(journal))
    assert once == _memory(events)
    assert replayed(once, records_in(journal)) == once


@given(st.lists(given_a.subjects, max_size=6).map(tuple))
def test_what_was_heard_comes_back(
    subjects: tuple[Interest, ...],
) -> None:
    data = line_of(HostNotice(subjects))
    assert replayed(Memory(), records_in(data)).heard == subjects


NOTES: list[MemoryEvent] = [NoteWritten(f"note {n}", Instant(float(n))) for n in range(3)]
JOURNAL = _journal(NOTES) + b"\n" * 50


@pytest.mark.promise("nothing-lost")
def test_a_journal_that_ends_at_any_byte_gives_what_was_whole_before() -> None:
    ends = [at + 1 for at, byte in enumerate(JOURNAL) if byte == ord("\n")][1:4]
    for size in range(len(JOURNAL) + 1):
        whole = sum(end <= size for end in ends)
        try:
            found = replayed(Memory(), records_in(JOURNAL[:size]))
        except Broken as problem:
            found = problem.so_far
        assert found == _memory(NOTES[:whole])


@pytest.mark.promise("no-overwrite-of-unreadable")
def test_a_flipped_bit_is_noticed_and_nothing_wrong_is_taken_for_true() -> None:
    """S47, over every bit."""
    right = [_memory(NOTES[:count]) for count in range(4)]
    for at in range(len(JOURNAL)):
        for bit in range(8):
            damaged = bytearray(JOURNAL)
            damaged[at] ^= 1 << bit
            with pytest.raises(Broken) as caught:
                replayed(Memory(), records_in(bytes(damaged)))
            assert caught.value.so_far in right


def test_a_gap_ends_a_journal() -> None:
    with pytest.raises(Broken, match="missing"):
        replayed(Memory(), [EventApplied(2, NOTES[0])])


def _heard_file(views: bytes, regions: bytes) -> bytes:
    start = b'{"kind":"heard","subjects":[{"kind":"file","path":"/a","glob":false,"edited":false,'
    return start + b'"views":%b,"regions":%b}]}' % (views, regions)


def _line(data: bytes) -> bytes:
    return b'{"crc":"%08x","size":%d,"record":%b}\n' % (zlib.crc32(data), len(data), data)


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"kind":"begun","version":"2","generation":1,"root":"/w"}',
        b'{"kind":"heard","subjects":[{"kind":"dreamt"}]}',
        _heard_file(b"[[[1]]]", b"[]"),
        _heard_file(b"[1]", b"[]"),
        _heard_file(b"[]", b"[[1,null]]"),
        b'{"kind":"dreamt"}',
        b'{"kind":"happened","revision":1,"event":{"kind":"forgotten","entries":["1"],"facts":[]}}',
        b'{"kind":"happened","revision":1,"event":{"kind":"forgotten","entries":[],"facts":[1]}}',
        b'{"kind":"happened","revision":1,"event":{"kind":"note","text":"","at":1%b}}'
        % (b"0" * 400),
        b'{"kind":"happened","revision":1,"event":{"kind":"note","text":"","at":true}}',
        b'{"kind":"happened","revision":1,"event":{"kind":"gone","path":"../x","at":1}}',
        b'{"kind":"happened","revision":1,"event":{"kind":"observed","path":"x","at":1,"sha":"x"}}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_record_of_a_wrong_form_is_refused(data: bytes) -> None:
    with pytest.raises(SnapshotUnreadable):
        list(records_in(_line(data)))


def test_a_journal_of_a_newer_version_is_named_as_such() -> None:
    with pytest.raises(SnapshotTooNew, match="99"):
        begun_in(_line(b'{"kind":"begun","version":99,"generation":1,"root":"/w"}'))


@pytest.mark.parametrize("first", [b"", b"\n\n", line_of(HostNotice(()))])
def test_what_begins_otherwise_is_no_journal(first: bytes) -> None:
    with pytest.raises(SnapshotUnreadable, match="begin"):
        begun_in(first)


def test_a_record_is_one_line_of_json() -> None:
    record: Record = HostNotice((FileInterest("/a\n\ud800", views=((LineSlice(0, 9),),)),))
    line = line_of(record)
    assert line.count(b"\n") == 1
    assert json.loads(line)["record"]["subjects"][0]["path"] == "/a\n\ud800"
    assert list(records_in(line)) == [record]


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (FileInterest("/w/a.py"), False),
        (FileInterest("/w/ghp_0123456789abcdefghijklmnopqrstuvwxyz.py"), True),
        (Search("/w", Grep("def ask")), False),
        (Search("/w", Grep("ghp_0123456789abcdefghijklmnopqrstuvwxyz")), True),
        (Search("/w", Grep("x", glob="ghp_0123456789abcdefghijklmnopqrstuvwxyz*")), True),
        (AnythingChanged(), False),
        (Conclusion("`a.py:1` says so", Author.AGENT, "s", "why?"), False),
    ],
)
def test_a_name_or_an_expression_that_is_a_secret_is_not_written_down(
    subject: Interest, expected: bool
) -> None:
    assert holds_secret(subject, Redactor()) is expected
