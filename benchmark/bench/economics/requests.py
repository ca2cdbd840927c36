"""Requests of both protocols in one shape: what is sent, in order, and what is offered."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Part", "Protocol", "Request", "Tool", "parsed"]

Json = Mapping[str, object]


class Protocol(StrEnum):
    """What a server speaks with its model."""

    CHAT = "chat completions"
    MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a prompt in the order in which a provider reads it."""

    text: str
    where: str
    is_mark: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """An offered tool: its name, and the schema of its arguments."""

    name: str
    properties: Mapping[str, Json]
    required: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a model."""

    protocol: Protocol
    parts: tuple[Part, ...]
    tools: tuple[Tool, ...]
    is_streamed: bool
    rounds: int

    @property
    def text(self) -> str:
        """Everything that was said, without the offered tools."""
        return "\n".join(part.text for part in self.parts if part.where != "tools")

    def said(self, where: str) -> str:
        """What stands in the system text, or in the messages."""
        return "\n".join(part.text for part in self.parts if part.where == where)


def parsed(protocol: Protocol, body: Json) -> Request:
    """Read a body."""
    offered = [_tool(one) for one in _list(body.get("tools"))]
    parts = [Part(json.dumps(one), "tools") for one in _list(body.get("tools"))]
    parts += _system(body.get("system"))
    rounds, is_result = 0, False
    for message in map(_mapping, _list(body.get("messages"))):
        was_result = is_result
        is_result = message.get("role") == "tool" or any(
            one.get("type") == "tool_result" for one in map(_mapping, _list(message.get("content")))
        )
        rounds += is_result and not was_result
        parts += _message(message)
    return Request(protocol, tuple(parts), tuple(offered), bool(body.get("stream")), rounds)


def _system(value: object) -> Iterator[Part]:
    if isinstance(value, str):
        yield Part(value, "system")
    for block in map(_mapping, _list(value)):
        yield Part(str(block.get("text", "")), "system", "cache_control" in block)


def _message(message: Json) -> Iterator[Part]:
    where = "system" if message.get("role") == "system" else "messages"
    content = message.get("content")
    if isinstance(content, str):
        yield Part(content, where)
    for block in map(_mapping, _list(content)):
        yield Part(_shown(block), where, "cache_control" in block)
    if message.get("tool_calls"):
        yield Part(json.dumps(message["tool_calls"]), where)


def _shown(block: Json) -> str:
    if isinstance(block.get("text"), str):
        return str(block["text"])
    content = block.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_shown(_mapping(one)) for one in content)
    return json.dumps(block)


def _tool(value: object) -> Tool:
    given = _mapping(value)
    given = _mapping(given.get("function")) or given
    schema = _mapping(given.get("parameters")) or _mapping(given.get("input_schema"))
    properties = {name: _mapping(one) for name, one in _mapping(schema.get("properties")).items()}
    required = tuple(str(name) for name in _list(schema.get("required")))
    return Tool(str(given.get("name")), properties, required)


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()
