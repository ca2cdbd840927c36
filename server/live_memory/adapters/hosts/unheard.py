"""A dialect for a server that was told to learn nothing: it understands where, and not what."""

from collections.abc import Mapping
from dataclasses import replace

from live_memory.core.hosts.events import HostReport
from live_memory.ports import HostDialect

__all__ = ["Unheard"]


class Unheard:
    """Reads a host's payloads as another dialect does and passes no event on."""

    def __init__(self, dialect: HostDialect) -> None:
        self._dialect = dialect

    def parse(self, payload: Mapping[str, object]) -> HostReport:
        """Which folder a payload names, and nothing of what happened there."""
        return replace(self._dialect.parse(payload), events=())
