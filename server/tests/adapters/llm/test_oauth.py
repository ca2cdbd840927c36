"""Claude Code's own login as a credential: used as it is, renewed seldom, never written (S43)."""

import json
import threading
from pathlib import Path

import anyio
import pytest

from live_memory.adapters.llm import claude_login
from live_memory.adapters.llm.claude_login import CLIENT_ID, ClaudeLogin, TokenEndpoint
from live_memory.adapters.llm.installed_client import Login, read_login
from live_memory.core.companion.chat import ModelReply
from live_memory.core.errors import ModelRefused
from tests.support.client_login import (
    NEW,
    NEXT_REFRESH,
    OLD,
    OTHER,
    REFRESH,
    RENEWED,
    a_scene,
    arrival,
    taking,
    write_login,
)
from tests.support.scripted_endpoint import Body, Play, Raw, Received, ScriptedEndpoint, Status


async def test_the_clients_token_is_sent_as_it_is_and_costs_nothing(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    """The file says that it expired long ago; only a 401 counts (D16)."""
    async with a_scene(endpoint, tmp_path, takes=taking(OLD)) as scene:
        reply = await scene.ask()
        headers = scene.messages.requests[0].headers
        assert headers["authorization"] == f"Bearer {OLD}"
        assert headers["anthropic-beta"] == "oauth-2025-04-20"
        assert "x-api-key" not in headers
        assert scene.tokens.requests == []
        assert reply.cost_usd is None
        assert scene.model.abilities.is_subscription
        assert scene.login.secrets == (OLD, REFRESH)


async def test_a_refused_token_is_renewed_once_and_only_in_memory(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    async with a_scene(endpoint, tmp_path, takes=taking(NEW)) as scene:
        before = scene.file.stat()
        assert (await scene.ask()).turn.text == "ok"
        assert (await scene.ask()).turn.text == "ok"
        assert scene.used() == [OLD, NEW, NEW]
        (renewal,) = scene.tokens.requests
        assert renewal.body == {
            "grant_type": "refresh_token",
            "refresh_token": REFRESH,
            "client_id": CLIENT_ID,
        }
        assert scene.file.stat().st_mtime_ns == before.st_mtime_ns
        assert sorted(p.name for p in tmp_path.iterdir()) == [".credentials.json", "login.lock"]
        assert (tmp_path / "login.lock").read_bytes() == b""


async def test_sixteen_asks_at_the_end_of_a_token_renew_it_once(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    async with a_scene(endpoint, tmp_path, takes=taking(NEW)) as scene:
        replies: list[ModelReply] = []

        async def ask() -> None:
            replies.append(await scene.ask())

        async with anyio.create_task_group() as group:
            for _ in range(16):
                group.start_soon(ask)
        assert [reply.turn.text for reply in replies] == ["ok"] * 16
        assert len(scene.tokens.requests) == 1


async def test_a_token_that_the_client_renews_meanwhile_is_preferred(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    """We wait for the client before we renew anything ourselves."""

    def client_renews(received: Received) -> Play | None:
        if OLD in received.headers["authorization"]:
            write_login(tmp_path / ".credentials.json", OTHER, NEXT_REFRESH)
        return taking(OTHER)(received)

    async with a_scene(endpoint, tmp_path, takes=client_renews, patience_s=5.0) as scene:
        assert (await scene.ask()).turn.text == "ok"
        assert scene.used() == [OLD, OTHER]
        assert scene.tokens.requests == []


async def test_a_client_that_renews_while_we_wait_is_noticed(
    endpoint: ScriptedEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Login] = []

    def renewed_while_we_wait(file: Path) -> Login:
        """Looks: before sending, after the 401, and two while we wait for the client."""
        looks.append(read_login(file))
        if len(looks) == 4:
            write_login(file, OTHER, NEXT_REFRESH)
        return looks[-1]

    async with a_scene(endpoint, tmp_path, takes=taking(OTHER), patience_s=5.0) as scene:
        monkeypatch.setattr(claude_login, "read_login", renewed_while_we_wait)
        assert (await scene.ask()).turn.text == "ok"
        assert scene.tokens.requests == []


async def test_a_new_token_in_the_file_goes_before_one_of_ours(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    async with a_scene(endpoint, tmp_path, takes=taking(NEW, OTHER)) as scene:
        await scene.ask()
        write_login(scene.file, OTHER)
        await scene.ask()
        assert scene.used() == [OLD, NEW, OTHER]


async def test_our_token_is_renewed_with_the_refresh_token_that_came_with_it(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    taken = [NEW]
    third = Body(json.dumps({"access_token": OTHER}))

    def takes(received: Received) -> Play | None:
        return taking(*taken)(received)

    async with a_scene(endpoint, tmp_path, takes=takes, renews=(RENEWED, third)) as scene:
        await scene.ask()
        taken[:] = [OTHER]
        scene.clock.time += 3_600
        await scene.ask()
        await scene.ask()
        assert scene.used() == [OLD, NEW, NEW, OTHER, OTHER]
        sent = [request.body["refresh_token"] for request in scene.tokens.requests]
        assert sent == [REFRESH, NEXT_REFRESH]


async def test_a_renewed_token_that_is_refused_too_is_not_renewed_again(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    async with a_scene(endpoint, tmp_path, takes=taking()) as scene:
        assert "new token was refused too" in await scene.refusal()
        assert "log in" in await scene.refusal()
        assert scene.used() == [OLD, NEW]
        assert len(scene.tokens.requests) == 1


async def test_a_refused_refresh_token_is_never_tried_again_until_the_file_changes(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    rejection = Status(400, {"error": "invalid_grant", "error_description": REFRESH})
    async with a_scene(endpoint, tmp_path, takes=taking(OTHER), renews=(rejection,)) as scene:
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(scene.refusal)
        assert len(scene.tokens.requests) == 1
        scene.messages.requests.clear()
        scene.clock.time += 59
        assert "log in" in await scene.refusal()
        assert scene.used() == []
        scene.clock.time += 2
        assert "log in" in await scene.refusal()
        assert scene.used() == [OLD]
        assert len(scene.tokens.requests) == 1
        write_login(scene.file, OTHER)
        assert (await scene.ask()).turn.text == "ok"


@pytest.mark.parametrize(
    "failure",
    [
        Status(500, "oops"),
        Status(429, {"error": {"type": "rate_limit_error"}}),
        Status(302, "", {"location": "https://elsewhere.invalid"}),
        Body("{}"),
        Body("[]"),
        Body("not json"),
        Body(json.dumps({"access_token": "  "})),
        Body(json.dumps({"access_token": "a\r\nx-spy: b"})),
        Body("x" * 100_000),
        Raw([b"x"], "reset"),
        Status(200, "this is no gzip", {"content-encoding": "gzip"}),
    ],
)
async def test_a_renewal_that_fails_is_left_alone_for_a_while_and_then_tried_again(
    endpoint: ScriptedEndpoint, tmp_path: Path, failure: Play
) -> None:
    async with a_scene(
        endpoint, tmp_path, takes=taking(NEW), renews=(failure, RENEWED), patience_s=0.0
    ) as scene:
        assert "not renewed" in await scene.refusal()
        assert "not renewed" in await scene.refusal()
        assert len(scene.tokens.requests) == 1
        assert scene.used() == [OLD]
        scene.clock.time += 16
        assert (await scene.ask()).turn.text == "ok"


async def test_nobody_at_the_token_endpoint_is_a_refusal_too(tmp_path: Path) -> None:
    write_login(tmp_path / "f", OLD)
    login = ClaudeLogin(
        tmp_path / "f", tmp_path, endpoint=TokenEndpoint("http://127.0.0.1:1"), patience_s=0
    )
    credential = await login.current()
    with pytest.raises(ModelRefused, match=r"no answer \(ConnectError\)"):
        await login.instead_of(credential, 401, "")


@pytest.mark.promise("deadline-kept")
async def test_a_stalled_renewal_ends_with_the_callers_deadline(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    """And it is not begun again by the next: the call under way ends by itself."""
    stall = Raw([b"{"], "stall")
    async with a_scene(
        endpoint,
        tmp_path,
        takes=taking(NEW),
        renews=(stall, RENEWED),
        longest_s=3.0,
        patience_s=0.0,
    ) as scene:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(scene.ask)
                await arrival(scene.tokens)
                group.cancel_scope.cancel()
        # The call is still under way: nobody was refused yet.
        assert (await scene.login.current()).secret == OLD
        assert len(scene.tokens.requests) == 1
        assert "no answer (ReadTimeout)" in await scene.refusal()
        assert len(scene.tokens.requests) == 1
        scene.clock.time += 61
        assert (await scene.ask()).turn.text == "ok"


async def test_a_renewal_whose_caller_left_is_not_lost(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    """A refresh token works once; what it was traded for is kept for the next question."""
    has_left = threading.Event()

    def after_the_caller_left(_received: Received) -> None:
        assert has_left.wait(5)

    async with a_scene(
        endpoint, tmp_path, takes=taking(NEW), rules=[after_the_caller_left]
    ) as scene:
        async with anyio.create_task_group() as group:
            group.start_soon(scene.ask)
            await arrival(scene.tokens)
            group.cancel_scope.cancel()
        has_left.set()
        assert (await scene.ask()).turn.text == "ok"
        assert len(scene.tokens.requests) == 1
