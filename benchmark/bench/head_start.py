"""How much of what a question needs is in the first request to the model already."""

from collections.abc import Mapping, Sequence

from bench.scores import mean
from bench.views import Lines

__all__ = ["LONGEST_SPAN", "gold_of", "head_start"]

Gold = Sequence[tuple[str, int, int]]

# A shorter line stands in many files; a prompt that holds it need not hold this one.
_DISTINCT = 12
# Cited spans of hundreds of lines are "this file", not places.
LONGEST_SPAN = 120


def head_start(prompt: str, gold: Gold, lines: Lines) -> dict[str, float | None]:
    """Share of the gold files and lines that a prompt shows."""
    shown = {line.strip(" \t|0123456789") for line in prompt.splitlines()}
    named = list(dict.fromkeys(name for name, _, _ in gold))
    in_prompt = [name for name in named if name in prompt and _shows(lines.of(name), shown)]
    wanted = [
        lines.of(name)[number - 1].strip(" \t|0123456789")
        for name, first, last in gold
        if last - first < LONGEST_SPAN
        for number in range(first, min(last, len(lines.of(name))) + 1)
    ]
    distinct = [text for text in wanted if len(text) >= _DISTINCT]
    found = mean(float(text in shown or text in prompt) for text in distinct)
    return {"files": len(in_prompt) / len(named), "lines": found}


def _shows(file: Sequence[str], shown: set[str]) -> bool:
    texts = (line.strip(" \t|0123456789") for line in file)
    return sum(text in shown for text in texts if len(text) >= _DISTINCT) >= 2


def gold_of(lines: Lines, event: Mapping[str, object]) -> list[tuple[str, int, int]]:
    """What the recorded answer pointed at, as far as it names a file of the tree."""
    cited = event.get("cited")
    found = []
    for one in cited if isinstance(cited, list) else []:
        name, first, last = str(one[0]), int(one[1]), int(one[2])
        if first <= len(lines.of(name)):
            found.append((name, first, last))
    return found
