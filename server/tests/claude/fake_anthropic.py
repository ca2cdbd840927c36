"""A scripted stand-in for the Messages API: the real client talks to it, no model is involved.

Requests that offer tools take the scripted turns in order; the rest (a session's title and the
like) get the least that fits. A turn is a text, or a tool call `(name, input)`; `SHOWN` is the text
of a model that shows the code block of its prompt.
"""

import json
import re
import threading
import uuid
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

__all__ = ["SHOWN", "FakeAnthropic", "Json", "Turn"]

Json = dict[str, object]
Turn = str | tuple[str, Json]

_USAGE: Json = {"input_tokens": 100, "output_tokens": 20, "service_tier": "standard"}
_AFTER = "done"
SHOWN = "what the prompt's code block says"


class FakeAnthropic:
    """The server, on a thread, while the context lasts."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.requests: list[Json] = []
        self._turns = list(turns)
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def is_done(self) -> bool:
        """Whether every turn was taken."""
        return not self._turns

    def answer(self, request: Json) -> Turn:
        """The turn for a request; main requests are kept."""
        if not request.get("tools"):
            return _side_answer(request)
        with self._lock:
            self.requests.append(request)
            turn = self._turns.pop(0) if self._turns else _AFTER
        return _code_block(request) if turn == SHOWN else turn

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: FakeAnthropic

    def do_HEAD(self) -> None:
        self._reply({})

    def do_GET(self) -> None:
        model = {"type": "model", "id": "fake-model", "display_name": "Fake"}
        self._reply({"data": [model], "has_more": False})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        request: Json = json.loads(raw)
        if self.path.partition("?")[0].endswith("/count_tokens"):
            self._reply({"input_tokens": max(1, len(raw) // 4)})
            return
        message = _message(self.api.answer(request), model=request.get("model"))
        if request.get("stream"):
            self._stream(message)
        else:
            self._reply(message)

    def _reply(self, body: Json) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, message: Json) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in _events(message):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Keep the test's output clean."""


def _message(turn: Turn, *, model: object) -> Json:
    if isinstance(turn, str):
        block: Json = {"type": "text", "text": turn}
    else:
        name, given = turn
        call = f"toolu_{uuid.uuid4().hex[:24]}"
        block = {"type": "tool_use", "id": call, "name": name, "input": given}
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": "end_turn" if isinstance(turn, str) else "tool_use",
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _events(message: Json) -> Iterator[Json]:
    """The server-sent events that carry one message of one block."""
    blocks = message["content"]
    assert isinstance(blocks, list)
    block: Json = blocks[0]
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


def _code_block(request: Json) -> str:
    """The last one of the prompt; what the client adds for itself follows it."""
    messages = request["messages"]
    assert isinstance(messages, list)
    content = next(one["content"] for one in reversed(messages) if one["role"] == "user")
    texts = [content] if isinstance(content, str) else [one.get("text", "") for one in content]
    blocks = re.findall(r"^```\n.*?\n```$", "\n".join(texts), re.DOTALL | re.MULTILINE)
    return str(blocks[-1])


def _side_answer(request: Json) -> str:
    for place in ("output_config", "output_format"):
        config = request.get(place)
        if isinstance(config, dict):
            form = config.get("format", config)
            return json.dumps(_instance_of(form.get("schema", {})))
    return "ok"


def _instance_of(schema: Json) -> object:
    """The least object that a flat JSON schema admits; that is all the client asks for."""
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return {"array": [], "boolean": True, "number": 0, "integer": 0}.get(
            str(schema.get("type")), "ok"
        )
    return {name: _instance_of(field) for name, field in fields.items()}
