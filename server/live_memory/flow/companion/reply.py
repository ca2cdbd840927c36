"""The answer by a model: opened with window and evidence, checked before it is given.

Whatever the model does, this ends with an answer: the model's, where its first claim stands on
something, else the evidence, with one line that says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio

from live_memory.core.asking.answer import Answer, Mode, Question, Usage
from live_memory.core.companion.prompt import Tail, opening, stable, window_tokens
from live_memory.core.companion.talk import Talk
from live_memory.core.companion.tools import SPECS
from live_memory.core.errors import Busy, ModelLacksTools, ModelUnavailable, PromptTooLong
from live_memory.core.memory.events import FileObserved
from live_memory.core.values import RelPath, TokenCount
from live_memory.flow.companion.consult import Draft, consult
from live_memory.flow.companion.metering import Meter, Purse
from live_memory.flow.companion.single_shot import answer_once
from live_memory.flow.companion.toolbox import Toolbox
from live_memory.flow.companion.verify import verify
from live_memory.flow.progress import Progress
from live_memory.flow.workspace import LastOpening, Workspace
from live_memory.ports import Clock, LanguageModel

__all__ = ["Companion", "Consultation"]

# The companion is told to conclude when this share of its time is left, at least so many seconds:
# a cheap model writes a default answer in five to ten.
_CONCLUDE_SHARE, _CONCLUDE_S = 0.2, 2.5
# Reasoning models think before they write, and what they think counts as output.
_OUTPUT_ROOM = 2
_SUBSCRIPTION = (
    "This was answered through your Claude subscription; "
    "`live-memory config set provider=none` stops that."
)


@dataclass(frozen=True, slots=True)
class Companion:
    """The model that answers, the purse that pays, and how large its window may be."""

    model: LanguageModel
    purse: Purse
    clock: Clock
    max_context_tokens: int
    max_file_bytes: int


class Consultation:
    """One question put to the companion."""

    def __init__(
        self,
        memory: Workspace,
        question: Question,
        *,
        companion: Companion,
        evidence: Answer,
        changed: Sequence[RelPath],
        deadline: float,
        progress: Progress,
    ) -> None:
        self._memory = memory
        self._question = question
        self._companion = companion
        self._evidence = evidence
        self._changed = tuple(path.text for path in changed)
        self._deadline = deadline
        self._progress = progress
        self._meter = Meter(companion.model, companion.purse)
        self._tools = Toolbox(
            memory.sandbox,
            memory.index,
            companion.clock,
            redactor=memory.redactor,
            max_file_bytes=companion.max_file_bytes,
        )

    async def answer(self) -> Answer:
        """The companion's answer where it can be given as fact, else the evidence and why."""
        try:
            await self._progress("asking the companion")
            async with self._meter.conversation():
                mode, draft = await self._draft()
            await self._progress("checking citations")
            answer = await self._checked(mode, draft)
        except ModelUnavailable as problem:
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
        share = window_tokens(self._memory.window) / self._budget()
        answer = replace(answer, usage=usage, cost_usd=meter.cost_usd, window_share=min(1.0, share))
        if meter.calls and meter.abilities.is_subscription:
            answer = replace(answer, is_subscription=True)
            if self._companion.purse.is_first_of_subscription():
                answer = replace(answer, notice=f"{answer.notice or ''} {_SUBSCRIPTION}".strip())
        return answer

    def _budget(self) -> int:
        """Tokens of memory that fit, in tokens as we estimate them."""
        abilities = self._meter.abilities
        most = min(self._companion.max_context_tokens, abilities.context_tokens)
        one = self._companion.purse.calibration.applied(abilities.model, TokenCount(1_000)) / 1_000
        return int(most / one)

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
        budget = self._budget()
        if limit_tokens is not None:
            budget = min(budget, limit_tokens) // 2
        tail = Tail(
            self._evidence.text,
            self._changed,
            seconds_left=int(self._deadline - anyio.current_time()),
            answer_tokens=self._question.budget.answer_tokens,
        )
        window = self._memory.window
        turn = opening(window, self._question, tail, budget_tokens=budget)
        talk = Talk(stable(self._memory.tree(budget_tokens=budget)), (turn,))
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
        verified = await verify(
            draft.text,
            sandbox=self._memory.sandbox,
            redactor=self._memory.redactor,
            max_file_bytes=self._companion.max_file_bytes,
        )
        if not verified.is_fact:
            return self._without_a_model("the files it named do not support what it said first")
        return Answer(
            text=verified.checked.text,
            mode=mode,
            grounding=verified.checked.grounding,
            citations=verified.checked.citations,
            stop=draft.stop,
            model=draft.model,
            notice="The reply was cut off before its end." if draft.is_clipped else None,
            evidence=verified.evidence,
        )

    def _without_a_model(self, why: str) -> Answer:
        notice = f"Answered from evidence, without the companion: {why}."
        return replace(self._evidence, notice=notice)

    async def _keep_what_was_seen(self) -> None:
        """Put what the tools showed into the window, unless it is there already."""
        entries = self._memory.window.entries
        in_view = [e.content for e in entries if isinstance(e.content, FileObserved)]
        for seen in self._tools.seen:
            if any(_covers(known, seen) for known in in_view):
                continue
            in_view.append(seen)
            try:
                await self._memory.record(seen)
            except Busy:
                return


def _covers(known: FileObserved, seen: FileObserved) -> bool:
    same = known.path == seen.path and known.sha == seen.sha and known.text is not None
    return same and known.start <= seen.start and known.end >= seen.end
