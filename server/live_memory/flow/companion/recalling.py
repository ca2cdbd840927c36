"""Finds the facts that a question is about, and states those that still stand where they say."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import anyio.to_thread

from live_memory.core.asking.answer import (
    Answer,
    Citation,
    CitationStatus,
    Grounding,
    Mode,
    Question,
)
from live_memory.core.checking.citations import check
from live_memory.core.checking.shown import SourceFile
from live_memory.core.compacting.choosing import relevant
from live_memory.core.companion.prompt import KNOWN, known_of
from live_memory.core.evidence.question import terms_of
from live_memory.core.memory.ledger import Fact, Ledger
from live_memory.core.tokens import estimate
from live_memory.flow.workspace import Workspace

__all__ = ["pinned", "with_what_is_known"]

# Facts add to what was found; they never crowd it out.
_MOST, _TOKENS = 6, 400
# So many facts are gone through faster than a thread is found for it.
_FEW = 200


async def with_what_is_known(memory: Workspace, question: Question, evidence: Answer) -> Answer:
    """Evidence with the facts that say more than it does, within the answer's budget.

    The caller has compared what is known with the disk; each fact's lines are opened again here.
    """
    ledger, near = memory.window.ledger, [citation.path for citation in evidence.citations]
    if not ledger.facts:
        return evidence
    look = partial(relevant, ledger, terms_of(question.text), near, most=_MOST)
    facts = await _found(look, ledger, _TOKENS)
    if all(_is_said(fact, evidence.citations) for fact in facts):
        return evidence
    room = question.budget.answer_tokens - estimate(evidence.text)
    if room < _TOKENS:
        facts = await _found(look, ledger, room)
    new = [fact for fact in facts if not _is_said(fact, evidence.citations)]
    return await _stated(memory, new, evidence)


async def _found(
    look: Callable[..., tuple[Fact, ...]], ledger: Ledger, tokens: int
) -> tuple[Fact, ...]:
    work = partial(look, budget_tokens=tokens)
    return work() if len(ledger.facts) <= _FEW else await anyio.to_thread.run_sync(work)


async def pinned(memory: Workspace) -> str:
    """The facts that a person pinned, which stand in every prompt, where they still hold."""
    facts = [fact for fact in memory.window.ledger.facts if fact.is_pinned and not fact.is_stale]
    nothing = Answer("", Mode.EVIDENCE, Grounding.UNGROUNDED, ())
    return known_of((await _stated(memory, facts[-_MOST:], nothing)).text)


async def _stated(memory: Workspace, facts: Sequence[Fact], evidence: Answer) -> Answer:
    paths = list(dict.fromkeys(source.path for fact in facts for source in fact.sources))
    files = {seen.path: seen for seen in await memory.indexer.shelf.read(paths)}
    sources = {path: SourceFile(path, seen.lines) for path, seen in files.items()}
    lines, citations = "", list(evidence.citations)
    for fact in facts:
        if any(s.path not in files or files[s.path].sha != s.sha for s in fact.sources):
            continue
        places = ", ".join(f"{s.path}:{s.start}-{s.end}" for s in fact.sources)
        checked = check(f"- {fact.text} ({places})\n", sources)
        if checked.grounding is Grounding.VERIFIED:
            lines += checked.text
            citations += (c for c in checked.citations if c not in citations)
    if not lines:
        return evidence
    shas = {c.path: files[c.path].sha for c in citations if c.path in files}
    return replace(
        evidence,
        text=f"{evidence.text.rstrip()}{KNOWN}{lines}",
        citations=tuple(citations),
        evidence=MappingProxyType({**evidence.evidence, **shas}),
        grounding=evidence.grounding if evidence.citations else Grounding.VERIFIED,
    )


def _is_said(fact: Fact, citations: Sequence[Citation]) -> bool:
    """Whether the evidence shows all of the fact's lines already."""
    shown = [c for c in citations if c.status is CitationStatus.VERIFIED]
    return all(
        any(c.path == s.path and c.start <= s.start and s.end <= c.end for c in shown)
        for s in fact.sources
    )
