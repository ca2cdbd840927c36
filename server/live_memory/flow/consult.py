"""The companion's loop: the model answers, or calls read-only tools and is asked again.

It ends with a draft, or with what there is of one when steps or time run out.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import anyio
import anyio.to_thread

from live_memory.core.answer import (
    CUT_OFF,
    Answer,
    CitationStatus,
    Mode,
    Question,
    StopReason,
    TimeBudget,
    Usage,
    repeats,
)
from live_memory.core.checking.citations import CheckedText, check, named_paths
from live_memory.core.checking.claim_check import SourceFile
from live_memory.core.checking.claims import cites
from live_memory.core.companion.chat import (
    Block,
    Conversation,
    ModelReply,
    ModelRequest,
    ReplyStop,
    UserTurn,
)
from live_memory.core.companion.prompt import (
    PromptTail,
    known_of,
    one_line,
    opening,
    quoted,
    single_instructions,
    stable,
    told_part,
)
from live_memory.core.companion.tools import SPECS
from live_memory.core.errors import (
    Busy,
    LiveMemoryError,
    ModelLacksTools,
    ModelTimedOut,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
)
from live_memory.core.evidence.places import RankedFileText
from live_memory.core.memory.learning import missing
from live_memory.core.memory.window import Window, current_hashes, questions
from live_memory.core.reading.observation import FileRead, inert
from live_memory.core.values import ContentHash, RelPath
from live_memory.flow.answer_from_evidence import head_start
from live_memory.flow.jobs import Progress
from live_memory.flow.model_slot import Companion, Meter
from live_memory.flow.reader import QuestionFiles
from live_memory.flow.recall import pinned
from live_memory.flow.toolbox import Seen, Toolbox
from live_memory.flow.workspace import SentPrompt, Workspace
from live_memory.ports import LanguageModel

__all__ = [
    "AnswerDraft",
    "Consultation",
    "OpenQuestion",
    "ReadNotes",
    "consult",
    "kept_answer",
    "without_companion",
]

# Replies that may call tools, so that no model goes on for ever.
_STEPS = 8
_LOOK_FIRST = (
    "Nothing that supports an answer is in view. Look with your tools before you answer, "
    "or say that it is not in this workspace and what you looked for."
)
_CONCLUDE = "Answer now with what you have, without further tool calls. Say what is missing."
# What is told of a tool that a model calls, whether there is such a one or not.
_LONGEST_NAME = 40
# What a cut reply must hold to be worth showing: about two sentences.
_WORTH_SHOWING = 160


@dataclass(frozen=True, slots=True)
class AnswerDraft:
    """The companion's words before their citations are checked."""

    text: str
    stop: StopReason
    model: str
    is_clipped: bool = False


async def consult(
    model: LanguageModel,
    opening: Callable[[int | None], Conversation],
    tools: Toolbox,
    *,
    conclude_at: float,
    give_up_at: float,
    answer_tokens: int,
    is_cold: bool,
    progress: Progress,
) -> AnswerDraft:
    """Talk until there is an answer.

    `opening` makes the first turn for a window of so many tokens, or for the model's own.

    Raises:
        ModelUnavailable: there is no answer, and why.
    """
    loop = _Loop(opening(None), model, tools, answer_tokens, is_cold, progress)
    with anyio.move_on_at(conclude_at):
        try:
            return await loop.until_answered()
        except PromptTooLong as problem:
            loop.talk = opening(problem.limit_tokens or model.abilities.context_tokens // 2)
            return await loop.until_answered()
    return await loop.concluded(StopReason.DEADLINE, give_up_at=give_up_at)


@dataclass(slots=True)
class _Loop:
    """The talk as it grows; it outlives a cancelled step, so that a conclusion can build on it."""

    talk: Conversation
    model: LanguageModel
    tools: Toolbox
    answer_tokens: int
    is_cold: bool
    progress: Progress
    partial: str = ""

    async def until_answered(self) -> AnswerDraft:
        while self.talk.replies < _STEPS:
            reply = await self._next()
            calls = reply.turn.tool_calls
            if calls:
                names = sorted({one_line(call.name)[:_LONGEST_NAME] for call in calls})
                await self.progress(f"reading: {', '.join(names[:_STEPS])}")
                results = await self.tools.run(calls)
                self.talk = self.talk.heard(reply).saw(results)
            elif self._is_unfounded(reply):
                self.is_cold = False
                self.talk = self.talk.heard(reply).told(_LOOK_FIRST)
            else:
                return self._draft(reply, StopReason.ANSWERED)
        return await self.concluded(StopReason.STEPS, give_up_at=anyio.current_effective_deadline())

    async def concluded(self, why: StopReason, *, give_up_at: float) -> AnswerDraft:
        partial = self.partial
        self.talk = self.talk.told(_CONCLUDE)
        with anyio.move_on_at(give_up_at):
            reply = await self._next()
            if reply.turn.text.strip():
                return self._draft(reply, why)
        partial = max(partial, self.partial, key=len).strip()
        if len(partial) < _WORTH_SHOWING:
            raise ModelTimedOut("the model did not answer before the deadline")
        return AnswerDraft(partial, why, self.model.abilities.model, is_clipped=True)

    async def _next(self) -> ModelReply:
        self.partial = ""
        request = self.talk.request(SPECS, max_output_tokens=self.answer_tokens)
        reply = await self.model.complete(request, heard=self._hear)
        if reply.stop is ReplyStop.REFUSED:
            raise ModelUnavailable("the model declined to answer")
        if reply.stop is ReplyStop.CUT:
            raise ModelUnreachable("the model's reply was cut off")
        if not reply.turn.text.strip() and not reply.turn.tool_calls:
            raise ModelUnreachable("the model's reply was empty")
        return reply

    def _hear(self, text: str) -> None:
        self.partial += text

    def _is_unfounded(self, reply: ModelReply) -> bool:
        return self.is_cold and not self.tools.calls and not cites(reply.turn.text)

    def _draft(self, reply: ModelReply, stop: StopReason) -> AnswerDraft:
        return AnswerDraft(
            reply.turn.text, stop, reply.model, is_clipped=reply.stop is ReplyStop.LENGTH
        )


_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


async def answer_once(
    model: LanguageModel, question: Question, evidence: Answer, *, told: str = "", give_up_at: float
) -> AnswerDraft:
    """Ask once, before `give_up_at`.

    A small model phrases well and finds badly (measured: 4 of 4 questions with the evidence in
    view, 0 of 5 with free tools). So the index finds, the model phrases without tools, in a fixed
    shape where that is enforced, and the check keeps it honest.

    Raises:
        ModelUnavailable: there is no answer, and why.
    """
    sources = "".join(f"{citation}\n" for citation in evidence.citations)
    asked = (
        f"{told_part(told)}=== evidence\n{quoted(evidence.text)}=== places\n{quoted(sources)}"
        f"=== question\n{quoted(question.text)}"
    )
    request = ModelRequest(
        system=(Block(single_instructions(), is_cache_end=True),),
        messages=(UserTurn((Block(asked),)),),
        max_output_tokens=question.budget.answer_tokens,
        reply_schema=_SCHEMA if model.abilities.enforces_schema else None,
    )
    with anyio.move_on_at(give_up_at):
        reply = await model.complete(request)
        is_clipped = reply.stop is ReplyStop.LENGTH
        return AnswerDraft(_text(reply), StopReason.ANSWERED, reply.model, is_clipped=is_clipped)
    raise ModelTimedOut("the model did not answer before the deadline")


def _text(reply: ModelReply) -> str:
    """The reply's answer; a model that ignores the shape is taken at its word."""
    text = reply.turn.text.strip()
    if not text or reply.stop in (ReplyStop.CUT, ReplyStop.REFUSED):
        raise ModelUnreachable("the model gave no usable reply")
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    answer = value.get("answer") if isinstance(value, dict) else None
    return answer if isinstance(answer, str) and answer.strip() else text


# A model that cites more files than this lists a folder; the rest are marked as unsupported.
_MOST_FILES = 40
# So many, for a text of so many characters, are looked through in some milliseconds, faster than
# a busy pool gives a thread.
_FEW_LINES, _SHORT = 500, 4_000
# So many places are named where an answer is not given for them.
_MOST_NAMED = 3


class Verified:
    """A checked draft with the files it rests on."""

    def __init__(self, checked: CheckedText, files: Mapping[RelPath, RankedFileText]) -> None:
        self.checked = checked
        cited = {c.path for c in checked.citations if c.path in files}
        self.evidence = MappingProxyType({path: files[path].sha for path in files if path in cited})

    @property
    def problem(self) -> str | None:
        """Why the draft may not be given, if so: most of the places it names do not hold."""
        citations = self.checked.citations
        if not citations:
            return None  # nothing to hold it to: it is given as ungrounded, and that is said
        bad = [c for c in citations if c.status is CitationStatus.UNSUPPORTED]
        if 2 * len(bad) <= len(citations):
            return None
        named = ", ".join(f"{c.path} line {c.start}" for c in bad[:_MOST_NAMED])
        more = f" and {len(bad) - _MOST_NAMED} more" if len(bad) > _MOST_NAMED else ""
        return f"most places it named do not hold what it said of them ({named}{more})"


async def verify(
    text: str, *, desk: QuestionFiles, opened: Collection[RelPath], listed: Collection[RelPath]
) -> Verified:
    """Check a draft against the bytes that are there now.

    A file may be named in short where it was `opened` for the question, or is the only one
    `listed` with that name.
    """
    named = partial(named_paths, text, opened=opened, listed=listed)
    is_short = len(text) <= _SHORT
    paths = named() if is_short else await anyio.to_thread.run_sync(named)
    files = await desk.current(paths[:_MOST_FILES])
    sources = {path: SourceFile(path, f.lines, f.outline) for path, f in files.items()}
    if is_short and sum(len(source.lines) for source in sources.values()) <= _FEW_LINES:
        return Verified(check(text, sources), files)
    return Verified(await anyio.to_thread.run_sync(check, text, sources), files)


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


@dataclass(slots=True)
class OpenQuestion:
    """The state of one question while it is answered: only the question itself writes to it.

    `based_on` is the window's revision when it came in. The workspace takes over what was `sent`
    together with the answer, as several questions may be open at once.
    """

    memory: Workspace
    question: Question
    time: TimeBudget
    progress: Progress
    based_on: int
    sent: SentPrompt | None = None


@dataclass(frozen=True, slots=True)
class ReadNotes:
    """What a model reads of notes beside the evidence: a line for each, and their ids."""

    told: str = ""
    ids: tuple[str, ...] = ()


class Consultation:
    """One question put to the companion.

    Whatever the model does, this ends with an answer: the model's, unless most of the places it
    names do not hold, else the evidence, with one line that says why.
    """

    def __init__(
        self,
        asked: OpenQuestion,
        companion: Companion,
        *,
        desk: QuestionFiles,
        evidence: Answer,
        recipe: str,
    ) -> None:
        """`recipe` marks an answer that may be given again; empty for one that may not."""
        memory = self._memory = asked.memory
        self._asked, self._question = asked, asked.question
        self._deadline, self._progress = asked.time.deadline, asked.progress
        self._companion = companion
        self._desk = desk
        self._evidence = evidence
        self._recipe = recipe
        self._notes = ReadNotes()
        self._lines, self._pinned = "", ""
        self._meter = Meter(companion.model, companion.purse, companion.rest)
        self._tools = Toolbox(
            memory.indexer.shelf,
            memory.index,
            companion.clock,
            moment=lambda: memory.window.next_number,
        )

    async def answer(self, notes: ReadNotes) -> Answer:
        """The companion's answer where it can be given as fact, else the evidence and why."""
        self._notes = notes
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
            answer = without_companion(
                self._evidence, f"{str(problem).rstrip('.')} ({problem.error_class})"
            )
        await self._keep_what_was_seen()
        meter = self._meter
        usage = Usage(
            meter.usage.input,
            meter.usage.cache_read,
            meter.usage.output,
            model_calls=meter.calls,
            tool_calls=self._tools.calls,
        )
        share = self._memory.views.tokens / self._companion.window_tokens
        answer = replace(answer, usage=usage, cost_usd=meter.cost_usd, window_share=min(1.0, share))
        if meter.calls and meter.abilities.is_subscription:
            answer = replace(answer, is_subscription=True)
            if self._companion.purse.take_subscription_notice():
                answer = answer.with_notice(_SUBSCRIPTION)
        return answer

    async def _prepare(self) -> None:
        """Look up what the question needs; without it the evidence text has to do."""
        memory = self._memory
        try:
            self._pinned = await pinned(memory, self._desk)
            self._lines = await head_start(
                self._question,
                desk=self._desk,
                past=questions(memory.window),
                viewed=memory.views.viewed,
                budget_tokens=_LINES_TOKENS,
            )
        except LiveMemoryError:
            return

    async def _draft(self) -> tuple[Mode, AnswerDraft]:
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

    def _opening(self, limit_tokens: int | None) -> Conversation:
        told = f"{self._pinned}\n{known_of(self._evidence.text)}"
        known = dict.fromkeys(line for line in told.splitlines() if line)
        found = self._lines or quoted(self._evidence.text)
        if limit_tokens is not None:
            found = found[: limit_tokens * _CHARACTERS // 2].rpartition("\n")[0]
        tail = PromptTail(
            "\n".join(known),
            found,
            seconds_left=int(self._deadline - anyio.current_time()),
            answer_tokens=self._question.budget.answer_tokens,
            told=self._notes.told,
        )
        talk = Conversation(stable(), (opening(self._question, tail),))
        request = talk.request(SPECS, max_output_tokens=1)
        self._asked.sent = SentPrompt(request, anyio.current_time())
        return talk

    async def _draft_in_one(self) -> AnswerDraft:
        ask = partial(
            answer_once,
            self._meter,
            self._question,
            told=self._notes.told,
            give_up_at=self._deadline,
        )
        try:
            return await ask(self._evidence)
        except PromptTooLong:
            half = self._evidence.text[: len(self._evidence.text) // 2]
            shorter = replace(self._evidence, text=half)
            return await ask(shorter)

    async def _checked(self, mode: Mode, draft: AnswerDraft) -> Answer:
        seen = [each.event.path for each in self._tools.seen]
        verified = await verify(
            draft.text,
            desk=self._desk,
            opened=dict.fromkeys([*seen, *self._desk.files]),
            listed=self._memory.indexer.signatures,
        )
        if verified.problem is not None:
            return without_companion(self._evidence, verified.problem)
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
            notes=self._notes.ids,
        )

    def _rests_on(self, verified: Verified) -> Mapping[RelPath, ContentHash]:
        """What the answer cites, what was found for the question, and what its tools read."""
        read = {seen.event.path: seen.event.sha for seen in self._tools.seen}
        return MappingProxyType({**self._evidence.evidence, **read, **verified.evidence})

    async def _keep_what_was_seen(self) -> None:
        """Put what the tools showed into the window, unless it is there, or other bytes are."""
        memory = self._memory
        for seen in self._tools.seen:
            event = seen.event
            known = memory.views.in_view.get(event.path)
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


_NOTICE = "Asked before; every source was opened again and is unchanged. No model was called."


async def kept_answer(
    memory: Workspace,
    question: Question,
    *,
    recipe: str,
    evidence: Answer,
    counts: Callable[[str], bool],
) -> Answer | None:
    """The newest earlier answer that would be the answer again, or nothing.

    `evidence` is what is found for the question now; `counts` says of the id of a note whether it
    still does: what a model made of one that was withdrawn is not given again.
    """
    for asked in reversed(questions(memory.window)):
        earlier = asked.question, asked.answer
        if all(map(counts, asked.answer.notes)) and repeats(
            earlier, question, recipe=recipe, found=evidence.evidence
        ):
            if not await _is_unchanged(memory, asked.answer):
                return None
            return replace(
                asked.answer,
                mode=Mode.CACHED,
                usage=Usage(),
                cost_usd=0.0,
                notice=_NOTICE,
            )
    return None


async def _is_unchanged(memory: Workspace, answer: Answer) -> bool:
    """Open everything the answer rests on and compare."""
    names = [path.text for path in answer.evidence]
    reads = await memory.sandbox.read(names, max_bytes=0)
    now = [read.sha if isinstance(read, FileRead) else None for read in reads]
    return now == list(answer.evidence.values())
