"""One question's row: the calls it took, what they are billed, and what its first request held."""

import re
from collections.abc import Mapping, Sequence

from bench.economics.caching import tokens_of
from bench.economics.gold import Quest, is_shown, lines_shown
from bench.economics.prices import DEEPSEEK, HAIKU, Counted
from bench.economics.provider import ASK, Made
from bench.economics.requests import Part
from bench.scores import mean
from bench.talk.server import Answer

__all__ = ["Row", "before_tail", "blocks", "is_extension", "measured"]

Row = dict[str, object]

# How prompts of ours are headed; of another server's, all is called entries.
_LEDGER, _TAIL = "=== facts", "=== found for the question"
_QUOTED = re.compile(r"`([^`\n]+)`")


def measured(
    quest: Quest, answer: Answer, made: Sequence[Made], *, before: Made | None, old: set[str]
) -> Row:
    """What a question took; `before` is the first call of the question before it."""
    asked = [one for one in made if one.kind == ASK]
    others = [one for one in made if one.kind != ASK]
    counted = sum((one.counted for one in asked), Counted())
    beside = sum((one.counted for one in others), Counted())
    first = asked[0] if asked else None
    return {
        "question": quest.question[:200],
        "places": len(quest.places),
        "mode": answer.mode,
        "model_calls": len(asked),
        "tool_rounds": max((one.rounds for one in asked), default=0),
        "prompt_tokens": counted.prompt,
        "first_prompt_tokens": first.counted.prompt if first else 0,
        "input": counted.input,
        "cached": counted.cached,
        "written": counted.written,
        "output": counted.output,
        "compactions": len(others),
        "compaction_tokens": beside.prompt + beside.output,
        "usd_haiku": counted.cost(HAIKU) + beside.cost(HAIKU),
        "usd_deepseek": counted.cost(DEEPSEEK) + beside.cost(DEEPSEEK),
        "usd_haiku_compaction": beside.cost(HAIKU),
        "is_stale": _is_stale(answer.text, old),
        "is_extension": is_extension(before, first) if not others else None,
        "common_with_before": _common(before, first),
        "elapsed_s": round(answer.elapsed_s, 3),
        **(_first(quest, first) if first is not None and quest.places else {}),
    }


def _first(quest: Quest, first: Made) -> Row:
    """What the first request held, and of which blocks it was made."""
    shown = lines_shown("\n".join(part.text for part in first.parts if part.where != "tools"))
    found = [is_shown(quest, place, shown) for place in quest.places]
    files = {place.path for place in quest.places}
    touched = {place.path for place, is_there in zip(quest.places, found, strict=True) if is_there}
    return {
        "all_gold": float(all(found)),
        "gold": mean(map(float, found)),
        "gold_files": len(touched) / len(files),
        "blocks": blocks(first.parts),
    }


def blocks(parts: Sequence[Part]) -> Mapping[str, int]:
    """Tokens of a first request: what is stable, the ledger, the entries, what is new each time."""
    said = "\n".join(part.text for part in parts if part.where == "messages")
    at = said.rfind(_TAIL)
    held, tail = (said[:at], said[at:]) if at >= 0 else (said, "")
    ledger = ""
    if held.startswith(_LEDGER):
        end = held.find("\n===", 1)
        ledger, held = (held, "") if end < 0 else (held[:end], held[end:])
    return {
        "stable": sum(tokens_of(part.text) for part in parts if part.where != "messages"),
        "ledger": tokens_of(ledger),
        "entries": tokens_of(held),
        "tail": tokens_of(tail),
    }


def before_tail(made: Made) -> str:
    """Everything of a first request but its last part, which is new with each question."""
    return "".join(part.text for part in made.parts[:-1])


def is_extension(before: Made | None, now: Made | None) -> bool | None:
    """Whether a first request continues the one before, byte for byte, its last part apart.

    Nothing where parts are not told apart: Chat Completions has one text a message.
    """
    if before is None or now is None or len(before.parts) < 4 or before.rounds or now.rounds:
        return None
    if not any(part.is_mark for part in before.parts):
        return None
    return "".join(part.text for part in now.parts).startswith(before_tail(before))


def _common(before: Made | None, now: Made | None) -> float | None:
    """The share of the first request before, its last part apart, that this one begins with."""
    if before is None or now is None or not (held := before_tail(before)):
        return None
    text = "".join(part.text for part in now.parts)
    size, step = 0, len(held)
    while step:
        if text.startswith(held[size : size + step], size):
            size += step
        step = min(step // 2, len(held) - size)
    return size / len(held)


def _is_stale(text: str, old: set[str]) -> bool:
    """Whether an answer quotes a line as it was before it was edited."""
    return any(" ".join(quoted.split()) in old for quoted in _QUOTED.findall(text))
