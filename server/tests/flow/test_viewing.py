"""The view of a window is kept from one look to the next, and is always that of the window."""

from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.memory.window import (
    EntryNumber,
    FileChanged,
    Forgotten,
    MemoryEvent,
    Window,
    apply,
)
from live_memory.core.values import ContentHash, Instant, RelPath
from live_memory.flow.freshness import FilesInView
from tests.support.shown_lines import in_view
from tests.support.strategies import events


@given(st.lists(st.tuples(events, st.booleans()), max_size=25))
def test_the_kept_view_is_that_of_the_window_after_any_events(
    happened: list[tuple[MemoryEvent, bool]],
) -> None:
    """Also after entries were taken away, and however many events came between two looks."""
    view, window = FilesInView(), Window()
    for event, is_looked_at in happened:
        window = apply(window, event)
        if is_looked_at:
            assert view.of(window) == in_view(window)
    assert view.of(window) == in_view(window)
    assert view.of(Window()) == {}


def test_what_was_forgotten_is_not_in_view_though_as_much_came_after_it() -> None:
    view, window, sha = FilesInView(), Window(), ContentHash.of(b"1")
    for name in ("a.py", "b.py"):
        window = apply(window, FileChanged(RelPath(name), sha, Instant(1.0)))
    assert [*view.of(window)] == [RelPath("a.py"), RelPath("b.py")]
    window = apply(window, Forgotten(frozenset({EntryNumber(1)}), frozenset()))
    window = apply(window, FileChanged(RelPath("c.py"), sha, Instant(1.0)))
    assert [*view.of(window)] == [RelPath("b.py"), RelPath("c.py")]
