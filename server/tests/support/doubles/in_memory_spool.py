"""A spool that a test writes down."""

from collections.abc import Sequence

from live_memory.ports import Missed

__all__ = ["InMemorySpool"]


class InMemorySpool:
    """Gives what it was given, once."""

    def __init__(self, missed: Sequence[Missed] = ()) -> None:
        self.missed = list(missed)

    async def take(self) -> Sequence[Missed]:
        taken, self.missed = self.missed, []
        return taken

    async def forget(self, root: str) -> None:
        self.missed = [one for one in self.missed if not f"{one.project}/".startswith(f"{root}/")]
