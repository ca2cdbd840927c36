"""From one file that was looked at to the events that memory keeps of it."""

from collections.abc import Iterator
from dataclasses import dataclass

from live_memory.core.hosts.events import lines_shown
from live_memory.core.hosts.notices import Notice
from live_memory.core.memory.coverage import Shown, Span, merged, missing
from live_memory.core.memory.events import FileChanged, FileGone, FileObserved, MemoryEvent
from live_memory.core.reading.observation import FileRead, Observation, Skipped
from live_memory.core.tokens import estimate
from live_memory.core.values import ContentHash, Instant, Origin, RelPath

__all__ = ["Look", "is_in_view", "learned"]

# New bytes of a file that was edited are seen whole up to so many tokens.
_SHOWN_WHOLE = 3_000
# No text of so many characters has as few tokens, and counting them takes its time.
_SURELY_MORE = 50_000
# A host shows at most so much at once (Claude Code cuts a Read there); the rest was not seen.
_MOST_SEEN = 25_000
# Looks closer together than this read better as one.
_GAP = 2


@dataclass(frozen=True, slots=True)
class Look:
    """One file as it was found: what was noticed of it, and what opening it gave."""

    name: RelPath
    notice: Notice
    read: FileRead | Skipped
    seen: Observation | Skipped

    @property
    def path(self) -> RelPath:
        """Its real name, where links led to it by another."""
        return self.name if isinstance(self.read, Skipped) else self.read.path


def is_in_view(notice: Notice, sha: ContentHash, shown: Shown) -> bool:
    """Whether these bytes, and all that was noticed of them, are: then they need not be read on."""
    if shown.sha != sha or not shown.is_observed:
        return False
    found = (lines_shown(cuts, shown.total) for cuts in notice.views)
    wanted = [(lines[0], lines[-1]) for lines in found if lines]
    if notice.is_edited and shown.total:
        wanted.append((1, shown.total))
    return not missing(merged(wanted, gap=_GAP), shown.spans)


def learned(look: Look, shown: Shown | None, *, now: Instant) -> tuple[MemoryEvent, ...]:
    """What is new; nothing where the same bytes are in view already."""
    if isinstance(look.read, Skipped):
        was_there = shown is not None and shown.sha is not None
        return (FileGone(look.path, now),) if was_there else ()
    changed = FileChanged(look.path, look.read.sha, now)
    is_new = shown is None or shown.sha != look.read.sha
    if isinstance(look.seen, Skipped):
        return (changed,) if is_new and shown is not None else ()
    spans, origin = _wanted(look.notice, look.seen, before=shown if is_new else None)
    in_view = () if shown is None or is_new else shown.spans
    total = len(look.seen.lines)
    if total == 0 and is_new and (spans or look.notice.is_edited or look.notice.views):
        return (_observed(look.seen, (1, 0), origin, now),)
    news = tuple(_observed(look.seen, span, origin, now) for span in missing(spans, in_view))
    if news and is_new and shown is not None and origin is Origin.READ:
        return (changed, *news)  # what rests on the old bytes steps back in prompts too
    if news or not is_new:
        return news
    return (changed,) if shown is not None or look.notice.is_edited else ()


def _wanted(
    notice: Notice, seen: Observation, *, before: Shown | None
) -> tuple[list[Span], Origin]:
    """The lines to show, and how they came to be known; `before` is what was shown of old bytes."""
    total = len(seen.lines)
    spans = [*_views(notice, seen)]
    origin = Origin.EDIT if notice.is_edited else Origin.READ if notice.views else Origin.DISK
    if notice.is_edited or (before is not None and not notice.views):
        if len(seen.text.text) < _SURELY_MORE and estimate(seen.text.text) <= _SHOWN_WHOLE:
            spans.append((1, total))
        else:
            regions = ((max(1, first), min(last, total)) for first, last in notice.regions)
            spans += (region for region in regions if region[0] <= region[1])
    return [*merged(spans, gap=_GAP)], origin


def _views(notice: Notice, seen: Observation) -> Iterator[Span]:
    for cuts in notice.views:
        lines = lines_shown(cuts, len(seen.lines))
        if lines:
            yield lines[0], _end_within(seen, (lines[0], lines[-1]), _MOST_SEEN)


def _end_within(seen: Observation, span: Span, most: int) -> int:
    """The last line up to which a span has about so many tokens; one line at least."""
    start, end = span
    text = seen.excerpt(start, end - start + 1).text
    # A token has at least a character, so that most texts need no counting.
    while end > start and len(text) > most and (tokens := estimate(text)) > most:
        end = start + int((end - start) * min(0.9, most / tokens))
        text = seen.excerpt(start, end - start + 1).text
    return end


def _observed(seen: Observation, span: Span, origin: Origin, now: Instant) -> FileObserved:
    start, end = span
    return FileObserved(seen.path, seen.sha, start, end, len(seen.lines), origin, now)
