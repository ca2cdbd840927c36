"""What is to be looked at of each file, gathered from any number of host events.

Many events of one file become one notice, and reading the file once answers all of them: the last
bytes win, and the lines the agent saw add up.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from live_memory.core.hosts.events import (
    CommandRan,
    Cuts,
    FileEdited,
    FileTouched,
    FileViewed,
    FileWritten,
    HostEvent,
    SessionBegan,
    SessionEnded,
)
from live_memory.core.hosts.shell import Search, View, read_command

__all__ = ["AnythingChanged", "Notice", "Subject", "notices_of"]

# Different looks and edits of one file between two readings of it; the latest count.
_MOST_VIEWS, _MOST_REGIONS = 256, 64


@dataclass(frozen=True, slots=True)
class Notice:
    """A file, or the files of a glob, by absolute path: seen, edited, or only touched."""

    path: str
    is_glob: bool = False
    views: tuple[Cuts, ...] = ()
    regions: tuple[tuple[int, int], ...] = ()
    is_edited: bool = False

    @property
    def key(self) -> object:
        """Notices with equal keys become one."""
        return (self.path, self.is_glob)

    def with_later(self, later: "Notice") -> "Notice":
        """Both together; the lines of an edit that came before another are only about right."""
        views = tuple(dict.fromkeys((*self.views, *later.views)))
        regions = tuple(dict.fromkeys((*self.regions, *later.regions)))
        return replace(
            self,
            views=views[-_MOST_VIEWS:],
            regions=regions[-_MOST_REGIONS:],
            is_edited=self.is_edited or later.is_edited,
        )


@dataclass(frozen=True, slots=True)
class AnythingChanged:
    """Whatever is in view may have other bytes now."""


Subject = Notice | Search | AnythingChanged


def notices_of(event: HostEvent) -> Iterator[Subject]:
    """What an event asks us to look at."""
    match event:
        case FileViewed(path, cuts):
            yield Notice(path, views=(cuts,))
        case FileWritten(path):
            yield Notice(path, is_edited=True)
        case FileEdited(path, regions):
            yield Notice(path, regions=regions, is_edited=True)
        case FileTouched(path):
            yield Notice(path)
        case CommandRan():
            yield from _of_command(event)
        case SessionBegan() | SessionEnded():
            return
        case _:
            assert_never(event)


def _of_command(event: CommandRan) -> Iterator[Subject]:
    reading = read_command(event.command, cwd=event.cwd, ending=event.ending)
    yield from map(_of_view, reading.views)
    yield from reading.searches
    if reading.may_change:
        yield AnythingChanged()


def _of_view(view: View) -> Notice:
    return Notice(view.path, view.is_glob, views=(view.cuts,))
