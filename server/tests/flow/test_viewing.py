"""What is kept from one look at a window to the next is always that of the window."""

from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.companion.prompt import entry_tokens
from live_memory.core.memory.learning import AgentView, view
from live_memory.core.memory.window import (
    Entry,
    EntryNumber,
    FileChanged,
    Forgotten,
    MemoryEvent,
    Window,
    apply,
    current_hashes,
)
from live_memory.core.values import ContentHash, Instant, RelPath
from live_memory.flow.freshness import WindowViews
from tests.support.shown_lines import in_view
from tests.support.strategies import events


@given(st.lists(st.tuples(events, st.booleans()), max_size=25))
def test_the_kept_views_are_those_of_the_window_after_any_events(
    happened: list[tuple[MemoryEvent, bool]],
) -> None:
    """Also after entries were taken away, and however many events came between two looks."""
    views, window = WindowViews(), Window()
    for event, is_looked_at in happened:
        window = apply(window, event)
        if is_looked_at:
            assert _all_of(views.of(window)) == _anew(window)
    assert _all_of(views.of(window)) == _anew(window)
    assert _all_of(views.of(Window())) == _anew(Window())


@given(st.lists(events, max_size=25))
def test_an_entry_is_taken_once_while_the_window_grows(happened: list[MemoryEvent]) -> None:
    views, window = _Noting(), Window()
    for event in happened:
        after = apply(window, event)
        views.of(window)
        views.taken.clear()
        views.of(after)
        is_same = after.settled is window.settled
        if is_same and after.entries[: len(window.entries)] == window.entries:
            assert views.taken == [*after.entries[len(window.entries) :]]
        else:
            assert views.taken == [*after.entries]
        window = after


@given(st.lists(events, max_size=25), st.lists(events, max_size=25))
def test_what_is_told_of_is_kept_until_it_is_taken(
    before: list[MemoryEvent], after: list[MemoryEvent]
) -> None:
    """A file whose hash is another one since is among them, however often others looked."""
    views, window = WindowViews(), Window()
    for event in before:
        window = apply(window, event)
    known, views.of(window).told = current_hashes(window), set()
    for event in after:
        window = apply(window, event)
        views.of(window)
    now = current_hashes(window)
    assert {path for path in now if now[path] != known.get(path)} <= views.told <= now.keys()


def test_what_was_forgotten_is_not_in_view_though_as_much_came_after_it() -> None:
    views, window, sha = WindowViews(), Window(), ContentHash.of(b"1")
    for name in ("a.py", "b.py"):
        window = apply(window, FileChanged(RelPath(name), sha, Instant(1.0)))
    assert [*views.of(window).in_view] == [RelPath("a.py"), RelPath("b.py")]
    window = apply(window, Forgotten(frozenset({EntryNumber(1)}), frozenset()))
    window = apply(window, FileChanged(RelPath("c.py"), sha, Instant(1.0)))
    assert [*views.of(window).in_view] == [RelPath("b.py"), RelPath("c.py")]


class _Noting(WindowViews):
    """Notes which entries it is made of."""

    def __init__(self) -> None:
        self.taken: list[Entry] = []
        super().__init__()

    def _take(self, entry: Entry) -> None:
        self.taken.append(entry)
        super()._take(entry)


def _all_of(views: WindowViews) -> object:
    return views.in_view, views.viewed, views.tokens, views.hashes


def _anew(window: Window) -> object:
    viewed: dict[RelPath, AgentView] = {}
    for entry in window.entries:
        view(viewed, entry)
    tokens = sum(map(entry_tokens, window.entries))
    return in_view(window), viewed, tokens, current_hashes(window)
