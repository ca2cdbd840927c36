"""Tool calls that a model wrote into its text instead of making them."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from live_memory.adapters.llm.wire import loose
from live_memory.core.companion.chat import ToolCall

__all__ = ["WrittenCalls", "calls_in"]

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCED = re.compile(r"```(?:json|tool_call|tool_code)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
# Keys that a written call may have; an object with others is the model's own example.
_KEYS = {"name", "arguments", "parameters", "id", "type", "function"}


@dataclass(frozen=True, slots=True)
class WrittenCalls:
    """The calls, and the text without them."""

    calls: tuple[ToolCall, ...]
    text: str


def calls_in(text: str, names: Collection[str]) -> WrittenCalls:
    """Find calls of these tools: tagged, in a fence, or as bare JSON."""
    for shape in (_TAGGED, _FENCED):
        found = [(match, _calls(match.group(1).strip(), names)) for match in shape.finditer(text)]
        if any(calls for _, calls in found):
            rest = text
            for match, calls in reversed(found):
                rest = rest[: match.start()] + rest[match.end() :] if calls else rest
            return _numbered([call for _, calls in found for call in calls], rest.strip())
    bare = _calls(text.strip(), names)
    return _numbered(bare, "") if bare else WrittenCalls((), text)


def _numbered(calls: list[tuple[str, str]], rest: str) -> WrittenCalls:
    made = (ToolCall(f"written_{i}", name, text) for i, (name, text) in enumerate(calls, 1))
    return WrittenCalls(tuple(made), rest)


def _calls(text: str, names: Collection[str]) -> list[tuple[str, str]]:
    if not text.startswith(("{", "[")):
        return []
    value = loose.parse(text)
    candidates = loose.items(value) or ([value] if value is not None else _lines(text))
    calls = [_call(loose.mapping(candidate), names) for candidate in candidates]
    return [call for call in calls if call] if all(calls) else []


def _lines(text: str) -> list[object]:
    """Several objects, one a line."""
    values = [loose.parse(line) for line in text.splitlines() if line.strip()]
    return [value for value in values if value is not None]


def _call(value: Mapping[str, object], names: Collection[str]) -> tuple[str, str] | None:
    if not value or not value.keys() <= _KEYS:
        return None
    inner = loose.mapping(value.get("function")) or value
    name = loose.string(inner.get("name")) or loose.string(value.get("function"))
    if name not in names:
        return None
    return name, next(_arguments(inner), "{}")


def _arguments(value: Mapping[str, object]) -> Iterator[str]:
    for key in ("arguments", "parameters"):
        if key in value:
            found = value[key]
            yield found if isinstance(found, str) else json.dumps(found)
