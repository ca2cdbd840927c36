"""A real server with a model behind each wire protocol: tools, corrections, faults, reload."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
import pytest

from tests.support.cited_tree import CITATION, WHOLE, write_tree
from tests.support.scripted_endpoint import (
    Channel,
    Play,
    Received,
    ScriptedEndpoint,
    Status,
    Text,
    Tools,
    serving,
)
from tests.support.server import RunningServer, running_server

FILES = {
    "pkg/limits.py": (
        '"""Limits."""\n\nMAX_RETRIES = 7\n\n\n'
        "def allowed(tries):\n    return tries < MAX_RETRIES\n"
    ),
    "pkg/use.py": "from pkg.limits import allowed\n\n\ndef send(n):\n    return allowed(n)\n",
}
PROTOCOLS = ["anthropic", "openai"]
QUESTION = "How many retries are allowed?"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with serving() as opened:
        yield opened


def _project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return _project(tmp_path)


@dataclass(frozen=True, slots=True)
class Reloaded:
    """A server whose model is named by its configuration file, and can become another one."""

    server: RunningServer
    config: Path

    def to(self, channel: Channel, protocol: str) -> RunningServer:
        """The same server, with the model behind this channel."""
        self.config.write_text(f'base_url = "{_base_url(channel, protocol)}"\n')
        assert self.server.request("POST", "/reload", {}).status == 200
        return self.server


@pytest.fixture(scope="module", params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def reloaded(
    protocol: str, endpoint: ScriptedEndpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reloaded]:
    folder = tmp_path_factory.mktemp(protocol)
    config = folder / "config" / "live-memory" / "config.toml"
    config.parent.mkdir(parents=True)
    settings = _settings(protocol, endpoint.open(Text("ready")))
    config.write_text(f'base_url = "{settings.pop("LIVE_MEMORY_BASE_URL")}"\n')
    with running_server(folder, XDG_CONFIG_HOME=str(folder / "config"), **settings) as server:
        # The client's library is imported now, and not within the deadline of a question.
        server.request("POST", "/v1/models/test", {})
        yield Reloaded(server, config)


def _base_url(channel: Channel, protocol: str) -> str:
    return channel.base_url + ("/v1" if protocol == "openai" else "")


def _settings(protocol: str, channel: Channel) -> dict[str, str]:
    return {
        "LIVE_MEMORY_PROVIDER": protocol,
        "LIVE_MEMORY_BASE_URL": _base_url(channel, protocol),
        "LIVE_MEMORY_API_KEY": "sk-test-not-a-real-key-0001",
        "LIVE_MEMORY_MODEL": "claude-haiku-4-5" if protocol == "anthropic" else "gpt-5-mini",
    }


def _ask(server: RunningServer, project: Path, **more: object) -> dict[str, object]:
    body = {"question": QUESTION, "cwd": str(project), **more}
    last = server.request("POST", "/v1/ask", body).lines[-1]
    answer = last["answer"]
    assert isinstance(answer, dict)
    return answer


def _calls_and_files(server: RunningServer, project: Path) -> tuple[int, object]:
    """The calls of questions to models, in all workspaces, and the files known in this one."""
    stats = server.request("GET", f"/stats?cwd={project}").json
    spend = stats["spend"]
    assert isinstance(spend, dict)
    return spend["ask"]["calls"] if "ask" in spend else 0, stats["known_files"]


@pytest.mark.promise("citations-checked")
def test_a_companion_explores_and_its_lines_arrive_corrected(
    protocol: str, endpoint: ScriptedEndpoint, project: Path, reloaded: Reloaded
) -> None:
    channel = endpoint.open(
        Tools([("Grep", '{"pattern": "MAX_RETRIES"}'), ("find_symbol", '{"name": "allowed"}')]),
        Tools([("Read", '{"path": "pkg/limits.py"}')]),
        Text("`MAX_RETRIES` is 7 (pkg/limits.py:1), used by `allowed` (pkg/ghost.py:3)."),
    )
    server = reloaded.to(channel, protocol)
    before, _ = _calls_and_files(server, project)
    answer = _ask(server, project)
    calls, known_files = _calls_and_files(server, project)
    assert answer["answer"] == (
        "`MAX_RETRIES` is 7 (pkg/limits.py:3), "
        "used by `allowed` (pkg/ghost.py:3 (not found there))."
    )
    assert answer["mode"] == "companion"
    assert answer["grounding"] == "partial"
    assert answer["citations"] == [
        {"path": "pkg/limits.py", "start": 3, "end": 3, "status": "corrected"},
        {"path": "pkg/ghost.py", "start": 3, "end": 3, "status": "unsupported"},
    ]
    usage = answer["usage"]
    assert isinstance(usage, dict)
    assert (usage["model_calls"], usage["tool_calls"]) == (3, 3)
    assert (calls - before, known_files) == (3, 1)
    seen = json.dumps(channel.requests[-1].body)
    assert "pkg/limits.py:3\\n3|MAX_RETRIES = 7" in seen
    assert "sk-test-not-a-real-key-0001" not in server.log.read_text()


@pytest.mark.promise("citations-checked")
def test_what_models_really_write_arrives_as_it_was_said(
    protocol: str, endpoint: ScriptedEndpoint, reloaded: Reloaded, tmp_path: Path
) -> None:
    """The text arrives letter by letter where its citations are right."""
    root = tmp_path / "project"
    for answer in WHOLE:
        write_tree(answer, root)
    reads = [Tools([("Read", json.dumps({"path": CITATION.findall(a)[0][0]}))]) for a in WHOLE]
    said = [Text(answer) for answer in WHOLE]
    plays = [play for pair in zip(reads, said, strict=True) for play in pair]
    channel = endpoint.open(*plays)
    server = reloaded.to(channel, protocol)
    for n, answer in enumerate(WHOLE):
        given = _ask(server, root, question=f"What does answer {n} say?", max_answer_tokens=4000)
        assert (given["mode"], given["grounding"]) == ("companion", "verified")
        assert given["answer"] == answer
        citations = given["citations"]
        assert isinstance(citations, list)
        assert {each["status"] for each in citations} == {"verified"}


OVERLONG = {"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}}
FAULTS: dict[str, Play] = {
    "key": Status(401, {"error": {"message": "bad key sk-test-not-a-real-key-0001"}}),
    "overflow": Status(400, OVERLONG),
    "gateway": Status(502, "<html>bad gateway</html>"),
    "rate": Status(429, "{}", {"retry-after": "3600"}),
    "prose": Text("Prompt is too long"),
    "cut": Text("half", stop=None),
    "stall": Text("waiting", then="stall"),
}


@pytest.mark.promise("always-something-true")
@pytest.mark.parametrize(
    ("fault", "calls", "said"),
    [
        ("key", 1, "api_key"),
        ("overflow", 2, "limit"),
        ("gateway", 4, "provider"),
        ("rate", 1, "limit"),
        ("prose", 2, ""),
        ("cut", 1, "provider"),
        ("stall", 2, "timeout"),
    ],
)
def test_a_fault_of_the_endpoint_ends_in_evidence_within_the_deadline(
    fault: str,
    calls: int,
    said: str,
    *,
    protocol: str,
    endpoint: ScriptedEndpoint,
    reloaded: Reloaded,
    project: Path,
) -> None:
    """S37, S38, S42, S43, C10, C32, C34."""
    channel = endpoint.open(FAULTS[fault])
    server = reloaded.to(channel, protocol)
    answer = _ask(server, project, timeout=5)
    log = server.log.read_text()
    assert answer["mode"] == "evidence"
    assert answer["grounding"] == "verified"
    notice = str(answer["notice"])
    assert said in notice
    assert "sk-test-not-a-real-key-0001" not in notice + log
    assert isinstance(answer["elapsed_s"], float)
    assert answer["elapsed_s"] <= 7
    assert 1 <= len(channel.requests) <= calls


def test_the_model_is_swapped_by_a_reload_and_its_verdict_is_told(
    protocol: str, endpoint: ScriptedEndpoint, project: Path, reloaded: Reloaded
) -> None:
    first = endpoint.open(Text("`MAX_RETRIES` is 7 (pkg/limits.py:3)."))
    second = endpoint.open(Tools([("report_ready", "{}")]))
    server = reloaded.to(first, protocol)
    assert _ask(server, project)["mode"] == "companion"
    reloaded.config.write_text(f'base_url = "{_base_url(second, protocol)}"\n')
    model = _settings(protocol, second)["LIVE_MEMORY_MODEL"]
    assert server.request("POST", "/reload", {}).json["model"] == model
    verdict = server.request("POST", "/v1/models/test", {}).json
    assert (verdict["is_reachable"], verdict["has_tools"]) == (True, True)
    assert verdict["mode"] == "companion"
    reloaded.config.write_text("base_url = 5\n")
    refused = server.request("POST", "/reload", {})
    assert refused.status == 400
    assert b"base_url" in refused.body
    assert len(first.requests) == 1


@pytest.mark.promise("workspaces-never-mix", "nothing-lost")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_hundred_callers_over_four_workspaces_each_get_their_own_answer(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    """S52."""
    roots = [tmp_path / f"w{n}" for n in range(4)]
    for root in roots:
        root.mkdir()
        (root / "limits.py").write_text("MAX_RETRIES = 7\n")

    def echo(received: Received) -> Play:
        asked = json.dumps(received.body).rpartition("=== question")[2]
        (nonce,) = set(re.findall(r"nonce-\d+", asked))
        return Text(f"`MAX_RETRIES` is 7 (limits.py:1), for {nonce}.")

    channel = endpoint.open(Text(""), rules=[echo])
    replies: list[tuple[str, dict[str, object]]] = []
    with running_server(tmp_path / "s", **_settings("openai", channel)) as server:
        timeout = httpx2.Timeout(60)
        async with httpx2.AsyncClient(headers=server.authorization, timeout=timeout) as http:

            async def caller(number: int) -> None:
                for turn in range(3):
                    nonce = f"nonce-{number * 3 + turn}"
                    body = {"question": f"What is {nonce}?", "cwd": str(roots[number % 4])}
                    reply = await http.post(f"{server.base_url}/v1/ask", json=body)
                    replies.append((nonce, json.loads(reply.text.splitlines()[-1])["answer"]))

            async with anyio.create_task_group() as tasks:
                for number in range(100):
                    tasks.start_soon(caller, number)
        kept = [
            len(server.request("GET", f"/v1/answers?cwd={root}").json["answers"])  # type: ignore[arg-type]
            for root in roots
        ]
    assert len(replies) == 300
    assert all(str(answer["answer"]).endswith(f"for {nonce}.") for nonce, answer in replies)
    assert kept == [75, 75, 75, 75]
