"""What is offered to clients: the tools that are switched on, and when to use them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["TOOLS", "offer", "offered_names"]

TOOLS: Final = ("ask_live_memory", "remember", "recall", "forget", "handoff")

# Read once, when this is imported: a server must not look at the disk while it serves.
with open(os.path.join(os.path.dirname(__file__), "offered.json"), encoding="utf-8") as _file:
    _EVERYTHING: Final[dict[str, Any]] = json.load(_file)


def offer(tools: Collection[str], *, has_async_tools: bool) -> dict[str, Any]:
    """`serverInfo`, `instructions` and `tools`; the instructions speak of no other tools."""
    shown = [one for one in _EVERYTHING["tools"] if one["name"] in tools]
    said = [_EVERYTHING["instructions"][one["name"]] for one in shown]
    return {
        "serverInfo": _EVERYTHING["serverInfo"],
        "instructions": " ".join([*said, _EVERYTHING["lastInstruction"]]),
        "tools": shown + (_EVERYTHING["asyncTools"] if has_async_tools else []),
    }


def offered_names() -> list[str]:
    """Every tool that there may be."""
    return [one["name"] for one in _EVERYTHING["tools"] + _EVERYTHING["asyncTools"]]
