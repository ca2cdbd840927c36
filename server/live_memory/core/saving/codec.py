"""The saved form of values: a dataclass is a JSON object of its fields, read back by their types.

Reading is strict. A value of another type than the one that was written is refused, and the message
names the field. A key that this version does not know is passed over.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, NewType, TypeVar, get_args, get_origin, get_type_hints

from live_memory.core.answer import Answer, Question
from live_memory.core.errors import LiveMemoryError, SnapshotUnreadable
from live_memory.core.hosts.events import LineSlice
from live_memory.core.hosts.notices import AnythingChanged, Conclusion, FileInterest, Search
from live_memory.core.memory.ledger import Fact, Ledger
from live_memory.core.memory.window import (
    Brought,
    Compacted,
    Concluded,
    Entry,
    FactPinned,
    FileChanged,
    FileGone,
    FileObserved,
    Forgotten,
    HandoffCancelled,
    HandoffClaimed,
    HandoffLeft,
    LearningPaused,
    LearningResumed,
    NotesWithdrawn,
    NoteTold,
    NoteWritten,
    Purged,
    QuestionAnswered,
    Window,
)
from live_memory.core.values import ContentHash, RelPath

__all__ = ["Form", "form_of", "get", "read", "written"]

Form = Mapping[str, object]
T = TypeVar("T")

# The key "kind" says which of several dataclasses a record is.
_KINDS: Mapping[type, str] = {
    FileObserved: "observed",
    FileChanged: "changed",
    FileGone: "gone",
    NoteWritten: "note",
    QuestionAnswered: "answered",
    Compacted: "compacted",
    Concluded: "concluded",
    FactPinned: "pinned",
    Forgotten: "forgotten",
    NoteTold: "told",
    NotesWithdrawn: "withdrawn",
    HandoffLeft: "handed over",
    HandoffClaimed: "claimed",
    HandoffCancelled: "cancelled",
    Purged: "purged",
    Brought: "brought",
    LearningPaused: "paused",
    LearningResumed: "resumed",
    FileInterest: "file",
    Search: "search",
    AnythingChanged: "anything",
    Conclusion: "conclusion",
}
# Fields that have a shorter name in files.
_KEYS = {
    "asked_at": "at",
    "author": "origin",
    "glob": "names",
    "is_edited": "edited",
    "is_paused": "paused",
    "is_glob": "glob",
    "is_pinned": "pinned",
    "is_stale": "stale",
    "learned_at": "at",
}
# A field whose own fields stand in files beside those of what holds it.
_INLINE: Mapping[type, str] = {
    Entry: "content",
    Question: "budget",
    Search: "grep",
    Window: "ledger",
}
# Only earlier versions read these.
_FOR_EARLIER: Mapping[type, Form] = {Compacted: {"front": []}, Window: {"front": []}}
# What later versions added, as it is where an earlier one wrote.
_ADDED: Mapping[type, Form] = {
    Fact: {"session": "", "conclusion": "", "uses": 0, "novelty": 1.0},
    Answer: {"facts": [], "notes": []},
    Conclusion: {"evidence": {}},
    Forgotten: {"at": []},
    Window: {"notebook": {"notes": [], "handoffs": []}, "paused": False},
}
# Versions before 3 distilled facts by rule too, from outlines that the index has.
_DROPPED = "rule"
_PLAIN = frozenset({str, int, float, bool, type(None)})


def written(value: Any) -> Any:  # JSON values; which ones, follows from the type of the value
    """The saved form of a value."""
    kind: Any = type(value)
    return value if kind in _PLAIN else _writer(kind)(value)


def read(kind: Any, form: object) -> Any:  # a value of that type; a union is no `type[T]`
    """The value of this type whose saved form this is.

    Raises:
        SnapshotUnreadable: it is not what `written` gives.
    """
    try:
        return _reader(kind)(form)
    except SnapshotUnreadable:
        raise
    except (LiveMemoryError, ValueError) as problem:
        raise SnapshotUnreadable(str(problem)) from problem


def get(form: Form, key: str, kind: type[T]) -> T:
    """One field of a record.

    Raises:
        SnapshotUnreadable: it is missing, or of another type.
    """
    try:
        value: T = read(kind, form.get(key))
    except SnapshotUnreadable as problem:
        raise SnapshotUnreadable(f"there is no proper {key!r}: {problem}") from problem
    return value


def form_of(value: object) -> Form:
    """A JSON object.

    Raises:
        SnapshotUnreadable: it is something else.
    """
    if not isinstance(value, dict):
        raise SnapshotUnreadable("there is something else where a record belongs")
    return value


@cache
def _writer(kind: Any) -> Callable[[Any], Any]:
    if kind in _WRITERS:
        return _WRITERS[kind]
    parts = [f"'kind': {_KINDS[kind]!r}"] if kind in _KINDS else []
    parts += [f"{key!r}: {value!r}" for key, value in _FOR_EARLIER.get(kind, {}).items()]
    for name, key, hint in _saved_fields(kind):
        attribute = _plain_attribute(hint)
        value = f"written(of.{name})" if attribute is None else f"of.{name}{attribute}"
        parts.append(f"**{value}" if name == _INLINE.get(kind) else f"{key!r}: {value}")
    # As `dataclasses` does it, of nothing but names of ours: a memory has tens of thousands of
    # records, and a loop over their fields takes twice as long.
    source = f"lambda of: {{{', '.join(parts)}}}"
    return eval(source, {"written": written})  # type: ignore[no-any-return]  # noqa: S307


def _plain_attribute(hint: Any) -> str | None:
    """The attribute of a value of this type that is what is written, or none if none is."""
    if hint in _ATTRIBUTES:
        return _ATTRIBUTES[hint]
    if isinstance(hint, NewType):
        return _plain_attribute(hint.__supertype__)
    if isinstance(hint, UnionType):
        return "" if _PLAIN.issuperset(get_args(hint)) else None
    return ".value" if isinstance(hint, type) and issubclass(hint, StrEnum) else None


_ATTRIBUTES = {RelPath: ".text", ContentHash: ".hex", **dict.fromkeys(_PLAIN, "")}
_WRITERS: Mapping[type, Callable[[Any], object]] = {
    FileObserved: lambda seen: {
        "kind": _KINDS[FileObserved],
        "path": seen.path.text,
        "sha": seen.sha.hex,
        "lines": [seen.start, seen.end, seen.total],
        "origin": seen.origin.value,
        "at": seen.at,
    },
    ContentHash: lambda sha: sha.hex,
    LineSlice: lambda cut: [cut.start, cut.stop],
    tuple: lambda values: list(map(written, values)),
    frozenset: sorted,
    MappingProxyType: lambda found: {path.text: sha.hex for path, sha in found.items()},
    dict: lambda found: {path.text: sha.hex for path, sha in found.items()},
}


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _READERS:
        return _READERS[kind]
    if isinstance(kind, NewType):
        return _reader(kind.__supertype__)
    # `Instant | None` is of another type than `int | None`.
    if isinstance(kind, UnionType) or type(None) in inner:
        return _union_reader(inner)
    if origin in (tuple, frozenset):
        return _list_reader(origin, inner)
    if origin is Mapping:
        name, each = map(_reader, inner)
        return lambda form: MappingProxyType(
            {name(key): each(value) for key, value in _record(form).items()}
        )
    if issubclass(kind, StrEnum):
        return _of_text(kind)
    return _record_reader(kind)


def _record_reader(kind: Any) -> Callable[[Any], object]:
    inline = _INLINE.get(kind)
    known = [(key, _reader(hint)) for _, key, hint in _saved_fields(kind)]
    added = _ADDED.get(kind, {})

    def read_record(form: Any) -> object:
        _record(form)
        found = {**form, inline: form} if inline else form
        if kind in (Compacted, Ledger):
            facts = get(form, "facts", list)
            kept = [f for f in facts if not (isinstance(f, dict) and f.get("origin") == _DROPPED)]
            found = {**found, "facts": kept}
        values, key = [], "lines"
        try:
            if kind is FileObserved:
                lines = _reader(tuple[int, int, int])(form.get(key))
                found = {**form, **dict(zip(("start", "end", "total"), lines, strict=True))}
            for key, read_value in known:
                values.append(read_value(found.get(key, added.get(key))))
        except SnapshotUnreadable:
            raise
        except (LiveMemoryError, ValueError) as problem:
            raise SnapshotUnreadable(f"there is no proper {key!r}: {problem}") from problem
        return kind(*values)

    return read_record


def _union_reader(kinds: tuple[Any, ...]) -> Callable[[Any], object]:
    """What may be missing, or one of several kinds of record."""
    if type(None) in kinds:
        (kind,) = set(kinds) - {type(None)}
        some = _reader(kind)
        return lambda value: None if value is None else some(value)
    readers = {_KINDS[kind]: _reader(kind) for kind in kinds}

    def read_kind(form: Any) -> object:
        kind = _record(form).get("kind")
        if not isinstance(kind, str) or kind not in readers:
            raise SnapshotUnreadable(f"unknown kind of record {str(kind)[:40]!r}")
        return readers[kind](form)

    return read_kind


def _list_reader(into: Callable[[Any], object], inner: tuple[Any, ...]) -> Callable[[Any], object]:
    """A list of any length, or, as in `tuple[int, int]`, of one."""
    each, count = _reader(inner[0]), None if into is frozenset or ... in inner else len(inner)

    def read_list(values: object) -> object:
        if not isinstance(values, list) or count not in (None, len(values)):
            raise ValueError("it is no such list")
        return into(map(each, values))

    return read_list


def _exactly(kind: type) -> Callable[[Any], Any]:
    def read_plain(value: object) -> object:
        if type(value) is not kind:
            raise ValueError(f"it is no {kind.__name__}")
        return value

    return read_plain


_record = _exactly(dict)


def _of_text(kind: Callable[[str], object]) -> Callable[[object], object]:
    def read_text(value: object) -> object:
        if type(value) is not str:
            raise ValueError("it is no str")
        return kind(value)

    return read_text


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("it is no number")  # noqa: TRY004
    try:
        return float(value)
    except OverflowError:
        raise ValueError("it is larger than any number of ours") from None


_READERS: Mapping[object, Callable[[Any], Any]] = {
    **{kind: _exactly(kind) for kind in (str, int, bool, list, dict)},
    float: _number,
    RelPath: _of_text(RelPath),
    ContentHash: _of_text(ContentHash),
    LineSlice: lambda value: LineSlice(*_reader(tuple[int | None, int | None])(value)),
}


def _saved_fields(kind: Any) -> list[tuple[str, str, object]]:
    """Names, keys and types of the fields that are part of what a value is."""
    hints = get_type_hints(kind)
    return [(f.name, _KEYS.get(f.name, f.name), hints[f.name]) for f in fields(kind) if f.compare]
