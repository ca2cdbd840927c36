"""Keeps the load at a share of one core, so that other work on the machine goes on."""

import time

from bench.overhead.process import processor_s
from bench.talk.server import Server

__all__ = ["Pace"]

_SHORTEST_S, _LONGEST_S = 0.02, 1.0


class Pace:
    """What server and harness compute together, against the time that has passed."""

    def __init__(self, server: Server, *, share: float) -> None:
        self._server = server
        self._share = share
        self._began = time.monotonic()
        self._before_s = self._computed_s()

    @property
    def used(self) -> float:
        """The share of a core that was taken so far."""
        passed = time.monotonic() - self._began
        return (self._computed_s() - self._before_s) / passed if passed else 0.0

    def rest(self) -> None:
        """Sleep until what was computed is no more than the share."""
        time.sleep(_SHORTEST_S)
        while True:
            due_s = (self._computed_s() - self._before_s) / self._share
            left_s = due_s - (time.monotonic() - self._began)
            if left_s <= 0:
                return
            time.sleep(min(left_s, _LONGEST_S))

    def _computed_s(self) -> float:
        return time.process_time() + (processor_s(self._server) or 0.0)
