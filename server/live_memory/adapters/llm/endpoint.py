"""Where a model is, and what its endpoint taught us while we used it."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol, Self
from urllib.parse import urlsplit

from live_memory.adapters.llm.prices import Prices
from live_memory.core.errors import InvalidRequest, ModelRefused

__all__ = [
    "Credential",
    "CredentialSource",
    "EndpointQuirks",
    "Endpoints",
    "HeaderStyle",
    "PromptRead",
    "ReasoningEcho",
    "Target",
    "WayOut",
    "is_loopback",
]

# The names that curl, OpenSSL and Python's clients agree on; the first that is set counts.
_PROXIES = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
_EXCEPTIONS = ("no_proxy", "NO_PROXY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@dataclass(frozen=True, slots=True)
class WayOut:
    """A proxy's address, which may hold a password, and a file or folder of certificates.

    The environment that names them is the user's own; nothing on this machine is reached so.
    """

    proxy: str | None = field(default=None, repr=False)
    certificates: str | None = None

    @classmethod
    def to(cls, url: str, environ: Mapping[str, str]) -> Self:
        """What this environment says for an address; nothing for one on this machine."""
        here = urlsplit(url)
        if is_loopback(here.hostname or ""):
            return cls()
        # It takes long; and the type stubs name it only on some systems.
        from urllib.request import (  # type: ignore[attr-defined,unused-ignore]  # noqa: PLC0415
            proxy_bypass_environment,
        )

        proxy = _first(_PROXIES, environ)
        exceptions = {"no": _first(_EXCEPTIONS, environ) or ""}
        if proxy is not None:
            proxy = proxy if "://" in proxy else f"http://{proxy}"
            if proxy_bypass_environment(here.netloc, exceptions):
                proxy = None
        return cls(proxy, _first(_CERTIFICATES, environ))

    def through(self) -> str | None:
        """The proxy to go through, if any.

        Raises:
            ModelRefused: it is of a kind that is not spoken here.
        """
        kind = urlsplit(self.proxy or "http:").scheme
        # SOCKS would need one more library, and whoever sets a proxy may not want to go without.
        if kind not in ("http", "https"):
            raise ModelRefused(
                f"A proxy of kind {kind!r} is not supported: name one of kind http in "
                "HTTPS_PROXY, or the endpoint's host in NO_PROXY to reach it directly"
            )
        return self.proxy

    def trusted(self) -> ssl.SSLContext | bool:
        """What a server's certificate is checked with; the system's own where nothing is set.

        Raises:
            ModelRefused: what is set cannot be read.
        """
        there = self.certificates
        if there is None:
            return True
        try:
            if Path(there).is_dir():
                return ssl.create_default_context(capath=there)
            return ssl.create_default_context(cafile=there)
        except OSError as problem:  # also where it holds no certificate
            raise ModelRefused(
                f"The certificates in '{there}' cannot be used ({problem.strerror or problem}): "
                f"check {' or '.join(_CERTIFICATES)}"
            ) from problem


def _first(names: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def is_loopback(host: str) -> bool:
    """Whether this host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class HeaderStyle(StrEnum):
    """How a key travels."""

    BEARER = "bearer"
    X_API_KEY = "x-api-key"
    OAUTH = "oauth"


class ReasoningEcho(StrEnum):
    """Whether an endpoint wants a model's reasoning back on its turns with tool calls."""

    AS_GIVEN = "as given"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Credential:
    """A key and how it travels; its text is never shown."""

    secret: str = field(repr=False)
    style: HeaderStyle = HeaderStyle.BEARER

    def __post_init__(self) -> None:
        if not self.secret.strip() or not self.secret.isascii() or not self.secret.isprintable():
            raise InvalidRequest("setting 'api_key' is blank or holds characters no key has")


class CredentialSource(Protocol):
    """Gives a credential that may change while we run, each time a request is sent."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no text may show."""
        ...

    async def current(self) -> Credential:
        """The credential of the moment.

        Raises:
            ModelRefused: there is none that may be used now; the text says what to do.
        """
        ...

    async def instead_of(self, refused: Credential, status: int, body: str) -> Credential | None:
        """Another credential after this refusal, or nothing where the credential is not at fault.

        Raises:
            ModelRefused: it is at fault and there is no other; the text says what to do.
        """
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """A model at a base URL, as a person's own configuration names them.

    `prices` and `context_tokens` win over the catalogue; `extra_body` goes into every request.
    """

    base_url: str
    model: str
    credential: Credential | CredentialSource | None = None
    prices: Prices | None = None
    context_tokens: int | None = None
    extra_body: Mapping[str, object] = field(default_factory=dict)
    is_subscription: bool = False
    way_out: WayOut = field(default_factory=WayOut)

    def __post_init__(self) -> None:
        url = urlsplit(self.base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise InvalidRequest("setting 'base_url' is not a web address")
        if url.username or url.password or url.query or url.fragment:
            raise InvalidRequest("setting 'base_url' may hold no credentials, query or fragment")
        if url.scheme == "http" and not is_loopback(url.hostname):
            raise InvalidRequest("setting 'base_url' must use https, except on this machine")


@dataclass(frozen=True, slots=True)
class PromptRead:
    """The texts of a prompt in their order, and how many tokens an endpoint says it read."""

    texts: tuple[str, ...]
    tokens: int

    @property
    def characters(self) -> int:
        """The length of the whole prompt."""
        return sum(map(len, self.texts))


@dataclass(slots=True)
class EndpointQuirks:
    """What a model's endpoint taught us; only the adapter of that endpoint writes it.

    `last_read` is the newest prompt with what was counted, and `most_tokens` the highest count.
    """

    refused_fields: set[str] = field(default_factory=set)
    has_tools: bool = True
    enforces_schema: bool = True
    has_system_role: bool = True
    echo: ReasoningEcho = ReasoningEcho.AS_GIVEN
    was_echo_flipped: bool = False
    output_limit: int | None = None
    context_tokens: int | None = None
    last_read: PromptRead | None = None
    most_tokens: int = 0


class Endpoints:
    """The lessons of this process, so that a changed setting does not make us learn again."""

    def __init__(self) -> None:
        self._lessons: dict[tuple[str, str], EndpointQuirks] = {}

    def lessons(self, target: Target) -> EndpointQuirks:
        """What is known of this model there; the same object every time."""
        return self._lessons.setdefault(
            (target.base_url.rstrip("/"), target.model), EndpointQuirks()
        )
