"""Makes the model that was chosen. Imported only where there is one: its libraries take long."""

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from live_memory.adapters.llm.anthropic import anthropic_model
from live_memory.adapters.llm.claude_cli import ClaudeCli
from live_memory.adapters.llm.claude_login import TOKEN_URL, ClaudeLogin, TokenEndpoint
from live_memory.adapters.llm.endpoint import (
    Credential,
    CredentialSource,
    Endpoints,
    HeaderStyle,
    Target,
    WayOut,
)
from live_memory.adapters.llm.installed_client import find_claude
from live_memory.adapters.llm.openai_compatible import openai_compatible_model
from live_memory.adapters.llm.prices import Prices
from live_memory.adapters.llm.retry import Pace, Retrying
from live_memory.core.errors import InvalidRequest
from live_memory.ports import LanguageModel
from live_memory.settings import Settings
from live_memory.wiring.choose_model import ANTHROPIC, CLAUDE_CLI, Choice

__all__ = ["Models"]

_LOGIN = ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY")


class Models:
    """What endpoints taught us, and their pace, outlive a change of settings."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._endpoints = Endpoints()
        self._paces: dict[str, Pace] = {}
        self._logins: dict[Path, ClaudeLogin] = {}

    def build(self, choice: Choice, settings: Settings) -> LanguageModel:
        """The model, with retries around it.

        Raises:
            InvalidRequest: a setting cannot be meant; the text names it.
        """
        if choice.protocol == CLAUDE_CLI:
            return self._by_client(choice, settings)
        target = Target(
            base_url=choice.base_url.rstrip("/"),
            model=choice.model,
            credential=self._credential(choice, settings),
            prices=_prices(settings),
            context_tokens=settings.context_tokens,
            extra_body=settings.openai_extra_body,
            is_subscription=choice.login_file is not None,
            way_out=WayOut.to(choice.base_url, self._environ),
        )
        make = anthropic_model if choice.protocol == ANTHROPIC else openai_compatible_model
        # One pace an address: all workspaces share what it lets through.
        pace = self._paces.setdefault(target.base_url, Pace(random=random.random))
        return Retrying(make(target, self._endpoints.lessons(target)), pace=pace)

    def _credential(
        self, choice: Choice, settings: Settings
    ) -> Credential | CredentialSource | None:
        if choice.login_file is not None:
            # What it learned of a login outlives a change of settings too.
            endpoint = TokenEndpoint(way_out=WayOut.to(TOKEN_URL, self._environ))
            login = ClaudeLogin(choice.login_file, settings.data_dir, endpoint=endpoint)
            return self._logins.setdefault(choice.login_file, login)
        return Credential(choice.key, HeaderStyle(settings.auth_header)) if choice.key else None

    def _by_client(self, choice: Choice, settings: Settings) -> LanguageModel:
        program = find_claude(self._environ)
        if program is None:
            raise InvalidRequest("Claude Code is not installed any more")
        if settings.provider == "claude-cli":
            # Named by a person, so it logs in the way it does in that person's terminal.
            login = {name: self._environ[name] for name in _LOGIN if name in self._environ}
            program = replace(program, env={**program.env, **login})
        pace = self._paces.setdefault(CLAUDE_CLI, Pace(random=random.random))
        client = ClaudeCli(program, settings.data_dir / "companion", model=choice.model)
        return Retrying(client, pace=pace)


def _prices(settings: Settings) -> Prices | None:
    if settings.price_input is None or settings.price_output is None:
        return None
    return Prices(
        settings.price_input,
        settings.price_output,
        settings.price_cache_read_mult,
        settings.price_cache_write_mult,
    )
