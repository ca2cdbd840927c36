"""The companion's tools as a fixed table: names, schemas, and strict parsing of what a model sends.

A call gives a typed request, or a sentence for the model that says what is wrong with it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from live_memory.core.companion.chat import ToolCall, ToolSpec
from live_memory.core.reading.text import clean

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
_PATH = _Text("a file or folder of the workspace, like src/app.py", default=".")

_TABLE: dict[str, tuple[str, dict[str, _Parameter]]] = {
    "Read": (
        "Read lines of a file, with line numbers.",
        {
            "path": _Text("the file, like src/app.py"),
            "first_line": _Number("first line to show", 1, 1, 10_000_000),
            "lines": _Number("how many lines", 200, 1, 1_000),
        },
    ),
    "Grep": (
        "Find lines that match a regular expression.",
        {
            "pattern": _Text("the regular expression"),
            "path": _PATH,
            "glob": _Text("only file names like this, such as **/*.py", default=""),
            "ignore_case": _Flag("ignore upper and lower case"),
            "limit": _Number("most lines to return", 60, 1, 200),
        },
    ),
    "Glob": (
        "Find files whose whole path matches a glob; ** crosses folders.",
        {"pattern": _Text("the glob"), "limit": _Number("most paths", 100, 1, 500)},
    ),
    "find_paths": (
        "Find files whose path holds all of these words.",
        {
            "words": _Text("words, separated by blanks"),
            "limit": _Number("most paths", 50, 1, 500),
        },
    ),
    "get_changed_files": (
        "List files that differ from a git revision.",
        {"since": _Text("the revision", default="HEAD")},
    ),
    "git_search": (
        "Find commits whose message or changed lines hold a text; without it, the newest ones.",
        {
            "text": _Text("the text", default=""),
            "path": _Text("only commits that touched this file", default=""),
            "limit": _Number("most commits", 10, 1, 50),
        },
    ),
    "find_symbol": (
        "Find where a function, class, method or setting is defined.",
        {"name": _Text("its name")},
    ),
    "who_calls": (
        "Find where a name is used or called.",
        {"name": _Text("its name")},
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
            if type(value) is not int or not low <= value <= high:
                return BadCall(f"{key} must be a whole number from {low} to {high}")
            return value
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
                properties[key] = {"type": "boolean", "description": about}
            case _Number(about, default, low, high):
                properties[key] = {
                    "type": "integer",
                    "description": f"{about} (default {default})",
                    "minimum": low,
                    "maximum": high,
                }
            case _Text(about):
                properties[key] = {"type": "string", "description": about}
    required = [k for k, p in parameters.items() if isinstance(p, _Text) and p.default is None]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


SPECS = tuple(
    ToolSpec(name, about, _schema(parameters)) for name, (about, parameters) in _TABLE.items()
)
