"""A real server that was told to use Claude Code's login (C11, S28, S43).

Nothing here answers 401: a server renews a login at its maker's own address alone.
"""

import os
from pathlib import Path

import pytest

from live_memory.core.errors import InvalidRequest
from live_memory.settings import Settings
from live_memory.wiring.choose_model import ANTHROPIC, Choice, choose
from tests.support.client_login import OLD, OTHER, SECRETS, taking, write_login
from tests.support.scripted_endpoint import Status, Text, serving
from tests.support.server import RunningServer, running_server

REFUSAL = "This credential is only authorized for use with Claude Code"
MAKER = "https://api.anthropic.com"


def _answer(server: RunningServer, project: Path) -> dict[str, object]:
    answer = server.ask("Where is MAX_RETRIES?", project)["answer"]
    assert isinstance(answer, dict)
    return answer


@pytest.mark.promise("always-something-true", "no-secrets")
def test_a_refused_login_leaves_evidence_and_a_new_one_is_used_without_a_restart(
    tmp_path: Path,
) -> None:
    project, client = tmp_path / "project", tmp_path / "client"
    for folder in (project, client):
        folder.mkdir()
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    file = client / ".credentials.json"
    write_login(file, OLD)
    before = file.read_bytes()
    refusal = Status(400, {"error": {"message": f"{REFUSAL}: {OLD}"}})
    with serving() as endpoint:
        channel = endpoint.open(
            Text("`MAX_RETRIES` is 7 (limits.py:1)."), rules=[taking(OTHER, otherwise=refusal)]
        )
        told = {
            "LIVE_MEMORY_USE_OAUTH": "on",
            "LIVE_MEMORY_BASE_URL": channel.base_url,
            "LIVE_MEMORY_LOG_LEVEL": "debug",
            "CLAUDE_CONFIG_DIR": str(client),
        }
        with running_server(tmp_path, **told) as server:
            first, second = _answer(server, project), _answer(server, project)
            assert len(channel.requests) == 1
            assert file.read_bytes() == before
            write_login(file, OTHER)
            third = _answer(server, project)
            stats = server.request("GET", f"/stats?cwd={project}").body.decode()
            log = server.log.read_text()
    assert [answer["mode"] for answer in (first, second, third)] == [
        "evidence",
        "evidence",
        "companion",
    ]
    for answer in (first, second):
        assert REFUSAL in str(answer)
        assert "limits.py:1" in str(answer)
    assert third["cost_usd"] is None
    kept = [path for path in server.data_dir.rglob("*") if path.is_file()]
    seen = [stats, log, str((first, second, third)), *(p.read_text("latin-1") for p in kept)]
    assert not [secret for secret in SECRETS for text in seen if secret in text]


@pytest.mark.promise("always-something-true")
@pytest.mark.parametrize("before", [None, "", "run out"])
def test_who_logs_in_after_a_refusal_is_answered_at_once(
    tmp_path: Path, before: str | None
) -> None:
    """No login, no JSON, and one that has run out and cannot be renewed."""
    project, client = tmp_path / "project", tmp_path / "client"
    for folder in (project, client):
        folder.mkdir()
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    file = client / ".credentials.json"
    if before == "run out":
        write_login(file, OLD, refresh="")
    elif before is not None:
        file.write_text(before)
        file.chmod(0o600)
    with serving() as endpoint:
        channel = endpoint.open(Text("`MAX_RETRIES` is 7 (limits.py:1)."), rules=[taking(OTHER)])
        told = {
            "LIVE_MEMORY_USE_OAUTH": "on",
            "LIVE_MEMORY_BASE_URL": channel.base_url,
            "CLAUDE_CONFIG_DIR": str(client),
        }
        with running_server(tmp_path, **told) as server:
            first = _answer(server, project)
            write_login(file, OTHER)
            second = _answer(server, project)
    assert (first["mode"], second["mode"]) == ("evidence", "companion")


def test_nobody_uses_a_login_without_being_told() -> None:
    settings = Settings(provider="anthropic")
    with pytest.raises(InvalidRequest, match="there is no key"):
        choose(settings, {"HOME": "/h"})


@pytest.mark.parametrize("provider", ["auto", "anthropic"])
def test_a_login_goes_to_its_maker_whatever_keys_there_are(provider: str) -> None:
    settings = Settings.model_validate({"use_oauth": True, "provider": provider})
    environ = {"HOME": "/h", "ANTHROPIC_API_KEY": "sk-a", "OPENAI_API_KEY": "sk-o"}
    file = Path("/h/.claude/.credentials.json")
    assert choose(settings, environ) == Choice(
        ANTHROPIC, MAKER, "claude-haiku-4-5", None, login_file=file
    )


def test_no_model_stays_no_model() -> None:
    assert choose(Settings(provider="none", use_oauth=True), dict(os.environ)) is None


@pytest.mark.parametrize(
    "more",
    [
        {"provider": "openai"},
        {"provider": "claude-cli"},
        {"api_key": "sk-a"},
        {"base_url": "https://gateway.example.com"},
        {"base_url": "https://api.anthropic.com.example.com"},
        {"base_url": "http://127.0.0.1.example.com"},
    ],
)
def test_settings_that_would_send_a_login_elsewhere_are_refused(more: dict[str, str]) -> None:
    """D12."""
    settings = Settings.model_validate({"use_oauth": True, **more})
    with pytest.raises(InvalidRequest, match="use_oauth"):
        choose(settings, {"HOME": "/h"})
