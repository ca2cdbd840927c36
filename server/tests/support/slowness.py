"""How much slower than alone the machine is just now, for bounds that are about time."""

import os
import subprocess
import sys
import time

__all__ = ["slowness"]

# A bare interpreter starts in 10 to 25 ms where nothing else runs.
_ALONE_S = 0.03


def slowness() -> float:
    """A factor of 1 or more, with what LM_TEST_SLOW says."""
    times = []
    for _ in range(9):
        began = time.monotonic()
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
        times.append(time.monotonic() - began)
    given = float(os.environ.get("LM_TEST_SLOW", "1"))
    return given * max(1.0, sorted(times)[-2] / _ALONE_S)
