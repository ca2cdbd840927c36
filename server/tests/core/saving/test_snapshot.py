"""What is saved can be read back, holds no file text, and anything else is refused whole."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.answer import CitationStatus, Mode
from live_memory.core.errors import Corrupt, SnapshotTooNew, SnapshotUnreadable
from live_memory.core.memory.ledger import FactId
from live_memory.core.memory.window import FileObserved, Window, apply, questions
from live_memory.core.saving.snapshot import (
    VERSION,
    Beginning,
    Memory,
    Snapshot,
    from_form,
    root_of,
    sealed,
    to_form,
    unsealed,
)
from live_memory.core.values import Author, ContentHash, Instant, Origin, RelPath
from tests.support import strategies as given_a

SECRET_LINE = "the text of a file"
WINDOW = apply(
    Window(),
    FileObserved(
        RelPath("a.py"),
        ContentHash.of(b"1"),
        1,
        1,
        1,
        Origin.READ,
        Instant(1.0),
    ),
)
# What version 1 wrote, by its own code.
V1 = Path(__file__).with_name("snapshot.v1.json").read_bytes()

# Smaller than elsewhere: a form holds everything at once.
windows = st.lists(given_a.events, max_size=8).map(given_a.fold)
snapshots = st.builds(
    Snapshot,
    st.text(max_size=9),
    st.integers(0, 10**9),
    st.builds(Memory, windows, st.lists(given_a.subjects, max_size=4).map(tuple)),
)


def _of(window: Window) -> Snapshot:
    return Snapshot("/w", 7, Memory(window))


def _through_json(snapshot: Snapshot) -> object:
    return json.loads(json.dumps(to_form(snapshot)))


@pytest.mark.promise("nothing-lost")
@given(snapshots)
def test_a_memory_comes_back_as_it_was_but_for_file_text(snapshot: Snapshot) -> None:
    assert from_form(_through_json(snapshot)) == snapshot
    assert from_form(unsealed(sealed(to_form(snapshot)))) == snapshot


def test_a_snapshot_holds_hashes_and_no_file_text() -> None:
    assert SECRET_LINE not in json.dumps(to_form(_of(WINDOW)))


def test_a_newer_version_is_named_as_such() -> None:
    with pytest.raises(SnapshotTooNew, match=f"version {VERSION + 1}"):
        from_form({**to_form(_of(WINDOW)), "version": VERSION + 1})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@pytest.mark.promise("no-overwrite-of-unreadable")
@given(snapshots, st.data())
def test_a_form_with_a_wrong_value_anywhere_is_refused_or_is_still_a_memory(
    snapshot: Snapshot, data: st.DataObject
) -> None:
    form = _through_json(snapshot)
    place = form
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        below = place[key]
        if not isinstance(below, dict | list) or not below or data.draw(st.booleans()):
            place[key] = data.draw(json_values)
            break
        place = below
    try:
        again = from_form(form)
    except (SnapshotUnreadable, SnapshotTooNew):
        return
    assert isinstance(again, Snapshot)


@pytest.mark.parametrize(
    "form", [None, [], "x", 7, {}, {"version": "1"}, {"version": 0}, {"version": -1}]
)
def test_something_else_is_no_snapshot(form: object) -> None:
    """S50: a version that is a text, missing or negative."""
    with pytest.raises(SnapshotUnreadable):
        from_form(form)


def test_an_unknown_kind_of_entry_is_refused() -> None:
    form = json.loads(json.dumps(to_form(_of(WINDOW))))
    form["window"]["entries"][0]["kind"] = "dreamt"
    with pytest.raises(SnapshotUnreadable, match="dreamt"):
        from_form(form)


def test_of_which_repository_it_is_comes_back_where_it_is_known() -> None:
    memory = Memory(WINDOW, beginning=Beginning("ab" * 20, 1_700_000_000.0))
    form = json.loads(json.dumps(to_form(Snapshot("/w", 1, memory))))
    assert from_form(form).memory == memory
    del form["beginning"]  # as versions before wrote it
    assert from_form(form).memory == Memory(WINDOW)
    for wrong in (None, "x", {"id": "../x", "at": 1.0}, {"id": "ab" * 20}):
        with pytest.raises(SnapshotUnreadable):
            from_form({**form, "beginning": wrong})


def test_the_root_can_be_read_alone() -> None:
    assert root_of(to_form(_of(WINDOW))) == "/w"


@pytest.mark.promise("nothing-lost")
def test_what_version_1_wrote_is_read_whole() -> None:
    """S50, C07."""
    snapshot = from_form(unsealed(V1))
    window = snapshot.memory.window
    assert (snapshot.root, snapshot.generation, snapshot.memory.heard) == ("/app", 0, ())
    assert (window.revision, window.next_number, len(window.entries)) == (8, 7, 5)
    assert [fact.id for fact in window.ledger.facts] == ["f1", "f2"]
    pinned = window.ledger[FactId("f2")]
    assert (pinned.is_pinned, pinned.author) == (True, Author.SUMMARY)
    assert window.ledger[FactId("f1")].is_stale
    (asked,) = questions(window)
    assert asked.question.text == "Where is RETRY_LIMIT set?"
    assert (asked.answer.mode, asked.answer.recipe) == (Mode.COMPANION, "")
    assert asked.answer.citations[0].status is CitationStatus.VERIFIED


def test_what_is_missing_in_an_old_snapshot_is_not_made_up() -> None:
    """C07: a key that version 1 always wrote."""
    form = json.loads(V1)
    del form["window"]["entries"][0]["sha"]
    with pytest.raises(SnapshotUnreadable, match="sha"):
        from_form(unsealed(json.dumps(form).encode()))


SEALED = sealed(to_form(_of(WINDOW)))


@pytest.mark.promise("no-overwrite-of-unreadable")
def test_every_flipped_bit_is_noticed() -> None:
    """S47, over all bits instead of 200."""
    for at in range(len(SEALED)):
        for bit in range(8):
            damaged = bytearray(SEALED)
            damaged[at] ^= 1 << bit
            with pytest.raises(SnapshotUnreadable):
                unsealed(bytes(damaged))


@pytest.mark.parametrize("size", range(0, len(SEALED), 7))
def test_every_cut_is_noticed(size: int) -> None:
    with pytest.raises(Corrupt):
        unsealed(SEALED[:size])


def test_a_newer_snapshot_is_known_by_its_version_whatever_else_it_holds() -> None:
    """S50: it may have other fields, and a seal that we do not know."""
    form = {**json.loads(SEALED), "version": VERSION + 1, "new": [1]}
    for data in (json.dumps(form).encode(), sealed(form)):
        with pytest.raises(SnapshotTooNew):
            unsealed(data)


@given(snapshots)
def test_a_sealed_form_is_the_plain_json_of_it_behind_its_checksum(snapshot: Snapshot) -> None:
    form = to_form(snapshot)
    plain = json.dumps(form, separators=(",", ":")).encode()
    assert sealed(form).partition(b",")[2] == plain[1:]
