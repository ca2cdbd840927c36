"""Who looks after a server that runs."""

from enum import StrEnum

__all__ = ["Mode"]


class Mode(StrEnum):
    """Decides whether a server ends when it is not needed, and whether another may replace it."""

    FOREGROUND = "foreground"
    """Somebody runs it by hand: it stays as it is."""
    BACKGROUND = "background"
    """A session or `start` brought it up: nobody but us looks after it."""
    SERVICE = "service"
    """The machine's supervisor runs it: it stays, and takes the place of a background one."""
