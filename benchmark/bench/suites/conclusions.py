"""Is what an agent understood remembered, and does it lead the answer while it is true?"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.conclusions.telling import Row, Site, site_of
from bench.conclusions.variants import (
    COMPANION,
    CROWD,
    STALE,
    TOLD,
    VARIANTS,
)
from bench.figures import Chart
from bench.progress import each
from bench.report import Bar, Outcome, Table, at_least, at_most
from bench.scores import mean, percentile
from bench.setup import MissingData, Setup
from bench.source.repositories import MissingRepository

__all__ = ["outcome", "run"]

# Among others as much may be lost.
_LOST = 0.05
_COUNTED = ("facts", "findings", "rejected_facts", "dropped_events")
_SHARES = ("leads", "facts", "led", "stale", "flagged", "right")
_NOTES = (
    "leads: the answer begins with a finding, and the first one stems from the row that is asked",
    "facts: all stand in the first 600 tokens, at 3.6 characters each; led: any finding leads",
    "stale: a sentence is stated as still true, though lines that it cites have changed",
    "flagged: it is said that lines changed since, that a file is gone, or that it is no longer so",
    "right: every place that the first finding names shows what its conclusion cited",
)


def run(setup: Setup) -> Outcome:
    """Tell every conclusion of every repository that is given, and ask what is asked later.

    Raises:
        MissingData: there are no conclusions.
    """
    files = sorted(setup.data.glob("conclusions/*.jsonl"))
    if not files:
        raise MissingData("no conclusions/*.jsonl below the data folder: name it with --data")
    names = [one for one in setup.only if one in VARIANTS] or list(VARIANTS)
    rows: list[Row] = []
    learned: dict[str, Mapping[str, object]] = {}
    skipped: list[str] = []
    for file, given, strangers in each("conclusions", list(_groups(setup, files))):
        try:
            site = site_of(setup, given, strangers)
        except MissingRepository as problem:
            skipped.append(f"{file}: {problem}")
            continue
        site.index()
        for name in names:
            rows += _variant(site, name, skipped)
        learned[f"{site.repository}@{site.commit[:10]}"] = {
            name: {one: found.get(one) for one in _COUNTED} for name, found in site.learned.items()
        }
    return outcome(rows, skipped, learned)


def _variant(site: Site, name: str, skipped: list[str]) -> Iterator[Row]:
    try:
        for row in VARIANTS[name](site):
            yield {"variant": name, "repo": site.repository} | row
    except MissingData as problem:
        skipped.append(f"{name}: {problem}")


def _groups(
    setup: Setup, files: Sequence[Path]
) -> Iterator[tuple[str, list[Row], list[tuple[str, str]]]]:
    """The rows of each repository at each commit, with what was concluded about others."""
    every = [(file.stem, row) for file in files for row in setup.read("conclusions", file.name)]
    wanted = [file.stem for file in files if file.stem in setup.only] or [f.stem for f in files]
    keys = dict.fromkeys((stem, row["repo"], row["commit"]) for stem, row in every)
    for stem, repository, commit in keys:
        if stem in wanted:
            mine = [
                row
                for of, row in every
                if (of, row["repo"], row["commit"]) == (stem, repository, commit)
            ]
            others = [
                (str(row["question"]), str(row["conclusion"]))
                for _, row in every
                if row["repo"] != repository
            ]
            yield stem, setup.sample(mine), others


def outcome(
    rows: Sequence[Row], skipped: Sequence[str], learned: Mapping[str, Mapping[str, object]]
) -> Outcome:
    """Tables and bars over single answers."""
    variants = _by(rows, "variant")
    tables = [_table("Later questions", variants)]
    repositories = list(dict.fromkeys(str(row["repo"]) for row in rows))
    for name in repositories if len(repositories) > 1 else ():
        mine = _by([row for row in rows if row["repo"] == name], "variant")
        tables.append(_table(f"Later questions, {name}", mine))
    tables.append(_learned(learned))
    groups = tuple(
        (n, (_mean(mine, "leads"), _mean(mine, "facts"))) for n, mine in variants.items()
    )
    chart = Chart("leads", "What was concluded, asked later", ("leads", "facts"), groups, 1.0)
    return Outcome(
        "conclusions",
        tables=tuple(tables) if rows else (),
        bars=tuple(_bars(variants)) if rows else (),
        charts=(chart,) if rows else (),
        rows=tuple(rows),
        skipped=tuple(skipped),
        notes=_NOTES,
        figures={"learned": dict(learned)},
    )


def _bars(variants: Mapping[str, Sequence[Row]]) -> Iterator[Bar]:
    told, crowd = variants.get(TOLD, ()), variants.get(CROWD, ())
    for metric in ("leads", "facts"):
        yield at_least(metric, _mean(told, metric), 0.85)
    changed = [row for name in STALE for row in variants.get(name, ())]
    yield Bar("stale answers", "0", _sum(changed, "stale"), _none_of(changed, "stale"))
    for metric in ("leads", "facts"):
        alone, among = _mean(told, metric), _mean(crowd, metric)
        lost = None if alone is None or among is None else alone - among
        yield at_most(f"{metric}, lost among others", lost, _LOST)
    model = variants.get(COMPANION, ())
    yield Bar("model calls", "0", _sum(model, "model_calls"), _none_of(model, "model_calls"))


def _table(title: str, variants: Mapping[str, Sequence[Row]]) -> Table:
    lines = []
    for name, rows in variants.items():
        seconds = _numbers(rows, "seconds")
        times = (percentile(seconds, share) for share in (0.5, 0.95))
        lines.append(
            (
                name,
                len(rows),
                *(_mean(rows, metric) for metric in _SHARES),
                _sum(rows, "model_calls"),
                percentile(_numbers(rows, "tokens"), 0.5),
                *(None if one is None else round(1_000 * one) for one in times),
            )
        )
    columns = ("", "questions", *_SHARES, "model calls", "tokens p50", "p50, ms", "p95, ms")
    return Table(title, columns, tuple(lines))


def _learned(learned: Mapping[str, Mapping[str, object]]) -> Table:
    lines = [
        (where, name, *(_figure(found, one) for one in _COUNTED))
        for where, ways in learned.items()
        for name, found in ways.items()
    ]
    return Table("What a memory says that it learned", ("", "", *_COUNTED), tuple(lines))


def _figure(found: object, name: str) -> float | None:
    value = found.get(name) if isinstance(found, Mapping) else None
    return value if isinstance(value, int | float) else None


def _by(rows: Sequence[Row], name: str) -> dict[str, list[Row]]:
    values = dict.fromkeys(str(row[name]) for row in rows)
    return {value: [row for row in rows if row[name] == value] for value in values}


def _numbers(rows: Sequence[Row], name: str) -> list[float]:
    return [float(value) for row in rows if isinstance(value := row.get(name), int | float)]


def _mean(rows: Sequence[Row], name: str) -> float | None:
    return mean(_numbers(rows, name))


def _sum(rows: Sequence[Row], name: str) -> float | None:
    found = _numbers(rows, name)
    return round(sum(found)) if found else None


def _none_of(rows: Sequence[Row], name: str) -> bool | None:
    total = _sum(rows, name)
    return None if total is None else total == 0
