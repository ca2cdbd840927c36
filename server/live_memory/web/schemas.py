"""What goes over the wire, as JSON values; text is cleaned so that any client can read it."""

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from live_memory.core.answer import Answer
from live_memory.core.companion.chat import Caps, Spend
from live_memory.core.memory.ledger import Fact
from live_memory.core.memory.window import (
    Entry,
    FileChanged,
    FileGone,
    FileObserved,
    NoteWritten,
    QuestionAnswered,
)
from live_memory.core.reading.observation import clean, visible
from live_memory.core.values import ContentHash, Instant, RelPath, WorkspaceKey
from live_memory.flow.workspace import WorkspaceStats
from live_memory.ports import WorkspaceIdentity

__all__ = [
    "answer_form",
    "answered_form",
    "caps_form",
    "entry_form",
    "fact_form",
    "file_event_form",
    "record_form",
    "spend_form",
    "stats_form",
    "why_form",
]

Form = dict[str, object]
_KINDS = {FileObserved: "file", FileChanged: "changed", FileGone: "gone", NoteWritten: "note"}


def answer_form(workspace: WorkspaceIdentity, answer: Answer) -> dict[str, object]:
    """An answer; its sources are in `citations`."""
    return {
        "answer": _form(answer.text),
        **record_form(answer, "mode", "grounding", "citations", "model"),
        "elapsed_s": round(answer.elapsed_s, 3),
        "cost_usd": answer.cost_usd,
        "window_share": round(answer.window_share, 4),
        **record_form(answer, "usage", "stop"),
        "workspace": record_form(workspace),
        "notice": _form(answer.notice),
        "told": _form(answer.told),
    }


def why_form(answer: Answer) -> list[dict[str, object]]:
    """What raised the cited files that were ranked, best first."""
    return [
        {
            "path": _form(path),
            "score": round(why.score, 2),
            **record_form(why, "words", "defines"),
            "factors": {name: round(factor, 2) for name, factor in why.factors.items()},
        }
        for path, why in answer.why.items()
    ]


def answered_form(workspace: WorkspaceIdentity, asked: QuestionAnswered) -> dict[str, object]:
    """A past answer, with the question it was given to."""
    return {
        "question": _form(asked.question.text),
        "asked_at": asked.question.asked_at,
        **answer_form(workspace, asked.answer),
    }


def entry_form(entry: Entry) -> dict[str, object]:
    """An entry of the window: what it is about, never what a file says."""
    content = entry.content
    if isinstance(content, QuestionAnswered):
        asked = content.question
        about = {"kind": "question", "question": _form(asked.text), "at": asked.asked_at}
    else:
        about = file_event_form(content)
    return {"number": entry.number, **about}


def file_event_form(content: FileObserved | FileChanged | FileGone | NoteWritten) -> Form:
    """What was told of a file, or noted: its name and lines, never what it says."""
    return {"kind": _KINDS[type(content)], **record_form(content)}


def fact_form(fact: Fact) -> dict[str, object]:
    """A fact with why it is believed: sources, dates, the questions it came from."""
    return {
        **record_form(fact, "id", "text", "author", "learned_at", "since", "questions", "uses"),
        "session": fact.session or None,
        "pinned": fact.is_pinned,
        "stale": fact.is_stale,
        "sources": [record_form(source, "path", "start", "end", "sha") for source in fact.sources],
    }


def stats_form(stats: WorkspaceStats) -> dict[str, object]:
    """A workspace's figures by their names."""
    listing, watch = stats.listing, stats.watch
    # A listing names every file, and what is watched is many folders: only figures are told.
    names = [field.name for field in fields(stats) if field.name not in ("listing", "watch")]
    return record_form(stats, *names) | {
        "listing": {
            "way": None if listing is None else listing.way.value,
            "problem": None if listing is None else listing.problem,
        },
        "watch": {
            "state": watch.name,
            "folders": watch.watched,
            "wanted": watch.wanted,
            "problem": watch.problem,
        },
    }


def spend_form(spend: Spend) -> dict[str, object]:
    """What models took since the server started, over all workspaces, by cause."""
    return {cause.value: record_form(spent) for cause, spent in spend.by_cause.items()}


def caps_form(spend: Spend, caps: Caps | None, *, now: Instant) -> dict[str, object]:
    """The caps, with what counts against each by the same name; without a model none.

    A cap of 0 is none.
    """
    return {
        "caps": caps and record_form(caps),
        "spent_lately": caps and record_form(spend.lately(now)),
    }


def record_form(value: Any, *names: str) -> dict[str, object]:
    """Some fields of a dataclass, or all of them."""
    return {name: _form(getattr(value, name)) for name in names or [f.name for f in fields(value)]}


def _form(value: object) -> Any:  # JSON values; which ones, follows from the type of the value
    match value:
        case Enum():
            return value.value
        case str():
            return visible(clean(value))
        case RelPath() | WorkspaceKey():
            return visible(clean(value.text))
        case ContentHash():
            return value.hex
        case tuple():
            return [_form(one) for one in value]
        case _ if is_dataclass(value):
            return record_form(value)
        case _:
            return value
