"""A model's endpoint on loopback that plays a script in each wire protocol that hosts speak.

Each test opens a channel: a base URL of its own with its script, its rules and its record of
every request, so that tests do not disturb each other on one server.
"""

import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

__all__ = [
    "Body",
    "Channel",
    "Events",
    "Play",
    "Raw",
    "Received",
    "ScriptedEndpoint",
    "Status",
    "Text",
    "Tools",
    "serving",
]

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Text:
    """A reply of text. `stop=None` ends the stream without a reason; `then` says how it goes on.

    `then` is "end", "stall" (silence), or "reset" (the connection breaks).
    """

    text: str
    pieces: int = 2
    stop: str | None = "end"
    usage: Json | None = None
    then: str = "end"
    extra: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tools:
    """A reply of tool calls: names with raw arguments."""

    calls: Sequence[tuple[str, str]]
    text: str = ""
    stop: str | None = "tools"
    extra: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP error or redirect."""

    code: int
    body: str | Json = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Body:
    """A 200 that is no event stream."""

    text: str
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Events:
    """Events as they are, for shapes that no helper makes."""

    events: Sequence[Json | str]


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes of an event stream in these pieces, and then perhaps silence for ever."""

    pieces: Sequence[bytes]
    then: str = "end"


Play = Text | Tools | Status | Body | Events | Raw
Rule = Callable[["Received"], Play | None]


@dataclass(slots=True)
class Received:
    """A request as it came; `gone` is set when the client left before the end."""

    path: str
    body: dict[str, object]
    raw: bytes
    headers: Mapping[str, str]
    gone: threading.Event = field(default_factory=threading.Event)


class _Reset(Exception):
    """Breaks the connection."""


class Channel:
    """One script at one base URL; a rule that has an answer goes before the script."""

    def __init__(self, base_url: str, plays: Sequence[Play], rules: Sequence[Rule]) -> None:
        self.base_url = base_url
        self.requests: list[Received] = []
        self._plays = list(plays)
        self._rules = rules

    def next(self, received: Received) -> Play:
        """What to play; the last play is repeated."""
        self.requests.append(received)
        for rule in self._rules:
            if (play := rule(received)) is not None:
                return play
        return self._plays.pop(0) if len(self._plays) > 1 else self._plays[0]


class ScriptedEndpoint:
    """The server's table of channels."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._channels: dict[str, Channel] = {}

    def open(self, *plays: Play, rules: Sequence[Rule] = ()) -> Channel:
        """A channel with its own base URL."""
        name = f"c{len(self._channels)}"
        channel = Channel(f"{self.origin}/{name}", plays or (Text("unscripted"),), rules)
        self._channels[name] = channel
        return channel

    async def answer(self, request: Request) -> Response:
        """Record the request and play what comes next."""
        raw = await request.body()
        headers = dict(request.headers)
        received = Received(request.url.path, json.loads(raw), raw, headers)
        play = self._channels[request.path_params["channel"]].next(received)
        wires = (w for ending, w in _WIRES.items() if request.url.path.endswith(ending))
        wire = next(wires, _chat)  # what gives tokens plays plain bodies only
        match play:
            case Status(code, body, extra):
                text = body if isinstance(body, str) else json.dumps(body)
                return Response(text, code, headers=dict(extra))
            case Body(text, content_type):
                return Response(text, media_type=content_type)
            case Raw(pieces, then):
                return _Stream(received, _bytes(pieces, then))
            case Events(events):
                return _Stream(received, _bytes([_event(event) for event in events], "end"))
            case Text(then=then):
                return _Stream(received, _bytes([_event(event) for event in wire(play)], then))
            case Tools():
                return _Stream(received, _bytes([_event(event) for event in wire(play)], "end"))


class _Stream(StreamingResponse):
    """A stream that notes when its client leaves early."""

    def __init__(self, received: Received, chunks: AsyncIterator[bytes]) -> None:
        super().__init__(chunks, media_type="text/event-stream")
        self._received = received

    async def listen_for_disconnect(self, receive: Callable[[], object]) -> None:
        await super().listen_for_disconnect(receive)  # type: ignore[arg-type]  # narrower on purpose
        self._received.gone.set()


async def _bytes(pieces: Sequence[bytes], then: str) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await anyio.lowlevel.checkpoint()
    if then == "stall":
        await anyio.sleep_forever()
    if then == "reset":
        raise _Reset


def _event(event: Json | str) -> bytes:
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    name = f"event: {event['type']}\n" if isinstance(event.get("type"), str) else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def _split(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // max(1, pieces)))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _chat(play: Text | Tools) -> Iterator[Json | str]:
    def chunk(delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"model": "played", "choices": [choice]}

    yield chunk({"role": "assistant", "content": None, **play.extra})
    if isinstance(play, Tools):
        yield chunk({"content": play.text})
        for index, (name, arguments) in enumerate(play.calls):
            function = {"name": name, "arguments": ""}
            call = {"index": index, "id": f"id_{index}", "type": "function", "function": function}
            yield chunk({"tool_calls": [call]})
            for piece in _split(arguments, 2):
                part = {"index": index, "function": {"arguments": piece}}
                yield chunk({"tool_calls": [part]})
    else:
        for piece in _split(play.text, play.pieces):
            yield chunk({"content": piece})
    if isinstance(play, Text) and play.then != "end":
        return
    if play.stop is not None:
        yield chunk({}, {"end": "stop", "tools": "tool_calls"}.get(play.stop, play.stop))
        usage = play.usage if isinstance(play, Text) else None
        default = {"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 57}
        yield {"model": "played", "choices": [], "usage": usage or default}
        yield "[DONE]"


def _messages(play: Text | Tools) -> Iterator[Json]:
    usage = (play.usage if isinstance(play, Text) else None) or {"input_tokens": 50}
    message = {"id": "m", "role": "assistant", "model": "played", "content": [], "usage": usage}
    yield {"type": "message_start", "message": message}
    yield {"type": "ping"}
    blocks: list[tuple[Json, list[Json]]] = []
    if play.text:
        pieces = _split(play.text, play.pieces if isinstance(play, Text) else 1)
        deltas: list[Json] = [{"type": "text_delta", "text": piece} for piece in pieces]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for number, (name, arguments) in enumerate(play.calls if isinstance(play, Tools) else ()):
        begin: Json = {"type": "tool_use", "id": f"id_{number}", "name": name, "input": {}}
        parts = [{"type": "input_json_delta", "partial_json": p} for p in _split(arguments, 2)]
        blocks.append((begin, list(parts)))
    for index, (start, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    if isinstance(play, Text) and play.then != "end":
        return
    if play.stop is not None:
        stop = {"end": "end_turn", "tools": "tool_use", "length": "max_tokens"}
        reason = stop.get(play.stop, play.stop)
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": reason},
            "usage": {"output_tokens": 7},
        }
        yield {"type": "message_stop"}


def _responses(play: Text | Tools) -> Iterator[Json]:
    """As Codex reads it: whole items. A call `space/name` is one of a namespace."""
    items: list[Json] = []
    if play.text:
        part = {"type": "output_text", "text": play.text, "annotations": []}
        items.append({"type": "message", "id": "m", "role": "assistant", "content": [part]})
    for name, given in play.calls if isinstance(play, Tools) else ():
        space, _, plain = name.rpartition("/")
        call: dict[str, object] = {"call_id": uuid4().hex, "name": plain}
        if space:
            call["namespace"] = space
        if given.startswith("{"):
            items.append({"type": "function_call", "arguments": given, **call})
        else:
            items.append({"type": "custom_tool_call", "input": given, **call})
    yield {"type": "response.created", "response": {"id": "r"}}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    usage = {"input_tokens": 50, "output_tokens": 7, "total_tokens": 57}
    yield {"type": "response.completed", "response": {"id": "r", "usage": usage}}


def _generate(play: Text | Tools) -> Iterator[Json]:
    """As Gemini's API streams: one chunk with all its parts."""
    parts: list[Json] = [{"text": play.text}] if play.text else []
    for name, given in play.calls if isinstance(play, Tools) else ():
        parts.append({"functionCall": {"name": name, "args": json.loads(given)}})
    content = {"role": "model", "parts": parts}
    usage = {"promptTokenCount": 50, "candidatesTokenCount": 7, "totalTokenCount": 57}
    candidate = {"index": 0, "content": content, "finishReason": "STOP"}
    yield {"candidates": [candidate], "usageMetadata": usage}


_WIRES: Mapping[str, Callable[[Text | Tools], Iterator[Json | str]]] = {
    "/messages": _messages,
    "/chat/completions": _chat,
    "/responses": _responses,
    ":streamGenerateContent": _generate,
}


@contextmanager
def serving() -> Iterator[ScriptedEndpoint]:
    """Run the endpoint in a thread, on a port of its own."""
    # With the protocol named, asyncio sets TCP_NODELAY on connections; else each reply takes 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    endpoint = ScriptedEndpoint(f"http://127.0.0.1:{listener.getsockname()[1]}")
    routes = [
        Route("/{channel}/v1/messages", endpoint.answer, methods=["POST"]),
        Route("/{channel}/v1/chat/completions", endpoint.answer, methods=["POST"]),
        Route("/{channel}/v1/responses", endpoint.answer, methods=["POST"]),
        Route("/{channel}/v1beta/models/{call}", endpoint.answer, methods=["POST"]),
        Route("/{channel}/v1/oauth/token", endpoint.answer, methods=["POST"]),
    ]
    config = uvicorn.Config(
        Starlette(routes=routes),
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="critical",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield endpoint
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
