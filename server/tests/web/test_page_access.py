"""How the page is let in: a link that works once, and a key that opens little and ends."""

import http.client
import json
from importlib import resources

from live_memory.web import page
from live_memory.web.identity import Identity
from live_memory.web.page_links import LINK_S, PAGE_PARTS, PageLinks
from tests.support.server import Reply, RunningServer

FILES = ("/ui", *(f"/ui/{name}" for name in PAGE_PARTS))
_ORIGIN = "http://127.0.0.1:{}"


def _shown(server: RunningServer, method: str, path: str, secret: str, **headers: str) -> Reply:
    named = {"Authorization": f"Bearer {secret}", **headers}
    return server.request(method, path, {} if method == "POST" else None, headers=named)


def _linked(server: RunningServer) -> str:
    return str(server.request("POST", "/v1/page/link", {}).json["secret"])


def _key(server: RunningServer) -> str:
    origin = _ORIGIN.format(server.port)
    reply = _shown(server, "POST", "/v1/page/key", _linked(server), Origin=origin)
    assert reply.status == 200
    return str(reply.json["key"])


def test_a_link_gives_the_key_once(server: RunningServer) -> None:
    secret = _linked(server)
    assert _shown(server, "POST", "/v1/page/key", secret).status == 200
    assert _shown(server, "POST", "/v1/page/key", secret).status == 401


def test_a_link_opens_nothing_but_the_key(server: RunningServer) -> None:
    secret = _linked(server)
    for method, path in (("GET", "/v1/overview"), ("POST", "/v1/page/link"), ("GET", "/stats")):
        assert _shown(server, method, path, secret).status == 401


def test_the_key_of_the_page_opens_what_is_made_for_it_alone(server: RunningServer) -> None:
    key = _key(server)
    assert key != server.token
    for headers in ({}, {"Origin": _ORIGIN.format(server.port)}):
        assert _shown(server, "GET", "/v1/overview", key, **headers).status == 200
    for method, path in (
        ("GET", "/stats?cwd=/"),
        ("POST", "/notify"),
        ("POST", "/clear"),
        ("POST", "/reload"),
        ("POST", "/mcp"),
    ):
        assert _shown(server, method, path, key).status == 401


def test_the_page_makes_no_link_to_itself(server: RunningServer) -> None:
    """Who has its key for a moment must not have another one later."""
    assert _shown(server, "POST", "/v1/page/link", _key(server)).status == 403


def test_the_key_of_the_page_is_of_one_start_and_is_no_other_key() -> None:
    one, other = Identity("t" * 43, 7711, 1), Identity("t" * 43, 7711, 1)
    assert len({one.page_key, other.page_key, one.key, one.token}) == 4


def test_a_link_dies_after_a_minute_and_old_ones_give_way() -> None:
    now = [0.0]
    links = PageLinks(lambda: now[0])
    first = links.made()
    now[0] = LINK_S - 0.1
    assert links.is_live(first)
    now[0] = LINK_S
    assert not links.is_live(first)
    assert not links.used(first)
    made = [links.made() for _ in range(20)]
    assert not links.used(made[0])
    assert links.used(made[-1])
    assert not links.used(made[-1])
    assert not links.used("")


def test_the_files_of_the_page_hold_no_secret_and_forbid_all_but_themselves(
    server: RunningServer,
) -> None:
    for path in FILES:
        reply = server.request("GET", path, headers={"Authorization": "x"})
        assert reply.status == 200
        assert server.token.encode() not in reply.body
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
    moved = server.request("GET", "/", headers={"Authorization": "x"})
    assert (moved.status, moved.headers["location"]) == (307, "/ui")


def test_every_file_of_the_page_is_served() -> None:
    there = {file.name for file in resources.files(page).iterdir()}
    assert {name for name in there if name.endswith((".js", ".css"))} == set(PAGE_PARTS)


def test_nothing_of_the_page_comes_from_elsewhere(server: RunningServer) -> None:
    texts = [server.request("GET", path).body.decode() for path in FILES]
    for text in texts:
        plain = text.replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in plain
        assert "https://" not in plain
        for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert sink not in text


def test_news_come_as_they_happen_and_end_with_the_listener(server: RunningServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request("GET", "/v1/events", headers=server.authorization)
        reply = connection.getresponse()
        assert reply.getheader("content-type") == "text/event-stream"
        told = json.loads(reply.readline().removeprefix(b"data: "))
    finally:
        connection.close()
    assert "server" in told["changed"]
    assert server.request("GET", "/v1/overview").json["asking"] == 0
