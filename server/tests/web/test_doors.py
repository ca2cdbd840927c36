"""Who is let in: every route that the application has, whoever knocks (S01, S02, S03, C22)."""

import socket

import pytest

from live_memory.web.identity import prove
from live_memory.web.page_links import PAGE_FILES
from tests.support.server import RunningServer
from tests.web.hubs import routes

ROUTES = [
    (method, route.path)
    for route in routes()
    for method in sorted((route.methods or {"GET", "POST", "DELETE"}) - {"HEAD"})
]
POSTS = [path for method, path in ROUTES if method == "POST"]
every_route = pytest.mark.parametrize(("method", "path"), ROUTES)
every_closed_route = pytest.mark.parametrize(
    ("method", "path"), [r for r in ROUTES if r != ("GET", "/health") and r not in PAGE_FILES]
)
# A stream of news goes on until the client leaves.
every_route_that_ends = pytest.mark.parametrize(
    ("method", "path"), [route for route in ROUTES if route[1] != "/v1/events"]
)
every_post = pytest.mark.parametrize("path", POSTS)
# Whatever else a body would do, this one would change something.
BODY = b'{"all":true}'


def knock(
    server: RunningServer,
    method: str,
    path: str,
    *headers: str,
    version: str = "1.1",
    body: bytes = BODY,
) -> bytes:
    """Send a request with exactly these headers; the whole reply."""
    lines = [f"{method} {path} HTTP/{version}", *headers, "Connection: close"]
    if method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join([*lines, "", ""]).encode("latin-1")
    return server.raw(head + (body if method == "POST" else b""))


def status_of(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


def ours(server: RunningServer) -> str:
    return f"Host: 127.0.0.1:{server.port}"


def bearer(server: RunningServer) -> str:
    return f"Authorization: Bearer {server.token}"


JSON = "Content-Type: application/json"


@every_route
@pytest.mark.parametrize(
    "hosts",
    [
        ("evil.example:PORT",),
        ("127.0.0.1.evil.example:PORT",),
        ("0.0.0.0:PORT",),
        ("[::]:PORT",),
        ("127.0.0.2:PORT",),
        ("127.0.0.1",),
        ("127.0.0.1:9",),
        ("127.0.0.1:PORT", "evil.example:PORT"),
        ("127.0.0.1:PORT", "127.0.0.1:PORT"),
        ("",),
        (),
    ],
    ids=str,
)
def test_a_foreign_host_is_refused_even_with_the_token(
    server: RunningServer, method: str, path: str, hosts: tuple[str, ...]
) -> None:
    """S01, C22: a page that resolves its own name to this machine reaches nothing."""
    named = [f"Host: {host.replace('PORT', str(server.port))}" for host in hosts]
    reply = knock(server, method, path, *named, bearer(server), JSON)
    assert status_of(reply) in (400, 421)
    assert b"version" not in reply


@every_route
def test_a_request_without_host_in_the_oldest_protocol_is_refused(
    server: RunningServer, method: str, path: str
) -> None:
    """S01."""
    assert status_of(knock(server, method, path, bearer(server), JSON, version="1.0")) == 400


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
@every_route_that_ends
def test_our_own_names_pass(server: RunningServer, method: str, path: str, host: str) -> None:
    """S01."""
    headers = (f"Host: {host}:{server.port}", bearer(server), JSON)
    reply = knock(server, method, path, *headers, body=b"{}")
    assert status_of(reply) not in (401, 403, 415, 421)


@every_route
@pytest.mark.parametrize(
    "header",
    [
        "Origin: http://evil.example",
        "Origin: null",
        "Origin: http://localhost:3000",
        "Origin: http://localhost:PORT",
        "Origin: https://127.0.0.1:PORT",
        "Origin: http://127.0.0.1:PORT/",
        "Origin: ",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ],
)
def test_a_web_page_is_refused_even_with_the_token(
    server: RunningServer, method: str, path: str, header: str
) -> None:
    """S02, C22."""
    header = header.replace("PORT", str(server.port))
    reply = knock(server, method, path, ours(server), bearer(server), JSON, header)
    assert status_of(reply) == 403
    assert b"access-control" not in reply.lower()


OWN_ORIGIN = pytest.mark.parametrize(
    "header", ["Origin: http://127.0.0.1:PORT", "Sec-Fetch-Site: same-origin"]
)


@OWN_ORIGIN
@every_route_that_ends
def test_our_own_page_may_use_its_files_and_what_is_made_for_it_and_nothing_else(
    server: RunningServer, method: str, path: str, header: str
) -> None:
    """Also with the token of this installation, which no page ever has."""
    header = header.replace("PORT", str(server.port))
    status = status_of(
        knock(server, method, path, ours(server), bearer(server), JSON, header, body=b"{}")
    )
    assert (status == 403) == ((method, path) not in PAGE_FILES and not path.startswith("/v1/"))
    without = status_of(knock(server, method, path, ours(server), JSON, header, body=b"{}"))
    assert without in ((200, 307) if (method, path) in PAGE_FILES else (401, 403))


@every_post
@pytest.mark.parametrize(
    "kind",
    [
        "Content-Type: text/plain",
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: multipart/form-data; boundary=x",
        "Content-Type: application/json; charset=utf-16",
        "Content-Type: application/jsonp",
        "X-Nothing: here",
    ],
)
def test_what_a_form_can_send_is_refused(server: RunningServer, path: str, kind: str) -> None:
    """S02: a form needs no permission of the browser's to be sent."""
    assert status_of(knock(server, "POST", path, ours(server), bearer(server), kind)) == 415
    assert status_of(knock(server, "POST", path, ours(server), kind)) == 401


@every_route
def test_asking_for_permission_gets_none(server: RunningServer, method: str, path: str) -> None:
    """S02: the preflight of a browser."""
    asks = (
        ours(server),
        "Origin: http://evil.example",
        f"Access-Control-Request-Method: {method}",
        "Access-Control-Request-Headers: authorization",
    )
    reply = knock(server, "OPTIONS", path, *asks)
    assert status_of(reply) in (401, 403)
    assert b"access-control" not in reply.lower()


@pytest.mark.parametrize(
    "shown",
    [
        "X-Nothing: here",
        "Authorization: ",
        "Authorization: Bearer",
        "Authorization: Bearer ",
        "Authorization: Bearer wrong",
        "Authorization: Bearer TOKEN ",
        "Authorization: Bearer TOKEN\t",
        "Authorization: Bearer  TOKEN",
        "Authorization: Bearer PREFIX",
        "Authorization: Bearer TOKENTOKEN",
        "Authorization: bearer TOKEN",
        "Authorization: BEARER TOKEN",
        "Authorization: TOKEN",
        "Authorization: Basic TOKEN",
        "Authorization: Basic OlRPS0VO",
        "Cookie: token=TOKEN",
        "X-Token: TOKEN",
    ],
)
@every_closed_route
def test_only_the_exact_token_opens(
    server: RunningServer, method: str, path: str, shown: str
) -> None:
    """S03, C22."""
    shown = shown.replace("PREFIX", server.token[:-1]).replace("TOKEN", server.token)
    reply = knock(server, method, path, ours(server), JSON, shown)
    assert status_of(reply) == 401
    assert b"live-memory doctor" in reply
    assert server.token.encode() not in reply


@every_closed_route
def test_the_token_in_the_address_opens_nothing(
    server: RunningServer, method: str, path: str
) -> None:
    """S03."""
    for name in ("token", "access_token", "authorization"):
        reply = knock(server, method, f"{path}?{name}={server.token}", ours(server), JSON)
        assert status_of(reply) == 401


@every_route
def test_two_tokens_are_none(server: RunningServer, method: str, path: str) -> None:
    reply = knock(server, method, path, ours(server), bearer(server), bearer(server), JSON)
    assert status_of(reply) == 400


@pytest.mark.parametrize(
    "path",
    ["/ui/", "/health/", "//health", "/HEALTH", "/v1", "/nothing", "/mcp//", "/.well-known/x"],
)
def test_a_path_that_is_no_route_is_behind_the_door_too(server: RunningServer, path: str) -> None:
    assert status_of(knock(server, "GET", path, ours(server))) == 401
    assert status_of(knock(server, "GET", path, ours(server), bearer(server))) == 404


def test_the_protocol_s_door_has_a_name_with_a_slash_too(server: RunningServer) -> None:
    """N33: and both are behind the same guard."""
    hello = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        b'"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}'
    )
    accept = "Accept: application/json, text/event-stream"
    for path in ("/mcp", "/mcp/"):
        refused = knock(server, "POST", path, ours(server), JSON, accept, body=hello)
        assert status_of(refused) == 401
        reply = knock(server, "POST", path, ours(server), bearer(server), JSON, accept, body=hello)
        assert status_of(reply) == 200
        assert b"live-memory" in reply


def test_a_request_for_another_server_is_refused(server: RunningServer) -> None:
    there = f"http://127.0.0.1:{server.port}/health"
    assert status_of(knock(server, "GET", there, ours(server))) == 400


def test_the_key_of_this_start_opens_what_the_token_opens(server: RunningServer) -> None:
    """S06: it is what hosts and commands show, on a connection that was proved."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        found = prove(connection, token=server.token, within_s=10)
    assert found is not None
    shown = f"Authorization: Bearer {found.key}"
    assert status_of(knock(server, "GET", "/health/", ours(server), shown)) == 404
    for wrong in (found.key[:-1], found.key + "0", found.key.upper() + "A", "0" * 64):
        shown = f"Authorization: Bearer {wrong}"
        assert status_of(knock(server, "GET", "/health/", ours(server), shown)) == 401


def test_a_token_that_is_not_the_server_s_proves_nothing(server: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        assert prove(connection, token="t" * 43, within_s=10) is None


def test_health_tells_a_stranger_nothing_but_the_state_and_a_proof(server: RunningServer) -> None:
    """S03."""
    reply = server.request("GET", "/health?nonce=0123456789abcdef", headers={"Authorization": "x"})
    assert reply.status == 200
    assert sorted(reply.json) == ["pid", "proof", "reasons", "start", "status"]
    assert reply.json["reasons"] == []
    assert str(server.data_dir) not in reply.body.decode()


@pytest.mark.parametrize("nonce", ["", "short", "x" * 129, "a%00" * 16, "%C3%A9" * 20])
def test_a_nonce_that_is_no_nonce_is_refused(server: RunningServer, nonce: str) -> None:
    reply = server.request("GET", f"/health?nonce={nonce}")
    assert reply.status == 400
    assert reply.json["error"] == {
        "class": "invalid",
        "message": "nonce must be 16 to 128 letters, digits, '-' or '_'",
    }


def test_no_reply_names_the_software_behind(server: RunningServer) -> None:
    assert "server" not in server.request("GET", "/health").headers
