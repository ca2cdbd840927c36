"""Files opened beyond what the index learned of them, and the places in them that hold a name."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from live_memory.core.absence.saying import Found, Held
from live_memory.core.absence.seeking import Sought
from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import Place
from live_memory.core.evidence.words import base_name
from live_memory.core.reading.admission import observe
from live_memory.core.reading.observation import (
    LONGEST_LINE,
    FileRead,
    Observation,
    Skipped,
    SkipReason,
)
from live_memory.core.reading.redaction import Redactor
from live_memory.core.reading.text import decode, lines_of
from live_memory.core.values import ContentHash, RelPath

__all__ = ["Opened", "found_in", "head_of", "opened"]

# Of a definition its head is shown, of a long line what is around the name.
_LINES_SHOWN, _LONGEST_SHOWN, _AROUND = 12, 200, 80


@dataclass(frozen=True, slots=True)
class Opened:
    """A whole file, secrets redacted, beside what the index learned of it or why it did not."""

    path: RelPath
    sha: ContentHash
    lines: Sequence[str]
    learned: Observation | Skipped

    def why(self, number: int) -> str:
        """Why the index lacks this line."""
        if isinstance(self.learned, Skipped):
            kind = "generated or minified" if self.learned.reason is SkipReason.GENERATED else "odd"
            return f"in a file that is not learned, being {kind}"
        last = len(self.learned.lines)
        if number > last:
            return f"beyond line {last:,}, up to which this file is learned"
        if len(self.lines[number - 1]) > LONGEST_LINE:
            return "on a line that is too long to be learned"
        if self.learned.lines[number - 1] != self.lines[number - 1]:
            return "in a part of a notebook that is not learned"
        return "in a file that is not learned yet"

    def shown(self, start: int, end: int) -> tuple[str, ...]:
        """Lines as an answer shows them."""
        return tuple(line[:_LONGEST_SHOWN] for line in self.lines[start - 1 : end])


def opened(read: FileRead, *, redactor: Redactor, max_bytes: int) -> Opened | None:
    """Open a file that was read whole; the index was given `max_bytes` of it."""
    decoded = decode(read.data)
    if decoded is None:
        return None
    learned = observe(replace(read, data=read.data[:max_bytes]), redactor=redactor)
    lines = lines_of(redactor.redact(decoded.text).text.text)
    return Opened(read.path, read.sha, lines, learned)


def found_in(file: Opened, sought: Sought, numbers: Iterable[int]) -> Iterator[Found]:
    """The place that defines a name, else those of these lines that hold it."""
    base = base_name(sought.name)
    defined = [d for d in outline(file.path, file.lines) if base_name(d.name) == base]
    for definition in defined:
        start, end = definition.place.start, definition.place.end
        end = min(end, start + _LINES_SHOWN - 1, len(file.lines))
        shown, place, why = file.shown(start, end), Place(file.path, start, end), file.why(start)
        yield Found(sought.name, place, shown, why, Held.DEFINED)
    if defined:
        return
    for number in numbers:
        line = file.lines[number - 1] if number <= len(file.lines) else ""
        at = sought.at(line)
        if at is not None:
            place, shown = Place(file.path, number, number), (_window(line, at),)
            yield Found(sought.name, place, shown, file.why(number), Held.MENTIONED)


def head_of(file: Opened, *, link: RelPath) -> Found:
    """What a link in the workspace leads to."""
    end = max(1, min(_LINES_SHOWN, len(file.lines)))
    place = Place(file.path, 1, end)
    return Found(link.text, place, file.shown(1, end) or ("",), "", Held.LINKED)


def _window(line: str, at: int) -> str:
    if len(line) <= _LONGEST_SHOWN:
        return line
    start = max(0, at - _AROUND)
    head, tail = "..." if start else "", "..." if start + _LONGEST_SHOWN < len(line) else ""
    return f"{head}{line[start : start + _LONGEST_SHOWN]}{tail}"
