"""What a request may hold: anything malformed is told so, and changes nothing (S32, S33)."""

import gzip
import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from live_memory.web.guard import MAX_BODY_BYTES
from live_memory.web.routes import MAX_DEPTH, MAX_VALUES
from live_memory.web.serving import HEAD_DEADLINE_S, MAX_HEAD_BYTES, MAX_WAITING_CONNECTIONS
from tests.support.server import RunningServer
from tests.web.hubs import routes

OURS = [r.path for r in routes() if r.methods and "POST" in r.methods]
POSTS = [*OURS, "/mcp"]
each_of_ours = pytest.mark.parametrize("path", OURS)
each_post = pytest.mark.parametrize("path", POSTS)

# Apart from what is wrong with it, each would clear everything.
MALFORMED = {
    "empty": b"",
    "blank": b" \n\t ",
    "null": b"null",
    "text": b'"x"',
    "list": b"[]",
    "number": b"1",
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 100_000,
    "closed but too deep": b'{"all":true,"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}",
    "many values": b'{"all":true,"a":[' + b"0," * MAX_VALUES + b"0]}",
    "long integer": b'{"all":true,"timeout":' + b"9" * 5_000 + b"}",
    "NaN": b'{"all":true,"timeout":NaN}',
    "Infinity": b'{"all":true,"timeout":-Infinity}',
    "too large": b'{"all":true,"timeout":1e999}',
    "no UTF-8": b'{"all":true,"cwd":"\xff\xfe"}',
    "byte order mark": b'\xef\xbb\xbf{"all":true}',
    "UTF-16": '{"all":true}'.encode("utf-16"),
    "field twice": b'{"all":true,"all":true}',
    "trailing garbage": b'{"all":true} x',
    "two objects": b'{"all":true}{"all":true}',
    "unclosed text": b'{"all":"' + b'\\"' * 100_000,
    "unclosed text and a backslash": b'{"all":"' + b'\\"' * 100_000 + b"\\",
    "single quotes": b"{'all':true}",
    "gzip": gzip.compress(b'{"all":true}'),
}


_CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":%s}}'


@pytest.mark.parametrize(
    "value",
    [
        b"[" + b'{"a":1},' * 450_000 + b"1]",
        b"[" + b"[]," * 400_000 + b"1]",
        b"[" + b"1," * MAX_VALUES + b"1]",
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b"[" * 2_000_000,
    ],
    ids=["objects", "lists", "numbers", "deep", "open"],
)
def test_a_body_of_mcp_that_takes_long_to_parse_is_refused(
    server: RunningServer, value: bytes
) -> None:
    """450,000 objects held up every other caller for half a second."""
    kinds = {"Accept": "application/json, text/event-stream"}
    reply = server.request("POST", "/mcp", _CALL % value, headers=kinds)
    assert reply.status == 400
    assert "the body" in str(reply.json)


@each_of_ours
@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_body_is_told_why(server: RunningServer, path: str, body: bytes) -> None:
    """S32."""
    reply = server.request("POST", path, body)
    assert reply.status == 400
    error = reply.json["error"]
    assert isinstance(error, dict)
    assert error["class"] == "invalid"
    assert 0 < len(str(error["message"])) < 200


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_protocol_message_is_refused(server: RunningServer, body: bytes) -> None:
    """S32, S35."""
    accept = {"Accept": "application/json, text/event-stream"}
    for version in ("2025-11-25", "2026-07-28"):
        reply = server.request(
            "POST", "/mcp", body, headers=accept | {"MCP-Protocol-Version": version}
        )
        assert 400 <= reply.status < 500


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"all": False},
        {"all": "true"},
        {"all": 1},
        {"all": None},
        {"all": [True]},
        {"al": True},
        {"all": True, "cwd": "/tmp/x"},
        {"all": False, "cwd": 7},
        {"cwd": None},
        {"cwd": {}},
        {"cwd": ["/tmp"]},
    ],
    ids=str,
)
def test_only_a_plain_wish_to_forget_is_one(
    server: RunningServer, project: Path, fields: dict[str, object]
) -> None:
    """S32; the project header alone is no consent either."""
    named = {"X-Live-Memory-Project": str(project)}
    assert server.request("POST", "/clear", fields, headers=named).status == 400


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"question": ""},
        {"question": "  \n"},
        {"question": 7},
        {"question": None},
        {"question": ["x"]},
        {"question": "x" * 20_001},
        {"question": "x", "timeout": "5"},
        {"question": "x", "timeout": True},
        {"question": "x", "timeout": -1},
        {"question": "x", "timeout": 0},
        {"question": "x", "timeout": 4.999},
        {"question": "x", "timeout": 1e308},
        {"question": "x", "timeout": [60]},
        {"question": "x", "max_answer_tokens": -1},
        {"question": "x", "max_answer_tokens": 0},
        {"question": "x", "max_answer_tokens": 10**12},
        {"question": "x", "max_answer_tokens": 300.5},
        {"question": "x", "max_answer_tokens": "300"},
        {"question": "x", "max_answer_tokens": True},
    ],
    ids=lambda fields: str(fields)[:40],
)
def test_a_question_out_of_range_is_told_what_to_send(
    server: RunningServer, project: Path, fields: dict[str, object]
) -> None:
    """S32, S35."""
    reply = server.request("POST", "/v1/ask", {"cwd": str(project), **fields})
    assert reply.status == 400
    assert b'"class": "invalid"' in reply.body


def test_nothing_that_was_refused_changed_anything(server: RunningServer, project: Path) -> None:
    """S01, S02, S32: the window is the same after everything that tried to clear it."""
    assert "answer" in server.ask("Where is charge_card?", project)
    target = f"/stats?cwd={project}"
    before = server.request("GET", target).json
    for body in MALFORMED.values():
        server.request("POST", "/clear", body)
    for header in ("Origin", "Sec-Fetch-Site", "Authorization", "Content-Type"):
        server.request("POST", "/clear", b'{"all":true}', headers={header: "x"})
    server.request("POST", "/clear", b'{"all":true}', headers={"Host": "evil.example"})
    assert server.request("GET", target).json == before


def padded(size: int) -> bytes:
    """A body that asks for nothing, of exactly this many bytes."""
    body = json.dumps({"pad": ""}).encode()
    return body[:-2] + b"x" * (size - len(body)) + body[-2:]


def chunked(body: bytes) -> bytes:
    return b"".join(
        b"%x\r\n%s\r\n" % (len(part), part)
        for part in (body[at : at + 65_536] for at in range(0, len(body), 65_536))
    )


def post(server: RunningServer, path: str, *headers: str) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Authorization: Bearer {server.token}",
        "Content-Type: application/json",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def status_of(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


def one_reply(connection: socket.socket, *data: bytes) -> int:
    """Send, and read one whole reply, whatever the server does with the connection then."""
    for part in data:
        connection.sendall(part)
    reply = http.client.HTTPResponse(connection)
    reply.begin()
    reply.read()
    return reply.status


@contextmanager
def connected(server: RunningServer) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        yield connection


@each_post
@pytest.mark.parametrize(("more", "is_taken"), [(-1, True), (0, True), (1, False)])
def test_the_largest_body_is_taken_whole_and_one_byte_more_is_not(
    server: RunningServer, path: str, more: int, is_taken: bool
) -> None:
    """S33: declared, and in chunks that declare nothing."""
    body = padded(MAX_BODY_BYTES + more)
    declared = server.request("POST", path, body).status
    whole = post(server, path, "Transfer-Encoding: chunked", "Connection: close")
    in_chunks = status_of(server.raw(whole + chunked(body) + b"0\r\n\r\n"))
    expected = (400, 406, 413) if is_taken and path == "/mcp" else (400,) if is_taken else (413,)
    assert declared in expected
    assert in_chunks in expected


@each_post
def test_a_body_that_declares_too_much_is_refused_unread(server: RunningServer, path: str) -> None:
    """S33."""
    with connected(server) as connection:
        assert one_reply(connection, post(server, path, f"Content-Length: {10**12}")) == 413


@each_post
@pytest.mark.parametrize("length", ["-1", "x", "1e3", "0x10", "9" * 30, "1, 2"])
def test_a_length_that_is_none_is_refused(server: RunningServer, path: str, length: str) -> None:
    """S32."""
    reply = server.raw(post(server, path, f"Content-Length: {length}", "Connection: close"))
    assert status_of(reply) == 400


def test_a_body_longer_than_declared_is_another_request_and_no_good_one(
    server: RunningServer,
) -> None:
    """S33: what is left over is not taken for part of the body."""
    reply = server.raw(post(server, "/clear", "Content-Length: 2") + b'{}, "all": true}\r\n\r\n')
    assert reply.count(b"HTTP/1.1 400") == 2


def test_a_body_that_never_ends_is_given_up(server: RunningServer) -> None:
    """S33, D18."""
    with connected(server) as connection:
        assert one_reply(connection, post(server, "/clear", "Content-Length: 9") + b"{") == 408


def test_a_get_has_no_body(server: RunningServer) -> None:
    reply = server.request("GET", "/stats?cwd=/", b"{}")
    assert reply.status == 400


@pytest.mark.parametrize(
    "head",
    [
        "X-Long: " + "x" * MAX_HEAD_BYTES,
        "\r\n".join(f"X-{n}: y" for n in range(10_000)),
        "X-Zero: a\0b",
        "No colon here",
        " folded: first",
    ],
    ids=lambda head: head[:12],
)
def test_a_head_that_is_too_large_or_broken_is_refused(server: RunningServer, head: str) -> None:
    """S33."""
    reply = server.raw(f"GET /health HTTP/1.1\r\n{head}\r\n\r\n".encode())
    assert status_of(reply) in (400, 431)


def test_a_long_address_is_refused(server: RunningServer) -> None:
    """S33."""
    reply = server.raw(f"GET /health?x={'y' * 1_000_000} HTTP/1.1\r\n\r\n".encode())
    assert reply == b"" or status_of(reply) in (400, 414, 431)
    assert server.request("GET", "/health").status == 200


@pytest.mark.parametrize("blank", [b"\r\n\r\n", b"\n\n", b"\r\n" * 20, b"\n\r\n"])
def test_blank_lines_alone_do_not_hold_a_connection(server: RunningServer, blank: bytes) -> None:
    """D18: they end no head, and no deadline would follow."""
    with connected(server) as connection:
        assert one_reply(connection, blank) == 400
        assert is_closed(connection)


@each_post
@pytest.mark.parametrize("coding", ["gzip, chunked", "gzip", "identity", "chunked, gzip", "x"])
def test_a_body_in_another_coding_is_refused(server: RunningServer, path: str, coding: str) -> None:
    """S33: it would be read as what it is not."""
    whole = post(server, path, f"Transfer-Encoding: {coding}", "Connection: close")
    assert status_of(server.raw(whole + b"2\r\n{}\r\n0\r\n\r\n")) == 400


def test_connections_that_say_nothing_whole_are_closed(server: RunningServer) -> None:
    """D18: silent ones, half a head, another protocol; all at once, to wait only once."""
    begun = [b"", b"GET /health HTTP/1.1\r\nHost: x\r\n", b"\x16\x03\x01", b"GET"]
    with ExitStack() as stack:
        waiting = [stack.enter_context(connected(server)) for _ in begun]
        for connection, said in zip(waiting, begun, strict=True):
            connection.sendall(said)
        started = time.monotonic()
        assert [is_closed(connection) for connection in waiting] == [True] * len(begun)
        assert time.monotonic() - started < 3 * HEAD_DEADLINE_S


def is_closed(connection: socket.socket) -> bool:
    """Wait for the end of a connection that has nothing to say."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_half_open_connections_keep_nobody_out(server: RunningServer) -> None:
    """D18, 5.5: beyond the cap the one that waited longest is closed, and a request passes."""
    begun = b"GET /health HTTP/1.1\r\nHost: x\r\n"
    idle = []
    try:
        for _ in range(MAX_WAITING_CONNECTIONS + 50):
            idle.append(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            idle[-1].sendall(begun)
        assert server.request("GET", "/health", timeout_s=3).status == 200
        idle[0].settimeout(HEAD_DEADLINE_S / 2)
        assert is_closed(idle[0])
    finally:
        for connection in idle:
            connection.close()


def test_a_kept_connection_serves_the_next_request(server: RunningServer) -> None:
    """In whatever pieces the requests come."""
    request = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
    with connected(server) as connection:
        for at in (1, 10, len(request) - 1, len(request)):
            assert one_reply(connection, request[:at], request[at:]) == 200
    last = request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert server.raw(request + request + last).count(b"HTTP/1.1 200") == 3


@pytest.mark.parametrize("offer", ["Upgrade: h2c", "upgrade: websocket", "UPGRADE:h2c, TLS/1.3"])
def test_an_offer_of_another_protocol_is_passed_over(server: RunningServer, offer: str) -> None:
    """The request is served with its body, and the connection stays."""
    offered = ("Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMA", offer)
    asked = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % server.port
    asked += "\r\n".join(offered).encode() + b"\r\n\r\n"
    with connected(server) as connection:
        assert one_reply(connection, asked) == 200
        for sized in ("Content-Length: 13", "Transfer-Encoding: chunked"):
            body = b'{"all": true}' if "Length" in sized else b'd\r\n{"all": true}\r\n0\r\n\r\n'
            assert one_reply(connection, post(server, "/clear", sized, *offered) + body) == 200


def memory_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_large_bodies_do_not_pile_up(server: RunningServer) -> None:
    """S33: the rise of the peak stays near the cap's size, however often it is sent."""
    server.request("POST", "/clear", padded(MAX_BODY_BYTES))
    before = memory_kib(server.pid)
    for path in POSTS * 3:
        server.request("POST", path, padded(MAX_BODY_BYTES))
        server.request("POST", path, padded(4 * MAX_BODY_BYTES))
    assert memory_kib(server.pid) - before <= 32 * 1024
