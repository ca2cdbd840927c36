"""A secret put through every door there is comes out of none (C20, S25, D11)."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.contracts.sandbox_worlds import git, make_repository
from tests.core.reading.corpus import TWELVE, lookalikes, made_up
from tests.support.learning import notify, tool, wait_for, wait_until_known
from tests.support.scripted_endpoint import (
    Channel,
    ScriptedEndpoint,
    Status,
    Text,
    Tools,
    serving,
)
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.real("git"), pytest.mark.promise("no-secrets")]
_HOOKS = Path(__file__).parents[3] / "hooks"
_DOORS = (
    "file read by a hook", "file edited", "file read by a tool", "line found by a tool",
    "question", "shell command", "spooled command", "tool output", "file name", "folder name",
    "name in an event", "name in the spool", "commit message", "author", "branch name",
    "provider error", "answer of the model", "argument of a tool call", "key in the settings",
    "credentials file", "name in a question",
)  # fmt: skip


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with serving() as opened:
        yield opened


@dataclass(slots=True)
class Canaries:
    """One made-up token for each door, so that a leak names the door it came in by."""

    by_door: Mapping[str, str] = field(
        default_factory=lambda: {door: f"ghp_{made_up(36)}" for door in _DOORS}
    )

    def __getitem__(self, door: str) -> str:
        return self.by_door[door]

    def in_text(self, text: str) -> set[str]:
        """The doors whose tokens stand in a text."""
        return {door for door, token in self.by_door.items() if token in text}

    def in_files(self, *files: Path) -> dict[str, set[str]]:
        """The doors whose tokens stand in files, by file."""
        found = {
            file.name: {d for d, t in self.by_door.items() if t.encode() in file.read_bytes()}
            for file in files
        }
        return {name: doors for name, doors in found.items() if doors}


def make_project(folder: Path, canary: Canaries) -> Path:
    root = folder.resolve() / "ws"
    files = {
        "hook.py": f"A = 1\nTOKEN = '{canary['file read by a hook']}'\n",
        "edited.py": f"B = 1\nTOKEN = '{canary['file edited']}'\n",
        "tool.py": f"C = 1\nTOKEN = '{canary['file read by a tool']}'\n",
        "grep.py": f"NEEDLE = '{canary['line found by a tool']}'\n",
        ".env": f"D = '{canary['credentials file']}'\n",
        f"{canary['file name']}.py": "NEEDLE = 2\n",
        f"{canary['folder name']}/e.py": "NEEDLE = 3\n",
        "limits.py": "MAX_RETRIES = 7\n",
    }
    made = {name: text.encode() for name, text in files.items()}
    make_repository(root, [(f"NEEDLE uses {canary['commit message']}", made)])
    named = {"GIT_AUTHOR_NAME": canary["author"]}
    git(root, "commit", "-q", "--allow-empty", "-m", "NEEDLE again", env=named)
    git(root, "checkout", "-q", "-b", canary["branch name"])
    (root / "limits.py").write_text("MAX_RETRIES = 7\nNEEDLE = 4\n")
    (root / f"{canary['file name']}.py").write_text("NEEDLE = 5\n")
    return root


def hook(server_data: Path, project: Path, payload: dict[str, object]) -> None:
    """The real hook, with nobody at the published address."""
    subprocess.run(
        ["sh", str(_HOOKS / "run"), "hook.py"],
        input=json.dumps(payload).encode(),
        env={
            "PATH": os.environ["PATH"],
            "LIVE_MEMORY_DATA_DIR": str(server_data),
            "CLAUDE_PROJECT_DIR": str(project),
        },
        check=True,
        timeout=30,
    )


def tool_calls(canary: Canaries) -> list[tuple[str, str]]:
    given: list[tuple[str, dict[str, object]]] = [
        ("Read", {"path": "tool.py"}),
        ("Read", {"path": ".env"}),
        ("Read", {"path": f"{canary['argument of a tool call']}.py"}),
        ("Grep", {"pattern": "NEEDLE|TOKEN"}),
        ("Grep", {"pattern": canary["argument of a tool call"]}),
        ("Glob", {"pattern": "**/*.py"}),
        ("find_paths", {"words": "py"}),
        ("get_changed_files", {}),
        ("git_search", {}),
        ("git_search", {"text": "NEEDLE"}),
        ("git_search", {"text": canary["argument of a tool call"]}),
        ("find_symbol", {"name": "NEEDLE"}),
        ("who_calls", {"name": "NEEDLE"}),
    ]
    return [(name, json.dumps(arguments)) for name, arguments in given]


def settings(channel: Channel, canary: Canaries) -> dict[str, str]:
    return {
        "LIVE_MEMORY_PROVIDER": "openai",
        "LIVE_MEMORY_BASE_URL": channel.base_url + "/v1",
        "LIVE_MEMORY_API_KEY": canary["key in the settings"],
        "LIVE_MEMORY_MODEL": "gpt-5-mini",
        "LIVE_MEMORY_LOG_LEVEL": "debug",
    }


def without_its_own_calls(body: Mapping[str, object]) -> str:
    """A request's body, but for what the model itself said before and is told again."""
    messages = body["messages"]
    assert isinstance(messages, list)
    heard = [message for message in messages if message["role"] != "assistant"]
    return json.dumps({**body, "messages": heard})


def everything_it_says(server: RunningServer, project: Path) -> str:
    """Every reply of the API that is about a workspace or the server."""
    targets = (
        "/stats",
        "/v1/timeline",
        "/v1/answers",
        "/v1/workspaces",
        "/v1/config",
        "/v1/ledger",
    )
    replies = [server.request("GET", f"{target}?cwd={project}") for target in targets]
    health = server.request("GET", "/health")
    return "\n".join(reply.body.decode() for reply in (*replies, health))


def test_what_comes_in_by_any_door_comes_out_of_none(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    canary = Canaries()
    project = make_project(tmp_path, canary)
    data = tmp_path / "server/data"
    data.mkdir(parents=True, mode=0o700)
    named = f"{project}/{canary['name in an event']}.py"
    spooled = f"{project}/{canary['name in the spool']}.py"
    command = f"curl -u x:{canary['shell command']} h; cat hook.py; grep -n NEEDLE grep.py"
    said = {"tool_response": {"stdout": canary["tool output"], "file": {"numLines": 2}}}
    hook(data, project, tool(project, "Read", file_path=spooled) | said)
    hook(data, project, tool(project, "Bash", command=f"echo {canary['spooled command']}") | said)
    kept_by_hook = canary.in_files(*data.iterdir())
    channel = endpoint.open(
        Tools(tool_calls(canary)),
        Text(f"`MAX_RETRIES` is 7 (limits.py:1), by {canary['answer of the model']}."),
        Status(400, {"error": {"message": f"no {canary['provider error']} here"}}),
    )
    with running_server(tmp_path / "server", **settings(channel, canary)) as server:
        events = [
            tool(project, "Read", file_path=f"{project}/hook.py") | said,
            tool(
                project, "Edit", file_path=f"{project}/edited.py", new_string=canary["file edited"]
            ),
            tool(project, "Write", file_path=f"{project}/.env"),
            tool(project, "Read", file_path=named),
            tool(project, "Read", file_path=f"{project}/{canary['file name']}.py"),
            tool(project, "Read", file_path=f"{project}/{canary['folder name']}/e.py"),
            tool(project, "Bash", command=command) | said,
        ]
        notify(server, project, *events)
        wait_until_known(server, project, "hook.py")
        wait_until_known(server, project, "edited.py")
        asked = f"How many retries with {canary['question']}, and what is tool.py for?"
        replies = [server.ask(asked, project)]
        replies.append(server.ask(f"Is {canary['name in a question']}.py about NEEDLE?", project))
        replies.append(server.ask("Where is NEEDLE set?", project))
        told = everything_it_says(server, project)
    kept = [file for file in (*data.rglob("*"), server.log) if file.is_file()]
    bodies = "\n".join(without_its_own_calls(request.body) for request in channel.requests)

    assert len(channel.requests) >= 3
    assert "MAX_RETRIES" in bodies
    assert "NEEDLE again" in bodies
    assert {"snapshot.json", "index.sqlite", "log"} <= {file.name for file in kept}
    leaks = {
        "the hook's spool": kept_by_hook,
        "files": canary.in_files(*kept),
        "requests": canary.in_text(bodies),
        "replies": canary.in_text(json.dumps(replies)),
        "api": canary.in_text(told),
    }
    assert not any(leaks.values()), leaks


def test_the_twelve_shapes_are_sent_nowhere_and_what_only_looks_like_one_is_untouched(
    endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    """S25: by a hook, and by the companion's Read and Grep."""
    project = tmp_path.resolve() / "ws"
    make_repository(project, [("start", {"limits.py": b"MAX_RETRIES = 7\n"})])
    for number, (text, _) in enumerate(TWELVE.values()):
        (project / f"s{number}.txt").write_text(f"MARK{number}\n{text}\n")
    harmless = lookalikes()
    (project / "harmless.txt").write_text("\n".join(harmless) + "\n")
    names = [f"s{number}.txt" for number in range(len(TWELVE))]
    calls = [("Read", json.dumps({"path": name})) for name in (*names, "harmless.txt")]
    searches = [("Grep", json.dumps({"pattern": "."}))]
    channel = endpoint.open(Tools(calls), Tools(searches), Text("`MAX_RETRIES` (limits.py:1)."))
    canary = Canaries()
    with running_server(tmp_path / "server", **settings(channel, canary)) as server:
        notify(server, project, *(tool(project, "Read", file_path=f"{project}/{n}") for n in names))
        wait_for(server, project, "known_files", len(names))
        replies = [server.ask("How many retries are there?", project)]
        replies += [server.ask(f"What is MARK{n}?", project) for n in range(len(TWELVE))]
        told = everything_it_says(server, project)
    bodies = "\n".join(json.dumps(r.body, ensure_ascii=False) for r in channel.requests)
    kept = [file for file in (*server.data_dir.rglob("*"), server.log) if file.is_file()]
    everywhere = {"bodies": bodies.encode(), "replies": json.dumps(replies).encode()}
    everywhere |= {"api": told.encode()} | {file.name: file.read_bytes() for file in kept}
    for kind, (_, secrets) in TWELVE.items():
        for secret in secrets:
            leaked = [name for name, data in everywhere.items() if secret.encode() in data]
            assert leaked == [], kind
    read = next(
        message["content"]
        for request in channel.requests
        for message in request.body["messages"]  # type: ignore[attr-defined]
        if message["role"] == "tool" and "harmless" in str(message["content"])[:200]
    )
    shown = [line for line in harmless[:150] if line in read]
    assert len(shown) >= 0.95 * 150
