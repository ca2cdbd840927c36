"""Lines are shown once: what is in view, and what of a new look is missing there."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.memory.coverage import Span, in_view, merged, missing
from live_memory.core.memory.events import FileChanged, FileGone, FileObserved, MemoryEvent
from live_memory.core.memory.window import Window
from live_memory.core.reading.observation import RedactedText
from live_memory.core.values import ContentHash, Instant, Origin, RelPath
from tests.support.strategies import fold, windows

A, OLD, NEW = RelPath("a.py"), ContentHash.of(b"old"), ContentHash.of(b"new")
NOW = Instant(1.0)

spans: st.SearchStrategy[Span] = st.tuples(st.integers(1, 30), st.integers(0, 10)).map(
    lambda s: (s[0], s[0] + s[1])
)
some_spans = st.lists(spans, max_size=6)


def lines(of: list[Span] | tuple[Span, ...]) -> set[int]:
    return {n for start, end in of for n in range(start, end + 1)}


def seen(sha: ContentHash, start: int, end: int, *, text: str | None = "x") -> FileObserved:
    redacted = None if text is None else RedactedText(text)
    return FileObserved(A, sha, start, end, 50, redacted, Origin.READ, NOW)


@given(some_spans)
def test_merging_keeps_every_line_and_leaves_no_overlap(given_spans: list[Span]) -> None:
    found = merged(given_spans)
    assert lines(found) == lines(given_spans)
    assert all(a[1] + 1 < b[0] for a, b in pairwise(found))


@given(some_spans, some_spans)
def test_what_is_missing_is_exactly_what_is_not_shown(
    wanted: list[Span], shown: list[Span]
) -> None:
    assert lines(missing(wanted, shown)) == lines(wanted) - lines(shown)


def test_looks_that_are_close_become_one() -> None:
    assert merged([(1, 3), (6, 9), (20, 21)], gap=2) == ((1, 9), (20, 21))
    assert merged([(5, 4)]) == ()


def view_after(*happened: MemoryEvent) -> tuple[ContentHash | None, tuple[Span, ...], bool]:
    file = in_view(fold([*happened]))[A]
    return file.sha, file.spans, file.is_observed


def test_only_lines_of_the_newest_bytes_are_in_view() -> None:
    """never-falsely-fresh: what was shown of other bytes is not shown."""
    assert view_after(seen(OLD, 1, 9), seen(OLD, 20, 29)) == (OLD, ((1, 9), (20, 29)), True)
    assert view_after(seen(OLD, 1, 9), seen(NEW, 3, 4)) == (NEW, ((3, 4),), True)
    assert view_after(seen(OLD, 1, 9), FileChanged(A, NEW, NOW)) == (NEW, (), False)
    assert view_after(seen(OLD, 1, 9), FileChanged(A, OLD, NOW)) == (OLD, ((1, 9),), True)
    assert view_after(seen(OLD, 1, 9), FileGone(A, NOW)) == (None, (), False)


def test_text_that_a_restart_took_is_not_in_view() -> None:
    assert view_after(seen(OLD, 1, 9, text=None)) == (OLD, (), True)
    assert view_after(seen(OLD, 1, 9, text=None), seen(OLD, 2, 3)) == (OLD, ((2, 3),), True)


@given(windows)
def test_lines_are_only_in_view_of_bytes_that_are_known(window: Window) -> None:
    for file in in_view(window).values():
        assert not (file.spans and file.sha is None)
