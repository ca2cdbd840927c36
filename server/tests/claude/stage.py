"""Sets a scene for the real client: an empty home, a small project, a copy of our plugin."""

import functools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.claude.fake_anthropic import Json, Turn

__all__ = [
    "ASK",
    "PROJECT",
    "Client",
    "Outcome",
    "Run",
    "Stage",
    "cut_off",
    "results_of",
    "set_stage",
    "verified_lines",
]

ASK = "mcp__plugin_live-memory_live-memory__ask_live_memory"

# A JSON reply of our server; a test knows which it asked for.
Told = dict[str, Any]

_REPOSITORY = Path(__file__).parents[3]
_PLUGIN = (".claude-plugin", ".mcp.json", "bin", "commands", "hooks", "skills")
_BESIDE = ("server/live_memory/client", "server/live_memory/__init__.py")
PROJECT = {
    "settings.py": '"""Settings."""\n\n# How often a request is sent again.\nRETRY_LIMIT = 7\n',
    "client.py": "from settings import RETRY_LIMIT\n\n\ndef send() -> int: return RETRY_LIMIT\n",
}
_SCENE_S = 100
_KEY = "dummy-key"
# Nothing can leave, and when the scene ends, every process in it ends.
_CUT_OFF = [
    *("unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"),
    *("sh", "-c", 'ip link set lo up && exec "$@"', "sh"),
]


@dataclass(frozen=True, slots=True)
class Run:
    """What one command of the client did; `screens` are those after each prompt of `keys`."""

    returncode: int
    stdout: str
    stderr: str
    screens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Client:
    """A run of the client elsewhere than in the project, or with a prompt typed at its terminal.

    Of `keys`, each is a prompt for somebody at the keyboard, and a text that is on the screen once
    it is answered; before the first one, what is on the screen when the client is ready.
    """

    words: Sequence[str]
    cwd: Path | None = None
    typed: str | None = None
    keys: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a scene left behind: runs, the model's requests, what a stranger heard, what we say."""

    runs: tuple[Run, ...]
    requests: tuple[Json, ...]
    heard: tuple[str, ...]
    told: tuple[Told, ...] = ()

    def tools_offered_first(self) -> list[str]:
        """The tools of the first request that offers any."""
        tools = self.requests[0]["tools"]
        assert isinstance(tools, list)
        return [tool["name"] for tool in tools]

    def tool_result(self) -> str:
        """What the tool gave back, as the model saw it."""
        return "\n".join(
            text
            for request in self.requests
            for text in _texts(request["messages"], inside="tool_result")
        )

    def tool_results(self) -> list[str]:
        """What each call gave back, in order, as the model saw it in the end."""
        return results_of(self.requests[-1])

    def answers(self) -> list[str]:
        """Each answer of ours, in order, over all sessions."""
        texts = (
            text
            for request in self.requests
            for text in _texts(request["messages"], inside="tool_result")
        )
        return list(dict.fromkeys(text for text in texts if "\n[mode " in text))

    def said(self) -> list[str]:
        """All text of each request."""
        return ["\n".join(_texts(request["messages"])) for request in self.requests]


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the scenes of one test are played; they share the home and the project."""

    folder: Path
    plugin: Path
    port: int

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def data_dir(self) -> Path:
        return self.folder / "home/.local/share/live-memory"

    def play(
        self,
        *commands: Sequence[str] | Client,
        turns: Sequence[Turn] = (),
        stranger: str | None = None,
        with_command: bool = True,
        then: Sequence[str] = (),
        companion: Sequence[Turn] = (),
        machine: str = "",
        path: str | None = None,
    ) -> Outcome:
        """Run the client's commands one after the other, `then` ask our server about the project.

        The server's replies are the outcome's `told`; `companion` plays our server's own model.
        `machine` is a shell line that makes this scene's machine another one, by mounts.
        """
        if machine and not cut_off():
            pytest.skip("this machine gives no mounts of our own")
        plan = {
            "turns": list(turns),
            "stranger_port": None if stranger is None else self.port,
            "stranger_talks": stranger == "talks",
            "data_dir": str(self.data_dir),
            "environ": self._environ(with_command=with_command)
            | ({} if path is None else {"PATH": path}),
            "machine": machine,
            "cwd": str(self.project),
            "then": list(then),
            "companion": list(companion),
            "home": str(self.folder / "home"),
            "commands": [self._planned(command) for command in commands],
        }
        given, left = self.folder / "plan.json", self.folder / "outcome.json"
        given.write_text(json.dumps(plan))
        scene = [sys.executable, "-m", "tests.claude.scene", str(given), str(left)]
        subprocess.run(
            [*cut_off(), *scene], cwd=_REPOSITORY / "server", timeout=_SCENE_S, check=True
        )
        outcome = json.loads(left.read_text())
        return Outcome(
            runs=tuple(_run(**run) for run in outcome["runs"]),
            requests=tuple(outcome["requests"]),
            heard=tuple(outcome["heard"]),
            told=tuple(outcome["told"]),
        )

    def _planned(self, command: Sequence[str] | Client) -> dict[str, object]:
        one = command if isinstance(command, Client) else Client(command)
        words, cwd = ["claude", *one.words], str(one.cwd or self.project)
        return {"words": words, "cwd": cwd, "typed": one.typed, "keys": one.keys}

    def settle_in(self) -> None:
        """Answer what the client asks a new user before the first prompt."""
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [_KEY], "rejected": []},
            "projects": {str(self.project): {"hasTrustDialogAccepted": True}},
        }
        (self.folder / "home/.claude/.claude.json").write_text(json.dumps(known))

    def server_log(self) -> str:
        """What the server said, for a test that fails."""
        log = self.data_dir / "server.log"
        return log.read_text() if log.exists() else "the server was never started"

    def _environ(self, *, with_command: bool) -> dict[str, str]:
        home = self.folder / "home"
        ours = str(Path(sys.executable).parent)
        folders = [f for f in os.environ["PATH"].split(":") if not _has_command(f)]
        return {
            "PATH": ":".join([ours, *folders] if with_command else folders),
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "TMPDIR": str(self.folder / "tmp"),
            "LANG": "C.UTF-8",
            "ANTHROPIC_API_KEY": _KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
        }


def _run(screens: Sequence[str] = (), **told: Any) -> Run:
    return Run(**told, screens=tuple(screens))


def set_stage(folder: Path) -> Stage:
    """Make an empty home, a project, a copy of the plugin, and a port for its server."""
    stage = Stage(folder, folder / "plugin", _free_port())
    for name in ("home/.claude", "tmp", "project"):
        (folder / name).mkdir(parents=True)
    for name, text in PROJECT.items():
        (stage.project / name).write_text(text)
    for name in (*_PLUGIN, *_BESIDE):
        source, target = _REPOSITORY / name, stage.plugin / name
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    config = folder / "home/.config/live-memory/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"port = {stage.port}\n")
    config.chmod(0o600)
    return stage


def _has_command(folder: str) -> bool:
    return (Path(folder) / "live-memory").exists()


def results_of(request: Json) -> list[str]:
    """What tools had given when the model was asked so."""
    return list(_texts(request["messages"], inside="tool_result"))


def verified_lines(reply: str) -> set[tuple[str, int]]:
    """Every line that an answer without a model shows under its place, which was checked."""
    shown: set[tuple[str, int]] = set()
    path = ""
    for row in reply.splitlines():
        place = re.match(r"(\S+):\d+(?:-\d+)?(?: |$)", row)
        line = re.match(r"(\d+)\|", row)
        if line:
            shown.add((path, int(line[1])))
        elif place:
            path = place[1]
    return shown


@functools.cache
def cut_off() -> list[str]:
    """The words that cut a command off from the network, where this machine lets us."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        return []
    tried = subprocess.run([*_CUT_OFF, "true"], capture_output=True, timeout=20, check=False)
    return _CUT_OFF if tried.returncode == 0 else []


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def _texts(value: object, *, inside: str | None = None) -> Iterator[str]:
    """All text in messages, or only what stands inside blocks of one type."""
    if isinstance(value, str):
        if inside is None:
            yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, inside=inside)
    elif isinstance(value, dict):
        wanted = None if value.get("type") == inside else inside
        for name in ("text", "content"):
            yield from _texts(value.get(name), inside=wanted)
