"""The one way out to a model's endpoint: one host, one credential, no redirects, bounded bytes."""

from collections.abc import AsyncIterable, AsyncIterator
from urllib.parse import urlsplit

import httpx2

from live_memory.adapters.llm.endpoint import Credential, CredentialSource, HeaderStyle, Target
from live_memory.adapters.llm.reply_assembly import readable_events

__all__ = ["GuardedTransport", "http_client"]

# What the SDKs may send; whatever the environment made them add is left out.
_KNOWN_HEADERS = {
    "accept",
    "anthropic-version",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
}
# What is read of an answer's headers. A charset is none of it: all speak UTF-8, and among the
# names that may stand there some decode no text.
_READ_HEADERS = ("date", "retry-after")
_AGENT = "live-memory"
# An error's body; a reply has the bounds of `readable_events`.
_LONGEST_ERROR = 1024 * 1024
# What somebody else put in a credential's place, and what was got where that was refused too.
_MOST_OTHERS = 2
# "Required on any authenticated API request that uses a Bearer token obtained via OAuth":
# `OAUTH_API_BETA_HEADER` in the Anthropic SDK 2.14, lib/credentials/_constants.py.
_OAUTH_BETA = "oauth-2025-04-20"
# A local model may read a long prompt for minutes before its first byte (290 tokens/s); the
# caller's deadline comes first in any case.
_TIMEOUT = httpx2.Timeout(600.0, connect=10.0, pool=30.0)
_LIMITS = httpx2.Limits(max_connections=64, max_keepalive_connections=16, keepalive_expiry=30.0)


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Checks each request when it is sent, and gives it its credential only then."""

    def __init__(self, target: Target, inner: httpx2.AsyncBaseTransport) -> None:
        url = urlsplit(target.base_url)
        self._origin = httpx2.URL(f"{url.scheme}://{url.netloc}")
        self._credential = target.credential
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it, if it goes where it should."""
        there = (request.url.scheme, request.url.host, request.url.port)
        if there != (self._origin.scheme, self._origin.host, self._origin.port):
            raise httpx2.UnsupportedProtocol("the request would leave the configured endpoint")
        match self._credential:
            case None | Credential():
                return await self._send(request, self._credential)
            case source:
                return await self._send_with(source, request)

    async def _send_with(
        self, source: CredentialSource, request: httpx2.Request
    ) -> httpx2.Response:
        """Send it again where another credential can take the place of a refused one."""
        credential = await source.current()
        response = await self._send(request, credential)
        for _ in range(_MOST_OTHERS):
            if response.is_success:
                break
            # Read, it stays readable for whoever gets it.
            await response.aread()
            other = await source.instead_of(credential, response.status_code, response.text)
            if other is None:
                break
            credential = other
            response = await self._send(request, credential)
        return response

    async def _send(
        self, request: httpx2.Request, credential: Credential | None
    ) -> httpx2.Response:
        headers = [(name, v) for name, v in request.headers.items() if name in _KNOWN_HEADERS]
        headers += [("user-agent", _AGENT), ("accept-encoding", "identity")]
        headers += _credential_headers(credential).items()
        # A copy, because the SDK reads marks of its own from the request that it made.
        sent = httpx2.Request(
            request.method,
            request.url,
            headers=headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        answer = await self._inner.handle_async_request(sent)
        # Some compress what was asked for as it is, and are read all the same.
        chunks = answer.aiter_bytes()
        return httpx2.Response(
            answer.status_code,
            headers=[(n, answer.headers[n]) for n in _READ_HEADERS if n in answer.headers],
            stream=_Body(answer, (readable_events if answer.is_success else _start_of)(chunks)),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        """Close connections."""
        await self._inner.aclose()


class _Body(httpx2.AsyncByteStream):
    """What is made of an answer's bytes; whoever left it in the middle can read on."""

    def __init__(self, answer: httpx2.Response, chunks: AsyncIterator[bytes]) -> None:
        self._answer = answer
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def aclose(self) -> None:
        await self._answer.aclose()


async def _start_of(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    left = _LONGEST_ERROR
    async for chunk in chunks:
        yield chunk[:left]
        left -= len(chunk)
        if left <= 0:
            return


def http_client(target: Target) -> httpx2.AsyncClient:
    """A client that reaches this target alone, on this machine without any proxy.

    Raises:
        ModelRefused: the certificates that are to be trusted cannot be read, or the proxy is of
            a kind that is not supported.
    """
    way_out = target.way_out
    inner = httpx2.AsyncHTTPTransport(
        verify=way_out.trusted(), proxy=way_out.through(), trust_env=False, limits=_LIMITS
    )
    return httpx2.AsyncClient(
        transport=GuardedTransport(target, inner),
        timeout=_TIMEOUT,
        follow_redirects=False,
        trust_env=False,
    )


def _credential_headers(credential: Credential | None) -> dict[str, str]:
    match credential:
        case None:
            return {}
        case Credential(secret, HeaderStyle.X_API_KEY):
            return {"x-api-key": secret}
        case Credential(secret, HeaderStyle.OAUTH):
            return {"authorization": f"Bearer {secret}", "anthropic-beta": _OAUTH_BETA}
        case Credential(secret):
            return {"authorization": f"Bearer {secret}"}
