"""One repository with its conclusions: memories that were told them, and questions to those."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.conclusions.claims import Told, told
from bench.conclusions.judging import facts_in, is_led, leader
from bench.setup import Setup
from bench.source.repositories import Tree, git
from bench.talk.payloads import prompt_submitted, turn_ended
from bench.talk.server import Answer, Server
from bench.talk.settling import WARMING, until_indexed, until_learned
from bench.views import Lines

__all__ = ["Row", "Site", "site_of"]

Row = dict[str, object]
# A question, and what was concluded.
Turn = tuple[str, str]

# A server may hold so many texts that it has not looked at yet, and may let each rest first.
_AT_ONCE = 12
_QUIET_S, _SHORT_QUIET_S = 2.5, 1.5
_CHARACTERS = 3.6
_SHOWN = 300


@dataclass(slots=True)
class Site:
    """A repository at a commit, the rows about it, and conclusions about other repositories."""

    setup: Setup
    repository: str
    commit: str
    label: str
    tree: Tree
    names: Sequence[str]
    rows: Sequence[Told]
    strangers: Sequence[Turn] = ()
    learned: dict[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The work tree."""
        return self.tree.path

    def index(self) -> None:
        """Let a server of ours index the tree once; each memory begins as a copy of its folder."""
        if self.setup.existing is None:
            with self.setup.server(f"{self.label}-empty", self._environment()) as server:
                self._warm(server)

    @contextmanager
    def memory(self, name: str) -> Iterator[Server]:
        """A server that knows the tree as it was and nothing else."""
        self.begin(f"{self.label}-{name}")
        with self.setup.server(f"{self.label}-{name}", self._environment()) as server:
            if self.setup.existing is not None:
                server.clear(self.path)
            self._warm(server)
            yield server

    def begin(self, label: str) -> None:
        """The tree as it was, and for a server of ours a folder that holds its index."""
        self.tree.switch(self.commit)
        if self.setup.existing is None:
            folder = self.setup.folder(label) / "data"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.setup.folder(f"{self.label}-empty") / "data", folder)

    def tell(self, server: Server, turns: Iterable[Turn], *, of: str) -> None:
        """Tell of turns, one session each, and wait until they are learned."""
        waiting = list(enumerate(turns))
        while waiting:
            events = [
                event
                for n, (question, conclusion) in waiting[:_AT_ONCE]
                for event in (
                    prompt_submitted(self.path, question, session=f"told-{n}"),
                    turn_ended(self.path, conclusion, session=f"told-{n}"),
                )
            ]
            server.notify(events)
            waiting = waiting[_AT_ONCE:]
            is_short = self.setup.is_dry or bool(waiting)
            quiet_s = _SHORT_QUIET_S if is_short else _QUIET_S
            self.learned[of] = until_learned(server, self.path, quiet_s=quiet_s)

    def ask(self, server: Server, row: Told, others: Sequence[str] = ()) -> tuple[Row, Answer]:
        """Ask the later question of a row; what the answer scores, and the answer."""
        answer = self.setup.ask(server, row.later, self.path)
        return self.scored(row, answer, others), answer

    def scored(self, row: Told, answer: Answer, others: Sequence[str] = ()) -> Row:
        """`others` was told beside the rows; the text only where something is missed."""
        conclusions = [one.conclusion for one in self.rows]
        first = leader(answer.text, [*conclusions, *others])
        leads = first is not None and first == self.rows.index(row)
        lacking = facts_in(answer.text, row.facts)
        scores: Row = {
            "repo": self.repository,
            "question": row.later,
            "led": is_led(answer.text),
            "leads": leads,
            "facts": not lacking,
            "model_calls": answer.usage.get("model_calls"),
            "tokens": round(len(answer.text) / _CHARACTERS),
            "seconds": round(answer.elapsed_s, 3),
        }
        if leads and not lacking:
            return scores
        return scores | {"first": first, "lacking": lacking, "answer": answer.text[:_SHOWN]}

    def _warm(self, server: Server) -> None:
        self.setup.ask(server, WARMING, self.path)
        until_indexed(server, self.path)

    def _environment(self) -> Mapping[str, str] | None:
        if self.setup.existing is not None:
            return None
        return {"LIVE_MEMORY_PROVIDER": "none", **self.setup.settings}


def site_of(setup: Setup, rows: Sequence[dict[str, object]], strangers: Sequence[Turn]) -> Site:
    """The rows of one repository at one commit.

    Raises:
        MissingRepository: it is not there.
    """
    repository, commit = str(rows[0]["repo"]), str(rows[0]["commit"])
    tree = setup.repositories.export(repository, commit, label="conclusions")
    listed = git(tree.path, "ls-files", "-z").decode("utf-8", "surrogateescape")
    names = [name for name in listed.split("\0") if name]
    lines = Lines(tree.path)
    label = f"conclusions-{repository.replace('/', '-')}-{commit[:10]}"
    found = [told(row, names, lines) for row in rows]
    return Site(setup, repository, commit, label, tree, names, found, strangers)
