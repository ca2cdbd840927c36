"""A scripted Messages API for a real client: it has the client read files, and times each call.

A client spends its own time between a reply that calls a tool and the request with the result.
"""

import json
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from bench.loopback import Handler, listening

__all__ = ["Reads", "reading"]

Json = Mapping[str, object]

_USAGE: Json = {"input_tokens": 100, "output_tokens": 20, "service_tier": "standard"}


class Reads:
    """The paths that are still to be read, and the seconds between call and result of the rest."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.gaps_s: list[float] = []
        self.first_at: float | None = None
        self.port = 0
        self._left = list(reversed(paths))
        self._called_at: float | None = None
        self._lock = threading.Lock()

    def content(self, request: Json, *, arrived_at: float) -> Json:
        """What the model says to a request; the client's own small requests get the least."""
        if not request.get("tools"):
            return {"type": "text", "text": _least(request)}
        with self._lock:
            self.first_at = self.first_at or arrived_at
            if self._called_at is not None:
                self.gaps_s.append(arrived_at - self._called_at)
                self._called_at = None
            if not self._left:
                return {"type": "text", "text": "done"}
            given = {"file_path": self._left.pop()}
            # The client may be back before this thread runs again, so not after the reply.
            self._called_at = time.perf_counter()
        call = f"toolu_{uuid.uuid4().hex[:24]}"
        return {"type": "tool_use", "id": call, "name": "Read", "input": given}


@contextmanager
def reading(paths: Sequence[str]) -> Iterator[Reads]:
    """Serve one session of the client."""
    reads = Reads(paths)

    class Bound(_Handler):
        script = reads

    with listening(Bound) as reads.port:
        yield reads


class _Handler(Handler):
    script: Reads

    def do_HEAD(self) -> None:
        self.send("application/json", b"")

    def do_GET(self) -> None:
        model = {"type": "model", "id": "bench-scripted", "display_name": "Bench"}
        self.send("application/json", json.dumps({"data": [model], "has_more": False}).encode())

    def do_POST(self) -> None:
        arrived_at = time.perf_counter()
        raw = self.received()
        if self.path.partition("?")[0].endswith("/count_tokens"):
            self.send("application/json", json.dumps({"input_tokens": len(raw) // 4}).encode())
            return
        request = json.loads(raw)
        content = self.script.content(request, arrived_at=arrived_at)
        message = _message(content, model=request.get("model"))
        if request.get("stream"):
            events = "".join(
                f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in _events(message)
            )
            self.send("text/event-stream", events.encode())
        else:
            self.send("application/json", json.dumps(message).encode())


def _message(content: Json, *, model: object) -> dict[str, object]:
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [content],
        "stop_reason": "tool_use" if content["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _events(message: dict[str, object]) -> Iterator[dict[str, object]]:
    """The server-sent events that carry one message of one block."""
    blocks = message["content"]
    block = blocks[0] if isinstance(blocks, list) else {}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    if block["type"] == "text":
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _least(request: Json) -> str:
    """What fits a request for structured output: empty fields under its names."""
    for place in ("output_config", "output_format"):
        config = request.get(place)
        form = config.get("format", config) if isinstance(config, Mapping) else None
        schema = form.get("schema") if isinstance(form, Mapping) else None
        if isinstance(schema, Mapping):
            return json.dumps(_instance_of(schema))
    return "ok"


def _instance_of(schema: Json) -> object:
    fields = schema.get("properties")
    if isinstance(fields, Mapping):
        return {name: _instance_of(field) for name, field in fields.items()}
    kinds: Json = {"array": [], "boolean": True, "number": 0, "integer": 0}
    return kinds.get(str(schema.get("type")), "ok")
