"""Asks questions of one server under one order, and keeps a row for each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.economics.gold import current
from bench.economics.measuring import Row, measured
from bench.economics.provider import ASK, Made, Provider, providing
from bench.economics.requests import Protocol
from bench.scores import Place
from bench.setup import Setup
from bench.source.repositories import Tree
from bench.talk.payloads import file_edited
from bench.talk.server import Answer, Server
from bench.talk.settling import settled

__all__ = ["Desk", "asking"]

# Seconds on the provider's clock between questions that follow each other.
_SOON_S = 20.0
# No more than this is edited after a question.
_EDITS = 3
_QUIET_S, _DRY_QUIET_S = 1.0, 0.3
_HASH = frozenset({".py", ".rb", ".sh", ".toml", ".yaml", ".yml"})


@dataclass(slots=True)
class Desk:
    """A server with its provider, over one tree."""

    setup: Setup
    server: Server
    provider: Provider
    tree: Tree
    about: Mapping[str, object]
    rows: list[Row] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    _old: set[str] = field(default_factory=set)
    _before: Made | None = None
    _edits: int = 0
    _billed: int = 0

    def learn(self, events: Sequence[Mapping[str, object]]) -> None:
        """Send hook payloads and wait until they are worked through."""
        if events and self.server.notify(events):
            quiet_s = _DRY_QUIET_S if self.setup.is_dry else _QUIET_S
            settled(self.server, self.tree.path, quiet_s=quiet_s)

    def ask(self, question: str, places: Iterable[Place], *, after_s: float = _SOON_S) -> Row:
        """Ask; what was compacted since the question before is on this one's bill."""
        self.provider.now += after_s
        quest = current(self.tree.path, question, places)
        self.provider.quests[question] = quest
        answer = self.setup.ask(self.server, question, self.tree.path)
        made = self.provider.since(self._billed)
        self._billed += len(made)
        row = {**self.about, **measured(quest, answer, made, before=self._before, old=self._old)}
        self._before = next((one for one in made if one.kind == ASK), self._before)
        self.rows.append(row)
        self.answers.append(answer)
        return row

    def forget(self) -> None:
        """Empty the memory; the provider keeps its cache, as it would."""
        self.server.clear(self.tree.path)
        self._before = None

    def edit(self, places: Sequence[Place], *, session: str) -> None:
        """Change a line of some cited files, each by a remark at its end, and tell the server."""
        events: list[Mapping[str, object]] = []
        for place in {one.path: one for one in places[::3]}.values():
            if len(events) < _EDITS and self._edited(place):
                events.append(file_edited(self.tree.path, place.path, session=session))
        self.learn(events)

    def _edited(self, place: Place) -> bool:
        file = self.tree.path / place.path
        lines = file.read_text(encoding="utf-8", errors="surrogateescape").split("\n")
        line = lines[place.start - 1]
        if not line.strip():
            return False
        self._edits += 1
        self._old.add(" ".join(line.split()))
        remark = "#" if Path(place.path).suffix in _HASH else "//"
        lines[place.start - 1] = (
            f"{line.partition(f'  {remark} edit ')[0]}  {remark} edit {self._edits}"
        )
        file.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")
        return True


@contextmanager
def asking(
    setup: Setup,
    protocol: Protocol,
    tree: Tree,
    *,
    label: str,
    about: Mapping[str, object],
    more: Mapping[str, str] | None = None,
) -> Iterator[Desk]:
    """Start a provider and a server that uses it.

    Raises:
        MissingData: a running server was named, and it cannot be given a model.
    """
    with providing(protocol) as provider:
        environment = provider.environment() | dict(more or {}) | dict(setup.settings)
        with setup.server(f"economics-{label}", environment) as server:
            yield Desk(setup, server, provider, tree, {**about, "protocol": str(protocol)})
