"""Replies in the words of both protocols, whole or streamed."""

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.economics.prices import Counted
from bench.economics.requests import Protocol

__all__ = ["Call", "Spoken", "written"]

Json = dict[str, object]
_MODEL = "bench-reader"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that the model wants to use."""

    name: str
    arguments: Mapping[str, object]

    @property
    def id(self) -> str:
        """A name that other calls of a talk do not have."""
        return f"call_{zlib.crc32(f'{self.name}{self.arguments}'.encode()):08x}"


@dataclass(frozen=True, slots=True)
class Spoken:
    """What the model says: text, or calls of tools."""

    text: str
    calls: tuple[Call, ...] = ()

    @property
    def whole(self) -> str:
        """Everything that counts as output."""
        return self.text + "".join(f"{one.name}{json.dumps(one.arguments)}" for one in self.calls)


def written(
    protocol: Protocol, spoken: Spoken, counted: Counted, *, is_streamed: bool
) -> tuple[str, bytes]:
    """The content type and the bytes of a reply."""
    if protocol is Protocol.CHAT:
        if is_streamed:
            lines = [f"data: {json.dumps(one)}\n\n" for one in _chat(spoken, counted)]
            return "text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode()
        return "application/json", json.dumps(_chat_whole(spoken, counted)).encode()
    if is_streamed:
        rows = (
            f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in _messages(spoken, counted)
        )
        return "text/event-stream", "".join(rows).encode()
    whole = {**_start(counted), "content": _content(spoken), "stop_reason": _stop(spoken)}
    whole["usage"] = _usage(counted)
    return "application/json", json.dumps(whole).encode()


def _chat(spoken: Spoken, counted: Counted) -> Iterator[Json]:
    message = _chat_message(spoken)
    finish = "tool_calls" if spoken.calls else "stop"
    for delta, ended in ((message, None), ({}, finish)):
        choice = {"index": 0, "delta": delta, "finish_reason": ended}
        yield {"id": "c", "model": _MODEL, "choices": [choice]}
    yield {"id": "c", "model": _MODEL, "choices": [], "usage": _chat_usage(counted)}


def _chat_whole(spoken: Spoken, counted: Counted) -> Json:
    finish = "tool_calls" if spoken.calls else "stop"
    choice = {"index": 0, "message": _chat_message(spoken), "finish_reason": finish}
    return {"id": "c", "model": _MODEL, "choices": [choice], "usage": _chat_usage(counted)}


def _chat_message(spoken: Spoken) -> Json:
    calls = [
        {
            "index": n,
            "id": one.id,
            "type": "function",
            "function": {"name": one.name, "arguments": json.dumps(one.arguments)},
        }
        for n, one in enumerate(spoken.calls)
    ]
    return {"role": "assistant", "content": spoken.text, **({"tool_calls": calls} if calls else {})}


def _chat_usage(counted: Counted) -> Json:
    return {
        "prompt_tokens": counted.prompt,
        "completion_tokens": counted.output,
        "total_tokens": counted.prompt + counted.output,
        "prompt_tokens_details": {"cached_tokens": counted.cached},
    }


def _messages(spoken: Spoken, counted: Counted) -> Iterator[Json]:
    yield {"type": "message_start", "message": {**_start(counted), "content": []}}
    for n, block in enumerate(_content(spoken)):
        empty, delta = _begun(block)
        yield {"type": "content_block_start", "index": n, "content_block": empty}
        yield {"type": "content_block_delta", "index": n, "delta": delta}
        yield {"type": "content_block_stop", "index": n}
    ended = {"stop_reason": _stop(spoken), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": counted.output}}
    yield {"type": "message_stop"}


def _begun(block: Json) -> tuple[Json, Json]:
    """How a block begins, and the one piece that it comes in."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    begun: Json = dict(block, input={})
    return begun, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}


def _start(counted: Counted) -> Json:
    usage = {**_usage(counted), "output_tokens": 1}
    return {"id": "m", "type": "message", "role": "assistant", "model": _MODEL, "usage": usage}


def _content(spoken: Spoken) -> list[Json]:
    said: list[Json] = [{"type": "text", "text": spoken.text}] if spoken.text else []
    used: list[Json] = [
        {"type": "tool_use", "id": one.id, "name": one.name, "input": dict(one.arguments)}
        for n, one in enumerate(spoken.calls)
    ]
    return [*said, *used]


def _stop(spoken: Spoken) -> str:
    return "tool_use" if spoken.calls else "end_turn"


def _usage(counted: Counted) -> Json:
    return {
        "input_tokens": counted.input,
        "cache_read_input_tokens": counted.cached,
        "cache_creation_input_tokens": counted.written,
        "output_tokens": counted.output,
    }
