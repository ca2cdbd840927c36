"""Where a model is, and what its endpoint taught us while we used it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol
from urllib.parse import urlsplit

from live_memory.adapters.llm.catalogue import Prices
from live_memory.adapters.llm.way_out import WayOut, is_loopback
from live_memory.core.errors import InvalidRequest

__all__ = [
    "Credential",
    "CredentialSource",
    "Echo",
    "Endpoints",
    "HeaderStyle",
    "Lessons",
    "PromptRead",
    "Target",
    "is_loopback",
]


class HeaderStyle(StrEnum):
    """How a key travels."""

    BEARER = "bearer"
    X_API_KEY = "x-api-key"
    OAUTH = "oauth"


class Echo(StrEnum):
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
class Lessons:
    """What a model's endpoint taught us; only the adapter of that endpoint writes it.

    `last_read` is the newest prompt with what was counted, and `most_tokens` the highest count.
    """

    refused_fields: set[str] = field(default_factory=set)
    has_tools: bool = True
    enforces_schema: bool = True
    has_system_role: bool = True
    echo: Echo = Echo.AS_GIVEN
    was_echo_flipped: bool = False
    output_limit: int | None = None
    context_tokens: int | None = None
    last_read: PromptRead | None = None
    most_tokens: int = 0


class Endpoints:
    """The lessons of this process, so that a changed setting does not make us learn again."""

    def __init__(self) -> None:
        self._lessons: dict[tuple[str, str], Lessons] = {}

    def lessons(self, target: Target) -> Lessons:
        """What is known of this model there; the same object every time."""
        return self._lessons.setdefault((target.base_url.rstrip("/"), target.model), Lessons())
