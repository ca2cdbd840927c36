"""A tiny stand-in for the `claude` program: it speaks its stream-json and plays a script.

Run as a program it takes its script and keeps its diary in the folder named by `FAKE_CLAUDE`.
Each turn it plays is a file there, taken by whoever renames it first, so that the turns of several
processes follow each other.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from live_memory.adapters.llm.installed_client import ClaudeProgram, find_claude

__all__ = ["FakeClaude", "fake_claude", "is_running"]

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class FakeClaude:
    """An installed stand-in: where it is, and what was written in its diary."""

    folder: Path
    program: ClaudeProgram

    def diary(self, kind: str) -> list[Json]:
        """All entries of one kind, from every process, in order."""
        file = self.folder / "diary"
        lines = file.read_text().splitlines() if file.exists() else []
        return [entry for entry in map(json.loads, lines) if entry["kind"] == kind]

    def pids(self) -> list[int]:
        """Every process that was started, with the processes that those started."""
        return [int(str(entry["pid"])) for kind in ("start", "child") for entry in self.diary(kind)]

    def said(self) -> list[str]:
        """What it was told by the user's turns, one text a turn."""
        return [str(entry["text"]) for entry in self.diary("user")]


def fake_claude(folder: Path, *turns: Json, environ: Mapping[str, str] | None = None) -> FakeClaude:
    """Install it in `folder`, ready to play these turns."""
    for name in ("bin", "turns", "home"):
        (folder / name).mkdir(parents=True)
    for number, turn in enumerate(turns):
        (folder / "turns" / f"{number:03}").write_text(json.dumps(turn))
    script = folder / "bin/claude"
    words = f'FAKE_CLAUDE="{folder}" exec "{sys.executable}" -I "{__file__}" "$@"'
    script.write_text(f"#!/bin/sh\n{words}\n")
    script.chmod(0o755)
    given = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder / "home"), **(environ or {})}
    program = find_claude(given)
    assert program is not None
    return FakeClaude(folder, program)


def is_running(pid: int) -> bool:
    """Whether a process does anything; one that only waits to be noticed as ended does not."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


class _Player:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked = 0
        self.queue: list[Json] = []

    def note(self, kind: str, **fields: object) -> None:
        with (self.folder / "diary").open("a") as diary:
            diary.write(json.dumps({"kind": kind, "pid": os.getpid(), **fields}) + "\n")

    def read(self) -> Json:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        message: Json = json.loads(line)
        request = message.get("request")
        if isinstance(request, dict):
            self.note("control", subtype=request["subtype"], system=request.get("systemPrompt"))
            if request["subtype"] == "interrupt":  # it comes too late for the turn that it is about
                self.stream({"text": "It is so and so."}, [])
            done = {"subtype": "success", "request_id": message["request_id"], "response": {}}
            self.say({"type": "control_response", "response": done})
            if request["subtype"] == "interrupt":
                self.say({"type": "result", "subtype": "error_during_execution", "is_error": True})
        if message["type"] == "user":
            inner = message["message"]
            assert isinstance(inner, dict)
            marks = [n for n, part in enumerate(inner["content"]) if "cache_control" in part]
            text = "".join(part["text"] for part in inner["content"])
            self.note("user", text=text, marks=marks)
        return message

    def say(self, message: Json) -> None:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()

    def play(self) -> None:
        self.note("start", argv=sys.argv[1:], environ=sorted(os.environ), cwd=str(Path.cwd()))
        while True:
            message = self.queue.pop(0) if self.queue else self.read()
            if message["type"] == "user":
                while self.turn():
                    pass

    def turn(self) -> bool:
        """Play one turn; true where the model goes on after it."""
        turn = self.next_turn()
        key = turn.get("key", "none")
        self.say({"type": "system", "subtype": "init", "apiKeySource": key})
        self.misbehave(turn)
        if "error" in turn:
            self.say({"type": "assistant", "error": turn["error"], "message": {"content": []}})
            self.end(is_error=True, status=turn.get("status"), text=turn.get("said"))
            return False
        calls = turn.get("calls", [])
        assert isinstance(calls, list)
        if "text" in turn or calls:
            self.stream(turn, calls)
        if "exit" in turn:
            os._exit(int(str(turn["exit"])))
        if turn.get("silent"):
            self.end(is_error=False, status=None, text="nothing streamed")
            return False
        if turn.get("deaf"):
            signal.pause()
        if turn.get("stall"):
            while self.read()["type"] != "control_request":
                pass
            return False
        for number, (name, arguments) in enumerate(calls):
            self.call(number, name, arguments)
        if not calls:
            self.end(is_error=False, status=None, text=turn.get("text"))
        return bool(calls) or turn.get("stop") == "max_tokens"

    def misbehave(self, turn: Json) -> None:
        for line in _texts(turn.get("garbage")):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        if turn.get("child"):
            child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
            self.note("child", pid=child.pid)

    def next_turn(self) -> Json:
        for file in sorted((self.folder / "turns").iterdir()):
            taken = self.folder / f"taken-{file.name}"
            try:
                file.rename(taken)
            except FileNotFoundError:
                continue
            turn: Json = json.loads(taken.read_text())
            return turn
        return {"stall": True}

    def stream(self, turn: Json, calls: Sequence[Sequence[str]]) -> None:
        usage = {"input_tokens": 70, "cache_read_input_tokens": 30, "output_tokens": 1}
        self.event(
            "message_start", message={"model": "claude-haiku-4-5", "usage": usage, "content": []}
        )
        pieces = turn.get("text", [])
        for piece in [pieces] if isinstance(pieces, str) else _texts(pieces):
            self.event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        for number, (name, arguments) in enumerate(calls, 1):
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
            self.event("content_block_start", index=number, content_block=block)
            delta = {"type": "input_json_delta", "partial_json": arguments}
            self.event("content_block_delta", index=number, delta=delta)
        is_whole = not turn.keys() & {"exit", "stall", "deaf"}
        stop = turn.get("stop", ("tool_use" if calls else "end_turn") if is_whole else None)
        if stop:
            self.event("message_delta", delta={"stop_reason": stop}, usage={"output_tokens": 20})
        if is_whole:
            self.event("message_stop")

    def event(self, kind: str, **fields: object) -> None:
        self.say({"type": "stream_event", "event": {"type": kind, **fields}})

    def call(self, number: int, name: str, arguments: str) -> None:
        """Come for a call's result; what else arrives meanwhile waits for its turn."""
        self.asked += 1
        meta = {"claudecode/toolUseId": f"toolu_{number + 1}"}
        params = {"name": name, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": self.asked, "method": "tools/call", "params": params}
        request = {"subtype": "mcp_message", "server_name": "live-memory", "message": message}
        self.say({"type": "control_request", "request_id": f"c{self.asked}", "request": request})
        while (heard := self.read())["type"] != "control_response":
            if heard["type"] == "user":
                self.note("queued")
        response = heard["response"]
        assert isinstance(response, dict)
        result = response["response"]["mcp_response"]["result"]
        self.note("result", text=result["content"][0]["text"], is_error=result["isError"])

    def end(self, *, is_error: bool, status: object, text: object) -> None:
        result = {"type": "result", "subtype": "success", "is_error": is_error, "result": text}
        self.say({**result, "api_error_status": status})


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


if __name__ == "__main__":
    _Player(Path(os.environ["FAKE_CLAUDE"])).play()
