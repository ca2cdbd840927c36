"""A notebook as people write it: the sources of its cells, on the lines where they stand."""

import json
import re
from collections.abc import Sequence

__all__ = ["cells_of"]

# As every tool saves notebooks: each key and each line of a cell on a line of its own.
_OPENS = re.compile(r'(?P<indent>\s*)"(?P<key>[^"]+)":\s*(?P<bracket>[\[{])\s*')
_WHOLE = re.compile(r'\s*"source":\s*(?P<text>"(?:[^"\\]|\\.)*"),?\s*')
_STRING = re.compile(r'\s*(?P<text>"(?:[^"\\]|\\.)*"),?\s*')
_CLOSES = {"[": "]", "{": "}"}
# What a cell shows and what a tool notes of it may hold anything, a `source` too.
_NOT_WRITTEN = frozenset({"outputs", "metadata", "attachments"})


def cells_of(lines: Sequence[str]) -> list[str] | None:
    """The source lines as they are meant, all others empty; nothing where there are none."""
    found = [""] * len(lines)
    closing, is_source, any_source = "", False, False
    for at, line in enumerate(lines):
        if closing:
            if line.startswith(closing) and not line[len(closing) :].strip(" \t,"):
                closing = ""
            elif is_source:
                found[at] = _said(_STRING.fullmatch(line))
        elif opening := _OPENS.fullmatch(line):
            is_source = opening["key"] == "source"
            if is_source or opening["key"] in _NOT_WRITTEN:
                closing = opening["indent"] + _CLOSES[opening["bracket"]]
                any_source = any_source or is_source
        elif whole := _WHOLE.fullmatch(line):
            found[at] = _said(whole)
            any_source = True
    return found if any_source else None


def _said(found: re.Match[str] | None) -> str:
    """A line of JSON as text; several lines in one stay on one."""
    try:
        text = json.loads(found["text"]) if found else ""
    except ValueError:
        return ""
    return " ".join(str(text).splitlines())
