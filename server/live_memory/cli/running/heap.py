"""Keeps the C library's heap of a long-running server together."""

import ctypes
import sys
from contextlib import suppress

__all__ = ["keep_together"]

# glibc's name for the setting, and as many heaps as two cores use at once. By its own rule each
# thread gets one, up to eight a core, and what a worker thread freed stays in that: 35 MB more
# after five minutes of mixed load (benchmark/README, "soak").
_ARENA_MAX, _ARENAS = -8, 2


def keep_together() -> None:
    """Share few heaps among all threads; call it before there are any."""
    if sys.platform == "linux":
        # Another C library knows no such setting, and needs none.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)
