"""Does a server without a model find the right places?"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.baselines import Bm25, files_of, ripgrep
from bench.figures import Chart
from bench.progress import each
from bench.report import Bar, Outcome, Table, at_least
from bench.scores import (
    Place,
    bootstrap,
    files_in_order,
    hit_at,
    identifier_share,
    line_overlap,
    mean,
    percentile,
    recall_at,
    reciprocal_rank,
)
from bench.setup import MissingData, Setup
from bench.source.repositories import MissingRepository
from bench.talk.server import Server
from bench.talk.settling import until_indexed
from bench.text import clipped, estimate_tokens

__all__ = ["run", "scored"]

Row = dict[str, object]

_SETS = ("flask", "requests", "sphinx", "xarray")
_METRICS = ("hit@1", "hit@5", "hit@10", "recall@10", "mrr", "lines", "identifiers", "tokens")
_ANSWER_TOKENS = 1_500
# Servers bound a question; an issue may hold a log.
_FIRST = "Where does the program start?"
_LONGEST_QUESTION = 19_000
_US, _RG, _BM25 = "server", "ripgrep keywords", "BM25 whole files"


def scored(
    places: Sequence[Place], text: str, gold: Mapping[str, object]
) -> dict[str, float | None]:
    """The figures of one answer to one question."""
    files = files_in_order(places)
    wanted = _strings(gold["files"])
    lines = gold.get("lines")
    return {
        "hit@1": hit_at(files, wanted, 1),
        "hit@5": hit_at(files, wanted, 5),
        "hit@10": hit_at(files, wanted, 10),
        "recall@10": recall_at(files, wanted, 10),
        "all@5": float(set(wanted) <= set(files[:5])),
        "mrr": reciprocal_rank(files, wanted),
        "lines": line_overlap(places, lines if isinstance(lines, dict) else {}),
        "identifiers": identifier_share(
            clipped(text, _ANSWER_TOKENS), _strings(gold.get("tokens", []))
        ),
        "tokens": float(estimate_tokens(text)),
    }


def run(setup: Setup) -> Outcome:
    """Ask every question of every set whose repository is given."""
    rows: list[Row] = []
    skipped: list[str] = []
    with setup.server("retrieval") as server:
        for name in _SETS:
            try:
                rows += _questions(setup, server, name)
            except (MissingData, MissingRepository) as problem:
                skipped.append(f"{name}: {problem}")
        try:
            rows += _issues(setup, server, skipped)
        except MissingData as problem:
            skipped.append(f"issues: {problem}")
    return _outcome(setup, rows, skipped)


def _questions(setup: Setup, server: Server, name: str) -> Iterator[Row]:
    questions = setup.sample(setup.read("swe-qa", f"{name}.jsonl"))
    first = questions[0]
    tree = setup.repositories.export(str(first["repo"]), str(first["commit"]), label="qa").path
    files = files_of(tree)
    asker = _Asker(setup, server, tree, Bm25(files))
    began = time.perf_counter()
    setup.ask(server, _FIRST, tree)
    until_indexed(server, tree)
    yield {"set": name, "files": len(files), "cold_s": time.perf_counter() - began}
    for number, gold in enumerate(each(f"retrieval, {name}", questions)):
        yield {"set": name, "number": number} | asker.row(str(gold["question"]), gold)


def _issues(setup: Setup, server: Server, skipped: list[str]) -> Iterator[Row]:
    issues = setup.read("localisation", "swe-bench-lite.jsonl")
    order = sorted(range(len(issues)), key=lambda n: str(issues[n]["repo"]))
    for number in each("retrieval, issues", order[: setup.limit]):
        gold = issues[number]
        try:
            tree = setup.repositories.export(str(gold["repo"]), str(gold["commit"]), label="issue")
        except MissingRepository as problem:
            skipped.append(f"issue {number}: {problem}")
            continue
        setup.ask(server, _FIRST, tree.path)
        until_indexed(server, tree.path)
        asker = _Asker(setup, server, tree.path, Bm25(files_of(tree.path)))
        text = str(gold["problem"])[:_LONGEST_QUESTION]
        yield {"set": "issues", "number": number} | asker.row(text, gold)


@dataclass(frozen=True, slots=True)
class _Asker:
    """The server and the baselines over one tree."""

    setup: Setup
    server: Server
    tree: Path
    bm25: Bm25

    def row(self, question: str, gold: Mapping[str, object]) -> Row:
        answer = self.setup.ask(self.server, question, self.tree)
        row: Row = {
            "question": question[:200],
            "gold": gold["files"],
            "first": files_in_order(answer.places)[:5],
            _US: scored(answer.places, answer.text, gold) | {"seconds": answer.elapsed_s},
        }
        found = {_RG: ripgrep(self.tree, question), _BM25: self.bm25.search(question)}
        for label, one in found.items():
            if one is not None:
                row[label] = scored(one.places, one.text, gold) | {"seconds": one.elapsed_s}
        return row


def _outcome(setup: Setup, rows: list[Row], skipped: list[str]) -> Outcome:
    cold = [row for row in rows if "cold_s" in row]
    asked = [row for row in rows if "cold_s" not in row]
    questions = [row for row in asked if row["set"] != "issues"]
    issues = [row for row in asked if row["set"] == "issues"]
    systems = [label for label in (_US, _RG, _BM25) if any(label in row for row in asked)]
    tables = [
        _by_system("All questions", questions, systems, setup.seed),
        _by_set(questions),
        _issue_table(issues, systems, setup.seed),
        _times(cold, questions),
    ]
    sizes = {row["set"]: row["files"] for row in cold}
    return Outcome(
        "retrieval",
        tables=tuple(tables),
        bars=tuple(_bars(questions, issues, cold)),
        charts=(_chart(questions, systems),) if questions else (),
        rows=tuple(rows),
        skipped=tuple(skipped),
        notes=("tokens are counted by a rule of 12 features for the o200k vocabulary",),
        figures={"questions": len(questions), "issues": len(issues), "files": sizes},
    )


def _values(rows: Sequence[Row], system: str, metric: str) -> list[float | None]:
    found = []
    for row in rows:
        figures = row.get(system)
        if isinstance(figures, dict):
            found.append(figures[metric])
    return found


def _by_system(title: str, rows: Sequence[Row], systems: Sequence[str], seed: int) -> Table:
    lines = [
        (system, *(_with_interval(_values(rows, system, m), m, seed) for m in _METRICS))
        for system in systems
    ]
    return Table(f"{title}: {len(rows)}", ("", *_METRICS), tuple(lines))


def _with_interval(values: list[float | None], metric: str, seed: int) -> str | float | None:
    middle, around = mean(values), bootstrap(values, seed=seed)
    if middle is None or around is None or metric == "tokens":
        return middle
    return f"{middle:.3f} ({around[0]:.2f} to {around[1]:.2f})"


def _by_set(rows: Sequence[Row]) -> Table:
    names = list(dict.fromkeys(str(row["set"]) for row in rows))
    lines = []
    for name in names:
        mine = [row for row in rows if row["set"] == name]
        lines.append((name, len(mine), *(mean(_values(mine, _US, m)) for m in _METRICS)))
    return Table("The server by repository", ("", "questions", *_METRICS), tuple(lines))


def _issue_table(rows: Sequence[Row], systems: Sequence[str], seed: int) -> Table:
    metrics = ("all@5", "hit@1", "hit@5", "recall@10", "mrr")
    lines = [
        (system, *(_with_interval(_values(rows, system, m), m, seed) for m in metrics))
        for system in systems
    ]
    return Table(f"Issues: {len(rows)}", ("", *metrics), tuple(lines))


def _times(cold: Sequence[Row], rows: Sequence[Row]) -> Table:
    lines = []
    for row in cold:
        mine = [one for one in rows if one["set"] == row["set"]]
        late = (_milliseconds(mine, system, 0.95) for system in (_US, _RG, _BM25))
        middle = _milliseconds(mine, _US, 0.5)
        cells = str(row["set"]), _count(row["files"]), _number(row["cold_s"])
        lines.append((*cells, middle, *late))
    columns = ("", "text files", "first question, s", "warm p50, ms", "warm p95, ms")
    return Table("Time", (*columns, "ripgrep p95, ms", "BM25 p95, ms"), tuple(lines))


def _milliseconds(rows: Sequence[Row], system: str, share: float) -> int | None:
    taken = [value for value in _values(rows, system, "seconds") if value is not None]
    found = percentile(taken, share)
    return None if found is None else round(1000 * found)


def _bars(questions: list[Row], issues: list[Row], cold: list[Row]) -> Iterator[Bar]:
    wanted = (("hit@1", 0.82), ("hit@5", 0.93), ("recall@10", 0.86), ("lines", 0.58))
    for metric, bar in (*wanted, ("identifiers", 0.68)):
        yield at_least(f"{metric}, all questions", mean(_values(questions, _US, metric)), bar)
    large = max(cold, key=lambda row: _count(row["files"]), default=None)
    if large is not None:
        mine = [row for row in questions if row["set"] == large["set"]]
        yield at_least(f"hit@1, {large['set']}", mean(_values(mine, _US, "hit@1")), 0.55)
        late = _milliseconds(mine, _US, 0.95)
        name = f"warm p95 at {large['files']} files, ms"
        yield Bar(name, "<= 150", late, None if late is None else late <= 150)
    yield at_least("issues, all files in the top 5", mean(_values(issues, _US, "all@5")), 0.80)
    for row in cold:
        if 100 <= _count(row["files"]) <= 400:
            seconds = _number(row["cold_s"])
            name = f"first question, {row['set']}, {row['files']} files, s"
            yield Bar(name, "<= 3", seconds, seconds <= 3)


def _chart(rows: Sequence[Row], systems: Sequence[str]) -> Chart:
    metrics = ("hit@1", "hit@5", "recall@10", "lines", "identifiers")
    groups = tuple((m, tuple(mean(_values(rows, s, m)) for s in systems)) for m in metrics)
    return Chart("quality", "Finding the right places, all questions", tuple(systems), groups, 1.0)


def _strings(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
