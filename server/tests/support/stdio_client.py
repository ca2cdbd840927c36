"""The other end of the bridge's pipes: what a client writes and reads, message by message."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = ["BRIDGE", "Bridged", "Message", "bridged"]

Message = dict[str, Any]
BRIDGE = (sys.executable, "-I", "-m", "live_memory", "mcp")
_WITHIN_S = 40.0


class Bridged:
    """A running bridge; each reply is kept until it is asked for."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.heard: list[Message] = []
        self._new: queue.Queue[Message | None] = queue.Queue()
        self._last_id = 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._new.put(json.loads(line))
        self._new.put(None)

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Message) -> None:
        """Send one message."""
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def begin(self, method: str, **params: object) -> int:
        """Send a request; its id."""
        self._last_id += 1
        self.send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def hear(self, wanted: Callable[[Message], bool]) -> Message:
        """The first message like this, of those that came and those that come in time."""
        for index, message in enumerate(self.heard):
            if wanted(message):
                return self.heard.pop(index)
        while True:
            new = self._new.get(timeout=_WITHIN_S)
            assert new is not None, "the bridge has ended"
            if wanted(new):
                return new
            self.heard.append(new)

    def reply(self, identifier: object) -> Message:
        """The reply to a request."""
        return self.hear(lambda m: "method" not in m and m.get("id") == identifier)

    def ask(self, method: str, **params: object) -> Message:
        """Send a request and wait for its reply."""
        return self.reply(self.begin(method, **params))

    def hello(self, **capabilities: object) -> Message:
        """Begin as clients do."""
        who = {"name": "test", "version": "0"}
        said = self.ask(
            "initialize", protocolVersion="2025-11-25", capabilities=capabilities, clientInfo=who
        )
        self.send({"method": "notifications/initialized"})
        result: Message = said["result"]
        return result

    def call(self, question: str = "Where is charge_card?", **more: object) -> str:
        """Ask, and get the text of the answer."""
        return said(self.reply(self.begin_call(question, **more)))

    def begin_call(self, question: str = "Where is charge_card?", **more: object) -> int:
        """Ask; the request's id. `_meta` goes beside the arguments."""
        meta = more.pop("_meta", {})
        arguments = {"question": question, **more}
        return self.begin("tools/call", name="ask_live_memory", arguments=arguments, _meta=meta)

    def end(self) -> int:
        """Close our end, and wait until it is gone."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(_WITHIN_S)


def said(reply: Message) -> str:
    """The text of a tool's reply."""
    (block,) = reply["result"]["content"]
    text: str = block["text"]
    return text


@contextmanager
def bridged(
    environ: Mapping[str, str], cwd: Path | str, words: Sequence[str] = BRIDGE
) -> Iterator[Bridged]:
    """A bridge that is started as hosts start it."""
    process = subprocess.Popen(
        words, env=dict(environ), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    bridge = Bridged(process)
    try:
        yield bridge
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.wait(_WITHIN_S)
        bridge.reader.join(_WITHIN_S)
        process.stdout.close()
