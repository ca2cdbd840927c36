"""The hook script, run as the host runs it: it never blocks, never speaks, never fails."""

import json
import os
import socket
import stat
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from live_memory.web.identity import RunningServer as Published
from live_memory.web.identity import ensure_token, publish
from tests.support.server import RunningServer, a_free_port, running_server
from tests.support.slowness import slowness

_REPOSITORY = Path(__file__).parents[3]
_HOOKS = _REPOSITORY / "hooks"
_CLIENT = _REPOSITORY / "server/live_memory/client"
_PAYLOADS = sorted((Path(__file__).parents[1] / "hosts/payloads/claude-code").glob("*.json"))
# Two cores that others use too: the script's own budget is 0.2 s.
_SLOW = float(os.environ.get("LM_TEST_SLOW", "1"))
_NEVER = threading.Event()
_REPLY = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 2\r\n\r\n{}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run ended."""

    code: int
    said: bytes
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Desk:
    """Where hooks run: a project, and the data folder of a server that is there or not."""

    folder: Path

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    def run(self, payload: object, *words: str, **environ: str) -> Outcome:
        """Run the hook with this payload on its standard input."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        started = time.monotonic()
        done = subprocess.run(
            ["sh", str(_HOOKS / "run"), *(words or ("hook.py",))],
            input=data,
            cwd=self.project,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "LIVE_MEMORY_DATA_DIR": str(self.data_dir),
                "CLAUDE_PROJECT_DIR": str(self.project),
                **environ,
            },
            capture_output=True,
            timeout=30,
            check=False,
        )
        return Outcome(done.returncode, done.stdout + done.stderr, time.monotonic() - started)

    def read(self, name: str = "a.py", **given: object) -> dict[str, object]:
        """The payload of a Read."""
        path = str(self.project / name)
        return {
            "session_id": "s",
            "cwd": str(self.project),
            "hook_event_name": "PostToolUse",
            "tool_name": "Read",
            "tool_input": {"file_path": path, **given},
            "tool_response": {"type": "text", "file": {"filePath": name, "content": "CANARY\n"}},
        }

    def bash(self, command: str) -> dict[str, object]:
        """The payload of a Bash call."""
        given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": {}}
        return {**self.read(), **given}

    def spooled(self) -> list[dict[str, object]]:
        """What was written down."""
        lines = []
        for name in ("spool.old.jsonl", "spool.jsonl"):
            file = self.data_dir / name
            lines += file.read_text().splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A project with one file, and the data folder of a server that was there once."""
    desk = Desk(tmp_path)
    desk.project.mkdir()
    (desk.project / "a.py").write_text("RETRY_LIMIT = 3\n")
    ensure_token(desk.data_dir)
    return desk


@contextmanager
def listener(desk: Desk, behave: Callable[[socket.socket], None]) -> Iterator[list[bytes]]:
    """A program on the published port that is not our server; what it was told."""
    heard: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(10)
            try:
                heard.append(connection.recv(65_536))
                behave(connection)
                while more := connection.recv(65_536):
                    heard.append(more)
            except OSError:
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = stranger.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as stranger:
        publish(desk.data_dir, Published("127.0.0.1", stranger.getsockname()[1], 1, "0"))
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield heard
        stranger.shutdown(socket.SHUT_RDWR)
    thread.join()


def hangs(connection: socket.socket) -> None:
    """Accept and never answer."""
    while connection.recv(65_536):
        pass


def drips(connection: socket.socket) -> None:
    """One byte a second."""
    for byte in _REPLY:
        connection.sendall(bytes([byte]))
        _NEVER.wait(1)


def fails(connection: socket.socket) -> None:
    """A server error to everything."""
    connection.sendall(_REPLY)


def speaks_otherwise(connection: socket.socket) -> None:
    """Another program that says 200 to everything."""
    body = b'{"status": "ok", "pid": 1, "proof": "00"}'
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)


def babbles(connection: socket.socket) -> None:
    """What is no HTTP at all."""
    connection.sendall(b"hello\r\n\r\n")


def lists(connection: socket.socket) -> None:
    """JSON of another shape."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")


def floods(connection: socket.socket) -> None:
    """A reply without end."""
    while True:
        connection.sendall(b"x" * 65_536)


def is_silent(outcome: Outcome) -> bool:
    return (outcome.code, outcome.said) == (0, b"")


@pytest.mark.promise("hook-never-blocks")
def test_without_a_server_nothing_is_felt_and_every_event_is_written_down(desk: Desk) -> None:
    """C04: 300 calls of tools, the start of a session, and its end of turn."""
    publish(desk.data_dir, Published("127.0.0.1", a_free_port(), 1, "0"))
    said = {"last_assistant_message": "RETRY_LIMIT is 3 (a.py:1)."}
    began, stopped = (
        {**desk.read(), **said, "hook_event_name": name} for name in ("SessionStart", "Stop")
    )
    start = desk.run(began, "session_start.py")
    assert (start.code, [*json.loads(start.said)]) == (0, ["hookSpecificOutput", "systemMessage"])
    before = slowness()
    outcomes = [desk.run(one) for one in (began, *[desk.read()] * 300, stopped)]
    assert all(map(is_silent, outcomes))
    times = sorted(outcome.elapsed_s for outcome in (start, *outcomes))
    assert times[int(len(times) * 0.99)] < 0.15 * max(before, slowness())
    assert len(desk.spooled()) == 302


@pytest.mark.promise("hook-never-blocks")
@pytest.mark.parametrize("behave", [hangs, drips, fails, speaks_otherwise, babbles, lists, floods])
def test_whoever_listens_the_hook_ends_soon_and_the_event_is_written_down(
    desk: Desk, behave: Callable[[socket.socket], None]
) -> None:
    """C03, C05: and a stranger hears a question, never the token or the event (D3)."""
    token = ensure_token(desk.data_dir)
    with listener(desk, behave) as heard:
        before = slowness()
        outcomes = [desk.run(desk.read()) for _ in range(5)]
        bound_s = 0.3 * max(before, slowness())
    assert all(map(is_silent, outcomes))
    assert statistics.median(o.elapsed_s for o in outcomes) < bound_s
    assert len(desk.spooled()) == 5
    assert heard
    told = b"".join(heard)
    assert b"/health?nonce=" in told
    assert token.encode() not in told
    assert b"a.py" not in told


@pytest.mark.promise("hook-never-blocks")
@pytest.mark.parametrize("file", _PAYLOADS, ids=lambda file: file.stem)
def test_every_recorded_payload_is_taken(desk: Desk, file: Path) -> None:
    assert is_silent(desk.run(file.read_bytes()))


@pytest.mark.promise("hook-never-blocks")
@pytest.mark.parametrize(
    "junk",
    [b"", b"null", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"tool_input": 5}',
     b'{"tool_input": {"command": ["x"]}, "tool_response": {"structuredPatch": 3}}', b"9" * 5_000,
     b'{"hook_event_name": "PostToolUse", "cwd": "\\ud83d"}', b'"' + b"x" * 9_000_000 + b'"'],
    ids=range(11),
)  # fmt: skip
def test_junk_is_no_reason_to_speak(desk: Desk, junk: bytes) -> None:
    assert is_silent(desk.run(junk))


@pytest.mark.promise("hook-never-blocks")
def test_an_input_that_never_ends_is_not_waited_for(desk: Desk) -> None:
    with subprocess.Popen(
        ["sh", str(_HOOKS / "run"), "hook.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], "LIVE_MEMORY_DATA_DIR": str(desk.data_dir)},
    ) as process:
        assert process.wait(10) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""


def test_where_nothing_was_ever_installed_nothing_is_made(desk: Desk, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    assert is_silent(desk.run(desk.read(), LIVE_MEMORY_DATA_DIR=str(nowhere)))
    assert not nowhere.exists()


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


@pytest.mark.parametrize("fault", ["open", "link", pytest.param("other", marks=AS_ROOT), "folder"])
def test_a_token_that_others_could_have_written_is_not_used(desk: Desk, fault: str) -> None:
    """D2."""
    token = desk.data_dir / "token"
    match fault:
        case "open":
            token.chmod(0o644)
        case "link":
            token.rename(desk.folder / "elsewhere")
            token.symlink_to(desk.folder / "elsewhere")
        case "other":
            os.chown(token, 65534, -1)
        case _:
            token.unlink()
            token.mkdir()
    with listener(desk, speaks_otherwise) as heard:
        assert is_silent(desk.run(desk.read()))
    assert heard == []


@pytest.mark.promise("no-secrets")
def test_what_is_written_down_holds_names_and_no_text(desk: Desk) -> None:
    """C20: neither what a tool said nor what looks like a secret."""
    secret = "sk-ant-api03-CANARY0123456789CANARY"
    for payload in (
        desk.read(),
        desk.bash(f"curl -H 'Authorization: Bearer {secret}' x"),
        desk.bash("export DB_PASSWORD=CANARY"),
        desk.bash("psql postgres://u:CANARY@h/db"),
        desk.bash("echo CANARY0123456789abcdefghi > f"),
        desk.read(f"{secret}.py"),
    ):
        assert is_silent(desk.run(payload))
    text = (desk.data_dir / "spool.jsonl").read_text()
    assert "CANARY" not in text
    assert len(desk.spooled()) == 6
    mode = (desk.data_dir / "spool.jsonl").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize(
    "command",
    [
        "curl -su admin:CANARY https://h",
        "mysql -u root -pCANARY shop",
        "sshpass -p CANARY ssh h",
        "redis-cli -a CANARY ping",
        "PGPASSWORD=CANARY psql",
        "vault login CANARY",
        "cat a.py && echo CANARY | docker login --password-stdin",
        "cat <<EOF\nCANARY\nEOF",
        "grep -rn glpat-CANARY0123456789abc src",
        "git push https://CANARY@h/r",
        "git -c http.extraheader='x: CANARY' fetch",
        "rg CANARY0123456789abcd",
        "sed -n 's/x/$CANARY/p' f",
        "ngrok config add-authtoken CANARY",
    ],
)
def test_a_command_that_may_hold_a_secret_is_not_written_down(desk: Desk, command: str) -> None:
    """F9: only what shows files is kept, so no list of programs has to be complete."""
    assert is_silent(desk.run(desk.bash(command)))
    assert "CANARY" not in (desk.data_dir / "spool.jsonl").read_text()
    assert len(desk.spooled()) == 1


@pytest.mark.parametrize(
    "command",
    [
        "sed -n 1,80p src/app.py",
        "cd src && cat app.py | head -20",
        "rg -n parse_args lib/",
        "git log",
    ],
)
def test_a_command_that_shows_files_is_written_down(desk: Desk, command: str) -> None:
    desk.run(desk.bash(command))
    assert json.dumps(command)[1:-1] in (desk.data_dir / "spool.jsonl").read_text()


def test_the_spool_is_bounded_and_what_it_loses_is_counted(desk: Desk) -> None:
    line = json.dumps({"project": str(desk.project), "payload": desk.read()})
    many = 250_000 // (len(line) + 1)
    (desk.data_dir / "spool.old.jsonl").write_text(f"{line}\n" * 7)
    (desk.data_dir / "spool.jsonl").write_text(f"{line}\n" * many)
    for _ in range(60):
        desk.run(desk.read())
    sizes = [file.stat().st_size for file in desk.data_dir.glob("spool*")]
    assert max(sizes) <= 256 * 1024
    assert {"project": str(desk.project), "dropped": 7} in desk.spooled()
    assert len(desk.spooled()) == many + 60 + 1


def test_hooks_that_write_at_the_same_time_lose_nothing(desk: Desk) -> None:
    threads = [threading.Thread(target=desk.run, args=(desk.read(),)) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(desk.spooled()) == 24


@pytest.mark.parametrize(
    "path",
    [".git/index", "node_modules/x/index.js", "sub/__pycache__/a.pyc", "../data/spool.jsonl"],
)
def test_noise_and_our_own_files_are_not_worth_a_word(desk: Desk, path: str) -> None:
    whole = os.path.normpath(desk.project / path)
    touched = {"hook_event_name": "FileChanged", "file_path": whole, "event": "change"}
    assert is_silent(desk.run(touched))
    assert desk.spooled() == []


def test_the_configured_data_folder_is_found(desk: Desk) -> None:
    config = desk.folder / ".config/live-memory"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(f'port = 7711\ndata_dir = "{desk.data_dir}"  # here\n')
    assert is_silent(desk.run(desk.read(), LIVE_MEMORY_DATA_DIR=""))
    assert len(desk.spooled()) == 1


@pytest.mark.parametrize("script", sorted(_CLIENT.glob("*.py")), ids=lambda script: script.stem)
def test_the_scripts_run_with_old_interpreters_and_the_standard_library(script: Path) -> None:
    import ast

    nodes = list(ast.walk(ast.parse(script.read_text(), feature_version=(3, 9))))
    imported = {n.name for node in nodes if isinstance(node, ast.Import) for n in node.names}
    imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    others = {name for name in imported if not name.startswith("live_memory.client.")}
    # The package itself says its version.
    assert {name.partition(".")[0] for name in others} - {"live_memory"} <= sys.stdlib_module_names


def folders(outcome: Outcome) -> list[str]:
    said = json.loads(outcome.said)["hookSpecificOutput"]
    assert said["hookEventName"] == "SessionStart"
    assert all(isinstance(path, str) for path in said["watchPaths"])
    return list(said["watchPaths"])


def test_a_session_watches_few_folders_and_none_that_programs_fill(desk: Desk) -> None:
    nested = ("packages/a/src", "packages/a/node_modules/x", "lib/__pycache__")
    for folder in ("src/deep", "docs", "dist", ".git", "generated", *nested):
        (desk.project / folder).mkdir(parents=True)
    (desk.project / ".gitignore").write_text("# built\n/generated/\n*.log\n")
    outcome = desk.run(b"", "session_start.py")
    assert outcome.code == 0
    below = [os.path.relpath(path, desk.project) for path in folders(outcome)]
    assert sorted(below) == ["docs", "packages/a/src", "src"]


def test_a_huge_project_is_not_looked_through(desk: Desk) -> None:
    for n in range(3_000):
        (desk.project / f"d{n}").mkdir()
    outcome = desk.run(b"", "session_start.py")
    assert outcome.code == 0
    assert folders(outcome) == []
    assert outcome.elapsed_s < 0.5 * _SLOW


def test_a_project_that_is_gone_is_no_reason_to_fail(desk: Desk) -> None:
    assert is_silent(desk.run(b"", "session_start.py", CLAUDE_PROJECT_DIR="/nowhere/at/all"))


def test_an_interpreter_in_the_project_is_never_run(desk: Desk) -> None:
    marker = desk.folder / "ran"
    planted = desk.project / "python3"
    planted.write_text(f"#!/bin/sh\ntouch {marker}\n")
    planted.chmod(0o755)
    assert is_silent(desk.run(desk.read(), PATH=f".::{os.environ['PATH']}"))
    assert not marker.exists()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


def entries_of(server: RunningServer, project: Path, *, count: int) -> list[Mapping[str, object]]:
    """The timeline, once it has so many entries."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        found = server.request("GET", f"/v1/timeline?cwd={project}").json["entries"]
        assert isinstance(found, list)
        if len(found) >= count:
            return found
        time.sleep(0.05)  # there is nothing to wait on in another process
    raise AssertionError(f"never {count} entries: {found}")


def test_an_event_reaches_the_server_and_only_its_name_did(
    server: RunningServer, desk: Desk
) -> None:
    environ = {"LIVE_MEMORY_DATA_DIR": str(server.data_dir)}
    entries_of(server, desk.project, count=0)  # past its imports: no event need be written down
    assert is_silent(desk.run(desk.read(), **environ))
    (entry,) = entries_of(server, desk.project, count=1)
    assert (entry["path"], entry["start"], entry["end"]) == ("a.py", 1, 1)
    assert not (server.data_dir / "spool.jsonl").exists()


def test_what_was_written_down_is_learned_when_the_server_is_back(
    desk: Desk, tmp_path: Path
) -> None:
    """C05."""
    folder = tmp_path / "later"
    (folder / "data").mkdir(parents=True, mode=0o700)
    environ = {"LIVE_MEMORY_DATA_DIR": str(folder / "data")}
    (desk.project / "b.py").write_text("x = 1\n")
    assert is_silent(desk.run(desk.read(), **environ))
    assert is_silent(desk.run(desk.bash("cat b.py"), **environ))
    with running_server(folder) as server:
        found = entries_of(server, desk.project, count=2)
        assert {entry["path"] for entry in found} == {"a.py", "b.py"}
        assert (server.data_dir / "spool.jsonl").read_bytes() == b""


def test_no_host_takes_a_payload_for_a_program(desk: Desk) -> None:
    """Hosts that run this plugin unchanged know no `args`: a bare `sh` would run its input."""
    groups = json.loads((_HOOKS / "hooks.json").read_text())["hooks"].values()
    hooks = [hook for entries in groups for entry in entries for hook in entry["hooks"]]
    payload = json.dumps({**desk.read(), "tool_response": f"$(touch {desk.folder}/ran)"})
    for hook in hooks:
        assert "args" not in hook
        subprocess.run(
            ["sh", "-c", hook["command"]],
            input=payload.encode(),
            cwd=desk.project,
            env={"PATH": os.environ["PATH"], "CLAUDE_PLUGIN_ROOT": str(_REPOSITORY)}
            | {"LIVE_MEMORY_DATA_DIR": str(desk.data_dir)},
            timeout=30,
            check=False,
        )
    assert hooks
    assert not (desk.folder / "ran").exists()
    assert desk.spooled()
