"""Claude Code's login file, what it is good for at a scripted endpoint, and our model between."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from live_memory.adapters.llm.anthropic import anthropic_model
from live_memory.adapters.llm.claude_login import ClaudeLogin, TokenEndpoint
from live_memory.adapters.llm.endpoint import Endpoints, Target
from live_memory.adapters.llm.streaming import StreamingModel
from live_memory.core.companion.chat import ModelReply
from live_memory.core.errors import ModelRefused
from tests.support.asking_models import ASKED
from tests.support.scripted_endpoint import (
    Body,
    Channel,
    Play,
    Received,
    ScriptedEndpoint,
    Status,
    Text,
)

__all__ = [
    "NEW", "NEXT_REFRESH", "OLD", "OTHER", "REFRESH", "RENEWED", "SECRETS", "Hands", "Scene",
    "a_scene", "arrival", "taking", "write_login",
]  # fmt: skip

OLD, NEW, OTHER = "sk-ant-oat01-old", "sk-ant-oat01-new", "sk-ant-oat01-other"
REFRESH, NEXT_REFRESH = "sk-ant-ort01-first", "sk-ant-ort01-second"
SECRETS = (OLD, NEW, OTHER, REFRESH, NEXT_REFRESH)
EXPIRED = {"type": "authentication_error", "message": f"OAuth token has expired: {OLD}"}
RENEWED = Body(json.dumps({"access_token": NEW, "refresh_token": NEXT_REFRESH, "expires_in": 1}))


def write_login(file: Path, access: str, refresh: str = REFRESH) -> None:
    """As the client does it; the time of expiry is long past and must not matter."""
    login = {"accessToken": access, "refreshToken": refresh, "expiresAt": 1_700_000_000_000}
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"claudeAiOauth": login, "mcpOAuth": {}}))
    new.chmod(0o600)
    new.replace(file)


def taking(*tokens: str, otherwise: Play | None = None) -> Callable[[Received], Play | None]:
    refusal = otherwise or Status(401, {"type": "error", "error": EXPIRED})
    taken = {f"Bearer {token}" for token in tokens}
    return lambda received: None if received.headers["authorization"] in taken else refusal


class Hands:
    """A clock for the rests, moved by hand."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        return self.time


@dataclass(frozen=True, slots=True)
class Scene:
    """A client's file, the Messages API, the token endpoint, and our model between them."""

    file: Path
    messages: Channel
    tokens: Channel
    model: StreamingModel
    login: ClaudeLogin
    clock: Hands

    async def ask(self) -> ModelReply:
        """Ask once."""
        with anyio.fail_after(10):
            return await self.model.complete(ASKED)

    async def refusal(self) -> str:
        """Ask, and give the error's text, which shows no token."""
        with pytest.raises(ModelRefused) as caught:
            await self.ask()
        said = str(caught.value)
        assert not any(secret in said for secret in SECRETS)
        return said

    def used(self) -> Sequence[str]:
        """The tokens that were sent, in order."""
        return [r.headers["authorization"].removeprefix("Bearer ") for r in self.messages.requests]


async def arrival(channel: Channel) -> None:
    with anyio.fail_after(5):
        while not channel.requests:
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def a_scene(
    endpoint: ScriptedEndpoint,
    folder: Path,
    *,
    takes: Callable[[Received], Play | None],
    renews: Sequence[Play] = (RENEWED,),
    rules: Sequence[Callable[[Received], Play | None]] = (),
    longest_s: float = 5.0,
    patience_s: float = 0.2,
) -> AsyncIterator[Scene]:
    file = folder / ".credentials.json"
    write_login(file, OLD)
    before, written = file.stat().st_ino, file.read_bytes()
    messages = endpoint.open(Text("ok"), rules=[takes])
    tokens = endpoint.open(*renews, rules=rules)
    clock = Hands()
    login = ClaudeLogin(
        file,
        folder,
        endpoint=TokenEndpoint(f"{tokens.base_url}/v1/oauth/token", longest_s=longest_s),
        patience_s=patience_s,
        monotonic=clock,
    )
    target = Target(messages.base_url, "claude-haiku-4-5", login, is_subscription=True)
    model = anthropic_model(target, Endpoints().lessons(target))
    yield Scene(file, messages, tokens, model, login, clock)
    await model.aclose()
    assert not any(secret in repr((target, login, model)) for secret in SECRETS)
    # Whatever happened, only `write_login` may have changed it, and that makes a new file.
    if file.stat().st_ino == before:
        assert file.read_bytes() == written
