"""A user who installed only the plugin: it brings its own environment, once, in the background."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from live_memory import __version__
from live_memory.web.identity import published
from tests.support.server import a_free_port

_REPOSITORY = Path(__file__).parents[3]
_PLUGIN = (".claude-plugin", ".mcp.json", "bin", "commands", "hooks", "skills", "server")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "tests", ".*_cache", ".hypothesis")
# Makes an environment whose `live-memory` says that it ran; each install is counted.
_UV = """#!/bin/sh
folder=$(dirname "$0")
case "$1 $2" in
"venv --python") mkdir -p "$4/bin" ;;
"pip install")
    echo "$5" >> "$folder/installs"
    while [ -e "$folder/wait" ]; do sleep 0.05; done
    [ -e "$folder/broken" ] && { echo "no route to the index" >&2; exit 1; }
    command=$(dirname "$4")/live-memory
    printf '#!/bin/sh\\necho "$0 $*" >> "%s/ran"\\necho "{}"\\n' "$folder" > "$command"
    chmod 755 "$command" ;;
esac
"""
_WITHIN_S = 60


@dataclass(frozen=True, slots=True)
class _User:
    """Someone with a home, the plugin, and the programs that a machine comes with."""

    folder: Path
    port: int

    @property
    def environment(self) -> Path:
        return self.folder / "home/.local/share/live-memory/environment"

    @property
    def programs(self) -> Path:
        return self.folder / "programs"

    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        if (self.programs / "broken").exists():
            kept = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
        return kept | {
            "PATH": f"{self.programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder / "home"),
            "CLAUDE_CODE_MCP_SERVER_URL": f"http://127.0.0.1:{self.port}/mcp",
        }

    def begin(self, command: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["/bin/sh", self.folder / "plugin/bin/live-memory", command],
            env=self.environ(),
            cwd=self.folder / "project",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        with self.begin(command) as process:
            out, err = process.communicate(timeout=_WITHIN_S)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def noted(self, name: str) -> list[str]:
        """What a program of this machine wrote down."""
        file = self.programs / name
        return file.read_text().splitlines() if file.exists() else []

    def status(self) -> str:
        file = self.environment / "status"
        return file.read_text() if file.exists() else ""

    def is_ready(self, version: str = __version__) -> bool:
        return (self.environment / version / "ready").exists()


@pytest.fixture
def user(tmp_path: Path) -> Iterator[_User]:
    """A user of a machine with a `uv` of ours."""
    user = _User(tmp_path, a_free_port())
    for name in ("home", "project", "programs", "plugin"):
        (tmp_path / name).mkdir()
    (user.programs / "uv").write_text(_UV)
    (user.programs / "uv").chmod(0o755)
    for name in _PLUGIN:
        source, target = _REPOSITORY / name, tmp_path / "plugin" / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=_NOT_COPIED)
        else:
            shutil.copy(source, target)
    yield user
    (user.programs / "wait").unlink(missing_ok=True)
    server = published(user.environment.parent)
    if server is not None:
        os.kill(server.pid, signal.SIGTERM)


def test_sessions_that_start_at_once_bring_it_once_and_do_not_wait(user: _User) -> None:
    (user.programs / "wait").touch()
    sessions = [user.begin("headers") for _ in range(5)]
    outs = [session.communicate(timeout=_WITHIN_S) for session in sessions]
    _wait_for(lambda: bool(user.noted("installs")))
    meanwhile = user.run("stats")
    (user.programs / "wait").unlink()
    _wait_for(lambda: "is installed" in user.status())

    assert [
        (session.returncode, out) for session, (out, _) in zip(sessions, outs, strict=True)
    ] == [(0, "{}\n")] * 5
    assert all("being installed" in err for _, err in outs)
    assert (meanwhile.returncode, meanwhile.stdout) == (127, "")
    assert (
        "(getting what it needs with uv); the tool is there when that is done" in meanwhile.stderr
    )
    assert user.noted("installs") == [f"{user.folder}/plugin/server[search,syntax]"]
    # It was tried, and the server brought up for the session that still goes on.
    assert [line.split()[1] for line in user.noted("ran")] == ["--version", "headers"]
    assert user.run("stats").returncode == 0
    assert user.noted("ran")[-1].endswith("/bin/live-memory stats")


def test_where_it_cannot_be_installed_the_reason_is_told_and_it_is_not_tried_at_once_again(
    user: _User,
) -> None:
    (user.programs / "broken").touch()
    user.run("headers")
    _wait_for(lambda: "could not be installed" in user.status())
    tried = len(user.noted("installs"))
    told, again = user.run("doctor"), user.run("headers")

    assert told.returncode == 127
    assert "could not be installed for the plugin: " in told.stderr
    assert str(user.environment / "log") in told.stderr
    assert (again.returncode, again.stdout) == (0, "{}\n")
    assert len(user.noted("installs")) == tried
    assert not (user.environment / __version__).exists()


def test_one_that_was_killed_on_the_way_is_begun_again(user: _User) -> None:
    (user.programs / "wait").touch()
    user.run("headers")
    _wait_for(lambda: bool(user.noted("installs")))
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"bring.py\0" in words and str(user.folder).encode() in words:
            os.kill(int(process.name), signal.SIGKILL)
    (user.programs / "wait").unlink()

    user.run("headers")

    _wait_for(lambda: "is installed" in user.status())
    assert user.is_ready()


def test_the_one_of_the_plugin_before_serves_until_the_new_one_is_there(user: _User) -> None:
    user.run("headers")
    _wait_for(lambda: "is installed" in user.status())
    manifest = user.folder / "plugin/.claude-plugin/plugin.json"
    described = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(described | {"version": "9.9.9"}))
    (user.programs / "wait").touch()

    meanwhile = user.run("headers")
    (user.programs / "wait").unlink()
    _wait_for(lambda: user.is_ready("9.9.9"))
    user.run("stats")

    assert meanwhile.returncode == 0
    assert f"/{__version__}/bin/live-memory headers" in "\n".join(user.noted("ran"))
    assert "/9.9.9/bin/live-memory stats" in user.noted("ran")[-1]


def test_everything_is_for_its_owner_only(user: _User) -> None:
    user.run("headers")
    _wait_for(lambda: "is installed" in user.status())

    for entry in [user.environment, *user.environment.glob("*")]:
        assert entry.stat().st_mode & 0o077 == 0, entry


@pytest.mark.timeout(300)
def test_with_nothing_but_python_it_installs_the_server_itself_and_the_session_gets_it(
    user: _User, request: pytest.FixtureRequest
) -> None:
    """The real thing, from the real index, in an empty home."""
    (user.programs / "uv").unlink()

    first = user.run("headers")
    _wait_for(lambda: user.status() != "" and "being installed" not in user.status(), within_s=240)
    if "is installed" not in user.status():
        log = (user.environment / "log").read_text()
        if request.config.getoption("--no-missing"):
            pytest.fail(log)
        pytest.skip(f"needs a package index: {user.status()}")
    second = user.run("headers")

    assert first.stdout == "{}\n"
    token = (user.environment.parent / "token").read_text()
    assert json.loads(second.stdout) == {"Authorization": f"Bearer {token}"}
    server = published(user.environment.parent)
    assert server is not None
    assert (server.port, server.version) == (user.port, __version__)


def _wait_for(condition: Callable[[], bool], *, within_s: float = _WITHIN_S) -> None:
    """Until it holds; what another process does gives us nothing to wait on."""
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)
