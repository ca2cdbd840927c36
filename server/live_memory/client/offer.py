"""What is offered to clients: the tools that are switched on, and when to use them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["TOOLS", "offer", "offered_names"]

TOOLS: Final = ("ask_live_memory", "remember", "recall", "forget", "handoff")


def offer(tools: Collection[str], *, has_async_tools: bool) -> dict[str, Any]:
    """`serverInfo`, `instructions` and `tools`; the instructions speak of no other tools."""
    everything = _everything()
    shown = [one for one in everything["tools"] if one["name"] in tools]
    said = [everything["instructions"][one["name"]] for one in shown]
    return {
        "serverInfo": everything["serverInfo"],
        "instructions": " ".join([*said, everything["lastInstruction"]]),
        "tools": shown + (everything["asyncTools"] if has_async_tools else []),
    }


def offered_names() -> list[str]:
    """Every tool that there may be."""
    everything = _everything()
    return [one["name"] for one in everything["tools"] + everything["asyncTools"]]


def _everything() -> dict[str, Any]:
    folder = os.path.dirname(__file__)
    with open(os.path.join(folder, "offered.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found
