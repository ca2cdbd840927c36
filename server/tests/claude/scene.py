"""One scene with the real client, in a process of its own so that it can be cut off from the world.

    python -m tests.claude.scene PLAN.json OUTCOME.json

It plays the Messages API, optionally a stranger on the server's port, runs the client's commands
one after the other, and stops every server that they started.
"""

import fcntl
import http.client
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.claude.fake_anthropic import FakeAnthropic, Turn
from tests.claude.keyboard import Keyboard
from tests.support.scripted_endpoint import Text, Tools, serving

__all__ = ["play", "stop_server", "told"]

_EACH_S = 60
_STOP_S = 15
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def play(plan: dict[str, object]) -> dict[str, object]:
    """Run the plan's commands; returns what they printed and what reached us."""
    turns = [_turn(turn) for turn in _list(plan["turns"])]
    heard: list[str] = []
    subprocess.run(["sh", "-ec", str(plan["machine"])], check=True, timeout=_EACH_S)
    with ExitStack() as stack:
        api = stack.enter_context(FakeAnthropic(turns))
        if plan["stranger_port"] is not None:
            talks = plan["stranger_talks"] is True
            stack.enter_context(_stranger(int(str(plan["stranger_port"])), heard, talks=talks))
        stack.callback(stop_server, Path(str(plan["data_dir"])))
        if plan["companion"]:
            stack.enter_context(_companion(_list(plan["companion"]), str(plan["home"])))
        environ = {**_texts(plan["environ"]), "ANTHROPIC_BASE_URL": api.base_url}
        runs = [_run(command, environ, api) for command in _list(plan["commands"])]
        heard_of = [
            told(str(route), Path(str(plan["data_dir"])), project=str(plan["cwd"]))
            for route in _list(plan["then"])
        ]
    return {"runs": runs, "requests": api.requests, "heard": heard, "told": heard_of}


def told(route: str, data_dir: Path, *, project: str) -> object:
    """What our server says about the project."""
    there = json.loads((data_dir / "server.json").read_text())
    connection = http.client.HTTPConnection(there["host"], there["port"], timeout=10)
    token = (data_dir / "token").read_text()
    headers = {"Authorization": f"Bearer {token}", "X-Live-Memory-Project": project}
    connection.request("GET", route, headers=headers)
    reply = json.loads(connection.getresponse().read())
    connection.close()
    return reply


def _run(command: object, environ: dict[str, str], api: FakeAnthropic) -> dict[str, object]:
    assert isinstance(command, dict)
    words = [str(word) for word in _list(command["words"])]
    if command["typed"] is not None:
        return _typed(words, environ, str(command["cwd"]), str(command["typed"]), api)
    if command["keys"]:
        return _at_keyboard(words, environ, str(command["cwd"]), _list(command["keys"]))
    done = subprocess.run(
        words,
        cwd=str(command["cwd"]),
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_EACH_S,
        check=False,
    )
    return {"returncode": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def _at_keyboard(
    words: list[str], environ: dict[str, str], cwd: str, keys: list[object]
) -> dict[str, object]:
    """Have each prompt answered before the next one is typed."""
    screens = []
    with Keyboard(words, environ=environ, cwd=cwd, folder=Path(environ["TMPDIR"])) as keyboard:
        for prompt, awaited in map(_list, keys):
            if prompt:
                keyboard.say(str(prompt))
            keyboard.wait(str(awaited))
            screens.append(keyboard.screen())
    return {"returncode": 0, "stdout": "", "stderr": "", "screens": screens}


def _typed(
    words: list[str], environ: dict[str, str], cwd: str, prompt: str, api: FakeAnthropic
) -> dict[str, object]:
    """Run the client in a terminal, type a prompt once it is there, and leave when all is said."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    process = subprocess.Popen(
        words, cwd=cwd, env=environ, stdin=there, stdout=there, stderr=there, start_new_session=True
    )
    os.close(there)
    screen, new, until = b"", b"", time.monotonic() + _EACH_S
    keys = [prompt.encode(), b"\r"]
    while process.poll() is None and time.monotonic() < until:
        # Typed at once it would be taken for pasted text.
        ready = b"\x1b[?2004h" in screen if len(keys) == 2 else keys and prompt.encode() in new
        if ready:
            os.write(here, keys.pop(0))
        if api.is_done:
            process.terminate()
        new = b""
        if select.select([here], [], [], 0.3)[0]:
            try:
                new = os.read(here, 65_536)
            except OSError:
                break
            screen += new
    process.kill()
    code = process.wait()
    os.close(here)
    return {"returncode": code, "stdout": screen.decode("utf-8", "replace"), "stderr": ""}


@contextmanager
def _companion(turns: list[object], home: str) -> Iterator[None]:
    """A model for our server that plays these turns, set in the user's configuration."""
    with serving() as endpoint:
        plays = [
            Text(turn) if isinstance(turn, str) else Tools([(turn[0], json.dumps(turn[1]))])
            for turn in map(_turn, turns)
        ]
        channel = endpoint.open(*plays)
        file = Path(home) / ".config/live-memory/config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as out:
            out.write(f'provider = "openai"\nbase_url = "{channel.base_url}/v1"\n')
        yield


@contextmanager
def _stranger(port: int, heard: list[str], *, talks: bool) -> Iterator[None]:
    """A program of someone else's that got the port first, and notes all it is told."""
    silent: list[socket.socket] = []

    def listen() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.settimeout(5)
            heard.append(connection.recv(65536).decode("latin-1"))
            if talks:
                connection.sendall(_NOT_FOUND)
                connection.close()
            silent.append(connection)

    with socket.create_server(("127.0.0.1", port)) as listener:
        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def stop_server(data_dir: Path) -> None:
    """End the server that a scene started, where there is one, and let it save what it has."""
    try:
        pid = json.loads((data_dir / "server.json").read_text())["pid"]
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + _STOP_S
        while time.monotonic() < until and not _is_gone(pid):
            time.sleep(0.02)  # there is nothing to wait on in a process that is not our own
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        pass


def _is_gone(pid: int) -> bool:
    try:
        # Whose parent is gone is a child of the first process, which a scene may be.
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        os.kill(pid, 0)
        return False


def _turn(value: object) -> Turn:
    if isinstance(value, str):
        return value
    name, given = _list(value)
    assert isinstance(given, dict)
    return str(name), given


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def _texts(value: object) -> dict[str, str]:
    assert isinstance(value, dict)
    return {str(name): str(text) for name, text in value.items()}


if __name__ == "__main__":
    plan_file, outcome_file = map(Path, sys.argv[1:])
    outcome_file.write_text(json.dumps(play(json.loads(plan_file.read_text()))))
