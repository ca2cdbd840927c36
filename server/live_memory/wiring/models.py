"""Makes the model that was chosen. Imported only where there is one: its libraries take long."""

import random

from live_memory.adapters.llm.anthropic import anthropic_model
from live_memory.adapters.llm.catalogue import Prices
from live_memory.adapters.llm.endpoint import Credential, Endpoints, HeaderStyle, Target
from live_memory.adapters.llm.openai_compatible import openai_compatible_model
from live_memory.adapters.llm.pace import Pace
from live_memory.adapters.llm.retry import Retrying
from live_memory.ports import LanguageModel
from live_memory.settings import Settings
from live_memory.wiring.choice import ANTHROPIC, Choice

__all__ = ["Models"]


class Models:
    """What endpoints taught us, and their pace, outlive a change of settings."""

    def __init__(self) -> None:
        self._endpoints = Endpoints()
        self._paces: dict[str, Pace] = {}

    def build(self, choice: Choice, settings: Settings) -> LanguageModel:
        """The model, with retries around it.

        Raises:
            InvalidRequest: a setting cannot be meant; the text names it.
        """
        key = choice.key
        target = Target(
            base_url=choice.base_url.rstrip("/"),
            model=choice.model,
            credential=Credential(key, HeaderStyle(settings.auth_header)) if key else None,
            prices=_prices(settings),
            context_tokens=settings.context_tokens,
            extra_body=settings.openai_extra_body,
        )
        make = anthropic_model if choice.protocol == ANTHROPIC else openai_compatible_model
        # One pace an address: all workspaces share what it lets through.
        pace = self._paces.setdefault(target.base_url, Pace(random=random.random))
        return Retrying(make(target, self._endpoints.lessons(target)), pace=pace)


def _prices(settings: Settings) -> Prices | None:
    if settings.price_input is None or settings.price_output is None:
        return None
    return Prices(
        settings.price_input,
        settings.price_output,
        settings.price_cache_read_mult,
        settings.price_cache_write_mult,
    )
