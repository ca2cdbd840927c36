"""The answer by a model: opened with what was found for the question, checked before it is given.

Whatever the model does, this ends with an answer: the model's, unless most of the places it names
do not hold, else the evidence, with one line that says why.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import anyio

from live_memory.core.asking.answer import CUT_OFF, Answer, Mode, Question, Usage
from live_memory.core.companion.prompt import (
    Tail,
    known_of,
    opening,
    stable,
)
from live_memory.core.companion.rendering import quoted
from live_memory.core.companion.talk import Talk
from live_memory.core.companion.tools import SPECS
from live_memory.core.errors import (
    Busy,
    LiveMemoryError,
    ModelLacksTools,
    ModelTimedOut,
    ModelUnavailable,
    PromptTooLong,
)
from live_memory.core.memory.coverage import missing
from live_memory.core.memory.window import Window, current_hashes, questions
from live_memory.core.reading.inert import inert
from live_memory.core.values import ContentHash, RelPath
from live_memory.flow.answer_from_evidence import head_start
from live_memory.flow.companion.consult import Draft, consult
from live_memory.flow.companion.recalling import pinned
from live_memory.flow.companion.single_shot import answer_once
from live_memory.flow.companion.toolbox import Seen, Toolbox
from live_memory.flow.companion.verify import Verified, verify
from live_memory.flow.evidence.desk import Desk
from live_memory.flow.models.lending import Companion
from live_memory.flow.models.metering import Meter
from live_memory.flow.progress import Progress
from live_memory.flow.workspace import LastOpening, Workspace

__all__ = ["Consultation", "without_companion"]

# The companion is told to conclude when this share of its time is left, at least so many seconds:
# a cheap model writes a default answer in five to ten.
_CONCLUDE_SHARE, _CONCLUDE_S = 0.2, 2.5
# Whole definitions of the best places, in tokens (benchmark/results/economics.md).
_LINES_TOKENS = 3_000
# Of a window that turned out to be smaller, what was found may take half: three characters a token.
_CHARACTERS = 3
# Reasoning models think before they write, and what they think counts as output.
_OUTPUT_ROOM = 2
_UNCITED = "It names no place in the files, so nothing of it could be checked."
_SUBSCRIPTION = (
    "This was answered through your Claude subscription; "
    "`live-memory config set provider=none` stops that."
)


class Consultation:
    """One question put to the companion."""

    def __init__(
        self,
        memory: Workspace,
        question: Question,
        *,
        companion: Companion,
        desk: Desk,
        evidence: Answer,
        recipe: str,
        deadline: float,
        progress: Progress,
    ) -> None:
        """`recipe` marks an answer that may be given again; empty for one that may not."""
        self._memory = memory
        self._question = question
        self._companion = companion
        self._desk = desk
        self._evidence = evidence
        self._recipe = recipe
        self._deadline = deadline
        self._progress = progress
        self._lines, self._pinned = "", ""
        self._meter = Meter(companion.model, companion.purse, companion.rest)
        self._tools = Toolbox(
            memory.indexer.shelf,
            memory.index,
            companion.clock,
            moment=lambda: memory.window.next_number,
        )

    async def answer(self) -> Answer:
        """The companion's answer where it can be given as fact, else the evidence and why."""
        await self._prepare()
        began_at = anyio.current_time()
        try:
            await self._progress("asking the companion")
            async with self._meter.conversation():
                mode, draft = await self._draft()
            await self._progress("checking citations")
            answer = await self._checked(mode, draft)
        except ModelUnavailable as problem:
            if isinstance(problem, ModelTimedOut):
                self._companion.rest.late(problem, began_at=began_at)
            answer = self._without_a_model(f"{str(problem).rstrip('.')} ({problem.error_class})")
        await self._keep_what_was_seen()
        meter = self._meter
        usage = Usage(
            meter.usage.input,
            meter.usage.cache_read,
            meter.usage.output,
            model_calls=meter.calls,
            tool_calls=self._tools.calls,
        )
        share = self._memory.held.of(self._memory.window).tokens / self._companion.window_tokens
        answer = replace(answer, usage=usage, cost_usd=meter.cost_usd, window_share=min(1.0, share))
        if meter.calls and meter.abilities.is_subscription:
            answer = replace(answer, is_subscription=True)
            if self._companion.purse.is_first_of_subscription():
                answer = answer.with_notice(_SUBSCRIPTION)
        return answer

    async def _prepare(self) -> None:
        """Look up what the question needs; without it the evidence text has to do."""
        memory = self._memory
        try:
            self._pinned = await pinned(memory)
            self._lines = await head_start(
                self._question,
                desk=self._desk,
                past=questions(memory.window),
                viewed=memory.viewed.of(memory.window),
                budget_tokens=_LINES_TOKENS,
            )
        except LiveMemoryError:
            return

    async def _draft(self) -> tuple[Mode, Draft]:
        if self._meter.abilities.has_tools:
            left_s = self._deadline - anyio.current_time()
            try:
                draft = await consult(
                    self._meter,
                    self._opening,
                    self._tools,
                    conclude_at=self._deadline - max(_CONCLUDE_S, _CONCLUDE_SHARE * left_s),
                    give_up_at=self._deadline,
                    answer_tokens=self._question.budget.answer_tokens * _OUTPUT_ROOM,
                    is_cold=not self._evidence.citations,
                    progress=self._progress,
                )
            except ModelLacksTools:
                await self._progress("asking again, without tools")
            else:
                return Mode.COMPANION, draft
        return Mode.SINGLE_SHOT, await self._draft_in_one()

    def _opening(self, limit_tokens: int | None) -> Talk:
        told = f"{self._pinned}\n{known_of(self._evidence.text)}"
        known = dict.fromkeys(line for line in told.splitlines() if line)
        found = self._lines or quoted(self._evidence.text)
        if limit_tokens is not None:
            found = found[: limit_tokens * _CHARACTERS // 2].rpartition("\n")[0]
        tail = Tail(
            "\n".join(known),
            found,
            seconds_left=int(self._deadline - anyio.current_time()),
            answer_tokens=self._question.budget.answer_tokens,
        )
        talk = Talk(stable(), (opening(self._question, tail),))
        request = talk.request(SPECS, max_output_tokens=1)
        self._memory.last_opening = LastOpening(request, anyio.current_time())
        return talk

    async def _draft_in_one(self) -> Draft:
        ask = self._meter, self._question
        try:
            return await answer_once(*ask, self._evidence, give_up_at=self._deadline)
        except PromptTooLong:
            half = self._evidence.text[: len(self._evidence.text) // 2]
            shorter = replace(self._evidence, text=half)
            return await answer_once(*ask, shorter, give_up_at=self._deadline)

    async def _checked(self, mode: Mode, draft: Draft) -> Answer:
        seen = [each.event.path for each in self._tools.seen]
        verified = await verify(
            draft.text,
            desk=self._desk,
            opened=dict.fromkeys([*seen, *self._desk.files]),
            listed=self._memory.indexer.signatures,
        )
        if verified.problem is not None:
            return self._without_a_model(verified.problem)
        is_cited = bool(verified.checked.citations)
        said = [CUT_OFF] if draft.is_clipped else []
        if not is_cited:
            found = self._evidence.text.partition("\n")[0]
            said += [_UNCITED, f"Found without it: {found}"] if found else [_UNCITED]
        return Answer(
            text=inert(verified.checked.text),
            mode=mode,
            grounding=verified.checked.grounding,
            citations=verified.checked.citations,
            stop=draft.stop,
            model=draft.model,
            notice=" ".join(filter(None, (*said, self._evidence.notice))) or None,
            evidence=self._rests_on(verified),
            recipe="" if said else self._recipe,
        )

    def _rests_on(self, verified: Verified) -> Mapping[RelPath, ContentHash]:
        """What the answer cites, what was found for the question, and what its tools read."""
        read = {seen.event.path: seen.event.sha for seen in self._tools.seen}
        return MappingProxyType({**self._evidence.evidence, **read, **verified.evidence})

    def _without_a_model(self, why: str) -> Answer:
        return without_companion(self._evidence, why)

    async def _keep_what_was_seen(self) -> None:
        """Put what the tools showed into the window, unless it is there, or other bytes are."""
        memory = self._memory
        for seen in self._tools.seen:
            event = seen.event
            known = memory.in_view.of(memory.window).get(event.path)
            spans = known.spans if known is not None and known.sha == event.sha else ()
            if not missing([(event.start, event.end)], spans) or self._is_overtaken(seen):
                continue
            try:
                await memory.record(event)
            except Busy:
                return

    def _is_overtaken(self, seen: Seen) -> bool:
        """Whether other bytes of the file were noticed after the tool read it."""
        entries = (entry for entry in self._memory.window.entries if entry.number >= seen.since)
        later = Window(entries=tuple(entries))
        return current_hashes(later).get(seen.event.path, seen.event.sha) != seen.event.sha


def without_companion(evidence: Answer, why: str) -> Answer:
    """What was found, with the reason why no model answered before its other notices."""
    notice = f"Answered from evidence, without the companion: {why}."
    return replace(evidence, notice=notice).with_notice(evidence.notice)
