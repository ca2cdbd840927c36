"""Chat Completions, for its maker, DeepSeek, gateways and local servers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2

from live_memory.adapters.llm.endpoint import Lessons, Target
from live_memory.adapters.llm.streaming import Connection, EventSink, StreamingModel
from live_memory.adapters.llm.wire.chat_chunks import ChatChunks
from live_memory.adapters.llm.wire.chat_request import chat_payload
from live_memory.adapters.llm.wire.complaints import Complaint
from live_memory.adapters.llm.wire.draft import Draft
from live_memory.core.companion.chat import ModelRequest

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["openai_compatible_model"]


def openai_compatible_model(target: Target, lessons: Lessons) -> StreamingModel:
    """A model behind Chat Completions; `target.base_url` is what comes before the route."""
    return StreamingModel(_ChatCompletions(), target, lessons)


class _ChatCompletions:
    def connect(self, target: Target, http: httpx2.AsyncClient) -> Connection:
        """Give the SDK no credential of its own: the transport adds it when a request is sent."""
        from openai import AsyncOpenAI  # noqa: PLC0415 - takes half a second; see `Dialect.connect`

        client = AsyncOpenAI(
            api_key="added-by-the-transport",
            base_url=target.base_url,
            max_retries=0,
            http_client=http,
        )
        # Else it finds out at the first request by running `uname`, and tells the provider.
        client._platform = "Unknown"
        return _Connection(client)

    def payload(self, request: ModelRequest, target: Target, lessons: Lessons) -> dict[str, object]:
        return chat_payload(request, target, lessons)

    def sink(self, draft: Draft) -> EventSink:
        return ChatChunks(draft)


class _Connection:
    def __init__(self, client: "AsyncOpenAI") -> None:
        self._client = client
        # The SDK imports the rest of itself when it is first touched.
        self._completions = client.chat.completions.with_streaming_response

    @asynccontextmanager
    async def open(self, payload: dict[str, object]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Send a request and give the bytes of the reply."""
        import openai  # noqa: PLC0415 - takes half a second; see `Dialect.connect`

        try:
            async with self._completions.create(
                model="", messages=[], extra_body=payload
            ) as response:
                yield response.iter_bytes()
        except openai.APIStatusError as error:
            answer = error.response
            raise Complaint(answer.status_code, answer.text, answer.headers) from None
        except openai.APIConnectionError as error:
            raise httpx2.TransportError(str(error.__cause__ or error)) from None

    async def close(self) -> None:
        await self._client.close()
