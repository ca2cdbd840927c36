"""Notes, handoffs and facts as they leave one memory for another: a JSON object each.

What is kept comes back as it was: the text, who told it, when, and that it was withdrawn.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from live_memory.core.errors import InvalidRequest, LiveMemoryError
from live_memory.core.memory.ledger import Fact, FactId
from live_memory.core.memory.notebook import Handoff, HandoffId, Note, handoff_id
from live_memory.core.memory.window import Window
from live_memory.core.reading.observation import clean
from live_memory.core.saving.codec import read, written
from live_memory.core.values import Instant

__all__ = [
    "HEADER",
    "Incoming",
    "Item",
    "counting",
    "header_problem",
    "incoming_record",
    "items_of",
    "record_of",
    "with_texts",
]

# The first line of a file of ours.
HEADER: Mapping[str, object] = {"format": "live-memory", "version": 1}

Item = Note | Handoff | Fact | FactId
_KINDS: tuple[tuple[type, str], ...] = (
    (Note, "note"),
    (Handoff, "handoff"),
    (Fact, "fact"),
    (str, "forgotten fact"),
)
_NOBODY: Mapping[str, object] = {"author": "person", "name": "", "host": "", "session": ""}
_NOTE: Mapping[str, object] = {
    "id": "",
    "category": "observation",
    "writer": _NOBODY,
    "tags": [],
    "pinned": False,
    "expires_at": None,
    "sources": [],
    "withdrawn": None,
}
_HANDOFF: Mapping[str, object] = {
    "id": "",
    "writer": _NOBODY,
    "next_steps": [],
    "open_questions": [],
    "files": [],
    "to_agent": "",
    "is_automatic": False,
    "claim": None,
    "cancelled": None,
}
_HANDOFF_ID = re.compile(r"h[0-9a-f]{12}")
_FACT_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_DAY_S = 86_400.0
# What has been told was told by tomorrow, as clocks differ; what expires does so in a year of four
# digits, as others cannot be told.
_LATEST: Mapping[str, float | None] = {
    **dict.fromkeys(("told_at", "left_at", "at")),
    "expires_at": 253_402_300_799.0,
}
# Times were looked at before.
_ANY_TIME = Instant(1e12)
_LONGEST_NAME, _LONGEST_FACT, _MOST_PLACES = 1_000, 4_000, 200
_LONGEST = {
    **dict.fromkeys(("name", "host", "session", "call", "to_agent", "conclusion"), _LONGEST_NAME),
    "reason": 16_000,
}


@dataclass(frozen=True, slots=True)
class Incoming:
    """What a record brings; whether the places that a note names are still to be looked for."""

    item: Item
    wants_places: bool = False


def items_of(window: Window) -> Iterator[Item]:
    """All that is told and understood in a space, withdrawn or not, in an order of its own."""
    yield from sorted(window.notebook.notes, key=lambda note: (note.told_at, note.id))
    yield from sorted(window.notebook.handoffs, key=lambda one: (one.left_at, one.id))
    yield from sorted(window.ledger.facts, key=lambda fact: (fact.learned_at, fact.id))
    yield from sorted(window.ledger.forgotten)


def counting(items: Iterable[Item], now: Instant) -> Iterator[Item]:
    """Those that count then: nothing withdrawn, ended or stale."""
    for item in items:
        match item:
            case Note():
                counts = item.counts_at(now)
            case Handoff():
                counts = item.state_at(now) == "open"
            case Fact():
                counts = not item.is_stale
            case _:
                counts = False
        if counts:
            yield item


def record_of(item: Item) -> dict[str, object]:
    """The JSON object of a thing that is kept."""
    kind = next(name for of, name in _KINDS if isinstance(item, of))
    if isinstance(item, str):
        return {"kind": kind, "id": item}
    # Whether a file changed since is found out again where the fact goes.
    form = written(replace(item, is_stale=False) if isinstance(item, Fact) else item)
    form.pop("stale", None)
    renamed: dict[str, object] = _renamed(form, "origin", "author")
    return {"kind": kind, **renamed}


def incoming_record(form: object, *, now: Instant, root: str) -> Incoming:
    """What a JSON object brings to the workspace with this root; what it does not tell is usual.

    Raises:
        InvalidRequest: it brings nothing that can be kept; says why.
    """
    if not isinstance(form, dict):
        raise InvalidRequest("it is no JSON object")
    kind = form.get("kind", "note")
    _check_values(form, now)
    if kind == "note":
        note: Note = _read(Note, {"told_at": now, **_NOTE, **form})
        return Incoming(note, wants_places="sources" not in form)
    if kind == "handoff":
        times = {"left_at": now, "expires_at": now}
        handoff: Handoff = _read(Handoff, {**times, **_HANDOFF, **form})
        return Incoming(_identified(handoff, root))
    if kind == "fact":
        fact: Fact = _read(Fact, {**form, "stale": False})
        _check_fact(fact)
        return Incoming(fact)
    if kind == "forgotten fact" and _FACT_ID.fullmatch(str(form.get("id"))):
        return Incoming(FactId(str(form["id"])))
    raise InvalidRequest("its kind must be note, handoff, fact or forgotten fact")


def header_problem(form: Mapping[str, object]) -> str | None:
    """Why a file that begins with this line cannot be read, if it cannot."""
    version = form.get("version")
    if not isinstance(version, int) or version > 1:
        return f"the file has version {version!r}, this program reads up to 1: upgrade it"
    return None


def with_texts(item: Item, change: Callable[[str], str]) -> Any:  # an item of the same kind
    """The item with each of its free texts changed."""
    form = record_of(item)
    return incoming_record(_changed(form, change), now=_ANY_TIME, root="").item


def _changed(value: object, change: Callable[[str], str], key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _changed(one, change, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_changed(one, change, key) for one in value]
    return change(value) if isinstance(value, str) and key in _FREE else value


# What people, agents and hosts write as they like; all else is checked by what it has to be.
_FREE = frozenset(
    {"text", "tags", "name", "host", "session", "reason", "summary", "next_steps"}
    | {"open_questions", "files", "to_agent", "call", "questions", "conclusion"}
)


def _read(kind: type, form: Mapping[str, object]) -> Any:  # a value of that type
    whole = {name: {**_NOBODY, **one} if name == "writer" and isinstance(one, dict) else one
             for name, one in form.items()}  # fmt: skip
    try:
        return read(kind, _renamed(whole, "author", "origin"))
    except LiveMemoryError as problem:
        raise InvalidRequest(clean(str(problem))[:200]) from None


def _renamed(form: Any, old: str, new: str) -> Any:  # the same JSON value with another key
    if isinstance(form, dict):
        return {new if k == old else k: _renamed(one, old, new) for k, one in form.items()}
    return [_renamed(one, old, new) for one in form] if isinstance(form, list) else form


def _check_values(value: object, now: float, key: str = "") -> None:
    """Refuse times that cannot be told, names that are none, and lines that no file has."""
    if isinstance(value, dict):
        for name, one in value.items():
            _check_values(one, now, name)
        start, end = value.get("start"), value.get("end")
        if isinstance(start, int) and isinstance(end, int) and not 1 <= start <= end + 1:
            raise InvalidRequest("it names lines that no file has")
    elif isinstance(value, list):
        if key == "sources" and len(value) > _MOST_PLACES:
            raise InvalidRequest(f"it names more than {_MOST_PLACES} places")
        for one in value:
            _check_values(one, now, key)
    elif isinstance(value, int | float) and key in _LATEST:
        if not 0 <= value <= (_LATEST[key] or now + _DAY_S):
            raise InvalidRequest(f"its {key} is no time that can be")
    elif isinstance(value, str) and len(value) > _LONGEST.get(key, len(value)):
        raise InvalidRequest(f"its {key} is longer than {_LONGEST[key]} characters")


def _check_fact(fact: Fact) -> None:
    is_small = len(fact.text) <= _LONGEST_FACT and bool(fact.text.strip())
    if not is_small or not fact.sources or len(fact.questions) > _MOST_PLACES:
        raise InvalidRequest("it is no fact: a short sentence with the places that it rests on")
    if not _FACT_ID.fullmatch(fact.id):
        raise InvalidRequest("its id is none of a fact")


def _identified(handoff: Handoff, root: str) -> Handoff:
    """With the id that it brings, or one that follows from what it says."""
    if _HANDOFF_ID.fullmatch(handoff.id):
        return handoff
    parts = (handoff.summary, *handoff.next_steps, *handoff.open_questions, *handoff.files)
    return replace(handoff, id=HandoffId(handoff_id("\0".join(parts), root)))
