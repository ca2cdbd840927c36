"""What a day does to a server, in minutes: clients that come and go, work, questions, upkeep."""

import http.client
import random
import socket
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.model.endpoint import Endpoint
from bench.overhead.trees import file_name, question_of
from bench.talk.mcp import greet
from bench.talk.payloads import file_edited, file_read
from bench.talk.server import Server, ServerFailed, ask_http

__all__ = ["Load"]

_READS, _STREAMS, _TIMEOUT_S = 8, 6, 20.0
# More than a server may keep open; then it has no more to grow by.
_MANY_SESSIONS, _FEW_SESSIONS = 300, 10
_MOST_TOLD = 20


class Load:
    """One act at a time; each workspace but the first is also told to forget, now and then."""

    def __init__(
        self,
        server: Server,
        trees: Sequence[Path],
        *,
        files: int,
        endpoint: Endpoint,
        settings: Path,
        draw: random.Random,
    ) -> None:
        self.done: Counter[str] = Counter()
        self.failed: list[str] = []
        self._server = server
        self._trees = trees
        self._files = files
        self._endpoint = endpoint
        self._settings = settings
        self._draw = draw
        self._has_model = True
        self._streams: deque[http.client.HTTPConnection] = deque()
        self._acts: dict[Callable[[], None], int] = {
            self._reads: 8,
            self._edits: 6,
            self._asks: 6,
            self._asks_in_a_session: 4,
            self._visits: 3,
            self._listens: 2,
            self._goes_away: 2,
            self._looks: 2,
            self._reloads: 1,
            self._clears: 1,
        }

    def arrive(self, *, is_short: bool) -> None:
        """Fill what a server keeps of clients, so that later ones add nothing."""
        for _ in range(_FEW_SESSIONS if is_short else _MANY_SESSIONS):
            greet(self._server)

    def act(self) -> None:
        """Do one thing, drawn by its weight; what fails is counted and told."""
        acts = list(self._acts)
        chosen = self._draw.choices(acts, [self._acts[one] for one in acts])[0]
        name = chosen.__name__.strip("_").replace("_", " ")
        try:
            chosen()
        except (OSError, http.client.HTTPException, ServerFailed, ValueError) as problem:
            self.failed.append(f"{name}: {problem}"[:300])
        self.done[name] += 1
        # What the endpoint was sent is of no use here, and would fill this process.
        self._endpoint.prompts.clear()

    def leave(self) -> None:
        """Close what is open."""
        while self._streams:
            self._streams.popleft().close()

    def told(self) -> list[str]:
        """The first things that failed."""
        return self.failed[:_MOST_TOLD]

    def _reads(self) -> None:
        tree = self._tree()
        names = [self._name() for _ in range(_READS)]
        self._server.notify([file_read(tree, name) for name in names])

    def _edits(self) -> None:
        tree, name = self._tree(), self._name()
        file = tree / name
        lines = file.read_text(encoding="utf-8").splitlines()
        lines[2] = lines[2].rpartition("=")[0] + f"= {self._draw.randrange(10_000)}"
        file.write_text("\n".join([*lines, ""]), encoding="utf-8")
        if self._draw.random() < 0.8:  # other programs edit files too, and no hook tells
            self._server.notify([file_edited(tree, name)])

    def _asks(self) -> None:
        ask_http(self._server, self._question(), self._tree(), timeout_s=_TIMEOUT_S)

    def _asks_in_a_session(self) -> None:
        session = greet(self._server)
        given = {"question": self._question(), "cwd": str(self._tree()), "timeout": _TIMEOUT_S}
        result = session.call("tools/call", {"name": "ask_live_memory", "arguments": given})
        if result.get("isError"):
            raise ServerFailed(str(result)[:300])
        if self._draw.random() < 0.5:  # the others are killed, and say nothing
            session.leave()

    def _visits(self) -> None:
        session = greet(self._server)
        session.call("tools/list", {})
        if self._draw.random() < 0.5:
            session.leave()

    def _listens(self) -> None:
        self._streams.append(greet(self._server).listen())
        if len(self._streams) > _STREAMS:
            self._streams.popleft().close()

    def _goes_away(self) -> None:
        """Ask, and hang up before there can be an answer."""
        body = f'{{"question": "{self._question()}", "cwd": "{self._tree()}"}}'.encode()
        head = (
            f"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1:{self._server.port}\r\n"
            f"Authorization: Bearer {self._server.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection((self._server.host, self._server.port), timeout=10) as gone:
            gone.sendall(head.encode() + body)

    def _looks(self) -> None:
        for route in ("/health", f"/stats?cwd={self._tree()}", f"/v1/timeline?cwd={self._tree()}"):
            self._server.json("GET", route)

    def _reloads(self) -> None:
        """With a model, then without one, then with it."""
        self._has_model = not self._has_model
        provider = "openai" if self._has_model else "none"
        self._settings.write_text(f'provider = "{provider}"\n', encoding="utf-8")
        self._server.json("POST", "/reload", {})

    def _clears(self) -> None:
        self._server.clear(self._draw.choice(self._trees[1:]))

    def _tree(self) -> Path:
        return self._draw.choice(self._trees)

    def _name(self) -> str:
        return file_name(self._draw.randrange(self._files))

    def _question(self) -> str:
        return question_of(self._draw.randrange(self._files)).replace("`", "")
