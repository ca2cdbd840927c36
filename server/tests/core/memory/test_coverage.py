"""Lines are shown once: what is in view, and what of a new look is missing there."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.memory.learning import Span, merged, missing
from live_memory.core.memory.window import FileChanged, FileGone, FileObserved, MemoryEvent, Window
from live_memory.core.values import ContentHash, Instant, Origin, RelPath
from tests.support.shown_lines import in_view
from tests.support.strategies import fold, windows

A, OLD, NEW = RelPath("a.py"), ContentHash.of(b"old"), ContentHash.of(b"new")
NOW = Instant(1.0)

spans: st.SearchStrategy[Span] = st.tuples(st.integers(1, 30), st.integers(0, 10)).map(
    lambda s: (s[0], s[0] + s[1])
)
some_spans = st.lists(spans, max_size=6)


def lines(of: list[Span] | tuple[Span, ...]) -> set[int]:
    return {n for start, end in of for n in range(start, end + 1)}


def seen(
    sha: ContentHash,
    start: int,
    end: int,
    *,
    origin: Origin = Origin.READ,
) -> FileObserved:
    return FileObserved(A, sha, start, end, 50, origin, NOW)


@given(some_spans)
def test_merging_keeps_every_line_and_leaves_no_overlap(given_spans: list[Span]) -> None:
    found = merged(given_spans)
    assert lines(found) == lines(given_spans)
    assert all(a[1] + 1 < b[0] for a, b in pairwise(found))


@given(some_spans, some_spans)
def test_what_is_missing_is_exactly_what_is_not_shown(
    wanted: list[Span], shown: list[Span]
) -> None:
    found = missing(wanted, shown)
    assert lines(found) == lines(wanted) - lines(shown)
    assert found == merged(found)  # in order and none empty: that nothing is missing is no span


def test_what_is_missing_is_found_between_and_after_looks_that_touch() -> None:
    assert merged([(4, 6), (1, 3), (8, 9)]) == ((1, 6), (8, 9))
    assert missing([(5, 20)], [(1, 2), (8, 9), (12, 15), (30, 40)]) == ((5, 7), (10, 11), (16, 20))
    assert missing([(5, 9)], [(5, 9)]) == ()
    assert missing([(5, 9)], [(1, 5), (9, 12)]) == ((6, 8),)


def test_looks_that_are_close_become_one() -> None:
    assert merged([(1, 3), (6, 9), (20, 21)], gap=2) == ((1, 9), (20, 21))
    assert merged([(5, 4)]) == ()


def view_after(*happened: MemoryEvent) -> tuple[ContentHash | None, tuple[Span, ...], bool]:
    file = in_view(fold([*happened]))[A]
    return file.sha, file.spans, file.is_observed


@pytest.mark.promise("never-falsely-fresh")
def test_only_lines_of_the_newest_bytes_are_in_view() -> None:
    """What was shown of other bytes is not shown."""
    assert view_after(seen(OLD, 1, 9), seen(OLD, 20, 29)) == (OLD, ((1, 9), (20, 29)), True)
    assert view_after(seen(OLD, 1, 9), seen(NEW, 3, 4)) == (NEW, ((3, 4),), True)
    assert view_after(seen(OLD, 1, 9), FileChanged(A, NEW, NOW)) == (NEW, (), False)
    assert view_after(seen(OLD, 1, 9), FileChanged(A, OLD, NOW)) == (OLD, ((1, 9),), True)
    assert view_after(seen(OLD, 1, 9), FileGone(A, NOW)) == (None, (), False)


@given(windows)
def test_lines_are_only_in_view_of_bytes_that_are_known(window: Window) -> None:
    for file in in_view(window).values():
        assert not (file.spans and file.sha is None)
