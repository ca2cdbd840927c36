"""Where a key goes, and where it never goes."""

import pytest

from live_memory.adapters.llm.anthropic import anthropic_model
from live_memory.adapters.llm.endpoint import Credential, Endpoints, HeaderStyle, Target
from live_memory.adapters.llm.openai_compatible import openai_compatible_model
from live_memory.adapters.llm.quirks import cleaned
from live_memory.core.errors import InvalidRequest, ModelRefused, ModelUnreachable
from tests.support.asking_models import ASKED, KEY, chat_at, messages_at
from tests.support.scripted_endpoint import ScriptedEndpoint, Status, Text

SPIED = {
    "ANTHROPIC_API_KEY": "sk-from-environment",
    "ANTHROPIC_AUTH_TOKEN": "sk-from-environment",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Spy: spied\nAuthorization: Bearer spied\nx-api-key: spied",
    "ANTHROPIC_BASE_URL": "https://spied.invalid",
    "OPENAI_API_KEY": "sk-from-environment",
    "OPENAI_ORG_ID": "spied",
    "OPENAI_PROJECT_ID": "spied",
    "OPENAI_CUSTOM_HEADERS": "X-Spy: spied\nAuthorization: Bearer spied",
    "OPENAI_BASE_URL": "https://spied.invalid",
    "HTTP_PROXY": "http://spied.invalid:1",
    "HTTPS_PROXY": "http://spied.invalid:1",
    "ALL_PROXY": "http://spied.invalid:1",
}


@pytest.mark.promise("no-secrets")
async def test_nothing_of_the_environment_reaches_an_endpoint(
    endpoint: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D12."""
    for name, value in SPIED.items():
        monkeypatch.setenv(name, value)
    for make in (chat_at, messages_at):
        channel = endpoint.open(Text("ok"))
        model = make(channel)
        await model.complete(ASKED)
        await model.aclose()
        headers = channel.requests[0].headers
        assert headers["authorization"] == f"Bearer {KEY}"
        assert not {"x-api-key", "x-spy", "openai-organization", "openai-project"} & headers.keys()
        assert "spied" not in str(headers)


async def test_a_gateway_gets_the_key_in_the_header_it_reads(endpoint: ScriptedEndpoint) -> None:
    channel = endpoint.open(Text("ok"))
    target = Target(channel.base_url, "m", Credential(KEY, HeaderStyle.X_API_KEY))
    model = anthropic_model(target, Endpoints().lessons(target))
    await model.complete(ASKED)
    await model.aclose()
    headers = channel.requests[0].headers
    assert headers["x-api-key"] == KEY
    assert headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in headers


async def test_a_local_server_without_a_key_gets_none(endpoint: ScriptedEndpoint) -> None:
    channel = endpoint.open(Text("ok"))
    target = Target(channel.base_url + "/v1", "m")
    model = openai_compatible_model(target, Endpoints().lessons(target))
    await model.complete(ASKED)
    await model.aclose()
    assert "authorization" not in channel.requests[0].headers


@pytest.mark.parametrize("code", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(endpoint: ScriptedEndpoint, code: int) -> None:
    """D12: not even to the same server."""
    elsewhere = endpoint.open(Text("caught"))
    for make, path in ((chat_at, "/v1/chat/completions"), (messages_at, "/v1/messages")):
        model = make(endpoint.open(Status(code, "", {"location": elsewhere.base_url + path})))
        with pytest.raises(ModelRefused, match="redirects"):
            await model.complete(ASKED)
        await model.aclose()
    assert elsewhere.requests == []


@pytest.mark.promise("no-secrets")
async def test_an_error_that_repeats_the_key_is_shown_without_it(
    endpoint: ScriptedEndpoint,
) -> None:
    message = f"Incorrect API key provided: {KEY}.\x1b[31m\n{'x' * 5_000}"
    for make in (chat_at, messages_at):
        model = make(endpoint.open(Status(401, {"error": {"message": message}})))
        with pytest.raises(ModelRefused) as caught:
            await model.complete(ASKED)
        await model.aclose()
        said = str(caught.value)
        assert KEY not in said
        assert "LIVE_MEMORY_API_KEY" in said
        assert said.isprintable()
        assert len(said) < 500


async def test_an_endpoint_that_is_not_there_is_unreachable() -> None:
    target = Target("http://127.0.0.1:1", "m", Credential(KEY))
    for make in (anthropic_model, openai_compatible_model):
        model = make(target, Endpoints().lessons(target))
        with pytest.raises(ModelUnreachable, match="connection failed"):
            await model.complete(ASKED)
        await model.aclose()


@pytest.mark.parametrize(
    "base_url",
    [
        "http://example.com/v1",
        "http://127.0.0.1.example.com",
        "https://user:secret@example.com",
        "https://example.com/v1?key=secret",
        "file:///etc/passwd",
        "example.com",
        "",
    ],
)
def test_an_address_that_would_expose_a_key_is_refused(base_url: str) -> None:
    with pytest.raises(InvalidRequest, match="base_url") as caught:
        Target(base_url, "m")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "base_url", ["https://example.com", "http://[::1]:8080", "http://localhost"]
)
def test_https_and_this_machine_are_allowed(base_url: str) -> None:
    assert Target(base_url, "m").base_url == base_url


@pytest.mark.parametrize("secret", ["", "  ", "sk-\n", "schlüssel"])
def test_what_cannot_be_a_key_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(InvalidRequest):
        Credential(secret)


@pytest.mark.promise("no-secrets")
def test_a_credential_never_shows_its_text() -> None:
    target = Target("https://example.com", "m", Credential(KEY))
    assert KEY not in repr(target)


def test_cleaned_text_is_one_printable_line() -> None:
    assert cleaned("a\x00\x1b[0m\r\n\u202eb\ud83d") == "a\ufffd [0m b\ufffd"
