"""Which lines of which bytes are in view already, so that nothing is shown twice."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from live_memory.core.memory.events import FileChanged, FileGone, FileObserved
from live_memory.core.values import ContentHash, RelPath

__all__ = ["Shown", "Span", "merged", "missing", "note"]

# First and last line, counted from 1.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shown:
    """The newest bytes of a file that the window knows, and which of their lines it holds."""

    sha: ContentHash | None
    spans: tuple[Span, ...] = ()
    is_observed: bool = False
    total: int = 0

    def grown(self, event: FileObserved) -> "Shown":
        """With what an event shows; other bytes take the place of these."""
        spans = self.spans if self.sha == event.sha else ()
        if event.end >= event.start:
            spans = merged((*spans, (event.start, event.end)))
        return Shown(event.sha, spans, is_observed=True, total=event.total)


def note(shown: dict[RelPath, Shown], event: object) -> None:
    """Bring a view up to date with one more event."""
    match event:
        case FileObserved():
            shown[event.path] = shown.get(event.path, Shown(event.sha)).grown(event)
        case FileChanged(path, sha):
            before = shown.get(path)
            if before is None or before.sha != sha:
                shown[path] = Shown(sha)
        case FileGone(path):
            shown[path] = Shown(None)
        case _:
            pass


def merged(spans: Iterable[Span], *, gap: int = 0) -> tuple[Span, ...]:
    """In order, without overlaps; what is at most `gap` lines apart becomes one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1] + 1 + gap:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif end >= start:
            found.append((start, end))
    return tuple(found)


def missing(wanted: Iterable[Span], shown: Sequence[Span]) -> tuple[Span, ...]:
    """The parts of `wanted` that `shown` leaves out."""
    left: list[Span] = []
    for start, end in merged(wanted):
        at = start
        for first, last in merged(shown):
            if first > end:
                break
            if last < at:
                continue
            if first > at:
                left.append((at, first - 1))
            at = max(at, last + 1)
        if at <= end:
            left.append((at, end))
    return tuple(left)
