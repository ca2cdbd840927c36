"""The wire forms take only what they tell."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, cast

from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import ListedFile
from live_memory.core.values import WatchState
from live_memory.flow.workspace import WorkspaceStats
from live_memory.web.schemas import stats_form


class _Unread(tuple[ListedFile, ...]):
    """Files of a large workspace."""

    __slots__ = ()

    def __iter__(self) -> Iterator[ListedFile]:
        raise AssertionError("each file of the listing is gone through")


def test_figures_are_told_without_going_through_the_files_of_a_workspace() -> None:
    """Whoever waits for the index asks for them many times, on the loop."""
    known: dict[str, Any] = dict.fromkeys((field.name for field in fields(WorkspaceStats)), 0)
    known |= {"listing": Listing(_Unread()), "watch": WatchState()}
    form = stats_form(WorkspaceStats(**known))
    listing = cast("dict[str, object]", form["listing"])
    assert set(listing) == {"way", "problem"}
