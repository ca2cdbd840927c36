"""What a watcher says: which names changed, and how much it watches."""

from dataclasses import dataclass

__all__ = ["Noticed", "WatchState"]


@dataclass(frozen=True, slots=True)
class Noticed:
    """Names of files and folders below the root that changed; with `is_cut`, others did too."""

    names: frozenset[str] = frozenset()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class WatchState:
    """Of the folders that were wanted, how many are watched; `problem` says why not all."""

    watched: int = 0
    wanted: int = 0
    problem: str | None = None

    @property
    def name(self) -> str:
        """`on`, `partial` or `off`."""
        if self.problem is None:
            return "on"
        return "partial" if self.watched else "off"
