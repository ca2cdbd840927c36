"""What a suite is given: data, repositories, a scratch folder, and how to start a server."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.source.repositories import Repositories
from bench.talk.mcp import ask_mcp
from bench.talk.server import Answer, Server, ask_http, running

__all__ = ["MissingData", "Setup"]

Ask = Callable[[Server, str, Path], Answer]


class MissingData(Exception):
    """What a suite needs is not there."""


@dataclass(frozen=True, slots=True)
class Setup:
    """One run's choices; `existing` is a server that was already there.

    `beside` starts another server, to take turns with ours.
    """

    repositories: Repositories
    data: Path
    scratch: Path
    seed: int
    limit: int | None
    command: tuple[str, ...]
    existing: Server | None = None
    uses_mcp: bool = False
    is_dry: bool = False
    is_slow: bool = False
    client: Path | None = None
    plugin: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    minutes: float | None = None
    beside: tuple[str, ...] = ()

    @property
    def ask(self) -> Ask:
        """How questions go to the server."""
        return ask_mcp if self.uses_mcp else ask_http

    def folder(self, label: str) -> Path:
        """Where a server of ours keeps its `data` and its `log`."""
        return self.scratch / "servers" / label

    @contextmanager
    def server(self, label: str, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
        """A server without a model, or with the one that the environment names.

        Raises:
            MissingData: a running server was named, and it cannot be given a model.
        """
        if self.existing is None:
            settings = environment or {"LIVE_MEMORY_PROVIDER": "none"}
            with running(self.command, self.folder(label), settings) as server:
                yield server
        elif environment is None:
            yield self.existing
        else:
            raise MissingData("a server that already runs cannot be given the scripted model")

    def read(self, *parts: str) -> list[dict[str, object]]:
        """The rows of a data file.

        Raises:
            MissingData: it is not there.
        """
        file = self.data.joinpath(*parts)
        if not file.is_file():
            raise MissingData(f"no {'/'.join(parts)} below the data folder: name it with --data")
        lines = file.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]

    def sample(self, rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
        """The first rows, if a limit is set."""
        return list(rows if self.limit is None else rows[: self.limit])
