"""What a model proposes as facts, read from whatever it wrote; nothing of it is believed yet."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from live_memory.core.errors import OutsideWorkspace
from live_memory.core.evidence.places import Place
from live_memory.core.memory.ledger import FactKind
from live_memory.core.values import RelPath

__all__ = ["Proposal", "proposals"]

# Bounds of the work: a summary of 60 facts has some 20,000 characters, one fact some 300.
_LONGEST_REPLY, _LONGEST_OBJECT = 400_000, 6_000
_MOST_ATTEMPTS, _MOST_PROPOSALS = 2_000, 500
_MOST_PLACES = 20
_LAST_LINE = 10_000_000
_DECODER = json.JSONDecoder()
_LAST_COMMA = re.compile(r",\s*(?=[}\]])")
_WRITTEN_PLACE = re.compile(r"(?P<path>.+?):(?P<start>\d{1,7})(?:-(?P<end>\d{1,7}))?")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A sentence that a model or a rule offers as a fact, and where it says that it stands.

    Without places where none was given, or one was that no file can have.
    """

    text: str
    kind: FactKind
    places: tuple[Place, ...]


def proposals(text: str) -> Sequence[Proposal]:
    """Every proposal in a reply, whatever stands around and between them."""
    found: list[Proposal] = []
    for record in _records(text[:_LONGEST_REPLY]):
        said = record.get("text")
        if isinstance(said, str):
            found.append(Proposal(said, _kind(record.get("kind")), _places(record.get("sources"))))
        if len(found) >= _MOST_PROPOSALS:
            break
    return tuple(found)


def _records(text: str) -> Iterator[dict[str, object]]:
    """The JSON objects in a text; one that holds no fact itself may hold some."""
    at = text.find("{")
    for _ in range(_MOST_ATTEMPTS):
        if at < 0:
            return
        record, size = _record(text[at : at + _LONGEST_OBJECT])
        if record is not None and "text" in record:
            yield record
            at += size - 1
        at = text.find("{", at + 1)


def _record(text: str) -> tuple[dict[str, object] | None, int]:
    """The object that a text begins with, and its length; commas before an end are forgiven."""
    value, size = _decoded(text)
    if value is None:
        line = text.partition("\n")[0]
        line = line[: line.rfind("}") + 1]
        value, _ = _decoded(_LAST_COMMA.sub("", line))
        size = len(line)
    return value, size


def _decoded(text: str) -> tuple[dict[str, object] | None, int]:
    try:
        value, size = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None, 0
    return (value, size) if isinstance(value, dict) else (None, 0)


def _kind(value: object) -> FactKind:
    try:
        return FactKind(str(value).strip().lower())
    except ValueError:
        return FactKind.BEHAVIOUR


def _places(value: object) -> tuple[Place, ...]:
    """All places or none: a proposal may not stand on only those of its sources that exist."""
    listed = value if isinstance(value, list) else [value]
    places = [_place(each) for each in listed[: _MOST_PLACES + 1]]
    found = tuple(dict.fromkeys(place for place in places if place is not None))
    return found if len(places) <= _MOST_PLACES and None not in places else ()


def _place(value: object) -> Place | None:
    if isinstance(value, str):
        written = _WRITTEN_PLACE.fullmatch(value.strip())
        value = written.groupdict() if written else None
    if not isinstance(value, dict) or not isinstance(value.get("path"), str):
        return None
    start = _line(value.get("start"))
    end = _line(start if value.get("end") is None else value["end"])
    if start is None or end is None:
        return None
    try:
        path = RelPath.parse(value["path"])
    except OutsideWorkspace:
        return None
    return Place(path, min(start, end), max(start, end))


def _line(value: object) -> int | None:
    """A line's number, also where it was written as text or with a fraction of nothing."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 9:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and isinstance(value, int) and 1 <= value <= _LAST_LINE else None
