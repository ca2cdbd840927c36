"""What a command prints: whatever it found or was told comes as text, on a terminal and off it."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, TextIO

import click

__all__ = ["Tell", "progress", "say", "say_json"]


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text for a person, with control characters of others written out."""
    from live_memory.core.reading.observation import visible  # noqa: PLC0415  (takes long)

    click.echo(visible(text), err=err, nl=nl)  # noqa: TID251  (the one place)


def is_watched(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; one that was closed before we began is none."""
    return stream is not None and stream.isatty()


def say_json(form: Mapping[str, object]) -> None:
    """Print one object on a line of ASCII."""
    # The one control character that JSON may hold as it is.
    click.echo(json.dumps(form).replace("\x7f", "\\u007f"))  # noqa: TID251  (the one place)


class Tell(Protocol):
    """Says what is being done, and how much of it is done where a total is known."""

    def __call__(self, what: str, *, done: int = 0, total: int = 0) -> None:
        """Replace what was said before."""


@contextmanager
def progress() -> Iterator[Tell]:
    """Tell a person who watches what goes on, how far, and how long it takes yet.

    Nothing of it stays, and nothing is written where nobody watches.
    """
    bar: _Bar | None = None

    def tell(what: str, *, done: int = 0, total: int = 0) -> None:
        nonlocal bar
        if bar is None and is_watched(sys.stderr):
            bar = _Bar()
        if bar is not None:
            bar.tell(what, done=done, total=total)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.end()


class _Bar:
    """A line on a terminal that is replaced while it goes on."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415  (takes long)
        from rich.progress import (  # noqa: PLC0415  (takes long)
            BarColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._shown = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            # What large files slow down for half a minute says little of all of them.
            speed_estimate_period=300,
            transient=True,
        )

    def tell(self, what: str, *, done: int, total: int) -> None:
        from live_memory.core.reading.observation import visible  # noqa: PLC0415  (takes long)

        line, shown = " ".join(visible(what).split()), self._shown
        for task in shown.tasks:
            if bool(task.total) is bool(total):
                shown.update(task.id, description=line, completed=done, total=total or None)
                return
            shown.remove_task(task.id)
        shown.add_task(line, completed=done, total=total or None)
        shown.start()

    def end(self) -> None:
        self._shown.stop()
