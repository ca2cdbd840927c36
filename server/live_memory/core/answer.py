"""A question, its budget, and the answer with its sources."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Self

from live_memory.core.errors import InvalidRequest
from live_memory.core.reading.observation import clean, visible
from live_memory.core.values import ContentHash, Instant, RelPath

__all__ = [
    "CUT_OFF",
    "Answer",
    "Budget",
    "Citation",
    "CitationStatus",
    "Grounding",
    "Mode",
    "Question",
    "StopReason",
    "TimeBudget",
    "Usage",
    "Why",
    "is_same",
    "render",
    "repeats",
]

# A question longer than this is a pasted file; the tools' own limits stop at about the same size.
_LONGEST_QUESTION = 20_000


# Seconds kept back to rank and open evidence once the index may no longer be waited for, and to
# render the reply. The index itself goes on building.
_TO_ANSWER_S = 2.0
# Share of the time, and seconds at most, that are kept back to look at what changed on the disk: a
# question that waited for its turn must still see the files as they are.
_TO_LOOK_SHARE, _TO_LOOK_MOST_S = 0.25, 10.0

CUT_OFF = "The reply was cut off before its end."


class Mode(StrEnum):
    """Who answered."""

    COMPANION = "companion"
    SINGLE_SHOT = "single-shot"
    EVIDENCE = "evidence"
    CACHED = "cached"


class Grounding(StrEnum):
    """How much of an answer stands on checked sources."""

    VERIFIED = "verified"
    PARTIAL = "partial"
    UNGROUNDED = "ungrounded"


class CitationStatus(StrEnum):
    """What opening a cited place showed."""

    VERIFIED = "verified"
    CORRECTED = "corrected"
    UNSUPPORTED = "unsupported"


class StopReason(StrEnum):
    """Why the work on a question ended."""

    ANSWERED = "answered"
    DEADLINE = "deadline"
    STEPS = "steps"


@dataclass(frozen=True, slots=True)
class Budget:
    """What a question may cost: seconds until a reply is due, and tokens of answer.

    What is usual has room for six to ten places (ADR 17).
    """

    timeout_s: float = 60.0
    answer_tokens: int = 2000

    def __post_init__(self) -> None:
        if not 5 <= self.timeout_s <= 1800:  # NaN fails this comparison too
            raise InvalidRequest("timeout must be a number of seconds from 5 to 1800")
        if not 256 <= self.answer_tokens <= 32_000:
            raise InvalidRequest("max_answer_tokens must be a whole number from 256 to 32000")


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """When the steps of one question end, in seconds on the event loop's clock.

    Each step leaves time for those after it: the wait for a turn leaves time to look at the disk,
    the look leaves time to answer from evidence, and a model may take what is left.
    """

    asked_at: float
    timeout_s: float

    @property
    def deadline(self) -> float:
        """When the reply is due."""
        return self.asked_at + self.timeout_s

    @property
    def look_until(self) -> float:
        """When the disk and the index are no longer waited for."""
        return self.deadline - _TO_ANSWER_S

    @property
    def wait_until(self) -> float:
        """When a turn is no longer waited for."""
        return self.look_until - min(self.timeout_s * _TO_LOOK_SHARE, _TO_LOOK_MOST_S)


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, cleaned, and when; `wants_why` asks what raised the cited files, too."""

    text: str
    asked_at: Instant
    budget: Budget = field(default_factory=Budget)
    wants_why: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", clean(self.text).strip())
        if not self.text:
            raise InvalidRequest("question is empty: ask about this codebase in a sentence")
        if len(self.text) > _LONGEST_QUESTION:
            raise InvalidRequest(
                f"question has {len(self.text)} characters, at most {_LONGEST_QUESTION} are read: "
                "ask in a sentence and name the file instead of pasting it"
            )


@dataclass(frozen=True, slots=True)
class Citation:
    """Lines `start` to `end` (from 1, both included) of a file, and what opening them showed."""

    path: RelPath
    start: int
    end: int
    status: CitationStatus

    def __post_init__(self) -> None:
        if not 1 <= self.start <= self.end:
            raise InvalidRequest("a citation's lines count from 1 and do not run backwards")

    def __str__(self) -> str:
        lines = f"{self.start}" if self.start == self.end else f"{self.start}-{self.end}"
        return f"{self.path}:{lines}"


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took; `input_tokens` includes the cached ones."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    model_calls: int = 0
    tool_calls: int = 0


@dataclass(frozen=True, slots=True)
class Why:
    """Why a file ranked where it did, for people who ask; no answer shows it.

    `score` is comparable within one answer only. `words` are those of the question that the file
    holds, the most telling first, and `defines` what it defines of the question's names. `factors`
    raised or lowered the score, by their names.
    """

    score: float
    words: tuple[str, ...]
    defines: tuple[str, ...]
    factors: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its sources in order of importance; `model` names who wrote it, if any did.

    `evidence` holds the hash of every file the answer rests on, as it was when it was opened.
    `recipe` names how a model made it: model, instructions and tools; empty without a model.
    `cost_usd` is `None` where the price is not known, and on a subscription. `window_share` is
    how full the window is, 0 to 1. `facts` are the ids of those of the ledger that lead it, `notes`
    those of what a model read beside the evidence.
    `why` explains the ranked files that are cited, where no model answered. `told` has a line for
    each note that speaks of what it shows: nobody checked it. Both are told to who asks, not
    remembered, and no part of what an answer is.
    """

    text: str
    mode: Mode
    grounding: Grounding
    citations: tuple[Citation, ...]
    stop: StopReason = StopReason.ANSWERED
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    elapsed_s: float = 0.0
    notice: str | None = None
    evidence: Mapping[RelPath, ContentHash] = field(default_factory=lambda: MappingProxyType({}))
    recipe: str = ""
    cost_usd: float | None = 0.0
    is_subscription: bool = False
    window_share: float = 0.0
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    told: str = field(default="", compare=False)
    why: Mapping[RelPath, Why] = field(default_factory=lambda: MappingProxyType({}), compare=False)

    def with_notice(self, notice: str | None) -> Self:
        """The answer with one more notice, after those that it has."""
        return replace(self, notice=" ".join(filter(None, (self.notice, notice))) or None)


_MADE_BY_A_MODEL = frozenset({Mode.COMPANION, Mode.SINGLE_SHOT})


def may_be_kept(answer: Answer) -> bool:
    """Whether it is whole and all of it stands on something; a degraded answer is never kept."""
    is_whole = answer.stop is StopReason.ANSWERED and answer.grounding is Grounding.VERIFIED
    return is_whole and answer.mode in _MADE_BY_A_MODEL and bool(answer.recipe)


def repeats(
    earlier: tuple[Question, Answer],
    question: Question,
    *,
    recipe: str,
    found: Mapping[RelPath, ContentHash],
) -> bool:
    """Whether an earlier answer would be the answer again, as far as names and hashes can tell.

    The caller still compares every hash of its evidence with the disk. What an answer rests on is
    what it cites, what was read for it, and what was found for the question at the time. A file
    that is found now and was not found then is news: the question is asked anew.
    """
    asked, answer = earlier
    is_alike = (
        is_same(asked, question)
        and asked.budget.answer_tokens == question.budget.answer_tokens
        and answer.recipe == recipe
    )
    return (
        is_alike
        and may_be_kept(answer)
        and all(answer.evidence.get(path) == sha for path, sha in found.items())
    )


def is_same(asked: Question, question: Question) -> bool:
    """Whether two questions have the same words."""
    return _plain(asked.text) == _plain(question.text)


@lru_cache(maxsize=2_048)  # a question is compared with every one that was answered before
def _plain(text: str) -> str:
    """A question without what people type differently the second time."""
    return " ".join(text.rstrip(" ?.!").split())


# A default answer stays under this many characters; clients move longer tool
# results to a file. More is allowed only to a caller who asked for more tokens.
_MARKS = {
    CitationStatus.VERIFIED: "verified",
    CitationStatus.CORRECTED: "line corrected",
    CitationStatus.UNSUPPORTED: "not found there",
}


def render(answer: Answer) -> str:
    """One text block, which does nothing where it is shown."""
    parts = [f"({answer.notice})"] if answer.notice else []
    if answer.stop is not StopReason.ANSWERED:
        parts.append(f"(Partial: stopped by {answer.stop}.)")
    if answer.told:
        lines = answer.told.splitlines()
        parts.append("\n".join(["Told, not checked:", *(f"| {line}" for line in lines)]))
    parts.append(answer.text.rstrip())
    # Without a model the text is its places.
    if answer.citations and answer.mode is not Mode.EVIDENCE:
        cited = [f"- {citation} ({_MARKS[citation.status]})" for citation in answer.citations]
        parts.append("Sources:\n" + "\n".join(cited))
    parts.append(_metadata(answer))
    return visible(clean("\n\n".join(parts) + "\n"))


def _metadata(answer: Answer) -> str:
    good = sum(c.status is CitationStatus.VERIFIED for c in answer.citations)
    fields = [
        f"mode {answer.mode}",
        f"model {' '.join((answer.model or 'none').split())}",
        f"{answer.elapsed_s:.1f} s",
        f"grounding {answer.grounding}",
        f"verified {good}/{len(answer.citations)}",
        f"files {len(answer.evidence)}",
    ]
    usage = answer.usage
    if usage.tool_calls:
        fields.append(f"tool calls {usage.tool_calls}")
    if usage.model_calls:
        cached = round(100 * usage.cached_tokens / max(1, usage.input_tokens))
        fields.append(
            f"tokens {usage.input_tokens} in ({cached} % cached) {usage.output_tokens} out"
        )
        fields.append(_price(answer))
        fields.append(f"window {100 * answer.window_share:.0f} %")
    else:
        fields.append("free")
    return "[" + " · ".join(fields) + "]"


def _price(answer: Answer) -> str:
    if answer.is_subscription:
        return "subscription"
    return "price unknown" if answer.cost_usd is None else f"${answer.cost_usd:.4f}"
