"""The Messages API, with explicit cache marks, for its maker and for gateways that speak it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2

from live_memory.adapters.llm.endpoint import Credential, HeaderStyle, Lessons, Target
from live_memory.adapters.llm.streaming import Dialect, StreamingModel
from live_memory.adapters.llm.wire import loose
from live_memory.adapters.llm.wire.complaints import Complaint
from live_memory.adapters.llm.wire.messages_events import MessagesEvents
from live_memory.adapters.llm.wire.messages_request import messages_payload
from live_memory.core.errors import ModelUnavailable

if TYPE_CHECKING:
    from anthropic import AsyncStream
    from anthropic.types import RawMessageStreamEvent

__all__ = ["anthropic_model"]

# Gateways that want `x-api-key` know the API's first version.
_OLD_VERSION = {"anthropic-version": "2023-06-01"}


def anthropic_model(target: Target, lessons: Lessons) -> StreamingModel:
    """A model behind the Messages API; `target.base_url` is what comes before `/v1/messages`."""
    return StreamingModel(Dialect(_Connection, messages_payload, MessagesEvents), target, lessons)


class _Connection:
    """The SDK without a credential of its own: the transport adds it when a request is sent."""

    def __init__(self, target: Target, http: httpx2.AsyncClient) -> None:
        import anthropic  # noqa: PLC0415 - takes a second; see `Dialect.connect`

        key = target.credential if isinstance(target.credential, Credential) else None
        is_old = key is not None and key.style is HeaderStyle.X_API_KEY
        self._sdk = anthropic
        self._client = anthropic.AsyncAnthropic(
            api_key="added-by-the-transport",
            base_url=target.base_url,
            max_retries=0,
            http_client=http,
            default_headers=_OLD_VERSION if is_old else None,
            open_telemetry=False,
        )
        # The SDK imports the rest of itself when it is first touched.
        self._messages = self._client.messages

    @asynccontextmanager
    async def open(self, payload: Mapping[str, object]) -> AsyncIterator[AsyncIterator[object]]:
        """Send a request and give the events of the reply."""
        try:
            async with await self._messages.create(
                model="", max_tokens=1, messages=[], stream=True, extra_body=payload
            ) as stream:
                yield _events(stream)
        except self._sdk.APIStatusError as error:
            answer = error.response
            raise Complaint(answer.status_code, answer.text, answer.headers) from None
        except self._sdk.APIConnectionError as error:
            if isinstance(error.__cause__, ModelUnavailable):
                raise error.__cause__ from None
            raise httpx2.TransportError(str(error.__cause__ or error)) from None

    async def close(self) -> None:
        await self._client.close()


async def _events(stream: "AsyncStream[RawMessageStreamEvent]") -> AsyncIterator[object]:
    """Each event's JSON, with the event's name as its type where it names none itself.

    Iterating over the stream itself would leave out events without a name.
    """
    async for event in stream.raw_events(stream.response):
        value = loose.parse(event.data)
        yield {"type": event.event, **value} if isinstance(value, dict) else value
