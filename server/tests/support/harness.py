"""The benchmark harness, which is no package of the server's, as tests run it."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["BENCHMARK", "part", "run"]

BENCHMARK = Path(__file__).parents[3] / "benchmark"


def part(name: str) -> ModuleType:
    """A module of the harness."""
    if str(BENCHMARK) not in sys.path:
        sys.path.append(str(BENCHMARK))
    return importlib.import_module(f"bench.{name}")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`run.py` in a process of its own, without settings of whoever runs the tests."""
    return subprocess.run(
        [sys.executable, str(BENCHMARK / "run.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
        env={n: v for n, v in os.environ.items() if not n.startswith("LIVE_MEMORY")},
    )
