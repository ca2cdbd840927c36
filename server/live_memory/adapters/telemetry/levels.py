"""How severe each signal is: the one table that `log_level` is about."""

from collections.abc import Mapping
from enum import IntEnum

from live_memory.core.signals import (
    CompactionFailed,
    CompactionFinished,
    EventsSkipped,
    IndexRefreshed,
    QuestionFinished,
    SaveFailed,
    Signal,
    SnapshotQuarantined,
    WatchLimited,
    WorkspaceFailed,
    WorkspaceOpened,
)

__all__ = ["LEVELS", "Level", "level_of"]


class Level(IntEnum):
    """From what only a developer of this server reads to what a person must act on."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


LEVELS: Mapping[type[Signal], Level] = {
    # Inner workings; many a question.
    IndexRefreshed: Level.DEBUG,
    EventsSkipped: Level.DEBUG,
    # What somebody asked for, and what it cost.
    WorkspaceOpened: Level.INFO,
    QuestionFinished: Level.INFO,
    CompactionFinished: Level.INFO,
    # Less than there could be, and nothing is lost.
    CompactionFailed: Level.WARNING,
    WatchLimited: Level.WARNING,
    SnapshotQuarantined: Level.WARNING,
    # Something is not done that should have been.
    SaveFailed: Level.ERROR,
    WorkspaceFailed: Level.ERROR,
}


def level_of(signal: Signal) -> Level:
    """How severe it is; what the table does not know yet is said rather than not."""
    return LEVELS.get(type(signal), Level.WARNING)
