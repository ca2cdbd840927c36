"""The saved form of a window: plain JSON values, versioned, with hashes and no file text.

A record is `{"version", "root", "window"}`. Reading is strict: whatever is not exactly what
`to_form` writes is refused as a whole, so that half a memory is never taken for all of it.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar, assert_never

from live_memory.core.asking.answer import (
    Answer,
    Budget,
    Citation,
    CitationStatus,
    Grounding,
    Mode,
    Question,
    StopReason,
    Usage,
)
from live_memory.core.errors import LiveMemoryError, SnapshotTooNew, SnapshotUnreadable
from live_memory.core.memory.events import (
    EntryNumber,
    FileChanged,
    FileGone,
    FileObserved,
    NoteWritten,
    QuestionAnswered,
)
from live_memory.core.memory.ledger import Fact, FactId, Ledger, Source
from live_memory.core.memory.window import Entry, EntryContent, Window
from live_memory.core.values import ContentHash, Instant, Origin, RelPath

__all__ = ["VERSION", "Form", "from_form", "root_of", "to_form"]

VERSION = 1

Form = Mapping[str, object]
T = TypeVar("T")


def to_form(window: Window, *, root: str) -> dict[str, object]:
    """The window as JSON values; file text stays out."""
    return {
        "version": VERSION,
        "root": root,
        "window": {
            "revision": window.revision,
            "next_number": window.next_number,
            "facts": [_fact_form(fact) for fact in window.ledger.facts],
            "entries": [{"number": e.number, **_content_form(e.content)} for e in window.entries],
        },
    }


def from_form(form: object) -> Window:
    """The window that was saved.

    Raises:
        SnapshotTooNew: a newer version wrote it.
        SnapshotUnreadable: it is not what `to_form` writes.
    """
    record = _form(form)
    version = _get(record, "version", int)
    if version > VERSION:
        raise SnapshotTooNew(
            f"the snapshot has version {version}, this server reads up to {VERSION}: "
            "upgrade, or move the file away"
        )
    if version != VERSION:
        raise SnapshotUnreadable(f"the snapshot has version {version}, which never existed")
    window = _form(record.get("window"))
    try:
        return Window(
            revision=_get(window, "revision", int),
            next_number=EntryNumber(_get(window, "next_number", int)),
            ledger=Ledger(_all(window, "facts", _fact)),
            entries=_all(window, "entries", _entry),
        )
    except (LiveMemoryError, ValueError) as problem:
        raise SnapshotUnreadable(f"the snapshot has a wrong value: {problem}") from problem


def root_of(form: object) -> str:
    """The workspace root that a record belongs to.

    Raises:
        SnapshotUnreadable: it has none.
    """
    return _get(_form(form), "root", str)


def _fact_form(fact: Fact) -> dict[str, object]:
    return {
        "id": fact.id,
        "text": fact.text,
        "pinned": fact.is_pinned,
        "stale": fact.is_stale,
        "sources": [
            {"path": s.path.text, "sha": s.sha.hex, "start": s.start, "end": s.end}
            for s in fact.sources
        ],
    }


def _fact(form: Form) -> Fact:
    return Fact(
        id=FactId(_get(form, "id", str)),
        text=_get(form, "text", str),
        sources=_all(form, "sources", _source),
        is_pinned=_get(form, "pinned", bool),
        is_stale=_get(form, "stale", bool),
    )


def _source(form: Form) -> Source:
    return Source(
        path=RelPath(_get(form, "path", str)),
        sha=ContentHash(_get(form, "sha", str)),
        start=_get(form, "start", int),
        end=_get(form, "end", int),
    )


def _content_form(content: EntryContent) -> dict[str, object]:
    match content:
        case FileObserved(path, sha, start, end, total, _, origin, at):
            return {
                "kind": "observed",
                "path": path.text,
                "sha": sha.hex,
                "lines": [start, end, total],
                "origin": origin.value,
                "at": at,
            }
        case FileChanged(path, sha, at):
            return {"kind": "changed", "path": path.text, "sha": sha.hex, "at": at}
        case FileGone(path, at):
            return {"kind": "gone", "path": path.text, "at": at}
        case NoteWritten(text, at):
            return {"kind": "note", "text": text, "at": at}
        case QuestionAnswered(question, answer, based_on):
            return {
                "kind": "answered",
                "question": {
                    "text": question.text,
                    "at": question.asked_at,
                    "timeout_s": question.budget.timeout_s,
                    "answer_tokens": question.budget.answer_tokens,
                },
                "answer": _answer_form(answer),
                "based_on": based_on,
            }
        case _:
            assert_never(content)


def _entry(form: Form) -> Entry:
    return Entry(EntryNumber(_get(form, "number", int)), _content(form))


def _content(form: Form) -> EntryContent:
    kind = _get(form, "kind", str)
    if kind == "answered":
        question = _form(form.get("question"))
        budget = Budget(_number(question, "timeout_s"), _get(question, "answer_tokens", int))
        asked_at = Instant(_number(question, "at"))
        return QuestionAnswered(
            Question(_get(question, "text", str), asked_at, budget),
            _answer(_form(form.get("answer"))),
            _get(form, "based_on", int),
        )
    at = Instant(_number(form, "at"))
    if kind == "note":
        return NoteWritten(_get(form, "text", str), at)
    path = RelPath(_get(form, "path", str))
    if kind == "gone":
        return FileGone(path, at)
    sha = ContentHash(_get(form, "sha", str))
    if kind == "changed":
        return FileChanged(path, sha, at)
    if kind == "observed":
        start, end, total = _numbers(form, "lines", 3)
        return FileObserved(
            path, sha, start, end, total, None, Origin(_get(form, "origin", str)), at
        )
    raise SnapshotUnreadable(f"unknown kind of entry {kind!r}")


def _answer_form(answer: Answer) -> dict[str, object]:
    usage = answer.usage
    return {
        "text": answer.text,
        "mode": answer.mode.value,
        "grounding": answer.grounding.value,
        "stop": answer.stop.value,
        "model": answer.model,
        "elapsed_s": answer.elapsed_s,
        "notice": answer.notice,
        "cost_usd": answer.cost_usd,
        "is_subscription": answer.is_subscription,
        "window_share": answer.window_share,
        "usage": {name: getattr(usage, name) for name in Usage.__dataclass_fields__},
        "citations": [
            {"path": c.path.text, "start": c.start, "end": c.end, "status": c.status.value}
            for c in answer.citations
        ],
        "evidence": {path.text: sha.hex for path, sha in answer.evidence.items()},
    }


def _answer(form: Form) -> Answer:
    usage, evidence = _form(form.get("usage")), _form(form.get("evidence"))
    return Answer(
        text=_get(form, "text", str),
        mode=Mode(_get(form, "mode", str)),
        grounding=Grounding(_get(form, "grounding", str)),
        citations=_all(form, "citations", _citation),
        stop=StopReason(_get(form, "stop", str)),
        usage=Usage(**{name: _get(usage, name, int) for name in Usage.__dataclass_fields__}),
        model=_text_or_none(form, "model"),
        elapsed_s=_number(form, "elapsed_s"),
        notice=_text_or_none(form, "notice"),
        cost_usd=None if form.get("cost_usd") is None else _number(form, "cost_usd"),
        is_subscription=_get(form, "is_subscription", bool),
        window_share=_number(form, "window_share"),
        evidence=MappingProxyType(
            {RelPath(path): ContentHash(_get(evidence, path, str)) for path in evidence}
        ),
    )


def _citation(form: Form) -> Citation:
    return Citation(
        path=RelPath(_get(form, "path", str)),
        start=_get(form, "start", int),
        end=_get(form, "end", int),
        status=CitationStatus(_get(form, "status", str)),
    )


def _form(value: object) -> Form:
    if not isinstance(value, dict):
        raise SnapshotUnreadable("the snapshot has something else where a record belongs")
    return value


def _get(form: Form, key: str, kind: type[T]) -> T:
    value = form.get(key)
    if type(value) is not kind:
        raise SnapshotUnreadable(f"the snapshot has no proper {key!r}")
    return value


def _number(form: Form, key: str) -> float:
    value = form.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SnapshotUnreadable(f"the snapshot has no proper {key!r}")
    return float(value)


def _numbers(form: Form, key: str, count: int) -> list[int]:
    values: list[object] = _get(form, key, list)
    numbers = [value for value in values if type(value) is int]
    if len(values) != count or len(numbers) != count:
        raise SnapshotUnreadable(f"the snapshot has no proper {key!r}")
    return numbers


def _text_or_none(form: Form, key: str) -> str | None:
    return None if form.get(key) is None else _get(form, key, str)


def _all(form: Form, key: str, read: Callable[[Form], T]) -> tuple[T, ...]:
    values: list[object] = _get(form, key, list)
    return tuple(read(_form(value)) for value in values)
