"""What a model says when it is asked to make memory smaller: made mechanically from its input."""

import json
import re
from collections.abc import Iterator

from bench.economics.replies import Spoken
from bench.economics.requests import Request
from bench.model.in_view import Line, lines_in

__all__ = ["compacted", "is_compaction"]

_MOST_FACTS, _LONGEST_LINE, _PROSE_LINES = 60, 160, 120
_ASKED = re.compile(r"\bat most (\d+) facts\b")
_FACTS = "JSON lines"
_SUMMARY = re.compile(r"\b(?:summar|compact|condens|distil)", re.IGNORECASE)
_DEFINES = re.compile(
    r"^(?:export\s+|default\s+|public\s+|private\s+|pub\s+|abstract\s+|async\s+|static\s+)*"
    r"(?P<kind>def|class|function|const|let|var|interface|type|enum|struct|fn|func|trait)\s+"
    r"(?P<name>[A-Za-z_$][\w$]+)"
)
_ASSIGNS = re.compile(r"^(?P<name>[A-Za-z_][\w]{2,})\s*(?::[^=]+)?=(?!=)\s*(?P<value>\S.*)$")
_VALUES = frozenset({"const", "let", "var"})


def is_compaction(request: Request) -> bool:
    """Whether a request without tools asks for facts or for a summary."""
    told = request.said("system")
    return not request.tools and (_FACTS in told or bool(_SUMMARY.search(told)))


def compacted(request: Request) -> Spoken:
    """Facts about definitions as JSON lines where those are asked for, else a plain list."""
    facts = list(_facts(request.said("messages")))
    if _FACTS in request.said("system"):
        asked = _ASKED.search(request.said("messages"))
        most = min(_MOST_FACTS, int(asked[1])) if asked else _MOST_FACTS
        return Spoken("\n".join(json.dumps(_record(*one)) for one in _spread(facts, most)))
    said = (f"`{name}` stands at {line.path}:{line.number}." for line, name, _ in facts)
    return Spoken("\n".join([*said][:_PROSE_LINES]) or "Nothing of note.")


def _facts(text: str) -> Iterator[tuple[Line, str, str]]:
    """Lines that define something, with its name and kind, each once."""
    seen: set[tuple[str, int]] = set()
    for line in lines_in(text):
        if (line.path, line.number) in seen or len(line.text) > _LONGEST_LINE or "`" in line.text:
            continue
        if found := _DEFINES.match(line.text):
            kind = "value" if found["kind"] in _VALUES else "definition"
        elif found := _ASSIGNS.match(line.text):
            kind = "value"
        else:
            continue
        seen.add((line.path, line.number))
        yield line, found["name"], kind


def _spread(facts: list[tuple[Line, str, str]], most: int) -> list[tuple[Line, str, str]]:
    """The first of each file, then the second of each, until there are enough."""
    turns: dict[str, int] = {}
    ranked = []
    for n, fact in enumerate(facts):
        turn = turns[fact[0].path] = turns.get(fact[0].path, 0) + 1
        ranked.append((turn, n, fact))
    kept = sorted(ranked, key=lambda one: one[:2])[:most]
    return [fact for _, _, fact in sorted(kept, key=lambda one: one[1])]


def _record(line: Line, name: str, kind: str) -> dict[str, object]:
    source = {"path": line.path, "start": line.number, "end": line.number}
    return {"text": f"`{name}` is defined by `{line.text}`.", "kind": kind, "sources": [source]}
