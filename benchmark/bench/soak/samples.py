"""What a process holds, looked at every few seconds, and whether that stays the same."""

import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.report import Bar

__all__ = ["FIGURES", "Sample", "bars", "sample", "sampling", "thirds"]

# What must stay, and the room of a count: a thread or a connection more or less is no leak.
FIGURES = {"resident_mb": 0.0, "descriptors": 2.0, "threads": 2.0, "children": 1.0}
_SHARE, _MOST_MORE_MB = 1.1, 16.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One look; `data_mb` is what lies in the data folder."""

    at_s: float
    resident_mb: float
    descriptors: int
    threads: int
    children: int
    data_mb: float


def sample(pid: int, data: Path, *, since: float) -> Sample:
    """Look once.

    Raises:
        OSError: the process is gone, or this system does not show it.
    """
    process = Path(f"/proc/{pid}")
    lines = (process / "status").read_text(encoding="utf-8").splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    return Sample(
        at_s=round(time.monotonic() - since, 2),
        resident_mb=round(int(status["VmRSS"].split()[0]) / 1_024, 2),
        descriptors=len(list((process / "fd").iterdir())),
        threads=int(status["Threads"]),
        children=sum(_children(task) for task in (process / "task").iterdir()),
        data_mb=round(sum(_size(file) for file in data.rglob("*")) / 2**20, 3),
    )


@contextmanager
def sampling(pid: int, data: Path, *, every_s: float) -> Iterator[list[Sample]]:
    """Samples, as they are taken by a thread of their own, until the block ends."""
    taken: list[Sample] = []
    ended, began = threading.Event(), time.monotonic()

    def look() -> None:
        while not ended.wait(every_s):
            try:
                taken.append(sample(pid, data, since=began))
            except OSError:
                return  # there is nothing to look at any more: the load says so too

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield taken
    finally:
        ended.set()
        thread.join()


def thirds(samples: Sequence[Sample], figure: str) -> tuple[float, ...]:
    """The median of each third of the run; the first one warms up."""
    values = [float(getattr(one, figure)) for one in samples]
    cut = len(values) // 3
    parts = values[:cut], values[cut : len(values) - cut], values[len(values) - cut :]
    return tuple(statistics.median(part) for part in parts) if cut else ()


def bars(samples: Sequence[Sample]) -> tuple[Bar, ...]:
    """For each figure, whether the last third is as the middle one was."""
    return tuple(_bar(samples, figure, room) for figure, room in FIGURES.items())


def _bar(samples: Sequence[Sample], figure: str, room: float) -> Bar:
    name = f"{figure.replace('_mb', ', MB')}: last third, median"
    medians = thirds(samples, figure)
    if not medians:
        return Bar(name, "flat", None, None)
    _, middle, last = medians
    most = max(middle * _SHARE, middle + room)
    if figure == "resident_mb":
        most = min(most, middle + _MOST_MORE_MB)
    return Bar(name, f"<= {most:.4g} (middle third {middle:.4g})", last, last <= most)


def _children(task: Path) -> int:
    try:
        return len((task / "children").read_text(encoding="ascii").split())
    except OSError:
        return 0  # a thread that ended between two looks


def _size(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:
        return 0
