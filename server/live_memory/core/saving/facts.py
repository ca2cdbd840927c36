"""The saved form of facts."""

from live_memory.core.memory.ledger import Fact, FactId, FactKind, FactOrigin, Source
from live_memory.core.saving.fields import Form, every, get, number, text_or_none, texts
from live_memory.core.values import ContentHash, Instant, RelPath

__all__ = ["fact", "fact_form"]


def fact_form(fact: Fact) -> dict[str, object]:
    """A fact as JSON values."""
    return {
        "id": fact.id,
        "text": fact.text,
        "kind": fact.kind.value,
        "origin": fact.origin.value,
        "at": fact.learned_at,
        "since": fact.since,
        "questions": list(fact.questions),
        "pinned": fact.is_pinned,
        "stale": fact.is_stale,
        "sources": [
            {"path": s.path.text, "sha": s.sha.hex, "start": s.start, "end": s.end}
            for s in fact.sources
        ],
    }


def fact(form: Form) -> Fact:
    """A fact from its form.

    Raises:
        LiveMemoryError, ValueError: it is not what `fact_form` writes.
    """
    return Fact(
        id=FactId(get(form, "id", str)),
        text=get(form, "text", str),
        sources=every(form, "sources", _source),
        kind=FactKind(get(form, "kind", str)),
        origin=FactOrigin(get(form, "origin", str)),
        learned_at=Instant(number(form, "at")),
        since=text_or_none(form, "since"),
        questions=texts(form, "questions"),
        is_pinned=get(form, "pinned", bool),
        is_stale=get(form, "stale", bool),
    )


def _source(form: Form) -> Source:
    return Source(
        path=RelPath(get(form, "path", str)),
        sha=ContentHash(get(form, "sha", str)),
        start=get(form, "start", int),
        end=get(form, "end", int),
    )
