"""What an answer costs, at a simulated provider that bills as real ones do."""

from collections.abc import Callable, Iterator, Mapping

from bench.economics import summary
from bench.economics.gold import ENOUGH
from bench.economics.measuring import Row
from bench.economics.planted import planted
from bench.economics.prices import DEEPSEEK, HAIKU
from bench.economics.requests import Protocol
from bench.economics.workloads import APART, EDITS, READ_ONLY, flood, question_set, replayed
from bench.head_start import LONGEST_SPAN
from bench.progress import each
from bench.report import Outcome, Table
from bench.setup import MissingData, Setup

__all__ = ["run"]

Work = Callable[[], list[Row]]
_NOTES = (
    f"prices: {HAIKU.name} is {HAIKU.source}; {DEEPSEEK.name} is {DEEPSEEK.source}",
    "tokens by the harness's estimate of a general vocabulary (o200k), within 5 %",
    (
        f"a place is in a request when {ENOUGH:.0%} of its lines are, as they are now; a cited "
        f"span of {LONGEST_SPAN} lines and more stands for its first five; a line that another "
        "file has too counts"
    ),
    (
        "the reader knows where its places are and asks for those alone: real models search first, "
        "so take money as a lower bound and differences as meant"
    ),
    (
        "only the provider's clock is moved: a server that itself decides by the time since its "
        "last call does not know that ten minutes passed"
    ),
    "automatic caches last an hour; explicit ones five minutes, from 4,096 tokens on (Haiku 4.5)",
    "money includes the compactions since the question before; an edit is a remark on a cited line",
)


def run(setup: Setup) -> Outcome:
    """Each workload with a provider and a server of its own."""
    rows: list[Row] = []
    skipped: list[str] = []
    works = list(_works(setup))
    # A dry run takes each kind of work once, with either protocol.
    chosen = works[::2] if setup.is_dry and not setup.only else works
    for label, work in each("economics", chosen):
        if setup.only and not any(label.startswith(one) for one in setup.only):
            continue
        try:
            rows += work()
        except MissingData as problem:
            skipped.append(f"{label}: {problem}")
    probes, found = _planted(setup, skipped)
    tables: list[Table] = []
    if rows:
        tables += [summary.cost_table(rows), summary.block_table(rows)]
    if probes:
        tables.append(summary.planted_table(probes, found))
    return Outcome(
        "economics",
        tables=tuple(tables),
        bars=tuple(summary.bars(rows, probes, found)) if rows or probes else (),
        charts=tuple(summary.charts(rows)) if rows else (),
        rows=(*rows, *probes),
        skipped=tuple(dict.fromkeys(skipped)),
        notes=_NOTES,
        figures={"settings": dict(setup.settings), "planted": found},
    )


def _works(setup: Setup) -> Iterator[tuple[str, Work]]:
    for protocol in Protocol:
        for order in (READ_ONLY, EDITS, APART):
            yield f"replay {order}", _replay(setup, protocol, order)
        for name in ("flask", "requests"):
            for is_warm in (True, False):
                yield name, _set(setup, protocol, name, is_warm=is_warm)
    yield "flood", lambda: flood(setup, Protocol.MESSAGES, "flask")


def _replay(setup: Setup, protocol: Protocol, order: str) -> Work:
    return lambda: replayed(setup, protocol, order)


def _set(setup: Setup, protocol: Protocol, name: str, *, is_warm: bool) -> Work:
    return lambda: question_set(setup, protocol, name, is_warm=is_warm)


def _planted(setup: Setup, skipped: list[str]) -> tuple[list[Row], Mapping[str, object]]:
    if setup.only and "planted" not in setup.only:
        return [], {}
    try:
        return planted(setup, Protocol.MESSAGES)
    except MissingData as problem:
        skipped.append(f"planted: {problem}")
        return [], {}
