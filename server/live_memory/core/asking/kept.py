"""Which earlier answer may be given again: the same question, made the same way, on the same bytes.

What an answer rests on is what it cites, what was read for it, and what was found for the question
at the time. A file that is found now and was not found then is news: the question is asked anew.
"""

from collections.abc import Mapping
from functools import lru_cache

from live_memory.core.asking.answer import Answer, Grounding, Mode, Question, StopReason
from live_memory.core.values import ContentHash, RelPath

__all__ = ["may_be_kept", "repeats"]

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

    The caller still compares every hash of its evidence with the disk.
    """
    asked, answer = earlier
    is_same = (
        _plain(asked.text) == _plain(question.text)
        and asked.budget.answer_tokens == question.budget.answer_tokens
        and answer.recipe == recipe
    )
    return (
        is_same
        and may_be_kept(answer)
        and all(answer.evidence.get(path) == sha for path, sha in found.items())
    )


@lru_cache(maxsize=2_048)  # a question is compared with every one that was answered before
def _plain(text: str) -> str:
    """A question without what people type differently the second time."""
    return " ".join(text.rstrip(" ?.!").split())
