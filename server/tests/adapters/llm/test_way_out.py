"""Which way an endpoint is reached: the user's proxy and certificates, never on this machine."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from live_memory.adapters.llm.endpoint import Credential, Endpoints, Target, WayOut
from live_memory.adapters.llm.openai_compatible import openai_compatible_model
from live_memory.adapters.llm.transport import http_client
from live_memory.core.errors import ModelRefused, ModelUnreachable
from tests.support.asking_models import ASKED, KEY
from tests.support.scripted_endpoint import Channel, ScriptedEndpoint, Text

_PROXY = "http://proxy.corp:3128"


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("https://api.example/v1", {"HTTPS_PROXY": _PROXY}, _PROXY),
        ("https://api.example/v1", {"https_proxy": "proxy.corp:3128"}, _PROXY),
        ("https://api.example/v1", {"ALL_PROXY": _PROXY}, _PROXY),
        ("https://api.example/v1", {"HTTPS_PROXY": ""}, None),
        ("https://api.example/v1", {"HTTP_PROXY": _PROXY}, None),
        ("https://api.example/v1", {"ALL_PROXY": "socks5://a", "HTTPS_PROXY": _PROXY}, _PROXY),
        ("https://api.example/v1", {"ALL_PROXY": "socks5://a", "NO_PROXY": "api.example"}, None),
        ("http://127.0.0.1:8080/v1", {"ALL_PROXY": "socks5://a"}, None),
        ("https://api.example/v1", {"HTTPS_PROXY": _PROXY, "NO_PROXY": "api.example"}, None),
        ("https://api.example/v1", {"HTTPS_PROXY": _PROXY, "NO_PROXY": ".example"}, None),
        ("https://api.example:8443", {"HTTPS_PROXY": _PROXY, "no_proxy": "a, api.example"}, None),
        ("https://api.example/v1", {"HTTPS_PROXY": _PROXY, "NO_PROXY": "*"}, None),
        ("https://api.example/v1", {"HTTPS_PROXY": _PROXY, "NO_PROXY": "other.example"}, _PROXY),
    ],
)
def test_a_proxy_is_used_as_other_programs_use_it(
    url: str, environ: dict[str, str], proxy: str | None
) -> None:
    assert WayOut.to(url, environ).proxy == proxy


@pytest.mark.parametrize("kind", ["socks5", "socks5h", "socks4", "socks", "ftp"])
@pytest.mark.parametrize("name", ["HTTPS_PROXY", "all_proxy"])
def test_a_proxy_of_another_kind_is_refused_and_never_passed_by(kind: str, name: str) -> None:
    """Requests went straight to the provider, which whoever sets a proxy may not want."""
    environ = {name: f"{kind}://me:hunter2@proxy.corp:1080"}
    way_out = WayOut.to("https://api.example/v1", environ)
    with pytest.raises(ModelRefused, match=f"'{kind}'.*NO_PROXY") as refused:
        http_client(Target("https://api.example/v1", "m", way_out=way_out))
    assert "hunter2" not in str(refused.value)


def test_a_password_for_a_proxy_is_in_no_text() -> None:
    way_out = WayOut.to("https://api.example", {"HTTPS_PROXY": "http://me:hunter2@proxy.corp:1"})
    assert "hunter2" not in repr(Target("https://api.example", "m", way_out=way_out))


def _certificate(folder: Path) -> Path:
    """A key and a certificate of our own for the host `provider.example`."""
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=provider.example"
    more = ["-addext", "subjectAltName=DNS:provider.example", "-keyout", "key.pem"]
    subprocess.run(
        [*command.split(), *more, "-out", "ca.pem"], cwd=folder, check=True, capture_output=True
    )
    return folder / "ca.pem"


@contextmanager
def _proxy(folder: Path, to: str) -> Iterator[tuple[str, list[bytes]]]:
    """A proxy that ends TLS and hands on to an endpoint of ours; its address, what it saw."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    asked: list[bytes] = []
    there = urlsplit(to)

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)

    def serve(client: socket.socket) -> None:
        with suppress(OSError), client:
            asked.append(client.recv(4_096))
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with (
                context.wrap_socket(client, server_side=True) as inner,
                socket.create_connection((there.hostname, there.port)) as outer,
            ):
                back = threading.Thread(target=pump, args=(outer, inner), daemon=True)
                back.start()
                pump(inner, outer)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        listener.shutdown(socket.SHUT_RDWR)


async def _asked(channel: Channel, environ: dict[str, str], *, base_url: str) -> None:
    url = base_url + urlsplit(channel.base_url).path
    target = Target(f"{url}/v1", "m", Credential(KEY), way_out=WayOut.to(url, environ))
    model = openai_compatible_model(target, Endpoints().lessons(target))
    try:
        await model.complete(ASKED)
    finally:
        await model.aclose()


@pytest.mark.real("openssl")
async def test_a_provider_is_reached_through_a_proxy_with_certificates_of_its_own(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    """B10."""
    certificate, channel = _certificate(tmp_path), endpoint.open(Text("ok"))
    with _proxy(tmp_path, channel.base_url) as (address, asked):
        environ = {"HTTPS_PROXY": address}
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
            with_ca = environ | {name: str(certificate)}
            await _asked(channel, with_ca, base_url="https://provider.example")
        assert all(each.startswith(b"CONNECT provider.example:443 ") for each in asked)
        assert KEY.encode() not in b"".join(asked)
        assert len(channel.requests) == 2
        with pytest.raises(ModelUnreachable):
            await _asked(channel, environ, base_url="https://provider.example")


async def test_an_endpoint_on_this_machine_is_reached_without_any_proxy(
    endpoint: ScriptedEndpoint,
) -> None:
    channel = endpoint.open(Text("ok"))
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1"}
    await _asked(channel, nowhere, base_url=endpoint.origin)
    assert len(channel.requests) == 1


@pytest.mark.parametrize("content", [None, "no certificate\n"])
async def test_certificates_that_cannot_be_read_are_named(
    endpoint: ScriptedEndpoint, tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "ca.pem").write_text(content)
    environ = {"SSL_CERT_FILE": str(tmp_path / "ca.pem")}
    with pytest.raises(ModelRefused, match="SSL_CERT_FILE"):
        await _asked(endpoint.open(), environ, base_url="https://provider.example")
