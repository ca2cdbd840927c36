"""States what is known for a question: facts whose lines still stand, opened again.

Where what an agent found out answers the question, it leads, and no model is asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import anyio.to_thread

from live_memory.core.answer import Answer, CitationStatus, Grounding, Question, is_same
from live_memory.core.companion.prompt import KNOWN
from live_memory.core.evidence.packet import room_of
from live_memory.core.evidence.places import RankedFileText
from live_memory.core.findings.relevance import LEADS, SETTLES, SURE, RecalledFacts, recalled
from live_memory.core.findings.standing import (
    StandingFact,
    about_the_same,
    established,
    standing_facts,
)
from live_memory.core.memory.ledger import Fact
from live_memory.core.memory.window import questions
from live_memory.core.tokens import estimate
from live_memory.core.values import Author, RelPath
from live_memory.flow.answer_from_evidence import MOST_FILES, answer_from_evidence
from live_memory.flow.find_evidence import terms_here
from live_memory.flow.reader import QuestionFiles
from live_memory.flow.workspace import Workspace

__all__ = ["KnownAnswer", "pinned", "with_what_is_known"]

# Facts add to what was found; they never crowd it out.
_MOST, _TOKENS = 6, 400
# So many facts are gone through faster than a thread is found for it.
_FEW = 200
# So many lines of files, too.
_FEW_LINES = 500
# Of an answer, what evidence takes behind a lead that surely answers, and the fewest tokens that
# it is worth showing in.
_BEHIND, _LEAST_TOKENS = 0.4, 256
_BESIDES = "The index finds, besides:"
# Characters of a lead that may be about something else.
_DOUBTFUL = 2_400
# So many questions back one is asked again because its answer was not enough.
_LATELY = 10


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """Evidence with what is known; `settles` where an agent found out before what is asked."""

    answer: Answer
    settles: bool = False


async def with_what_is_known(
    memory: Workspace,
    question: Question,
    evidence: Answer,
    desk: QuestionFiles,
    edited: frozenset[RelPath],
    *,
    has_model: bool,
) -> KnownAnswer:
    """Evidence opened by what answers the question, or closed by what may help.

    The caller has compared what is known with the disk; each fact's lines are opened again here.
    What the model that can be asked said itself does not lead.
    """
    ledger = memory.window.ledger
    if not ledger.facts:
        return KnownAnswer(evidence)
    terms = replace(await terms_here(question.text, desk), edited=edited)
    candidates = (await desk.look_up(terms, limit=MOST_FILES)).candidates
    work = partial(recalled, ledger, terms, candidates)
    found = work() if len(ledger.facts) <= _FEW else await anyio.to_thread.run_sync(work)
    files = await desk.current(
        dict.fromkeys(s.path for each in found for fact in each.facts for s in fact.sources)
    )
    most = question.budget.answer_tokens
    leading = [each for each in found if _leads(each, has_model=has_model)]
    if not leading or (has_model and _is_asked_again(memory, question)):
        return KnownAnswer(await _closed(evidence, found, files, most=most))
    standing = [(each, await _standing(each.facts, files)) for each in leading]
    best, told = next((pair for pair in standing if pair[1]), standing[0])
    # What was said of the same lines another time may say otherwise: both, the newer first.
    blocks = [(best, told)]
    for each, facts in standing:
        same = about_the_same(facts, told) if each is not best else ()
        if same:
            blocks.append((each.only([fact.fact for fact in same]), same))
    blocks.sort(key=lambda pair: -pair[0].facts[0].learned_at)
    is_sure = best.score >= SURE
    room = (room_of(most) if is_sure else _DOUBTFUL) // len(blocks)
    lead = "\n\n".join(
        established(each, facts, files, question.asked_at, room=room) for each, facts in blocks
    )
    settles = 2 * len(told) >= len(best.facts)
    told = [fact for _, facts in blocks for fact in facts]
    left = most - estimate(lead)
    if told and is_sure:
        left = min(left, int(_BEHIND * most))
    if estimate(evidence.text) > left >= _LEAST_TOKENS:
        budget = replace(question.budget, answer_tokens=left)
        evidence = await answer_from_evidence(
            replace(question, budget=budget), desk=desk, edited=edited
        )
    is_nothing = is_sure and bool(told) and evidence.grounding is Grounding.UNGROUNDED
    is_beside = left < _LEAST_TOKENS or is_nothing
    opened = _with(
        told, evidence, files, text=lead if is_beside else f"{lead}\n\n{_BESIDES}\n{evidence.text}"
    )
    opened = replace(opened, facts=tuple(each.fact.id for each in told))
    return KnownAnswer(opened, settles)


def _leads(found: RecalledFacts, *, has_model: bool) -> bool:
    """Whether a text answers; where there is a model, better than it does, which may mean another
    thing by much the same words than when it was asked before.
    """
    first = found.facts[0]
    if has_model and first.author is Author.COMPANION:
        return False
    return bool(first.conclusion) and found.score >= (SETTLES if has_model else LEADS)


def _is_asked_again(memory: Workspace, question: Question) -> bool:
    """Whether a finding answered these words a moment ago, and was not enough."""
    lately = questions(memory.window)[-_LATELY:]
    return any(each.answer.facts and is_same(each.question, question) for each in lately)


async def pinned(memory: Workspace, desk: QuestionFiles) -> str:
    """The facts that a person pinned, which stand in every prompt, where they still hold."""
    facts = [fact for fact in memory.window.ledger.facts if fact.is_pinned][-_MOST:]
    files = await desk.current(dict.fromkeys(s.path for fact in facts for s in fact.sources))
    return "".join(f"- {each.text}\n" for each in await _standing(facts, files))


async def _standing(
    facts: Sequence[Fact], files: Mapping[RelPath, RankedFileText]
) -> Sequence[StandingFact]:
    """Those that stand; lines are looked through in a thread where they are many."""
    work = partial(standing_facts, facts, files)
    is_little = sum(len(file.lines) for file in files.values()) <= _FEW_LINES
    return work() if is_little else await anyio.to_thread.run_sync(work)


async def _closed(
    evidence: Answer,
    found: Sequence[RecalledFacts],
    files: Mapping[RelPath, RankedFileText],
    *,
    most: int,
) -> Answer:
    """Evidence, and behind it the facts that say more than it does and fit its budget."""
    fits = {fact.id: fit for each in found for fact, fit in zip(each.facts, each.fits, strict=True)}
    facts = sorted((f for each in found for f in each.facts), key=lambda fact: -fits[fact.id])
    standing = await _standing(facts, files)
    new = [each for each in standing if not _is_said(each, evidence)][:_MOST]
    room = min(_TOKENS, most - estimate(evidence.text))
    told: list[StandingFact] = []
    for each in new:
        room -= estimate(each.text)
        if room >= 0:
            told.append(each)
    if not told:
        return evidence
    lines = "".join(f"- {each.text}\n" for each in told)
    return _with(told, evidence, files, text=f"{evidence.text.rstrip()}{KNOWN}{lines}")


def _is_said(fact: StandingFact, evidence: Answer) -> bool:
    """Whether the evidence shows all of the fact's lines already."""
    shown = [c for c in evidence.citations if c.status is CitationStatus.VERIFIED]
    return all(
        any(c.path == p.path and c.start <= p.start and p.end <= c.end for c in shown)
        for p in fact.places
    )


def _with(
    told: Sequence[StandingFact],
    evidence: Answer,
    files: Mapping[RelPath, RankedFileText],
    *,
    text: str,
) -> Answer:
    """An answer that states facts beside evidence."""
    places = dict.fromkeys(c for each in told for c in each.citations)
    shas = {citation.path: files[citation.path].sha for citation in places}
    return replace(
        evidence,
        text=text,
        citations=tuple(dict.fromkeys((*places, *evidence.citations))),
        evidence=MappingProxyType({**evidence.evidence, **shas}),
        grounding=Grounding.VERIFIED if told and not evidence.citations else evidence.grounding,
    )
