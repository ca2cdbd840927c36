"""The Messages API, with explicit cache marks, for its maker and for gateways that speak it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2

from live_memory.adapters.llm.endpoint import Credential, HeaderStyle, Lessons, Target
from live_memory.adapters.llm.streaming import Connection, EventSink, StreamingModel
from live_memory.adapters.llm.wire.complaints import Complaint
from live_memory.adapters.llm.wire.draft import Draft
from live_memory.adapters.llm.wire.messages_events import MessagesEvents
from live_memory.adapters.llm.wire.messages_request import messages_payload
from live_memory.core.companion.chat import ModelRequest
from live_memory.core.errors import ModelUnavailable

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

__all__ = ["anthropic_model"]

# Gateways that want `x-api-key` know the API's first version.
_OLD_VERSION = {"anthropic-version": "2023-06-01"}


def anthropic_model(target: Target, lessons: Lessons) -> StreamingModel:
    """A model behind the Messages API; `target.base_url` is what comes before `/v1/messages`."""
    return StreamingModel(_Messages(), target, lessons)


class _Messages:
    def connect(self, target: Target, http: httpx2.AsyncClient) -> Connection:
        """Give the SDK no credential of its own: the transport adds it when a request is sent."""
        from anthropic import AsyncAnthropic  # noqa: PLC0415 - takes a second; see `Dialect.connect`

        key = target.credential if isinstance(target.credential, Credential) else None
        return _Connection(
            AsyncAnthropic(
                api_key="added-by-the-transport",
                base_url=target.base_url,
                max_retries=0,
                http_client=http,
                default_headers=_OLD_VERSION
                if key and key.style is HeaderStyle.X_API_KEY
                else None,
                open_telemetry=False,
            )
        )

    def payload(self, request: ModelRequest, target: Target, lessons: Lessons) -> dict[str, object]:
        return messages_payload(request, target, lessons)

    def sink(self, draft: Draft) -> EventSink:
        return MessagesEvents(draft)


class _Connection:
    def __init__(self, client: "AsyncAnthropic") -> None:
        self._client = client
        # The SDK imports the rest of itself when it is first touched.
        self._messages = client.messages.with_streaming_response

    @asynccontextmanager
    async def open(self, payload: dict[str, object]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Send a request and give the bytes of the reply."""
        import anthropic  # noqa: PLC0415 - takes a second; see `Dialect.connect`

        try:
            async with self._messages.create(
                model="", max_tokens=1, messages=[], extra_body=payload
            ) as response:
                yield response.iter_bytes()
        except anthropic.APIStatusError as error:
            answer = error.response
            raise Complaint(answer.status_code, answer.text, answer.headers) from None
        except anthropic.APIConnectionError as error:
            if isinstance(error.__cause__, ModelUnavailable):
                raise error.__cause__ from None
            raise httpx2.TransportError(str(error.__cause__ or error)) from None

    async def close(self) -> None:
        await self._client.close()
