"""A provider on loopback: both protocols, a prefix cache on simulated time, and a bill."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.economics import compactor, reader
from bench.economics.caching import Automatic, Explicit, PrefixCache, tokens_of
from bench.economics.gold import Quest
from bench.economics.prices import Counted
from bench.economics.replies import Spoken, written
from bench.economics.requests import Part, Protocol, Request, parsed
from bench.loopback import Handler, listening

__all__ = ["Kind", "Made", "Provider", "providing"]

Kind = str
ASK, COMPACTION = "ask", "compaction"


@dataclass(frozen=True, slots=True)
class Made:
    """One call that a server made: what for, what it held, what it is billed."""

    kind: Kind
    question: str | None
    parts: tuple[Part, ...]
    rounds: int
    counted: Counted
    has_tool_calls: bool


@dataclass(slots=True)
class Provider:
    """Where it is, the questions it knows, what it was sent; `now` is moved by the harness."""

    protocol: Protocol
    cache: PrefixCache
    port: int = 0
    now: float = 0.0
    quests: dict[str, Quest] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def environment(self) -> dict[str, str]:
        """Settings that make a server use this provider, without a cap on its spending."""
        is_chat = self.protocol is Protocol.CHAT
        return {
            "LIVE_MEMORY_PROVIDER": "openai" if is_chat else "anthropic",
            "LIVE_MEMORY_BASE_URL": f"http://127.0.0.1:{self.port}" + ("/v1" if is_chat else ""),
            "LIVE_MEMORY_API_KEY": "bench",
            "LIVE_MEMORY_MODEL": "bench-reader",
            "LIVE_MEMORY_CONTEXT_TOKENS": "200000",
            "LIVE_MEMORY_SPEND_CAP_TOKENS_HOUR": "0",
            "LIVE_MEMORY_SPEND_CAP_USD_DAY": "0",
        }

    def take(self, body: dict[str, object]) -> tuple[str, bytes]:
        """Answer one request, and bill it."""
        request = parsed(self.protocol, body)
        quest = None
        if compactor.is_compaction(request):
            spoken = compactor.compacted(request)
        else:
            quest = reader.quest_of(request, self.quests)
            spoken = reader.answer(request, quest)
        kind = ASK if quest is not None or request.tools else COMPACTION
        with self.lock:
            counted = self._billed(request, spoken)
            question = None if quest is None else quest.question
            self.made.append(
                Made(kind, question, request.parts, request.rounds, counted, bool(spoken.calls))
            )
        return written(self.protocol, spoken, counted, is_streamed=request.is_streamed)

    def since(self, count: int) -> Sequence[Made]:
        """The calls after the first so many."""
        with self.lock:
            return self.made[count:]

    def _billed(self, request: Request, spoken: Spoken) -> Counted:
        counted = self.cache.take(request.parts, self.now)
        return counted + Counted(output=tokens_of(spoken.whole))


@contextmanager
def providing(protocol: Protocol) -> Iterator[Provider]:
    """Run a provider in a thread, on its own port, with the cache that goes with a protocol."""
    cache: PrefixCache = Automatic() if protocol is Protocol.CHAT else Explicit()
    provider = Provider(protocol, cache)

    class Bound(_Handler):
        served = provider

    with listening(Bound) as provider.port:
        yield provider


class _Handler(Handler):
    """One request."""

    served: Provider

    def do_POST(self) -> None:
        raw = self.received()
        kind, body = self.served.take(json.loads(raw))
        self.send(kind, body)
