"""Two servers in turns: what an answer costs the processor, and what many callers get of each."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bench.model.endpoint import serving
from bench.overhead.asking import AT_ONCE, CALLERS, EVIDENCE, Case, asked, at_once, crowd
from bench.overhead.found import Found, Row, at_least, at_most, median
from bench.report import Table
from bench.setup import Setup

__all__ = ["in_turns"]

_OURS, _OTHER = "ours", "beside"
_CROWD, _CROWD_MODEL = f"{CALLERS} callers", f"{CALLERS} callers, model of 50 ms"
_PROCESSOR, _LATENCY, _RATE = "processor ms an answer", "p50 ms", "a second"


def in_turns(setup: Setup, case: Case, *, questions: int, each: int, rounds: int) -> Found:
    """Time both commands as often, each on fresh folders; who begins changes with the round."""
    rows: list[Row] = []
    for number in range(rounds):
        both = [(_OURS, setup.command), (_OTHER, setup.beside)]
        for label, command in both if number % 2 == 0 else reversed(both):
            scratch = setup.scratch / f"paired-{label}-{number}"
            one = replace(setup, command=command, scratch=scratch)
            figures = dict(_measured(one, case, questions=questions, each=each))
            rows.append({"part": "paired", "round": number, "server": label, "figures": figures})
    ratios = {name: _ratios(rows, name) for name in _names(rows)}
    lines = tuple(
        (
            name,
            median(_values(rows, _OURS, name)),
            median(_values(rows, _OTHER, name)),
            median(found),
            min(found, default=None),
            max(found, default=None),
        )
        for name, found in ratios.items()
    )
    columns = ("medians", _OURS, _OTHER, "ratio", "least", "most")
    title = f"Two servers in turns, {case.told_of} files known, {rounds} rounds"
    return Found(
        tables=(Table(title, columns, lines),),
        bars=(
            at_most(
                f"{EVIDENCE}: {_PROCESSOR}, ratio", median(ratios[f"{EVIDENCE}: {_PROCESSOR}"]), 0.5
            ),
            at_least(
                f"{_CROWD_MODEL}: {_RATE}, ratio", median(ratios[f"{_CROWD_MODEL}: {_RATE}"]), 2
            ),
        ),
        rows=tuple(rows),
    )


def _measured(
    setup: Setup, case: Case, *, questions: int, each: int
) -> Iterator[tuple[str, float | None]]:
    with setup.server("paired") as server:
        found = asked(setup, server, case, questions)
    yield f"{EVIDENCE}: {_PROCESSOR}", found.processor_ms
    yield f"{EVIDENCE}: {_LATENCY}", found.p50_ms
    with (
        serving(at_once, count=len) as model,
        setup.server("paired-model", model.environment()) as server,
    ):
        found = asked(setup, server, case, questions)
    yield f"{AT_ONCE}: {_PROCESSOR}", found.processor_ms
    yield f"{AT_ONCE}: {_LATENCY}", found.p50_ms
    for name, has_model in ((_CROWD, False), (_CROWD_MODEL, True)):
        callers = crowd(setup, case.tree, each=each, has_model=has_model)
        yield f"{name}: {_RATE}", callers.a_second
        yield f"{name}: {_PROCESSOR}", callers.processor_ms


def _names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in _figures(row)))


def _values(rows: list[Row], server: str, name: str) -> list[float]:
    found = (_figures(row).get(name) for row in rows if row["server"] == server)
    return [value for value in found if value is not None]


def _ratios(rows: list[Row], name: str) -> list[float]:
    """Of each round."""
    pairs = zip(_values(rows, _OURS, name), _values(rows, _OTHER, name), strict=True)
    return [ours / other for ours, other in pairs if other]


def _figures(row: Row) -> Mapping[str, float | None]:
    figures = row["figures"]
    return figures if isinstance(figures, dict) else {}
