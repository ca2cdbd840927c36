"""Before each ask the server is there, or agent and user are told in one line what to do."""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from live_memory.web.identity import ensure_token, is_ours, published
from tests.support.server import a_free_port, running_server

_REPOSITORY = Path(__file__).parents[3]
_REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


@dataclass(frozen=True, slots=True)
class Session:
    """A plugin on a port, and the data folder of its user."""

    folder: Path
    port: int

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    def wake(self, *, option: bool = True, **environ: str) -> dict[str, object]:
        """What the hook says; it always ends well, and says nothing else."""
        done = subprocess.run(
            ["sh", str(self.folder / "plugin/hooks/run"), "ensure_server.py"],
            input=b"{}",
            cwd=self.folder,
            env={
                "PATH": f"{_REPOSITORY / '.venv/bin'}:{os.environ['PATH']}",
                "HOME": str(self.folder),
                "LIVE_MEMORY_DATA_DIR": str(self.data_dir),
                **({"CLAUDE_PLUGIN_OPTION_PORT": str(self.port)} if option else {}),
                **environ,
            },
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        said: dict[str, object] = json.loads(done.stdout) if done.stdout else {}
        return said

    def is_served(self) -> bool:
        token = self.data_dir / "token"
        # A start beside other tests may keep a reply for a second.
        said = token.read_text() if token.exists() else None
        return said is not None and is_ours("127.0.0.1", self.port, token=said, within_s=10.0)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A copy of the plugin without a server; one that is started is ended."""
    session = Session(tmp_path, a_free_port())
    for name in (".claude-plugin", "bin", "hooks"):
        shutil.copytree(_REPOSITORY / name, tmp_path / "plugin" / name)
    yield session
    there = published(session.data_dir)
    if there is not None:
        os.kill(there.pid, signal.SIGTERM)


def refusal(said: dict[str, object]) -> str:
    """Why the agent is told to go on without memory; the user reads the same."""
    decided = said["hookSpecificOutput"]
    assert isinstance(decided, dict)
    assert (decided["hookEventName"], decided["permissionDecision"]) == ("PreToolUse", "deny")
    reason = str(decided["permissionDecisionReason"])
    shown = str(said["systemMessage"])
    assert reason == f"{shown}. Work without it."
    assert "\n" not in reason
    return shown


@contextmanager
def listener(port: int, reply: bytes | None) -> Iterator[list[bytes]]:
    """Somebody else's program on the port: it replies so, closes, or is silent; what it heard."""
    heard: list[bytes] = []
    open_ones: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            open_ones.append(connection)
            heard.append(connection.recv(65_536))
            if reply:
                connection.sendall(reply)
            elif reply == b"":
                connection.close()

    with socket.create_server(("127.0.0.1", port)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield heard
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for one in open_ones:
            one.close()


def test_a_server_that_proves_itself_is_left_alone(tmp_path: Path, session: Session) -> None:
    with running_server(tmp_path, LIVE_MEMORY_PORT=str(session.port)) as server:
        assert session.wake() == {}
        assert published(session.data_dir) is not None
        assert server.process.poll() is None


def test_a_server_that_is_gone_is_there_again(session: Session) -> None:
    """C06: killed, ended because nobody needed it, or never started."""
    assert session.wake() == {}
    first = published(session.data_dir)
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    assert session.wake() == {}
    second = published(session.data_dir)
    assert session.is_served()
    assert second is not None
    assert second.pid != first.pid


def test_without_the_option_the_port_is_the_plugin_s_default(session: Session) -> None:
    manifest = session.folder / "plugin/.claude-plugin/plugin.json"
    described = json.loads(manifest.read_text())
    described["userConfig"]["port"]["default"] = session.port
    manifest.write_text(json.dumps(described))
    assert session.wake(option=False) == {}
    assert session.is_served()


@pytest.mark.promise("spend-capped")
def test_a_server_that_the_hook_starts_has_none_of_the_agent_s_keys(session: Session) -> None:
    """The host keeps them from its header helper; who starts the server changes nothing."""
    keys = {"ANTHROPIC_API_KEY": "sk-test-canary", "GITHUB_TOKEN": "ghp-canary"}
    assert session.wake(option=True, LC_ALL="C.UTF-8", **keys) == {}
    there = published(session.data_dir)
    assert there is not None
    environ = Path(f"/proc/{there.pid}/environ").read_text()
    assert "LC_ALL=C.UTF-8" in environ
    assert "canary" not in environ


@pytest.mark.parametrize(
    "reply",
    [_REPLY, b"SSH-2.0-x\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\n", None],
    ids=["http", "other", "closed", "half", "silent"],
)
def test_a_stranger_is_named_and_shown_no_secret(session: Session, reply: bytes | None) -> None:
    """C03, S05, S06: a killed server's port may be anybody's by the next ask."""
    token = ensure_token(session.data_dir)
    with listener(session.port, reply) as heard:
        said = refusal(session.wake())
    assert f"port {session.port} is held by a program that is not Live Memory" in said
    assert heard
    assert heard[0].startswith(b"GET /health?nonce=")
    assert not any(token.encode() in each or b"uthorization" in each for each in heard)


@pytest.mark.parametrize("token", ["none", "of another form", "that others can read"])
def test_without_a_token_to_prove_it_by_a_stranger_is_one(session: Session, token: str) -> None:
    session.data_dir.mkdir(mode=0o700)
    if token != "none":
        (session.data_dir / "token").write_text("s" * 43 if "others" in token else "short")
        (session.data_dir / "token").chmod(0o644 if "others" in token else 0o600)
    with listener(session.port, None) as heard:
        assert f"port {session.port} is held by" in refusal(session.wake())
    assert not any(heard)  # nothing is asked that could not be judged


def test_a_server_of_ours_that_does_not_answer_in_time_is_not_refused(
    tmp_path: Path, session: Session
) -> None:
    """It may be busy, and holds its lock; the call has a deadline of its own."""
    with running_server(tmp_path, LIVE_MEMORY_PORT=str(session.port)) as server:
        os.kill(server.pid, signal.SIGSTOP)
        try:
            assert session.wake() == {}
        finally:
            os.kill(server.pid, signal.SIGCONT)


@pytest.mark.parametrize(
    "left", ["as it was", "of another port", "of a process that holds nothing"]
)
def test_what_a_server_left_behind_does_not_vouch_for_a_silent_stranger(
    tmp_path: Path, session: Session, left: str
) -> None:
    """S06: the files of a killed server, or of one that now listens elsewhere."""
    elsewhere = a_free_port()
    with running_server(tmp_path, LIVE_MEMORY_PORT=str(elsewhere)) as server:
        said = json.loads((session.data_dir / "server.json").read_text())
        if left == "of another port":
            said["port"] = session.port
            (session.data_dir / "server.json").write_text(json.dumps(said))
        else:
            server.process.kill()
            server.process.wait()
            (session.data_dir / "lock").write_text(f"{os.getpid()} {session.port}")
            who = os.getpid() if left != "as it was" else said["pid"]
            text = json.dumps({**said, "port": session.port, "pid": who})
            (session.data_dir / "server.json").write_text(text)
        with listener(session.port, None):
            assert f"port {session.port} is held by" in refusal(session.wake())
        (session.data_dir / "server.json").unlink()


def test_an_interpreter_that_is_gone_hides_no_other(session: Session) -> None:
    """N04: what the checkout's environment was made with was upgraded away."""
    python = session.folder / "plugin/.venv/bin/python3"
    python.parent.mkdir(parents=True)
    python.symlink_to("/nowhere/python3")
    assert session.wake() == {}
    assert session.is_served()


def test_a_server_that_cannot_start_is_told_in_one_line(session: Session) -> None:
    session.data_dir.write_text("a file where the data folder must be")
    said = refusal(session.wake())
    assert f"data folder '{session.data_dir}' cannot be used" in said
    assert "set another with `data_dir`" in said


def test_a_setting_that_is_refused_is_told_in_one_line(session: Session) -> None:
    file = session.folder / ".config/live-memory/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('log_level = "loud"')
    file.chmod(0o600)
    assert "log_level" in refusal(session.wake())
