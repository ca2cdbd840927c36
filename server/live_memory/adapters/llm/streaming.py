"""A language model over HTTP: asks, listens, learns from refusals and asks again."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

import anyio
import httpx2

from live_memory.adapters.llm import prices
from live_memory.adapters.llm.endpoint import Credential, EndpointQuirks, Target
from live_memory.adapters.llm.quirks import ProviderError, cleaned, error_of, learn, refuses_tools
from live_memory.adapters.llm.reply_assembly import ReplyDraft
from live_memory.adapters.llm.reply_check import ModelWords, given_up, judged
from live_memory.adapters.llm.transport import http_client
from live_memory.core.companion.chat import Abilities, ModelReply, ModelRequest
from live_memory.core.errors import (
    ModelLacksTools,
    ModelOverloaded,
    ModelRefused,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
)
from live_memory.ports import LanguageModel

__all__ = ["Dialect", "StreamingModel", "unheard"]

# Each lesson leaves out or changes one thing, so this many are more than any endpoint can teach.
_MOST_LESSONS = 8
# A moment for the end of a finished stream, so that its connection can be used again.
_DRAIN_S = 0.2
_LONGEST_NAME = 200


class EventSink(Protocol):
    """Takes a provider's events into a draft."""

    def take(self, event: Mapping[str, object]) -> str:
        """Take the next event and give what may be shown of it.

        Raises:
            Complaint: the endpoint reported an error inside the stream, or has too much to do.
        """
        ...


class ProviderConnection(Protocol):
    """A provider's SDK at one target, its own retries off."""

    def open(
        self, payload: Mapping[str, object]
    ) -> AbstractAsyncContextManager[AsyncIterator[object]]:
        """Send a request and give the JSON of each event of the reply.

        Raises:
            Complaint: the endpoint reported an error.
            httpx2.RequestError: the connection broke, or what came is no reply.
        """
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a provider is spoken to.

    `connect` imports the SDK, which takes a second, and is called in a worker thread.
    """

    connect: Callable[[Target, httpx2.AsyncClient], ProviderConnection]
    payload: Callable[[ModelRequest, Target, EndpointQuirks], dict[str, object]]
    sink: Callable[[ReplyDraft], EventSink]


class StreamingModel:
    """A `LanguageModel` at one endpoint; never retries what did not teach it anything."""

    def __init__(self, dialect: Dialect, target: Target, lessons: EndpointQuirks) -> None:
        self._dialect = dialect
        self._target = target
        self._lessons = lessons
        self._connection: ProviderConnection | None = None

    @property
    def abilities(self) -> Abilities:
        """What is known of the model, including what its endpoint taught us."""
        known = self._target.context_tokens or prices.context_tokens(self._target.model)
        return Abilities(
            model=self._target.model,
            context_tokens=min(known, self._lessons.context_tokens or known),
            has_tools=self._lessons.has_tools,
            enforces_schema=self._lessons.enforces_schema,
            is_subscription=self._target.is_subscription,
        )

    def conversation(self) -> AbstractAsyncContextManager[LanguageModel]:
        """An endpoint holds nothing for a question."""
        return nullcontext(self)

    async def complete(
        self,
        request: ModelRequest,
        *,
        heard: Callable[[str], None] | None = None,
        lost: Callable[[ModelReply], None] | None = None,
    ) -> ModelReply:
        """Ask once, and again only when the endpoint's refusal taught us to ask differently."""
        if request.tools and not self._lessons.has_tools:
            raise ModelLacksTools(f"Model {self._target.model!r} takes no tools there.")
        connection = await self._connected()
        for _ in range(_MOST_LESSONS):
            payload = self._dialect.payload(request, self._target, self._lessons)
            draft, reply = ReplyDraft.within(request.max_output_tokens), None
            try:
                await self._listen(connection, payload, draft, heard or unheard)
                reply = self._reply(judged(draft, request, self._lessons), draft)
            except ProviderError as complaint:
                self._take_to_heart(complaint, payload)
            else:
                return reply
            finally:
                if reply is None and lost is not None and draft.is_begun:
                    lost(self._reply(given_up(draft, request), draft))
        raise ModelRefused("The endpoint found something new to refuse too many times.")

    async def aclose(self) -> None:
        """Close connections."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _connected(self) -> ProviderConnection:
        if self._connection is None:
            made = await anyio.to_thread.run_sync(self._connect, abandon_on_cancel=True)
            # Another question may have connected meanwhile; an unused client holds nothing.
            if self._connection is None:
                self._connection = made
        return self._connection

    def _connect(self) -> ProviderConnection:
        import_module("genai_prices")
        return self._dialect.connect(self._target, http_client(self._target))

    async def _listen(
        self,
        connection: ProviderConnection,
        payload: dict[str, object],
        draft: ReplyDraft,
        heard: Callable[[str], None],
    ) -> None:
        try:
            async with connection.open(payload) as events:
                await self._read(events, draft, heard)
        except httpx2.RequestError as problem:
            said = cleaned(str(problem)) or type(problem).__name__
            self._broke(draft, ModelUnreachable(f"The connection failed: {said}"))
        except ProviderError as complaint:
            error = error_of(complaint, secrets=self._secrets)
            if not draft.spoken.text or not isinstance(error, ModelOverloaded | ModelUnreachable):
                raise

    async def _read(
        self, events: AsyncIterator[object], draft: ReplyDraft, heard: Callable[[str], None]
    ) -> None:
        sink, event = self._dialect.sink(draft), None
        async for event in events:
            if not isinstance(event, dict):
                raise httpx2.DecodingError("an event is no JSON object")
            if shown := sink.take(event):
                heard(shown)
            if draft.spoken.is_full:
                return
            if draft.is_complete:
                with anyio.move_on_after(_DRAIN_S):
                    async for _ in events:
                        pass
                return
        if event is not None and not draft.is_begun:
            raise httpx2.DecodingError("the JSON that came is no reply; check 'base_url'")

    def _broke(self, draft: ReplyDraft, error: ModelUnavailable) -> None:
        """A reply that broke off keeps its text, and is `CUT` because nothing ended it."""
        if not draft.spoken.text:
            raise error
        draft.stop = None

    def _take_to_heart(self, complaint: ProviderError, payload: dict[str, object]) -> None:
        error = error_of(complaint, secrets=self._secrets)
        if isinstance(error, PromptTooLong):
            if error.limit_tokens:
                self._lessons.context_tokens = error.limit_tokens
            raise error
        if "tools" in payload and refuses_tools(complaint):
            self._lessons.has_tools = False
            raise ModelLacksTools(f"Model {self._target.model!r} takes no tools there: {error}")
        if not learn(complaint, payload, self._lessons):
            raise error

    def _reply(self, said: ModelWords, draft: ReplyDraft) -> ModelReply:
        model = cleaned(draft.model)[:_LONGEST_NAME] or self._target.model
        return ModelReply(said.turn, said.stop, said.usage, model, self._cost(said))

    def _cost(self, said: ModelWords) -> float | None:
        if self._target.is_subscription:
            return None
        if self._target.prices is not None:
            return self._target.prices.cost_usd(said.usage)
        return prices.cost_usd(said.usage, self._target.model, base_url=self._target.base_url)

    @property
    def _secrets(self) -> tuple[str, ...]:
        match self._target.credential:
            case None:
                return ()
            case Credential(secret):
                return (secret,)
            case source:
                return source.secrets


def unheard(_text: str) -> None:
    """Nobody listens."""
