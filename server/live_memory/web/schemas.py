"""What goes over the wire, as JSON values; text is cleaned so that any client can read it."""

from dataclasses import asdict
from typing import assert_never

from live_memory.core.asking.answer import Answer, Usage
from live_memory.core.companion.spend import Spend, Spent
from live_memory.core.memory.events import (
    FileChanged,
    FileGone,
    FileObserved,
    NoteWritten,
    QuestionAnswered,
)
from live_memory.core.memory.ledger import Fact
from live_memory.core.memory.window import Entry
from live_memory.core.reading.inert import visible
from live_memory.core.reading.text import clean
from live_memory.flow.companion.probe import Verdict
from live_memory.flow.statistics import WorkspaceStats
from live_memory.ports import WorkspaceIdentity

__all__ = [
    "answer_form",
    "answered_form",
    "fact_form",
    "spend_form",
    "stats_form",
    "verdict_form",
    "why_form",
    "workspace_form",
]


def workspace_form(workspace: WorkspaceIdentity) -> dict[str, object]:
    """A workspace by its root and key."""
    return {"root": _shown(workspace.root), "key": workspace.key.text}


def answer_form(workspace: WorkspaceIdentity, answer: Answer) -> dict[str, object]:
    """An answer; its sources are in `citations`."""
    return {
        "answer": _shown(answer.text),
        "mode": answer.mode.value,
        "grounding": answer.grounding.value,
        "citations": [
            {
                "path": _shown(citation.path.text),
                "start": citation.start,
                "end": citation.end,
                "status": citation.status.value,
            }
            for citation in answer.citations
        ],
        "model": answer.model,
        "elapsed_s": round(answer.elapsed_s, 3),
        "cost_usd": answer.cost_usd,
        "window_share": round(answer.window_share, 4),
        "usage": {name: getattr(answer.usage, name) for name in Usage.__dataclass_fields__},
        "stop": answer.stop.value,
        "workspace": workspace_form(workspace),
        "notice": None if answer.notice is None else _shown(answer.notice),
    }


def why_form(answer: Answer) -> list[dict[str, object]]:
    """What raised the cited files that were ranked, best first."""
    return [
        {
            "path": _shown(path.text),
            "score": round(why.score, 2),
            "words": [_shown(word) for word in why.words],
            "defines": [_shown(name) for name in why.defines],
            "factors": {name: round(factor, 2) for name, factor in why.factors.items()},
        }
        for path, why in answer.why.items()
    ]


def answered_form(workspace: WorkspaceIdentity, asked: QuestionAnswered) -> dict[str, object]:
    """A past answer, with the question it was given to."""
    return {
        "question": _shown(asked.question.text),
        "asked_at": asked.question.asked_at,
        **answer_form(workspace, asked.answer),
    }


def entry_form(entry: Entry) -> dict[str, object]:
    """An entry of the window: what it is about, never what a file says."""
    form: dict[str, object] = {"number": entry.number}
    match entry.content:
        case FileObserved() as seen:
            return form | {
                "kind": "file",
                "path": _shown(seen.path.text),
                "sha": seen.sha.hex,
                "start": seen.start,
                "end": seen.end,
                "total": seen.total,
                "origin": seen.origin.value,
                "at": seen.at,
            }
        case FileChanged(path, sha, at):
            return form | {"kind": "changed", "path": _shown(path.text), "sha": sha.hex, "at": at}
        case FileGone(path, at):
            return form | {"kind": "gone", "path": _shown(path.text), "at": at}
        case QuestionAnswered() as asked:
            question = _shown(asked.question.text)
            return form | {"kind": "question", "question": question, "at": asked.question.asked_at}
        case NoteWritten(text, at):
            return form | {"kind": "note", "text": _shown(text), "at": at}
        case _:
            assert_never(entry.content)


def fact_form(fact: Fact) -> dict[str, object]:
    """A fact with why it is believed: sources, dates, the questions it came from."""
    return {
        "id": fact.id,
        "text": _shown(fact.text),
        "kind": fact.kind.value,
        "origin": fact.origin.value,
        "learned_at": fact.learned_at,
        "since": fact.since,
        "questions": [_shown(question) for question in fact.questions],
        "pinned": fact.is_pinned,
        "stale": fact.is_stale,
        "sources": [
            {"path": _shown(s.path.text), "start": s.start, "end": s.end, "sha": s.sha.hex}
            for s in fact.sources
        ],
    }


def stats_form(stats: WorkspaceStats) -> dict[str, object]:
    """A workspace's figures by their names."""
    figures = {name: getattr(stats, name) for name in WorkspaceStats.__dataclass_fields__}
    figures["workspace"] = workspace_form(stats.workspace)
    last = stats.last_compaction
    figures["last_compaction"] = None if last is None else asdict(last)
    listing = stats.listing
    figures["listing"] = {
        "way": None if listing is None else listing.way.value,
        "problem": None if listing is None else listing.problem,
    }
    watch = stats.watch
    figures["watch"] = {
        "state": watch.name,
        "folders": watch.watched,
        "wanted": watch.wanted,
        "problem": watch.problem,
    }
    figures["problems"] = [_shown(problem) for problem in stats.problems]
    return figures


def spend_form(spend: Spend) -> dict[str, object]:
    """What models took since the server started, over all workspaces, by cause."""
    return {
        cause.value: {name: getattr(spent, name) for name in Spent.__dataclass_fields__}
        for cause, spent in spend.by_cause.items()
    }


def verdict_form(verdict: Verdict) -> dict[str, object]:
    """What a model can carry."""
    return {name: getattr(verdict, name) for name in Verdict.__dataclass_fields__}


def _shown(text: str) -> str:
    return visible(clean(text))
