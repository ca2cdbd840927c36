"""What a server's verdicts on citations are worth: pure functions, tested by themselves."""

from collections import Counter
from collections.abc import Collection, Mapping

from bench.scores import Place
from bench.talk.server import Answer

__all__ = ["is_caught", "is_replaced", "is_thrown", "verdicts"]

# An answer so much of which is right should be given.
_MOSTLY = 0.8


def verdicts(answer: Answer, right: Collection[Place]) -> dict[str, int]:
    """How many right places were kept where they stood, moved, or denied."""
    statuses = _statuses(answer)
    found = Counter(_verdict(answer, statuses.get(place)) for place in right)
    return {name: found[name] for name in ("kept", "moved", "denied")}


def is_caught(answer: Answer, wrong: Collection[Place]) -> bool:
    """Whether none of the wrong places is called right."""
    statuses = _statuses(answer)
    return is_replaced(answer) or all(statuses.get(place) != "verified" for place in wrong)


def is_thrown(answer: Answer, *, right: int, wrong: int) -> bool:
    """Whether an answer is withheld although most of its places are right."""
    return is_replaced(answer) and right > 0 and right >= _MOSTLY * (right + wrong)


def is_replaced(answer: Answer) -> bool:
    """Whether what the model said was withheld."""
    return answer.mode == "evidence"


def _verdict(answer: Answer, status: str | None) -> str:
    if is_replaced(answer) or status == "unsupported":
        return "denied"
    return "kept" if status == "verified" else "moved"


def _statuses(answer: Answer) -> Mapping[Place, str]:
    return dict(zip(answer.places, answer.statuses, strict=True))
