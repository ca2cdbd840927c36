"""The companion's tools as a fixed table: names, schemas, and strict parsing of what a model sends.

A call gives a typed request, or a sentence for the model that says what is wrong with it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from live_memory.core.companion.chat import ToolCall, ToolSpec
from live_memory.core.reading.observation import clean

__all__ = ["SPECS", "BadCall", "ToolRequest", "parse"]

# A longer argument is no path and no pattern; the preview in an error is shorter still.
_LONGEST_ARGUMENTS, _LONGEST_TEXT, _PREVIEW = 20_000, 2_000, 120

Value = str | int | bool


@dataclass(frozen=True, slots=True)
class _Text:
    """A text parameter."""

    about: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class _Number:
    """A whole number within a range."""

    about: str
    default: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class _Flag:
    """True or false."""

    about: str


_Parameter = _Text | _Number | _Flag

# Names that say it all have no description: this table is in every request.
_TABLE: dict[str, tuple[str, dict[str, _Parameter]]] = {
    "Read": (
        "Lines of a file.",
        {
            "path": _Text("like src/app.py"),
            "first_line": _Number("", 1, 1, 10_000_000),
            "lines": _Number("how many, at most 1000", 200, 1, 1_000),
        },
    ),
    "Grep": (
        "Lines that match a regular expression, each under the definition around it.",
        {
            "pattern": _Text(""),
            "path": _Text("only this file or folder", default="."),
            "glob": _Text("only such files, like **/*.py", default=""),
            "ignore_case": _Flag(""),
            "context": _Number("lines shown around each, at most 20", 0, 0, 20),
            "limit": _Number("at most 200", 60, 1, 200),
        },
    ),
    "Glob": (
        "Files whose whole path matches; ** crosses folders.",
        {"pattern": _Text("like src/**/*.py"), "limit": _Number("at most 500", 100, 1, 500)},
    ),
    "find_paths": (
        "Files whose path holds all of these words.",
        {"words": _Text(""), "limit": _Number("at most 500", 50, 1, 500)},
    ),
    "get_changed_files": (
        "Files that differ from a git revision.",
        {"since": _Text("", default="HEAD")},
    ),
    "git_search": (
        "Commits whose message or changed lines hold a text; without it, the newest ones.",
        {
            "text": _Text("", default=""),
            "path": _Text("only commits that touched it", default=""),
            "limit": _Number("at most 50", 10, 1, 50),
        },
    ),
    "find_symbol": (
        "Definitions of a function, class, method or setting, with their code.",
        {"name": _Text("like Class.method")},
    ),
    "who_calls": (
        "Uses of a name, each under the definition around it, tests last.",
        {
            "name": _Text("like Class.method"),
            "depth": _Number("2 and 3 add who calls those that use it", 1, 1, 3),
        },
    ),
}


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call whose name and arguments are right; every parameter of the tool has a value."""

    name: str
    values: Mapping[str, Value]

    def text(self, key: str) -> str:
        """The value of a text parameter."""
        return str(self.values[key])

    def number(self, key: str) -> int:
        """The value of a number parameter."""
        return int(self.values[key])


@dataclass(frozen=True, slots=True)
class BadCall:
    """What to tell the model instead of a result."""

    text: str


def parse(call: ToolCall) -> ToolRequest | BadCall:
    """Check a call against the table; unknown arguments are dropped."""
    entry = _TABLE.get(call.name)
    if entry is None:
        return BadCall(f"there is no tool {_preview(call.name)}; the tools are {', '.join(_TABLE)}")
    given = _arguments(call)
    if isinstance(given, BadCall):
        return given
    values: dict[str, Value] = {}
    for key, parameter in entry[1].items():
        value = _value(key, parameter, given)
        if isinstance(value, BadCall):
            return BadCall(f"{call.name}: {value.text}")
        values[key] = value
    return ToolRequest(call.name, values)


def _arguments(call: ToolCall) -> Mapping[str, object] | BadCall:
    what = f"{call.name}: the arguments {_preview(call.arguments)}"
    if len(call.arguments) > _LONGEST_ARGUMENTS:
        return BadCall(f"{what} are too long: {len(call.arguments)} characters")
    try:
        given: object = json.loads(call.arguments, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError):
        return BadCall(f"{what} are not JSON; send one object")
    if not isinstance(given, dict):
        return BadCall(f"{what} are no JSON object; send one object")
    return given


def _no_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _value(key: str, parameter: _Parameter, given: Mapping[str, object]) -> Value | BadCall:
    value = given.get(key)
    match parameter:
        case _Flag():
            if value is None or isinstance(value, bool):
                return bool(value)
            return BadCall(f"{key} must be true or false")
        case _Number(_, default, low, high):
            if value is None:
                return default
            if type(value) is not int or value < low:
                return BadCall(f"{key} must be a whole number from {low} to {high}")
            return min(value, high)  # to refuse more would cost a round
        case _Text(_, default):
            if value is None and default is not None:
                return default
            if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
                return BadCall(f"{key} must be a text of at most {_LONGEST_TEXT} characters")
            return clean(value)


def _preview(text: str) -> str:
    shown = clean(text)[:_PREVIEW]
    return repr(shown) + ("..." if len(text) > _PREVIEW else "")


def _schema(parameters: Mapping[str, _Parameter]) -> Mapping[str, object]:
    properties: dict[str, object] = {}
    for key, parameter in parameters.items():
        match parameter:
            case _Flag(about):
                properties[key] = _property("boolean", about)
            case _Number(about, default):
                properties[key] = _property("integer", about) | {"default": default}
            case _Text(about):
                properties[key] = _property("string", about)
    required = [k for k, p in parameters.items() if isinstance(p, _Text) and p.default is None]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
    }


def _property(kind: str, about: str) -> dict[str, object]:
    return {"type": kind, "description": about} if about else {"type": kind}


SPECS = tuple(
    ToolSpec(name, about, _schema(parameters)) for name, (about, parameters) in _TABLE.items()
)
