"""What is kept from one revision of a window to the next is what the window comes to."""

from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.memory.learning import Following
from live_memory.core.memory.window import Entry, MemoryEvent, Window, apply
from tests.support.strategies import events


@given(st.lists(st.tuples(events, st.booleans()), max_size=25))
def test_what_is_kept_is_what_a_new_look_at_the_window_gives(
    happened: list[tuple[MemoryEvent, bool]],
) -> None:
    """After any events, also those that take entries away or change what is settled."""
    following: Following[list[object]] = Following(_begun, list.append)
    window = Window()
    for event, is_looked_at in happened:
        window = apply(window, event)
        if is_looked_at:
            assert following.of(window) == _anew(window)
    assert following.of(window) == _anew(window)
    assert following.of(Window()) == _begun(Window())


@given(st.lists(events, max_size=25))
def test_an_entry_is_taken_once_while_the_window_grows(happened: list[MemoryEvent]) -> None:
    taken: list[Entry] = []
    following: Following[list[Entry]] = Following(lambda _: [], lambda _, e: taken.append(e))
    window = Window()
    for event in happened:
        after = apply(window, event)
        following.of(window)
        taken.clear()
        following.of(after)
        if (
            after.settled is window.settled
            and after.entries[: len(window.entries)] == window.entries
        ):
            assert taken == [*after.entries[len(window.entries) :]]
        else:
            assert taken == [*after.entries]
        window = after


def _begun(window: Window) -> list[object]:
    return [dict(window.settled)]


def _anew(window: Window) -> list[object]:
    return [*_begun(window), *window.entries]
