"""Recorded sessions: what of the views was kept, and what a question finds."""

from collections.abc import Iterator, Mapping, Sequence

from bench.capture import (
    Kept,
    Seen,
    Session,
    capture_table,
    in_memory,
    share,
)
from bench.figures import Chart
from bench.head_start import LONGEST_SPAN, gold_of, head_start
from bench.model.endpoint import Endpoint, nothing, serving
from bench.progress import each
from bench.recordings import COMMIT, FILES, REPOSITORY, events_of, payload_of
from bench.report import Bar, Outcome, Table
from bench.scores import mean
from bench.setup import MissingData, Setup
from bench.source.repositories import MissingRepository, Tree
from bench.talk.server import Server
from bench.talk.settling import settled
from bench.views import Lines

__all__ = ["run"]

Row = dict[str, object]
Fields = Mapping[str, object]

_ASKED, _TOLD = "questions only", "events and questions"
_NOTES = (
    (
        "recordings do not say what an edit changed, so files keep their bytes; shell commands are "
        "run again only where they just show text"
    ),
    "cited places are noisy gold: recorded answers, of which about 13 % are off",
    f"spans of {LONGEST_SPAN} lines and more count for gold files, not for gold lines",
)


def run(setup: Setup) -> Outcome:
    """Send every session's events and look at what was kept; then ask what was asked."""
    sessions = [row for file in FILES for row in setup.sample(setup.read("replay", file))]
    try:
        tree = setup.repositories.export(REPOSITORY, COMMIT, label="replay")
    except MissingRepository as problem:
        raise MissingData(str(problem)) from None
    skipped: list[str] = []
    with setup.server("replay") as server:
        kept = _capture(server, tree, sessions, skipped)
    asked: list[Row] = []
    try:
        with serving(nothing) as model:
            with setup.server("replay-asked", model.environment()) as server:
                asked += _asked(setup, server, model, tree, sessions, is_learning=False)
            with setup.server("replay-learned", model.environment()) as server:
                asked += _asked(setup, server, model, tree, sessions, is_learning=True)
    except MissingData as problem:
        skipped.append(str(problem))
    return _outcome(kept, asked, skipped, len(sessions))


def _capture(
    server: Server, tree: Tree, sessions: Sequence[Fields], skipped: list[str]
) -> Kept | None:
    """Each session into an empty memory, so that what is kept is what this session showed."""
    kept, lines, before = Kept(), Lines(tree.path), Seen()
    for session in each("replay, what is kept", sessions):
        server.clear(tree.path)
        events = [payload_of(tree.path, session, event) for event in events_of(session)]
        if not server.notify([event for event in events if event is not None]):
            skipped.append("capture: the server has no route /notify")
            return None
        timeline = settled(server, tree.path)
        if timeline is None:
            skipped.append("capture: the server does not tell what it keeps (/v1/timeline)")
            return None
        memory = in_memory(timeline, tree.path)
        Session(lines, memory, before).count(kept, events_of(session))
    return kept


def _asked(
    setup: Setup,
    server: Server,
    model: Endpoint,
    tree: Tree,
    sessions: Sequence[Fields],
    *,
    is_learning: bool,
) -> Iterator[Row]:
    """Ask what was asked, in order; with learning, after every event before it."""
    lines = Lines(tree.path)
    for session in each("replay, what is asked", sessions):
        waiting: list[dict[str, object]] = []
        for event in events_of(session):
            if event["tool"] != "ask":
                payload = payload_of(tree.path, session, event) if is_learning else None
                waiting += [payload] if payload else []
                continue
            if waiting and server.notify(waiting):
                settled(server, tree.path)
            waiting = []
            already = len(model.prompts)
            answer = setup.ask(server, str(event["question"]), tree.path)
            prompts = model.prompts[already:]
            gold = gold_of(lines, event)
            yield {
                "session": session["session"],
                "memory": _TOLD if is_learning else _ASKED,
                "question": str(event["question"])[:200],
                "gold_ranges": len(gold),
                "prompt_tokens": answer.usage.get("input_tokens"),
                **(head_start(prompts[0], gold, lines) if prompts and gold else {}),
            }
        if waiting:
            server.notify(waiting)


def _outcome(kept: Kept | None, asked: Sequence[Row], skipped: list[str], sessions: int) -> Outcome:
    tables: list[Table] = []
    bars: list[Bar] = []
    charts: list[Chart] = []
    if kept is not None:
        tables.append(capture_table(kept))
        captured = share(kept.kept.total(), kept.shown.total())
        bars.append(Bar("view characters captured", ">= 0.95", captured, _met(captured, 0.95)))
        tools = list(kept.shown)
        shares = tuple((t, (share(kept.kept[t], kept.shown[t]),)) for t in tools)
        charts.append(Chart("capture", "Share of view characters kept", ("kept",), shares, 1.0))
    if asked:
        tables.append(_head_table(asked))
        for metric, bar in (("files", 0.80), ("lines", 0.60)):
            measured = mean(_numbers(asked, metric, _TOLD))
            name = f"gold {metric} in the first request, with events"
            bars.append(Bar(name, f">= {bar}", measured, _met(measured, bar)))
    return Outcome(
        "replay",
        tables=tuple(tables),
        bars=tuple(bars),
        charts=tuple(charts),
        rows=tuple(asked),
        skipped=tuple(skipped),
        notes=_NOTES,
        figures={
            "sessions": sessions,
            "most_missed": [] if kept is None else kept.missed.most_common(15),
            "output_of_no_file": None if kept is None else kept.unplaced,
            "output_not_run_again": None if kept is None else kept.not_run,
        },
    )


def _head_table(asked: Sequence[Row]) -> Table:
    rows = []
    for memory in (_ASKED, _TOLD):
        mine = [row for row in asked if row["memory"] == memory and "files" in row]
        tokens = _numbers(asked, "prompt_tokens", memory)
        rows.append(
            (
                memory,
                len([row for row in asked if row["memory"] == memory]),
                len(mine),
                mean(_numbers(asked, "files", memory)),
                mean(_numbers(asked, "lines", memory)),
                mean(tokens),
            )
        )
    columns = ("memory", "asked", "with gold", "gold files", "gold lines", "prompt tokens")
    return Table("What the first request to the model holds", columns, tuple(rows))


def _numbers(asked: Sequence[Row], metric: str, memory: str) -> list[float]:
    found = (row.get(metric) for row in asked if row["memory"] == memory)
    return [float(value) for value in found if isinstance(value, int | float)]


def _met(measured: float | None, bar: float) -> bool | None:
    return None if measured is None else measured >= bar
