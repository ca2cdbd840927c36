"""Gives an earlier answer again where everything it rests on is as it was: no model is asked."""

from dataclasses import replace

from live_memory.core.asking.answer import Answer, Mode, Question, Usage
from live_memory.core.asking.kept import repeats
from live_memory.core.memory.window import questions
from live_memory.core.reading.observation import FileRead
from live_memory.flow.workspace import Workspace

__all__ = ["kept_answer"]

_NOTICE = "Asked before; every source was opened again and is unchanged. No model was called."


async def kept_answer(
    memory: Workspace, question: Question, *, recipe: str, evidence: Answer
) -> Answer | None:
    """The newest earlier answer that would be the answer again, or nothing.

    `evidence` is what is found for the question now.
    """
    for asked in reversed(questions(memory.window)):
        earlier = asked.question, asked.answer
        if repeats(earlier, question, recipe=recipe, found=evidence.evidence):
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
