"""Chat Completions, for its maker, DeepSeek, gateways and local servers."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx2

from live_memory.adapters.llm.endpoint import Lessons, Target
from live_memory.adapters.llm.streaming import Dialect, StreamingModel
from live_memory.adapters.llm.wire.chat_chunks import ChatChunks
from live_memory.adapters.llm.wire.chat_request import chat_payload
from live_memory.adapters.llm.wire.complaints import Complaint

__all__ = ["openai_compatible_model"]


def openai_compatible_model(target: Target, lessons: Lessons) -> StreamingModel:
    """A model behind Chat Completions; `target.base_url` is what comes before the route."""
    return StreamingModel(Dialect(_Connection, chat_payload, ChatChunks), target, lessons)


class _Connection:
    """The SDK without a credential of its own: the transport adds it when a request is sent."""

    def __init__(self, target: Target, http: httpx2.AsyncClient) -> None:
        import openai  # noqa: PLC0415 - takes half a second; see `Dialect.connect`

        self._sdk = openai
        self._client = openai.AsyncOpenAI(
            api_key="added-by-the-transport",
            base_url=target.base_url,
            max_retries=0,
            http_client=http,
        )
        # Else it finds out at the first request by running `uname`, and tells the provider.
        self._client._platform = "Unknown"

    @asynccontextmanager
    async def open(self, payload: Mapping[str, object]) -> AsyncIterator[AsyncIterator[object]]:
        """Send a request and give the events of the reply."""
        # Not `chat.completions.create`, whose typed chunks hold what the API's maker would send.
        try:
            async with await self._client.post(
                "/chat/completions",
                body={"model": "", "messages": [], **payload},
                cast_to=object,
                stream=True,
                stream_cls=self._sdk.AsyncStream[object],
            ) as stream:
                yield aiter(stream)
        except self._sdk.APIStatusError as error:
            answer = error.response
            raise Complaint(answer.status_code, answer.text, answer.headers) from None
        except self._sdk.APIConnectionError as error:
            raise httpx2.TransportError(str(error.__cause__ or error)) from None
        except self._sdk.APIError as error:  # inside the stream
            raise Complaint(0, json.dumps({"error": error.body}), {}) from None
        except (json.JSONDecodeError, RecursionError):
            raise httpx2.DecodingError("an event is no JSON") from None

    async def close(self) -> None:
        await self._client.close()
