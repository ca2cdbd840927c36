"""One file, one look: what memory keeps of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.hosts.events import LineSlice
from live_memory.core.hosts.notices import FileInterest
from live_memory.core.memory.learning import Coverage, InspectedFile, is_in_view, learned, merged
from live_memory.core.memory.window import FileChanged, FileGone, FileObserved
from live_memory.core.reading.admission import observe
from live_memory.core.reading.observation import FileRead, Skipped, SkipReason
from live_memory.core.values import ContentHash, Instant, Origin, RelPath
from tests.support.observing import signature_of

NOW, A = Instant(1.0), RelPath("a.py")
SMALL = b"".join(b"line_%d = %d\n" % (n, n) for n in range(1, 51))
LARGE = b"".join(b"line_%d = compute(%d, other=%d)\n" % (n, n, n) for n in range(1, 3001))
OTHER = ContentHash.of(b"other")
WHOLE, PART, EDIT = (
    FileInterest("a.py", views=((),)),
    LineSlice(9, 20),
    FileInterest("a.py", is_edited=True),
)


def look(data: bytes, notice: FileInterest) -> InspectedFile:
    read = FileRead(A, signature_of(data), ContentHash.of(data), data)
    return InspectedFile(A, notice, read, observe(read))


def spans(
    data: bytes, notice: FileInterest, shown: Coverage | None = None
) -> list[tuple[int, int, Origin]]:
    found = []
    for event in learned(look(data, notice), shown, now=NOW):
        assert isinstance(event, FileObserved)
        found.append((event.start, event.end, event.origin))
    return found


def test_the_lines_that_were_seen_are_kept_and_no_others() -> None:
    """X4."""
    assert spans(SMALL, FileInterest("a.py", views=((PART,),))) == [(10, 20, Origin.READ)]
    assert spans(SMALL, WHOLE) == [(1, 50, Origin.READ)]
    (event,) = learned(look(SMALL, FileInterest("a.py", views=((PART,),))), None, now=NOW)
    assert isinstance(event, FileObserved)
    assert (event.total, event.sha) == (50, ContentHash.of(SMALL))


def test_many_looks_at_once_add_up() -> None:
    notice = FileInterest(
        "a.py", views=((LineSlice(0, 5),), (LineSlice(4, 9),), (LineSlice(40, None),))
    )
    assert spans(SMALL, notice) == [(1, 9, Origin.READ), (41, 50, Origin.READ)]


def test_what_is_in_view_is_not_shown_again() -> None:
    shown = Coverage(ContentHash.of(SMALL), ((1, 30),), is_observed=True)
    assert spans(SMALL, WHOLE, shown) == [(31, 50, Origin.READ)]
    assert spans(SMALL, FileInterest("a.py", views=((PART,),)), shown) == []


@given(
    shown=st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), max_size=4),
    views=st.lists(st.tuples(st.integers(0, 60), st.none() | st.integers(0, 60)), max_size=4),
    is_edited=st.booleans(),
)
def test_what_need_not_be_read_on_would_have_told_nothing(
    shown: list[tuple[int, int]], views: list[tuple[int, int | None]], is_edited: bool
) -> None:
    known = Coverage(ContentHash.of(SMALL), merged(shown), is_observed=True, total=50)
    notice = FileInterest(
        "a.py", views=tuple((LineSlice(*view),) for view in views), is_edited=is_edited
    )
    told = learned(look(SMALL, notice), known, now=NOW)
    assert is_in_view(notice, ContentHash.of(SMALL), known) == (not told)
    assert not is_in_view(notice, OTHER, known)


def test_bytes_that_only_changed_are_read_on() -> None:
    """No line of them was shown, however few they are."""
    assert not is_in_view(WHOLE, ContentHash.of(SMALL), Coverage(ContentHash.of(SMALL)))


def test_a_small_file_that_was_edited_is_shown_whole() -> None:
    shown = Coverage(OTHER, ((1, 50),), is_observed=True)
    assert spans(SMALL, EDIT, shown) == [(1, 50, Origin.EDIT)]


def test_of_a_large_file_the_edited_lines_are_shown() -> None:
    notice = FileInterest("a.py", is_edited=True, regions=((100, 110), (5_000, 5_001)))
    assert spans(LARGE, notice) == [(100, 110, Origin.EDIT)]


@pytest.mark.parametrize("shown", [None, Coverage(OTHER, ((1, 5),), is_observed=True)])
def test_a_large_edit_without_lines_is_only_a_change(shown: Coverage | None) -> None:
    assert learned(look(LARGE, EDIT), shown, now=NOW) == (
        FileChanged(A, ContentHash.of(LARGE), NOW),
    )


def test_a_touch_matters_only_where_other_bytes_are_in_view() -> None:
    touched = FileInterest("a.py")
    same = Coverage(ContentHash.of(SMALL), ((1, 5),), is_observed=True)
    assert spans(SMALL, touched) == []
    assert spans(SMALL, touched, same) == []
    assert spans(SMALL, touched, Coverage(OTHER)) == [(1, 50, Origin.DISK)]


@pytest.mark.promise("never-falsely-fresh")
def test_a_look_at_other_bytes_than_those_in_view_says_that_they_changed() -> None:
    """Answers that rested on the old ones step back in prompts, which show no looks."""
    events = learned(look(SMALL, WHOLE), Coverage(OTHER, ((1, 9),), is_observed=True), now=NOW)
    assert events[0] == FileChanged(A, ContentHash.of(SMALL), NOW)
    assert [type(event) for event in events] == [FileChanged, FileObserved]


def test_a_file_that_is_gone_is_told_once() -> None:
    gone = InspectedFile(
        A, EDIT, Skipped("a.py", SkipReason.OUTSIDE), Skipped("a.py", SkipReason.OUTSIDE)
    )
    assert learned(gone, None, now=NOW) == ()
    assert learned(gone, Coverage(OTHER), now=NOW) == (FileGone(A, NOW),)
    assert learned(gone, Coverage(None), now=NOW) == ()


def test_a_file_that_became_binary_is_changed() -> None:
    binary = look(b"\0\1\2" * 50, WHOLE)
    assert learned(binary, None, now=NOW) == ()
    assert learned(binary, Coverage(OTHER), now=NOW) == (
        FileChanged(A, ContentHash.of(b"\0\1\2" * 50), NOW),
    )


def test_an_empty_file_is_seen_as_empty() -> None:
    assert spans(b"", WHOLE) == [(1, 0, Origin.READ)]
    assert spans(b"", WHOLE, Coverage(ContentHash.of(b""), (), is_observed=True)) == []


def test_a_very_long_look_ends_where_the_host_stopped_showing_and_says_where() -> None:
    """C15: the rest of the file was never on the agent's screen."""
    ((start, end, _),) = spans(LARGE * 2, WHOLE)
    assert start == 1
    assert 1_000 < end < 3_000


def test_many_short_looks_at_a_large_file_are_all_kept() -> None:
    views = tuple((LineSlice(n, n + 10),) for n in range(0, 3_000, 30))
    assert len(spans(LARGE, FileInterest("a.py", views=views))) == 100


def test_one_endless_line_is_kept_whole_or_not_at_all() -> None:
    assert spans(b"x = '" + b"a b " * 900 + b"'\n", WHOLE) == [(1, 1, Origin.READ)]
