"""The bridge as clients of all kinds use it, over its two pipes."""

import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from live_memory.client.offer import TOOLS, offer
from live_memory.core.tokens import estimate
from live_memory.settings import load
from live_memory.web.identity import ensure_token, published
from tests.support.scripted_server import scripted_server, stream
from tests.support.server import RunningServer, environment_for, running_server
from tests.support.stdio_client import BRIDGE, bridged, said

_LATER = ("ask_live_memory_submit", "ask_live_memory_result")
_PLUGIN = Path(__file__).parents[3]
_BY_PLUGIN = ("/bin/sh", str(_PLUGIN / "bin/live-memory"), "mcp")
_ANSWER = {"content": [{"type": "text", "text": "It is here."}], "isError": False}
_ANSWERED = {"jsonrpc": "2.0", "id": 1, "result": {**_ANSWER, "resultType": "complete"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    (root / "pay.py").write_text("def charge_card(amount):\n    return amount * 2\n")
    (root / "below").mkdir()
    return root


@pytest.fixture
def user(tmp_path: Path) -> Iterator["_User"]:
    """Someone with no server yet; one that is started is ended."""
    user = _User(tmp_path)
    yield user
    there = published(user.data_dir)
    if there is not None and there.pid != 1:
        os.kill(there.pid, signal.SIGTERM)


class _User:
    def __init__(self, folder: Path) -> None:
        self.data_dir = folder / "data"
        self.project = folder / "project"
        self.project.mkdir()
        (self.project / "pay.py").write_text("def charge_card():\n    return 1\n")
        self.environ = environment_for(folder, port=1)
        del self.environ["LIVE_MEMORY_PORT"]


@asynccontextmanager
async def _by_stdio(at: RunningServer, cwd: Path) -> AsyncIterator[Client]:
    command, *args = BRIDGE
    given = StdioServerParameters(
        command=command, args=args, env=dict(at.environment), cwd=str(cwd)
    )
    async with Client(stdio_client(given)) as connected:
        yield connected


@asynccontextmanager
async def _by_http(at: RunningServer) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=at.authorization, timeout=30) as http,
        Client(
            streamable_http_client(f"{at.base_url}/mcp", http_client=http), mode="legacy"
        ) as connected,
    ):
        yield connected


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, TOOLS),
        ({"LIVE_MEMORY_ASYNC_TOOLS": "on"}, (*TOOLS, *_LATER)),
        ({"LIVE_MEMORY_TOOLS": "recall,ask_live_memory"}, ("ask_live_memory", "recall")),
        (
            {"LIVE_MEMORY_TOOLS": "handoff", "LIVE_MEMORY_ASYNC_TOOLS": "on"},
            ("handoff", *_LATER),
        ),
    ],
)
async def test_it_offers_what_the_server_offers(
    tmp_path: Path, settings: dict[str, str], names: tuple[str, ...]
) -> None:
    with running_server(tmp_path, **settings) as at:
        async with _by_stdio(at, tmp_path) as bridge, _by_http(at) as server:
            ours, theirs = await bridge.list_tools(), await server.list_tools()
            assert ours == theirs
            assert tuple(tool.name for tool in ours.tools) == names
            speaks_of = {name for name in TOOLS if f"`{name}`" in (bridge.instructions or "")}
            assert speaks_of == set(names) - set(_LATER)
            for other in set(TOOLS) - set(names):
                with pytest.raises(MCPError, match="there is no such tool"):
                    await bridge.call_tool(other, {"action": "list"})
            assert bridge.instructions == server.instructions
            assert bridge.server_info == server.server_info
            assert bridge.server_capabilities == server.server_capabilities


def test_what_an_agent_is_told_before_it_asks_is_at_most_400_tokens() -> None:
    """Where that is all it can: instructions, the tool with its arguments, and the whole skill."""
    offered = offer(["ask_live_memory"], has_async_tools=False)
    (tool,) = offered["tools"]
    schema = json.dumps(tool["inputSchema"], separators=(",", ":"))
    skill = (_PLUGIN / "skills/live-memory/SKILL.md").read_text().replace("---\n", "")
    told = "\n".join([offered["instructions"], tool["description"], schema, skill])
    assert estimate(told) <= 400
    assert len(told) / 4 <= 400


def test_the_whole_offer_as_a_client_shows_it_to_its_model_is_at_most_1500_tokens() -> None:
    """Instructions, and each tool by its name, description and schema."""
    offered = offer(TOOLS, has_async_tools=False)
    shown = [
        {name: tool[name] for name in ("name", "description", "inputSchema")}
        for tool in offered["tools"]
    ]
    told = "\n".join([offered["instructions"], json.dumps(shown, separators=(",", ":"))])
    assert len(shown) == 5
    assert estimate(told) <= 1_500
    for tool in shown[1:]:
        assert "Not " in tool["description"], "it says when not to call it"


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ("async_tools = true\n", (*TOOLS, *_LATER)),
        ('tools = ["ask_live_memory", "recall"]\n', ("ask_live_memory", "recall")),
        ('tools = [\n  "recall", # "forget",\n]\nport = 7\n', ("recall",)),
        ("tools = 'handoff,remember'\nasync_tools = true", ("remember", "handoff", *_LATER)),
    ],
)
def test_before_any_server_the_configuration_says_what_there_will_be(
    user: _User, config: str, names: tuple[str, ...]
) -> None:
    file = Path(user.environ["XDG_CONFIG_HOME"], "live-memory/config.toml")
    file.parent.mkdir()
    file.write_text(config)
    file.chmod(0o600)
    user.data_dir.write_text("so that no server is started")
    # What the bridge understands of it is what the server will.
    assert set(load({}, {}, file).settings.tools) == set(names) - set(_LATER)
    with bridged(user.environ, user.project) as bridge:
        tools = bridge.ask("tools/list")["result"]["tools"]
        assert tuple(tool["name"] for tool in tools) == names


async def test_the_official_client_gets_answers_also_many_at_once(
    server: RunningServer, project: Path
) -> None:
    import anyio

    said: list[str | None] = []

    async def ask(client: Client) -> None:
        result = await client.call_tool("ask_live_memory", {"question": "Where is charge_card?"})
        said.append(result.model_dump()["content"][0]["text"])

    async with _by_stdio(server, project) as client, anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(ask, client)
    assert len(said) == 8
    assert all("pay.py:1" in str(text) for text in said)


@pytest.mark.promise("spend-capped")
@pytest.mark.parametrize("words", [_BY_PLUGIN, BRIDGE], ids=["plugin", "command"])
def test_a_server_that_is_not_there_is_started_without_what_the_session_holds(
    user: _User, words: tuple[str, ...]
) -> None:
    """C06, F7: its keys are the agent's own, its settings may be the project's."""
    given = {"ANTHROPIC_API_KEY": "canary", "LIVE_MEMORY_BASE_URL": "http://canary", "LC_X": "1"}
    with bridged({**user.environ, **given}, user.project, words) as bridge:
        bridge.hello()
        answer = bridge.call(_meta={"progressToken": "t"})
        assert "pay.py:1" in answer
        there = published(user.data_dir)
    assert there is not None
    environ = Path(f"/proc/{there.pid}/environ").read_text()
    assert "canary" not in environ
    assert "LC_X=1" in environ
    assert (f"LIVE_MEMORY_PLUGIN_ROOT={_PLUGIN}" in environ) is (words == _BY_PLUGIN)


@pytest.mark.parametrize("loss", ["killed", "stopped", "moved"])
def test_a_server_that_goes_or_moves_is_not_missed(user: _User, loss: str, tmp_path: Path) -> None:
    with bridged(user.environ, user.project) as bridge:
        bridge.hello()
        assert "pay.py:1" in bridge.call()
        first = published(user.data_dir)
        assert first is not None
        os.kill(first.pid, signal.SIGKILL if loss == "killed" else signal.SIGTERM)
        if loss == "moved":
            import socket

            with socket.socket() as taken:  # whoever takes the port, it is somebody else's
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                while True:
                    try:
                        taken.bind(("127.0.0.1", first.port))
                        break
                    except OSError:
                        continue
                taken.listen()
                assert "pay.py:1" in bridge.call()
        else:
            assert "pay.py:1" in bridge.call()
        second = published(user.data_dir)
    assert second is not None
    assert second.pid != first.pid or loss == "stopped"  # it may answer before it ends
    assert (second.port == first.port) is (loss != "moved")


@pytest.mark.parametrize("started_by", ["the plugin", "the installed command"])
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_one_that_is_killed_is_followed_by_another_on_the_same_pipes(
    server: RunningServer, project: Path, tmp_path: Path, started_by: str, by: signal.Signals
) -> None:
    """Interactive sessions never start a server of this kind again."""
    words: tuple[str, ...] = _BY_PLUGIN
    if started_by == "the installed command":
        shutil.copy(_PLUGIN / "server/scripts/live-memory", tmp_path)
        (tmp_path / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (tmp_path / "python").chmod(0o755)
        words = (str(tmp_path / "live-memory"), "mcp")
    with bridged(server.environment, project, words) as bridge:
        bridge.hello()
        pid = bridge.process.pid
        (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(child), by)
        # What it read it takes with it; what is sent to nobody waits in the pipe.
        while Path(f"/proc/{child}").exists():
            continue
        assert "pay.py:1" in bridge.call()
        assert bridge.end() == 0


def test_it_ends_with_its_client_whatever_is_under_way(user: _User) -> None:
    with scripted_server(user.data_dir) as silent, bridged(user.environ, user.project) as bridge:
        bridge.hello()
        bridge.begin_call()
        silent.was_called.acquire()
        assert bridge.end() == 0
        assert silent.was_left.wait(10)


def test_a_call_that_is_cancelled_closes_its_connection_and_gets_no_reply(user: _User) -> None:
    with scripted_server(user.data_dir) as silent, bridged(user.environ, user.project) as bridge:
        call = bridge.begin_call()
        silent.was_called.acquire()
        bridge.send({"method": "notifications/cancelled", "params": {"requestId": call}})
        assert silent.was_left.wait(10)
        silent.replies.append(stream(_ANSWERED))
        assert bridge.call() == "It is here."
        assert not [one for one in bridge.heard if one.get("id") == call]


@pytest.mark.parametrize("cut", ["in the middle", "before it began", "with a refusal"])
def test_a_reply_that_is_cut_is_asked_for_again_once(user: _User, cut: str) -> None:
    """The server was killed or replaced meanwhile; asking changes nothing."""
    half = stream({"method": "notifications/progress", "params": {"progress": 1}}, is_whole=False)
    first = {
        "in the middle": half,
        "before it began": lambda handler: handler.connection.close(),
        "with a refusal": lambda handler: handler.send_error(503),
    }[cut]
    with (
        scripted_server(user.data_dir, first, stream(_ANSWERED), first, first) as script,
        bridged(user.environ, user.project) as bridge,
    ):
        assert bridge.call() == "It is here."
        assert "does not answer: work without it" in bridge.call()
    assert len(script.heard) == 4


def test_progress_is_passed_on_with_its_total_and_only_goes_up(user: _User) -> None:
    steps = [{"progress": 0, "message": "a"}, {"progress": 40, "total": 90, "message": "b"}]
    told: list[dict[str, object]] = [
        {"method": "notifications/progress", "params": {**step, "progressToken": "t"}}
        for step in steps
    ]
    reply = stream(*told, _ANSWERED)
    with (
        scripted_server(user.data_dir, reply, reply),
        bridged(user.environ, user.project) as bridge,
    ):
        bridge.call(_meta={"progressToken": "t"})
        heard = [one["params"] for one in bridge.heard if "method" in one]
        bridge.heard.clear()
        bridge.call()
        assert not bridge.heard
    assert heard == [
        {"progress": 1, "message": "a", "progressToken": "t"},
        {"progress": 40, "total": 90, "message": "b", "progressToken": "t"},
    ]


def test_a_stranger_on_the_port_is_told_nothing(user: _User) -> None:
    """F1, S06: whoever took a killed server's port by now."""
    token = ensure_token(user.data_dir)
    with (
        scripted_server(user.data_dir, is_ours=False) as stranger,
        bridged(user.environ, user.project) as bridge,
    ):
        assert "pay.py:1" in bridge.call()
    assert stranger.heard == []
    assert stranger.all_bytes
    assert not any("uthorization" in one or token in one for one in stranger.all_bytes)


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("roots", "first"),
        ("roots and cwd in the second", "second"),
        ("roots and cwd outside", "first"),
        ("a turn of Codex", "second"),
        ("the host's variable", "second"),
        ("the working folder", "here"),
        ("the home folder", None),
        ("the root", None),
    ],
)
def test_the_project_is_what_the_client_says(user: _User, way: str, expected: str | None) -> None:
    places = {name: str(user.project / name) for name in ("first", "second", "here")}
    for name in places:
        (user.project / name).mkdir()
    roots = [{"uri": f"file://{places[name]}"} for name in ("first", "second")]
    meta, more, environ = {}, {}, dict(user.environ)
    cwd = {"the home folder": environ["HOME"], "the root": "/"}.get(way, places["here"])
    if way == "a turn of Codex":
        meta = {"x-codex-turn-metadata": {"workspaces": {places["second"]: {"dirty": True}}}}
    if way == "the host's variable":
        environ["CLAUDE_PROJECT_DIR"] = places["second"]
    if "cwd" in way:
        more["cwd"] = places["second"] + "/below" if "in the second" in way else "/elsewhere"
    with (
        scripted_server(user.data_dir, stream(_ANSWERED)) as script,
        bridged(environ, cwd) as bridge,
    ):
        if "roots" in way:
            bridge.hello(roots={"listChanged": True})
            asked = bridge.hear(lambda m: m.get("method") == "roots/list")
            bridge.send({"id": asked["id"], "result": {"roots": roots}})
        bridge.call(_meta=meta, **more)
    ((headers, body),) = script.heard
    assert headers.get("X-Live-Memory-Project") == (places[expected] if expected else None)
    assert body["params"]["arguments"] == {"question": "Where is charge_card?", **more}  # type: ignore[index]


def test_a_client_that_names_no_project_is_asked_for_it(server: RunningServer) -> None:
    with bridged(server.environment, "/") as bridge:
        reply = bridge.reply(bridge.begin_call())
    assert reply["result"]["isError"]
    assert "cwd is missing: send the absolute path" in said(reply)


_HOSTILE = {
    "no JSON": (b"{", -32700),
    "nothing of a kind": (b"\xff\xfe\x00", -32700),
    "deep": (b"[" * 100_000, -32700),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
    "a number": (b"7", -32600),
    "too long": (b'{"x":"' + b"y" * 2_000_000 + b'"}', -32600),
    "no method": (b'{"id":1}', -32600),
    "a method that is a list": (b'{"id":1,"method":[]}', -32600),
    "an id that is a list": (b'{"id":[],"method":"ping"}', -32600),
    "an id that is true": (b'{"id":true,"method":"ping"}', -32600),
    "params that are a list": (b'{"id":1,"method":"ping","params":[]}', -32602),
    "an unknown method": (b'{"id":1,"method":"resources/list"}', -32601),
    "the protocol of tomorrow": (b'{"id":1,"method":"server/discover","params":{}}', -32601),
    "no tool": (b'{"id":1,"method":"tools/call"}', -32602),
    "an unknown tool": (b'{"id":1,"method":"tools/call","params":{"name":{}}}', -32602),
    "arguments that are text": (
        b'{"id":1,"method":"tools/call","params":{"name":"ask_live_memory","arguments":"x"}}',
        -32602,
    ),
    "meta that is text": (
        b'{"id":1,"method":"tools/call","params":{"name":"ask_live_memory","_meta":"x"}}',
        -32602,
    ),
}
_IGNORED = [
    b"",
    b'{"method":"notifications/cancelled","params":{"requestId":[]}}',
    b'{"method":"notifications/cancelled","params":{"requestId":77}}',
    b'{"method":"unknown/note"}',
    b'{"id":"roots","result":{"roots":7}}',
    b'{"id":"roots","result":{"roots":[7,{"uri":7},{"uri":"file:///%00%ff"},{"uri":"http://x"}]}}',
    b'{"id":"roots","error":{"code":-1}}',
    b'{"id":9,"result":7}',
]


def test_whatever_comes_is_refused_in_a_line_and_the_next_message_is_served(
    server: RunningServer, project: Path
) -> None:
    with bridged(server.environment, project) as bridge:
        for name, (line, code) in _HOSTILE.items():
            bridge.write(line + b"\n")
            refused = bridge.hear(lambda m: "error" in m)
            assert refused["error"]["code"] == code, name
            assert len(json.dumps(refused)) < 200
        for line in _IGNORED:
            bridge.write(line + b"\n")
        assert bridge.ask("ping")["result"] == {}
        assert bridge.heard == []
        assert "pay.py:1" in bridge.call()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"question": 7}, "question must be text"),
        ({"question": "x", "timeout": float("nan")}, "timeout must be"),
        ({"question": "x", "cwd": "/elsewhere"}, "outside the project"),
    ],
)
def test_a_bad_argument_is_told_by_the_server(
    server: RunningServer, project: Path, arguments: dict[str, object], told: str
) -> None:
    with bridged(server.environment, project) as bridge:
        reply = bridge.ask("tools/call", name="ask_live_memory", arguments=arguments)
    shown = json.dumps(reply)
    assert "error" in reply or reply["result"]["isError"], reply
    assert told in shown


@pytest.mark.parametrize("asked", [*("2025-11-25", "2025-06-18", "2024-11-05"), "1999", 7, None])
def test_the_newest_version_is_spoken_unless_an_older_one_is_asked_for(
    user: _User, asked: object
) -> None:
    with scripted_server(user.data_dir), bridged(user.environ, user.project) as bridge:
        spoken = bridge.ask("initialize", protocolVersion=asked)["result"]["protocolVersion"]
    known = isinstance(asked, str) and asked.startswith("20")
    assert spoken == (asked if known else "2025-11-25")


def test_what_keeps_the_server_from_starting_is_told_in_a_line(user: _User) -> None:
    user.data_dir.write_text("a file where the data folder must be")
    with bridged(user.environ, user.project) as bridge:
        text = bridge.call()
    assert text.startswith("Live Memory is not there: data folder")
    assert text.endswith("set another with `data_dir`. Work without it.")
    assert "\n" not in text
