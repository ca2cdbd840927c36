"""The saved form of questions with their answers."""

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
from live_memory.core.memory.events import QuestionAnswered
from live_memory.core.saving.fields import (
    Form,
    every,
    form_of,
    get,
    hashes,
    hashes_form,
    number,
    text_or_none,
)
from live_memory.core.values import Instant, RelPath

__all__ = ["answered", "answered_form"]


def answered_form(event: QuestionAnswered) -> dict[str, object]:
    """A question with its answer as JSON values."""
    question = event.question
    return {
        "kind": "answered",
        "question": {
            "text": question.text,
            "at": question.asked_at,
            "timeout_s": question.budget.timeout_s,
            "answer_tokens": question.budget.answer_tokens,
        },
        "answer": _answer_form(event.answer),
        "based_on": event.based_on,
    }


def answered(form: Form) -> QuestionAnswered:
    """A question with its answer from its form.

    Raises:
        LiveMemoryError, ValueError: it is not what `answered_form` writes.
    """
    question = form_of(form.get("question"))
    budget = Budget(number(question, "timeout_s"), get(question, "answer_tokens", int))
    asked_at = Instant(number(question, "at"))
    return QuestionAnswered(
        Question(get(question, "text", str), asked_at, budget),
        _answer(form_of(form.get("answer"))),
        get(form, "based_on", int),
    )


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
        "recipe": answer.recipe,
        "cost_usd": answer.cost_usd,
        "is_subscription": answer.is_subscription,
        "window_share": answer.window_share,
        "usage": {name: getattr(usage, name) for name in Usage.__dataclass_fields__},
        "citations": [
            {"path": c.path.text, "start": c.start, "end": c.end, "status": c.status.value}
            for c in answer.citations
        ],
        "evidence": hashes_form(answer.evidence),
    }


def _answer(form: Form) -> Answer:
    usage = form_of(form.get("usage"))
    return Answer(
        text=get(form, "text", str),
        mode=Mode(get(form, "mode", str)),
        grounding=Grounding(get(form, "grounding", str)),
        citations=every(form, "citations", _citation),
        stop=StopReason(get(form, "stop", str)),
        usage=Usage(**{name: get(usage, name, int) for name in Usage.__dataclass_fields__}),
        model=text_or_none(form, "model"),
        elapsed_s=number(form, "elapsed_s"),
        notice=text_or_none(form, "notice"),
        recipe=get(form, "recipe", str),
        cost_usd=None if form.get("cost_usd") is None else number(form, "cost_usd"),
        is_subscription=get(form, "is_subscription", bool),
        window_share=number(form, "window_share"),
        evidence=hashes(form, "evidence"),
    )


def _citation(form: Form) -> Citation:
    return Citation(
        path=RelPath(get(form, "path", str)),
        start=get(form, "start", int),
        end=get(form, "end", int),
        status=CitationStatus(get(form, "status", str)),
    )
