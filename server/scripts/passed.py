"""Prints the modules that one question and one hook event pass in a warm server.

Usage: `python server/scripts/passed.py [FOLDER] [QUESTION]`. A module is passed when a function of
its own is called while the answer is made, in whatever thread; what a module offers as values and
constants alone is not counted. The server runs in this process with a data folder of its own.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from types import FrameType

import live_memory

_PACKAGE = str(Path(live_memory.__file__).parent) + os.sep
_QUESTION = "Where is a citation checked?"
# After a hook event: longer than a burst of events is waited for before files are read.
_SETTLED_S = 5.0
# A server that only waits passes no more than these; it is asked once more then, or after so long.
_IDLE, _MOST_WAITS = 12, 60
_seen: set[str] = set()


def _note(frame: FrameType, event: str, _: object) -> None:
    name = frame.f_code.co_filename
    if event == "call" and name.startswith(_PACKAGE):
        _seen.add(name)


def _passed() -> list[str]:
    names = sorted(name.removeprefix(_PACKAGE) for name in _seen.copy())
    _seen.clear()
    return names


class _Client:
    """Asks the server of this process, from a thread that is not looked at."""

    def __init__(self, port: int, data: Path, folder: Path, question: str) -> None:
        self._at, self._data = f"http://127.0.0.1:{port}", data
        self._folder, self._question = folder, question

    def run(self) -> None:
        """Warm up, measure, print, and end the process."""
        sys.setprofile(None)
        try:
            self._measure()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    def _measure(self) -> None:
        while not self._is_up():
            time.sleep(0.1)
        self._ask()
        for _ in range(_MOST_WAITS):  # the first look and the index are made in the background
            time.sleep(_SETTLED_S)
            idle = _passed()
            if len(idle) <= _IDLE:
                break
        self._ask()
        _tell("one question", _passed())
        time.sleep(_SETTLED_S)
        _passed()
        self._post("/notify", self._event())
        time.sleep(_SETTLED_S)
        _tell("one hook event", _passed())
        _tell("without any request, just before", idle)

    def _is_up(self) -> bool:
        try:
            return bool(self._post("/v1/ask", {"question": "?", "cwd": str(self._folder)}))
        except OSError:
            return False

    def _ask(self) -> None:
        params = {
            "name": "ask_live_memory",
            "arguments": {"question": self._question, "cwd": str(self._folder)},
        }
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        said = self._post("/mcp", call, **{"Mcp-Session-Id": self._session()})
        assert b'"isError":true' not in said, said

    def _session(self) -> str:
        about = {"protocolVersion": "2025-06-18", "capabilities": {}}
        about["clientInfo"] = {"name": "passed", "version": "1"}
        first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
        with urllib.request.urlopen(self._request("/mcp", first)) as reply:  # noqa: S310
            reply.read()
            session = str(reply.headers.get("Mcp-Session-Id") or "")
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self._post("/mcp", done, **{"Mcp-Session-Id": session})
        _seen.clear()
        return session

    def _event(self) -> dict[str, object]:
        own = (p for p in sorted(self._folder.rglob("*.py")) if not _is_hidden(p, self._folder))
        path = next(own)
        read = {"filePath": str(path), "numLines": 20, "startLine": 1, "totalLines": 20}
        return {
            "hook_event_name": "PostToolUse",
            "session_id": "passed",
            "cwd": str(self._folder),
            "tool_name": "Read",
            "tool_input": {"file_path": str(path), "limit": 20},
            "tool_response": {"type": "text", "file": read},
        }

    def _request(self, path: str, body: object, **more: str) -> urllib.request.Request:
        headers = {
            "Authorization": f"Bearer {(self._data / 'token').read_text('ascii')}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        return urllib.request.Request(  # noqa: S310
            self._at + path, json.dumps(body).encode(), headers | more
        )

    def _post(self, path: str, body: object, **more: str) -> bytes:
        with urllib.request.urlopen(self._request(path, body, **more), timeout=60) as reply:  # noqa: S310
            said: bytes = reply.read()
        return said


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _tell(what: str, names: list[str]) -> None:
    print(f"{what}: {len(names)} modules", *names, sep="\n  ", flush=True)


def main() -> None:
    """Serve in this thread, ask from another one."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    question = sys.argv[2] if len(sys.argv) > 2 else _QUESTION
    with tempfile.TemporaryDirectory() as data:
        port = 20_000 + os.getpid() % 20_000
        os.environ.update(LIVE_MEMORY_DATA_DIR=data, LIVE_MEMORY_PORT=str(port))
        os.environ.update(LIVE_MEMORY_PROVIDER="none")
        client = _Client(port, Path(data), folder, question)
        threading.Thread(target=client.run, daemon=True).start()
        threading.setprofile(_note)
        sys.setprofile(_note)
        from live_memory.cli.main import run  # noqa: PLC0415  (its functions are looked at too)

        sys.exit(run(["serve"]))


if __name__ == "__main__":
    main()
