"""What happens to a question: read this first.

    one revision of the window -> view and index equal to disk -> evidence -> the companion, where
    there is one -> answer with checked citations -> one event back to the workspace

Whatever goes wrong on the way, the caller gets something true before the deadline.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import anyio

from live_memory.core.answer import Answer, Grounding, Mode, Question, StopReason, TimeBudget
from live_memory.core.companion.prompt import recipe
from live_memory.core.errors import Busy, Exhausted, LiveMemoryError
from live_memory.core.evidence.question import asks_nothing
from live_memory.core.hosts.notices import LONGEST_CONCLUSION, LONGEST_TASK, Conclusion
from live_memory.core.memory.learning import edited_lately
from live_memory.core.memory.window import QuestionAnswered
from live_memory.core.notes.recollection import Space
from live_memory.core.reading.redaction import Redactor
from live_memory.core.values import Author, RelPath
from live_memory.flow.answer_from_evidence import answer_from_evidence
from live_memory.flow.consult import (
    Consultation,
    OpenQuestion,
    ReadNotes,
    kept_answer,
    without_companion,
)
from live_memory.flow.indexing import FirstLook, IndexState, first_look
from live_memory.flow.jobs import Progress
from live_memory.flow.model_slot import Companion
from live_memory.flow.notes_beside import Noted, NotesBeside
from live_memory.flow.recall import KnownAnswer, with_what_is_known
from live_memory.flow.workspace import Workspace

__all__ = ["ask", "tell_how_far"]

# What stalls is cut off so long after the deadline; by then whoever asks has given up.
_LATE_S = 1.0
# What hooks announced is learned within milliseconds; a flood of it is not waited for.
_TO_LEARN_S = 1.0
# Most questions are answered sooner, and each line that tells how far one is costs a packet.
_A_MOMENT_S = 0.1
_BUSY = "other questions kept it busy until there was no time left to ask it (limit)"
_NO_LOOK = "There was no time to look: the disk did not answer before the deadline."
_NO_TIME = "the disk took the time that there was to ask it (timeout)"
_FOUND_OUT = "This was found out before, so no model was called; asking the same again calls one."
_HOW_TO_ASK = (
    "This asks nothing about the code yet. Ask in a sentence and name what you know, as in "
    "`where is the port configured?`, `who calls save?` or `how is this project tested?`."
)


async def _nothing_noted() -> Sequence[Space]:
    return ()


async def ask(
    memory: Workspace,
    question: Question,
    *,
    companion: Companion | None,
    progress: Progress,
    asked_at: float | None = None,
    noted: Noted = _nothing_noted,
) -> Answer:
    """Answer with what is true now, and remember the answer.

    Its deadline counts from `asked_at` on the loop's clock, which is now if it did not wait.
    Beside it stands what of the spaces that are `noted` speaks of the same.

    What asks nothing is told how to ask, and is not remembered.

    Raises:
        Busy: too many questions wait for this workspace already.
    """
    if asks_nothing(question.text):
        return _nothing(_HOW_TO_ASK)
    started = anyio.current_time() if asked_at is None else asked_at
    time = TimeBudget(started, question.budget.timeout_s)
    revision = memory.window.revision
    question = replace(question, text=memory.reader.redacted(question.text))
    asked = OpenQuestion(memory, question, time, progress, based_on=revision)
    answer, told = replace(_nothing(_NO_LOOK), stop=StopReason.DEADLINE), ""
    notes = NotesBeside(memory, question, _edited(asked, companion), noted)
    with anyio.move_on_at(time.deadline + _LATE_S) as late:
        async with memory.turns.turn(give_up_at=time.wait_until) as is_our_turn:
            with memory.indexer.right_of_way.taken():
                disk = await _bring_up_to_date(asked)
                evidence, known = await _found(asked, notes, has_model=companion is not None)
            answer = _told_of_disk(known.answer, disk)
            told = await notes.told(answer)
            if companion is not None and not is_our_turn:
                answer = without_companion(answer, _BUSY)
            elif companion is not None:
                # What was found in half an index is no reason to give an answer again.
                made = recipe(companion.model.abilities.model) if disk.is_whole else ""
                kept = await kept_answer(
                    memory, question, recipe=made, evidence=evidence, counts=notes.counts
                )
                if kept is not None:
                    answer = kept
                elif known.settles:
                    answer = answer.with_notice(_FOUND_OUT)
                else:
                    ask_it = Consultation(
                        asked, companion, desk=notes.desk, evidence=answer, recipe=made
                    )
                    answer = await ask_it.answer(ReadNotes(told, notes.ids))
                told = await notes.told(answer, known.answer)
    if late.cancelled_caught and companion is not None:
        answer = without_companion(answer, _NO_TIME)
    answer = _redacted(answer, memory.reader.redactor)
    _remember(memory, question, answer)
    answer = replace(answer, elapsed_s=anyio.current_time() - started)
    answer = await _remembered(asked, answer)
    return replace(answer, told=memory.reader.redactor.redact_forms(told).text.text)


def _edited(asked: OpenQuestion, companion: Companion | None) -> frozenset[RelPath]:
    """What ranks higher; a model's kept answers stand whatever was edited beside."""
    if companion is not None:
        return frozenset()
    return edited_lately(asked.memory.window, asked.question.asked_at)


def _remember(memory: Workspace, question: Question, answer: Answer) -> None:
    """Have what a model found out judged as any conclusion, beside what is asked next."""
    if answer.model is not None and answer.mode is not Mode.CACHED and answer.citations:
        task = question.text[:LONGEST_TASK]
        text = answer.text[:LONGEST_CONCLUSION]
        said = Conclusion(text, Author.COMPANION, "", task, answer.evidence)
        memory.ingestor.offer([said], events=0)


async def _remembered(asked: OpenQuestion, answer: Answer) -> Answer:
    """Give the workspace what the question changes, in one event."""
    try:
        kept = replace(answer, why=MappingProxyType({}))
        event = QuestionAnswered(asked.question, kept, based_on=asked.based_on)
        await asked.memory.record(event, sent=asked.sent)
    except Busy:
        return answer.with_notice("This answer could not be kept in memory.")
    return answer


def _redacted(answer: Answer, redactor: Redactor) -> Answer:
    """Without secrets that a model or its endpoint said."""
    notice = None if answer.notice is None else redactor.redact_forms(answer.notice).text.text
    return replace(answer, text=redactor.redact_forms(answer.text).text.text, notice=notice)


async def _found(
    asked: OpenQuestion, notes: NotesBeside, *, has_model: bool
) -> tuple[Answer, KnownAnswer]:
    """What the index finds, and that with what is known beside it."""
    memory, question, desk, edited = asked.memory, asked.question, notes.desk, notes.edited
    try:
        evidence = await answer_from_evidence(question, desk=desk, edited=edited)
    except LiveMemoryError as problem:
        evidence = _nothing(f"The evidence could not be read: {problem}")
    try:
        known = await with_what_is_known(
            memory, question, evidence, desk, edited, has_model=has_model
        )
    except LiveMemoryError:
        known = KnownAnswer(evidence)
    return evidence, known


@dataclass(frozen=True, slots=True)
class _Disk:
    """What the index leaves out of the disk, and whether that is nothing."""

    notice: str | None
    is_whole: bool


def _told_of_disk(answer: Answer, disk: _Disk) -> Answer:
    if disk.notice is not None and not answer.citations:
        answer = _nothing("Nothing was found in the part of this workspace that is known.")
    return answer.with_notice(disk.notice)


async def _bring_up_to_date(asked: OpenQuestion) -> _Disk:
    """Make view and index equal to the disk, as far as the question needs."""
    memory, began_at, look, problem = asked.memory, anyio.current_time(), None, None
    with anyio.move_on_at(asked.time.look_until) as waiting:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tell_how_far, memory, asked.progress)
            # What the host announced and still rests belongs to this question's view.
            with anyio.move_on_after(_TO_LEARN_S):
                await memory.ingestor.caught_up()
            try:
                look = await first_look(
                    asked.question.text,
                    indexer=memory.indexer,
                    sandbox=memory.sandbox,
                    asked_at=began_at,
                )
            except LiveMemoryError as why:
                problem = str(why)
            tasks.cancel_scope.cancel()
    signatures = look.signatures if look else memory.indexer.signatures
    try:
        await memory.freshness.restore(lambda: memory.views, signatures, record=memory.record)
    except Exhausted as why:
        problem = str(why)
    notice = _left_out(memory.indexer.state, look, problem, is_late=waiting.cancelled_caught)
    return _Disk(notice, is_whole=look is None and notice is None)


def _left_out(
    state: IndexState, look: FirstLook | None, problem: str | None, *, is_late: bool
) -> str | None:
    """What whoever asks must know of what was not looked at."""
    problem = problem or state.problem
    if problem:
        return f"The workspace could not be read again: {problem}"
    if is_late and not state.waiting:
        return "There was no time to compare the files again: what changed since may be missing."
    if is_late:
        known = state.files - state.waiting
        return f"The first look is not done: {known} of {state.files} files are known."
    if state.is_cut:
        return f"This workspace is very large: its first {state.files} files are known."
    return look.notice if look else None


async def tell_how_far(memory: Workspace, progress: Progress) -> None:
    """Say after a moment what takes so long, and then every second how far the index is."""
    await anyio.sleep(_A_MOMENT_S)
    await progress("checking which files changed")
    wait_s = 1 - _A_MOMENT_S
    while True:
        await anyio.sleep(wait_s)
        wait_s = 1
        state = memory.indexer.state
        known = state.files - state.waiting
        if state.files:
            what = f"reading the workspace: {known} of {state.files} files"
            await progress(what, done=known, total=state.files)


def _nothing(why: str) -> Answer:
    return Answer(why, Mode.EVIDENCE, Grounding.UNGROUNDED, citations=())
