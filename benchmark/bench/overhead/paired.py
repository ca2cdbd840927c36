"""Two servers in turns: what an answer costs the processor, and what many callers get of each."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace

from bench.model.endpoint import Endpoint, serving
from bench.overhead.asking import (
    AT_ONCE,
    CALLERS,
    EVIDENCE,
    WARMING,
    Case,
    at_once,
    crowd,
    roughly,
    warmed,
)
from bench.overhead.found import Found, Row, median, p50
from bench.overhead.process import processor_s
from bench.overhead.trees import question_of
from bench.report import Table, at_least, at_most
from bench.setup import Setup

__all__ = ["in_turns"]

_OURS, _OTHER = "ours", "beside"
_CROWD, _CROWD_MODEL = f"{CALLERS} callers", f"{CALLERS} callers, model of 50 ms"
_PROCESSOR, _LATENCY, _RATE = "processor ms an answer", "p50 ms", "a second"


def in_turns(setup: Setup, case: Case, *, questions: int, each: int, rounds: int) -> Found:
    """Time both commands as often, each on fresh folders; who begins changes with the round."""
    rows: list[Row] = []
    for number in range(rounds):
        both = {_OURS: setup.command, _OTHER: setup.beside}
        order = tuple(both) if number % 2 == 0 else tuple(reversed(both))
        pair = {
            label: replace(setup, command=both[label], scratch=setup.scratch / f"{label}-{number}")
            for label in order
        }
        with serving(at_once, count=roughly) as model:
            found = [
                *_alternately(pair, case, questions=questions, model=None),
                *_alternately(pair, case, questions=questions, model=model),
                *_in_crowds(pair, case, each=each),
            ]
        for label in pair:
            figures = {name: value for whose, name, value in found if whose == label}
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
    halved, doubled = f"{EVIDENCE}: {_PROCESSOR}", f"{_CROWD_MODEL}: {_RATE}"
    columns = ("medians", _OURS, _OTHER, "ratio", "least", "most")
    title = f"Two servers in turns, {case.told_of} files known, {rounds} rounds"
    return Found(
        tables=(Table(title, columns, lines),),
        bars=(
            at_most(f"{halved}, ratio", median(ratios.get(halved, ())), 0.5),
            at_least(f"{doubled}, ratio", median(ratios.get(doubled, ())), 2),
        ),
        rows=tuple(rows),
    )


def _alternately(
    pair: Mapping[str, Setup], case: Case, *, questions: int, model: Endpoint | None
) -> Iterator[tuple[str, str, float | None]]:
    """Both are up, and each question goes to one and then to the other."""
    mode = AT_ONCE if model else EVIDENCE
    with ExitStack() as open_now:
        environment = model.environment() if model else None
        servers = {
            label: open_now.enter_context(one.server(f"paired {mode}", environment))
            for label, one in pair.items()
        }
        for label, one in pair.items():
            warmed(one, servers[label], case)
        before = {label: processor_s(server) for label, server in servers.items()}
        taken: dict[str, list[float]] = {label: [] for label in pair}
        for number in range(WARMING, WARMING + questions):
            for label in tuple(pair) if number % 2 else reversed(tuple(pair)):
                question = question_of(number % case.files)
                answer = pair[label].ask(servers[label], question, case.tree)
                taken[label].append(answer.elapsed_s)
        for label, server in servers.items():
            busy_s, now_s = before[label], processor_s(server)
            if busy_s is not None and now_s is not None:
                yield label, f"{mode}: {_PROCESSOR}", 1_000 * (now_s - busy_s) / questions
            yield label, f"{mode}: {_LATENCY}", p50(taken[label])


def _in_crowds(
    pair: Mapping[str, Setup], case: Case, *, each: int
) -> Iterator[tuple[str, str, float | None]]:
    for name, has_model in ((_CROWD, False), (_CROWD_MODEL, True)):
        for label, setup in pair.items():
            callers = crowd(setup, case.tree, each=each, has_model=has_model)
            yield label, f"{name}: {_RATE}", callers.a_second
            yield label, f"{name}: {_PROCESSOR}", callers.processor_ms


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
