"""A model's endpoint on loopback that answers from the text of the request, and keeps it.

It speaks Chat Completions. What it says depends on what the server put before it and on nothing
else, so it shows what a model that trusts its prompt would say.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from bench.loopback import Handler, listening
from bench.model.in_view import asked_name, in_view
from bench.text import estimate_tokens

__all__ = ["Endpoint", "Speaker", "newest_in_view", "nothing", "oldest_in_view", "serving"]

Speaker = Callable[[str], str]
Counter = Callable[[str], int]


def newest_in_view(prompt: str) -> str:
    """Repeat the last line in the prompt that defines what was asked for, with its place."""
    return _repeat(prompt, -1)


def oldest_in_view(prompt: str) -> str:
    """Repeat the first such line: a model that believes what it learned first."""
    return _repeat(prompt, 0)


def nothing(_: str) -> str:
    """Say nothing of use."""
    return "I do not know."


def _repeat(prompt: str, which: int) -> str:
    name = asked_name(prompt)
    seen = in_view(prompt, name) if name else []
    if not seen:
        return f"Nothing in view says what `{name}` is."
    line = seen[which]
    return f"`{name}` stands at {line.path}:{line.number}, which reads `{line.text}`."


class Endpoint:
    """Where it is, and every prompt it was given."""

    def __init__(self, speaker: Speaker, *, count: Counter = estimate_tokens) -> None:
        self.speaker = speaker
        self.count = count
        self.prompts: list[str] = []
        self.port = 0

    @property
    def base_url(self) -> str:
        """What a server is configured with."""
        return f"http://127.0.0.1:{self.port}/v1"

    def environment(self) -> dict[str, str]:
        """Settings that make a server use this endpoint, without a cap on its spending."""
        return {
            "LIVE_MEMORY_PROVIDER": "openai",
            "LIVE_MEMORY_BASE_URL": self.base_url,
            "LIVE_MEMORY_API_KEY": "bench",
            "LIVE_MEMORY_MODEL": "bench-scripted",
            # As cheap models of large providers have; a server may think an unknown one small.
            "LIVE_MEMORY_CONTEXT_TOKENS": "200000",
            "LIVE_MEMORY_SPEND_CAP_TOKENS_HOUR": "0",
            "LIVE_MEMORY_SPEND_CAP_USD_DAY": "0",
        }


@contextmanager
def serving(speaker: Speaker, *, count: Counter = estimate_tokens) -> Iterator[Endpoint]:
    """Run an endpoint in a thread, on a port of its own; counting well takes time."""
    endpoint = Endpoint(speaker, count=count)

    class Bound(_Handler):
        served = endpoint

    with listening(Bound) as endpoint.port:
        yield endpoint


class _Handler(Handler):
    """One request: keep its prompt, speak, count."""

    served: Endpoint

    def do_POST(self) -> None:
        raw = self.received()
        body = json.loads(raw)
        prompt = "\n".join(_contents(body))
        self.served.prompts.append(prompt)
        text = self.served.speaker(prompt)
        # Tools are part of what a provider counts; a server may doubt a count without them.
        count = self.served.count
        counts = count(prompt + json.dumps(body.get("tools"))), count(text)
        usage = {
            "prompt_tokens": counts[0],
            "completion_tokens": counts[1],
            "total_tokens": sum(counts),
        }
        if body.get("stream"):
            self.send("text/event-stream", _stream(text, usage))
        else:
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            whole = {"model": "bench-scripted", "choices": [choice], "usage": usage}
            self.send("application/json", json.dumps(whole).encode())


def _contents(body: dict[str, object]) -> Iterator[str]:
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content")
        if isinstance(content, str):
            yield content
        elif isinstance(content, list):
            yield from (str(part.get("text", "")) for part in content)


def _stream(text: str, usage: dict[str, int]) -> bytes:
    def chunk(delta: Mapping[str, object], finish: str | None) -> dict[str, object]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"model": "bench-scripted", "choices": [choice]}

    said = {"role": "assistant", "content": text}
    last = {"model": "bench-scripted", "choices": [], "usage": usage}
    events = [json.dumps(one) for one in (chunk(said, None), chunk({}, "stop"), last)]
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()
