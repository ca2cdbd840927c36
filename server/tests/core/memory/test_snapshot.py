"""What is saved can be read back, holds no file text, and anything else is refused whole."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.errors import SnapshotTooNew, SnapshotUnreadable
from live_memory.core.memory.events import FileObserved
from live_memory.core.memory.snapshot import VERSION, from_form, root_of, to_form
from live_memory.core.memory.window import Entry, Window, apply
from live_memory.core.reading.observation import RedactedText
from live_memory.core.values import ContentHash, Instant, Origin, RelPath
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
        RedactedText(SECRET_LINE),
        Origin.READ,
        Instant(1.0),
    ),
)


def _through_json(window: Window) -> object:
    return json.loads(json.dumps(to_form(window, root="/w")))


def _without_text(window: Window) -> Window:
    def bare(entry: Entry) -> Entry:
        if isinstance(entry.content, FileObserved):
            return replace(entry, content=replace(entry.content, text=None))
        return entry

    return replace(window, entries=tuple(bare(entry) for entry in window.entries))


@pytest.mark.promise("nothing-lost")
@given(given_a.windows)
def test_a_window_comes_back_as_it_was_but_for_file_text(window: Window) -> None:
    assert from_form(_through_json(window)) == _without_text(window)
    assert from_form(to_form(window, root="/w")) == _without_text(window)


def test_a_snapshot_holds_hashes_and_no_file_text() -> None:
    assert SECRET_LINE not in json.dumps(to_form(WINDOW, root="/w"))


def test_a_newer_version_is_named_as_such() -> None:
    with pytest.raises(SnapshotTooNew, match=f"version {VERSION + 1}"):
        from_form({**to_form(WINDOW, root="/w"), "version": VERSION + 1})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@pytest.mark.promise("no-overwrite-of-unreadable")
@given(given_a.windows, st.data())
def test_a_form_with_a_wrong_value_anywhere_is_refused_or_is_still_a_window(
    window: Window, data: st.DataObject
) -> None:
    form = _through_json(window)
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
    assert isinstance(again, Window)


@pytest.mark.parametrize("form", [None, [], "x", 7, {}, {"version": "1"}, {"version": 0}])
def test_something_else_is_no_snapshot(form: object) -> None:
    with pytest.raises(SnapshotUnreadable):
        from_form(form)


def test_an_unknown_kind_of_entry_is_refused() -> None:
    form = json.loads(json.dumps(to_form(WINDOW, root="/w")))
    form["window"]["entries"][0]["kind"] = "dreamt"
    with pytest.raises(SnapshotUnreadable, match="dreamt"):
        from_form(form)


def test_the_root_can_be_read_alone() -> None:
    assert root_of(to_form(WINDOW, root="/w")) == "/w"
