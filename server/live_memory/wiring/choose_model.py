"""Which model a person's settings mean: what is set, else a key that is there, else none."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from live_memory.adapters.llm.endpoint import Credential, Target, is_loopback
from live_memory.adapters.llm.installed_client import find_claude, is_logged_in, login_file
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Settings

__all__ = ["ANTHROPIC", "CLAUDE_CLI", "Choice", "checked", "choose", "secrets_of"]

ANTHROPIC, OPENAI, CLAUDE_CLI = "anthropic", "openai", "claude-cli"
# The cheap model of each maker, and where it is (November 2026).
_CHEAP = {
    ANTHROPIC: ("https://api.anthropic.com", "claude-haiku-4-5"),
    OPENAI: ("https://api.openai.com/v1", "gpt-5-mini"),
}
_DEEPSEEK = ("https://api.deepseek.com/v1", "deepseek-chat")
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY")


@dataclass(frozen=True, slots=True)
class Choice:
    """A wire protocol, where to, which model, and the key, or the file with the login, for it."""

    protocol: str
    base_url: str
    model: str
    key: str | None
    login_file: Path | None = None


def choose(settings: Settings, environ: Mapping[str, str]) -> Choice | None:
    """The model to use, or none.

    Raises:
        InvalidRequest: the settings cannot be meant; the text names the one to change.
    """
    key = settings.api_key.get_secret_value() if settings.api_key else None
    if settings.use_oauth and settings.provider != "none":
        return _by_login(settings, environ)
    match settings.provider:
        case "none":
            return None
        case "anthropic" | "openai" as protocol:
            found = key or environ.get(f"{protocol.upper()}_API_KEY")
            return _named(protocol, settings, found)
        case "claude-cli":
            if find_claude(environ) is None:
                raise InvalidRequest(
                    "setting 'provider' is claude-cli, and Claude Code is not installed: "
                    "install it and log in, or choose another provider"
                )
            return _by_client(settings)
        case "auto":
            return _found(settings, key, environ)


def checked(settings: Settings, environ: Mapping[str, str]) -> None:
    """Find out early whether a model can be made from the settings.

    Raises:
        InvalidRequest: it cannot; the text names the setting to change.
    """
    choice = choose(settings, environ)
    if choice is not None and choice.protocol != CLAUDE_CLI:
        credential = Credential(choice.key) if choice.key else None
        Target(choice.base_url, choice.model, credential=credential)


def secrets_of(settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Our own credentials, which no text that leaves may hold."""
    own = [settings.api_key.get_secret_value()] if settings.api_key else []
    return (*own, *(environ[name] for name in _KEYS if environ.get(name)))


def _named(protocol: str, settings: Settings, key: str | None) -> Choice:
    if key is None and settings.base_url is None:
        raise InvalidRequest(
            f"setting 'provider' is {protocol} and there is no key: set 'api_key', "
            f"or {protocol.upper()}_API_KEY, or the 'base_url' of a server that needs none"
        )
    base_url, model = _CHEAP[protocol]
    return Choice(protocol, settings.base_url or base_url, settings.model or model, key)


def _by_login(settings: Settings, environ: Mapping[str, str]) -> Choice:
    """The client's login goes to its maker alone."""
    maker, model = _CHEAP[ANTHROPIC]
    if settings.provider not in ("auto", ANTHROPIC):
        raise InvalidRequest("setting 'use_oauth' is for 'provider' anthropic: change one of them")
    if settings.api_key:
        raise InvalidRequest("settings 'use_oauth' and 'api_key' exclude each other: unset one")
    base_url = (settings.base_url or maker).rstrip("/")
    if base_url != maker and not is_loopback(urlsplit(base_url).hostname or ""):
        raise InvalidRequest(f"with setting 'use_oauth', 'base_url' is {maker} or not set")
    return Choice(
        ANTHROPIC, base_url, settings.model or model, None, login_file=login_file(environ)
    )


def _found(settings: Settings, key: str | None, environ: Mapping[str, str]) -> Choice | None:
    """An explicit key or address first, then the keys that other tools use."""
    if key or settings.base_url:
        says_so = (key or "").startswith("sk-ant-") or "anthropic" in (settings.base_url or "")
        return _named(ANTHROPIC if says_so else OPENAI, settings, key)
    for name, protocol in zip(_KEYS, (ANTHROPIC, OPENAI), strict=False):
        if environ.get(name):
            return _named(protocol, settings, environ[name])
    if environ.get(_KEYS[2]):
        base_url, model = _DEEPSEEK
        return Choice(OPENAI, base_url, settings.model or model, environ[_KEYS[2]])
    if find_claude(environ) is not None and is_logged_in(environ):
        return _by_client(settings)
    return None


def _by_client(settings: Settings) -> Choice:
    return Choice(CLAUDE_CLI, "", settings.model or "haiku", None)
