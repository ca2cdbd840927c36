"""A login that is not there, not ours to use, or not taken: said once, and left alone (C11)."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from live_memory.adapters.llm import claude_login
from live_memory.adapters.llm.claude_login import ClaudeLogin, TokenEndpoint
from live_memory.adapters.llm.installed_client import Login, LoginUnreadable, login_file, read_login
from live_memory.core.errors import ModelOverloaded, ModelRefused, ModelUnreachable
from tests.support.client_login import (
    NEW,
    OLD,
    OTHER,
    REFRESH,
    RENEWED,
    SECRETS,
    a_scene,
    taking,
    write_login,
)
from tests.support.scripted_endpoint import Play, Received, ScriptedEndpoint, Status

NOT_FOR_US = [
    (400, "This credential is only authorized for use with Claude Code and cannot be used for x."),
    (401, "OAuth authentication is currently not supported."),
    (403, "OAuth authentication is currently not allowed for this organization."),
    (403, "OAuth token does not meet scope requirement user:inference"),
]


@pytest.mark.parametrize(("status", "message"), NOT_FOR_US)
@pytest.mark.promise("always-something-true")
async def test_a_login_that_is_not_for_other_programs_is_explained_and_left_alone(
    endpoint: ScriptedEndpoint, tmp_path: Path, status: int, message: str
) -> None:
    """C11: one explanation for a minute, and no renewal; another login is used at once."""
    error = {"type": "error", "error": {"type": "x", "message": f"{message} {OLD}"}}
    takes = taking(OTHER, otherwise=Status(status, error))
    async with a_scene(endpoint, tmp_path, takes=takes) as scene:
        said = await scene.refusal()
        assert "'use_oauth'" in said
        assert message in said
        assert await scene.refusal() == said
        scene.clock.time += 59
        await scene.refusal()
        assert scene.used() == [OLD]
        scene.clock.time += 2
        await scene.refusal()
        assert scene.used() == [OLD, OLD]
        write_login(scene.file, OTHER)
        assert (await scene.ask()).turn.text == "ok"
        assert scene.tokens.requests == []


@pytest.mark.parametrize(
    ("play", "error"),
    [(Status(529, "overloaded"), ModelOverloaded), (Status(500, "oops"), ModelUnreachable)],
)
async def test_other_failures_are_none_of_the_logins_business(
    endpoint: ScriptedEndpoint, tmp_path: Path, play: Status, error: type[Exception]
) -> None:
    async with a_scene(endpoint, tmp_path, takes=taking(otherwise=play)) as scene:
        with pytest.raises(error):
            await scene.ask()
        with pytest.raises(error):
            await scene.ask()
        assert scene.tokens.requests == []


async def test_what_the_endpoint_teaches_is_still_learned(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    def refuses_cache(received: Received) -> Play | None:
        if b"cache_control" in received.raw:
            return Status(400, {"error": {"message": "cache_control: Extra inputs not permitted"}})
        return None

    async with a_scene(endpoint, tmp_path, takes=refuses_cache) as scene:
        assert (await scene.ask()).turn.text == "ok"


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        '{"claudeAiOauth": null}',
        '{"claudeAiOauth": {"accessToken": "", "refreshToken": ""}}',
        '{"claudeAiOauth": {"accessToken": "  "}}',
        '{"claudeAiOauth": {"accessToken": 7}}',
        '{"claudeAiOauth": {"accessToken": "a\\nb"}}',
        '{"claudeAiOauth": {"accessToken": "schlüssel"}}',
    ],
)
async def test_a_file_without_tokens_means_logged_out(
    endpoint: ScriptedEndpoint, tmp_path: Path, text: str
) -> None:
    async with a_scene(endpoint, tmp_path, takes=taking(OTHER)) as scene:
        scene.file.write_text(text)
        assert "logged out" in await scene.refusal()
        assert scene.messages.requests == []
        write_login(scene.file, OTHER)
        assert (await scene.ask()).turn.text == "ok"


async def test_a_file_that_is_half_written_is_read_again(
    endpoint: ScriptedEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_scene(endpoint, tmp_path, takes=taking(OTHER)) as scene:
        scene.file.write_text('{"claudeAiOauth": {"acc')
        assert "cannot be read" in await scene.refusal()

        def written_meanwhile(file: Path) -> Login:
            try:
                return read_login(file)
            except LoginUnreadable:
                write_login(file, OTHER)
                raise

        monkeypatch.setattr(claude_login, "read_login", written_meanwhile)
        assert (await scene.ask()).turn.text == "ok"


async def test_a_login_without_a_refresh_token_is_not_renewed(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    async with a_scene(endpoint, tmp_path, takes=taking(NEW)) as scene:
        write_login(scene.file, OLD, "")
        assert "cannot be renewed" in await scene.refusal()
        assert scene.tokens.requests == []


def _gone(file: Path) -> None:
    file.unlink()


def _link(file: Path) -> None:
    file.rename(file.with_name("real"))
    file.symlink_to("real")


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _writable_by_others(file: Path) -> None:
    file.chmod(0o622)


def _huge(file: Path) -> None:
    file.write_text("x" * (1024 * 1024 + 1))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_gone, "no login"),
        (_link, "cannot be opened"),
        (_pipe, "not a regular file"),
        (_folder, "not a regular file"),
        (_writable_by_others, "others can write"),
        (_huge, "larger than any login"),
    ],
)
async def test_a_file_that_is_not_the_clients_own_is_refused_and_explained(
    endpoint: ScriptedEndpoint, tmp_path: Path, spoil: Callable[[Path], None], says: str
) -> None:
    async with a_scene(endpoint, tmp_path, takes=taking(OLD)) as scene:
        content = scene.file.read_bytes()
        spoil(scene.file)
        assert says in await scene.refusal()
        assert scene.messages.requests == []
        scene.file.rmdir() if scene.file.is_dir() else scene.file.unlink(missing_ok=True)
        scene.file.write_bytes(content)


async def test_a_lock_that_cannot_be_taken_means_no_renewal(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    async with a_scene(endpoint, tmp_path, takes=taking(NEW), patience_s=0.0) as scene:
        (tmp_path / "login.lock").mkdir()
        assert "cannot be made" in await scene.refusal()
        assert scene.tokens.requests == []


@pytest.mark.promise("no-secrets")
async def test_no_token_reaches_a_log(
    endpoint: ScriptedEndpoint, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """S28: at the most talkative level, with a refusal that repeats the token."""
    caplog.set_level(logging.DEBUG)
    rejection = Status(400, {"error": "invalid_grant", "error_description": REFRESH})
    async with a_scene(
        endpoint, tmp_path, takes=taking(), renews=(RENEWED, rejection), patience_s=0.0
    ) as scene:
        await scene.refusal()
        scene.clock.time += 61
        await scene.refusal()
        assert len(scene.tokens.requests) == 2
    assert caplog.records
    assert not any(secret in caplog.text for secret in SECRETS)


@pytest.mark.parametrize(
    ("environ", "file"),
    [
        ({"HOME": "/h"}, "/h/.claude/.credentials.json"),
        ({"HOME": "/h", "CLAUDE_CONFIG_DIR": ""}, "/h/.claude/.credentials.json"),
        ({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}, "/c/.credentials.json"),
    ],
)
def test_the_login_is_where_the_client_keeps_it(environ: dict[str, str], file: str) -> None:
    assert login_file(environ) == Path(file)


async def test_a_relative_place_is_not_looked_at(tmp_path: Path) -> None:
    login = ClaudeLogin(login_file({"CLAUDE_CONFIG_DIR": "here"}), tmp_path)
    with pytest.raises(ModelRefused, match="no absolute path"):
        await login.current()


@pytest.mark.parametrize("url", ["http://example.com/token", "ftp://127.0.0.1", "", "file:///x"])
def test_tokens_are_renewed_over_https(url: str) -> None:
    with pytest.raises(ValueError, match="https"):
        TokenEndpoint(url)


def test_the_token_endpoint_is_its_makers() -> None:
    assert TokenEndpoint().url == "https://platform.claude.com/v1/oauth/token"
