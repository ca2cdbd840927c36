"""What agents tell each other through bridges, and how a call says whose it is."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.scripted_server import scripted_server, stream
from tests.support.server import RunningServer, environment_for, running_server
from tests.support.stdio_client import Bridged, bridged, said

_ANSWER = {"content": [{"type": "text", "text": "It is kept."}], "isError": False}
_ANSWERED = {"jsonrpc": "2.0", "id": 1, "result": {**_ANSWER, "resultType": "complete"}}
_NAMES = ("X-Live-Memory-Host", "X-Live-Memory-Session", "X-Live-Memory-Call")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "pay.py").write_text("def charge_card(amount):\n    return amount * 2\n")
    return root


def _use(bridge: Bridged, tool: str, **given: object) -> str:
    return said(bridge.ask("tools/call", name=tool, arguments=given))


def test_what_one_client_tells_another_hears_with_who_told_it(
    server: RunningServer, project: Path
) -> None:
    first = {**server.environment, "CLAUDE_CODE_SESSION_ID": "0123456789"}
    with bridged(first, project) as one, bridged(server.environment, project) as other:
        one.hello()
        other.hello()
        note = "Charged twice on purpose: pay.py:2."
        assert _use(one, "remember", text=note, category="decision").startswith("Remembered as n")
        left = _use(one, "handoff", action="leave", summary="Half is done.")
        heard = _use(other, "recall", text="charged", kinds=["note"])
        assert "(decision) by test (session 012345), a moment ago; told, not checked" in heard
        assert f"\n| {note}" in heard
        (named,) = set(re.findall(r"\bh[0-9a-f]{12}\b", left))
        assert "| Half is done." in _use(other, "handoff", action="claim", id=named)
        lost = _use(one, "handoff", action="claim", id=named)
        assert lost.startswith(f"Not yours: {named} was claimed by test, a moment ago.")


def test_a_call_that_is_sent_again_says_that_it_is_the_same(tmp_path: Path, project: Path) -> None:
    """What the first one did of it must count once."""
    environ = environment_for(tmp_path, port=1)
    cut = stream({"method": "notifications/progress", "params": {}}, is_whole=False)
    whole = stream(_ANSWERED)
    with (
        scripted_server(tmp_path / "data", cut, whole, whole) as script,
        bridged({**environ, "CLAUDE_CODE_SESSION_ID": "s-1"}, project) as bridge,
    ):
        bridge.hello()
        for _ in "12":
            assert _use(bridge, "handoff", action="leave", summary="x") == "It is kept."
    first, again, next_one = ([headers[name] for name in _NAMES] for headers, _ in script.heard)
    assert first == again
    assert first[:2] == next_one[:2] == ["test", "s-1"]
    assert first[2] != next_one[2]


@pytest.mark.parametrize(
    ("client", "named"),
    [
        ({"name": "a\r\nAuthorization: x\0\x7f"}, "a  Authorization: x"),
        ({"name": "\ud800é" + "x" * 500}, "?é" + "x" * 126),
        ({"name": ["x"]}, None),
        ("x", None),
        (None, None),
    ],
)
def test_whatever_a_client_calls_itself_ends_no_header(
    tmp_path: Path, project: Path, client: object, named: str | None
) -> None:
    environ = environment_for(tmp_path, port=1)
    with (
        scripted_server(tmp_path / "data", stream(_ANSWERED)) as script,
        bridged(environ, project) as bridge,
    ):
        bridge.ask("initialize", clientInfo=client)
        meta = {"sessionId": "turn-1"}
        bridge.ask("tools/call", name="recall", arguments={}, _meta=meta)
    ((headers, _),) = script.heard
    got = headers.get("X-Live-Memory-Host")
    assert (got and got.encode("latin-1").decode().strip()) == named
    assert headers["X-Live-Memory-Session"] == "turn-1"
