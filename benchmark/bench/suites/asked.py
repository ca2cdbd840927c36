"""Does an answer show what has to be seen, so that the search ends with it?"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.asked.scoring import ABSENT, Reply, Wanted, scored
from bench.asked.showing import places_in, rendered
from bench.baselines import Bm25, Found, files_of, ripgrep
from bench.economics.provider import ASK, Provider, providing
from bench.economics.requests import Protocol
from bench.figures import Chart
from bench.progress import each
from bench.report import Bar, Outcome, Table, at_least, at_most
from bench.scores import Place, bootstrap, mean, percentile
from bench.setup import MissingData, Setup
from bench.source.repositories import MissingRepository
from bench.talk.server import Server
from bench.talk.settling import WARMING, until_indexed
from bench.views import Lines

__all__ = ["outcome", "run"]

Row = dict[str, object]

_US, _RG, _BM25, _FIRST = "server", "ripgrep keywords", "BM25 whole files", "first request"
_TOKENS, _FIRST_TOKENS = 2_000, 3_000
_SHARES = ("lead", "file1", "found", "shown", "facts", "complete", "noise", "owns", "false")
_CHARTED = ("lead", "shown", "complete", "noise")
_NOTES = (
    f"read are {_TOKENS:,} tokens of an answer, {_FIRST_TOKENS:,} of a first request",
    "complete: every fact and at least .8 of the lines that have to be seen are shown",
    "owns: of what is absent, said to be; false: of what is there, denied",
    "noise: of the shown lines of files, those that are near nothing needed",
    "first request: its last part, which is new with each question, without the question itself",
)


def run(setup: Setup) -> Outcome:
    """Ask every question of every repository that is given.

    Raises:
        MissingData: there are no questions.
    """
    files = sorted(file.name for file in setup.data.glob("asked/*.jsonl"))
    if not files:
        raise MissingData("no asked/*.jsonl below the data folder: name it with --data")
    rows: list[Row] = []
    skipped: list[str] = []
    with ExitStack() as open_now:
        server = open_now.enter_context(setup.server("asked"))
        try:
            # Only this protocol tells what is new with a question from what was said before.
            model = open_now.enter_context(providing(Protocol.MESSAGES))
            told = open_now.enter_context(setup.server("asked-model", model.environment()))
            first = _FirstRequest(setup, told, model)
        except MissingData as problem:
            skipped.append(f"{_FIRST}: {problem}")
            first = None
        for file in each("asked", files):
            if setup.only and Path(file).stem not in setup.only:
                continue
            try:
                rows += _questions(setup, server, first, file)
            except MissingRepository as problem:
                skipped.append(f"{file}: {problem}")
    return outcome(rows, skipped, seed=setup.seed)


@dataclass(frozen=True, slots=True)
class _FirstRequest:
    """A server with a simulated provider, which keeps what it is sent."""

    setup: Setup
    server: Server
    model: Provider

    def to(self, question: str, tree: Path) -> Reply | None:
        """What the model is told for this question alone; nothing where it is not called."""
        already = len(self.model.since(0))
        self.setup.ask(self.server, question, tree)
        told = [one.parts[-1].text for one in self.model.since(already) if one.kind == ASK]
        text = told[0].replace(question, "") if told else ""
        return Reply(text, places_in(text)) if told else None


def _questions(
    setup: Setup, server: Server, first: _FirstRequest | None, file: str
) -> Iterator[Row]:
    questions = setup.sample(setup.read("asked", file))
    repository, commit = str(questions[0]["repo"]), str(questions[0]["commit"])
    tree = setup.repositories.export(repository, commit, label="asked").path
    asker = _Asker(setup, server, first, tree)
    for one in (server, first.server if first else None):
        if one is not None:
            setup.ask(one, WARMING, tree)
            until_indexed(one, tree)
    for given in questions:
        yield {"repo": repository} | asker.row(given)


class _Asker:
    """The servers and the baselines over one tree."""

    def __init__(
        self, setup: Setup, server: Server, first: _FirstRequest | None, tree: Path
    ) -> None:
        self._setup, self._server, self._first, self._tree = setup, server, first, tree
        self._files = files_of(tree)
        self._bm25 = Bm25(self._files)
        self._lines = Lines(tree)

    def row(self, given: Mapping[str, object]) -> Row:
        """All scores of one question; no text of any answer."""
        question, wanted = str(given["question"]), _wanted(given)
        answer = self._setup.ask(self._server, question, self._tree)
        reply = Reply(answer.body or answer.text, answer.places, answer.grounding)
        row: Row = {
            "kind": wanted.kind,
            "question": question,
            _US: scored(reply, wanted, self._lines, tokens=_TOKENS) | {"seconds": answer.elapsed_s},
        }
        for label, found in self._baselines(question).items():
            if found is not None:
                other = Reply(rendered(found.places, self._files), found.places)
                row[label] = scored(other, wanted, self._lines, tokens=_TOKENS) | {
                    "seconds": found.elapsed_s
                }
        told = self._first.to(question, self._tree) if self._first else None
        if told is not None and wanted.kind != ABSENT:
            row[_FIRST] = scored(told, wanted, self._lines, tokens=_FIRST_TOKENS) | {"false": None}
        return row

    def _baselines(self, question: str) -> Mapping[str, Found | None]:
        return {_RG: ripgrep(self._tree, question), _BM25: self._bm25.search(question)}


def outcome(rows: Sequence[Row], skipped: Sequence[str], *, seed: int) -> Outcome:
    """Tables and bars over single answers."""
    systems = [one for one in (_US, _FIRST, _RG, _BM25) if any(one in row for row in rows)]
    repositories = _groups(rows, "repo")
    tables = [_total(rows, systems, seed)]
    for system in (one for one in (_US, _FIRST) if one in systems):
        tables.append(_table(f"{system} by repository", repositories, system))
        tables.append(_table(f"{system} by kind", _groups(rows, "kind"), system))
    groups = tuple((m, tuple(mean(_values(rows, s, m)) for s in systems)) for m in _CHARTED)
    title = "Answers to everyday questions"
    return Outcome(
        "asked",
        tables=tuple(tables),
        bars=tuple(_bars(rows, repositories)) if rows else (),
        charts=(Chart("scores", title, tuple(systems), groups, 1.0),) if rows else (),
        rows=tuple(rows),
        skipped=tuple(skipped),
        notes=_NOTES,
        figures={"questions": len(rows)},
    )


def _groups(rows: Sequence[Row], by: str) -> dict[str, list[Row]]:
    names = dict.fromkeys(str(row[by]) for row in rows)
    return {name: [row for row in rows if row[by] == name] for name in names}


def _values(rows: Sequence[Row], system: str, metric: str) -> list[float | None]:
    found = (row.get(system) for row in rows)
    return [scores.get(metric) for scores in found if isinstance(scores, dict)]


def _total(rows: Sequence[Row], systems: Sequence[str], seed: int) -> Table:
    lines = []
    for system in systems:
        shares = (
            _with_interval(values, seed) if metric in _CHARTED else mean(values)
            for metric in _SHARES
            for values in (_values(rows, system, metric),)
        )
        tokens = mean(_values(rows, system, "tokens"))
        taken = [value for value in _values(rows, system, "seconds") if value is not None]
        late = percentile(taken, 0.95)
        lines.append((system, *shares, tokens, None if late is None else round(1_000 * late)))
    columns = ("", *_SHARES, "tokens", "p95, ms")
    return Table(f"All questions: {len(rows)}", columns, tuple(lines))


def _with_interval(values: Sequence[float | None], seed: int) -> str | None:
    middle, around = mean(values), bootstrap(values, seed=seed)
    if middle is None or around is None:
        return None
    return f"{middle:.3f} ({around[0]:.2f} to {around[1]:.2f})"


def _table(title: str, groups: Mapping[str, Sequence[Row]], system: str) -> Table:
    metrics = (*_SHARES, "tokens")
    lines = [
        (
            name,
            len(_values(rows, system, "tokens")),
            *(mean(_values(rows, system, metric)) for metric in metrics),
        )
        for name, rows in groups.items()
    ]
    return Table(title, ("", "questions", *metrics), tuple(lines))


def _bars(rows: Sequence[Row], repositories: Mapping[str, Sequence[Row]]) -> Iterator[Bar]:
    kinds = _groups(rows, "kind")
    for metric, bar in (("lead", 0.52), ("complete", 0.52), ("shown", 0.68), ("owns", 0.60)):
        yield at_least(metric, mean(_values(rows, _US, metric)), bar)
    for metric, bar in (("noise", 0.50), ("false", 0.01)):
        yield at_most(metric, mean(_values(rows, _US, metric)), bar)
    for kind, bar in (("how", 0.20), ("project", 0.50)):
        yield at_least(
            f"complete, {kind}", mean(_values(kinds.get(kind, ()), _US, "complete")), bar
        )
    each = [mean(_values(mine, _US, "complete")) for mine in repositories.values()]
    least = min((one for one in each if one is not None), default=None)
    yield at_least("complete, least repository", least, 0.30)
    yield at_least(f"complete, {_FIRST}", mean(_values(rows, _FIRST, "complete")), 0.58)


def _wanted(given: Mapping[str, object]) -> Wanted:
    return Wanted(
        str(given["kind"]),
        tuple(_places(given.get("must"))),
        tuple(_places(given.get("also"))),
        tuple(str(fact) for fact in _list(given.get("facts"))),
    )


def _places(value: object) -> Iterator[Place]:
    return (Place(str(path), int(start), int(end)) for path, start, end in _list(value))


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []
