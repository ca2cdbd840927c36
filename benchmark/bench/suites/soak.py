"""Does a server stay as it is, however long it runs? Its process is looked at all the time."""

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from bench.curves import Curve
from bench.model.endpoint import newest_in_view, serving
from bench.overhead.trees import made
from bench.progress import during
from bench.report import Bar, Outcome, Table
from bench.setup import MissingData, Setup
from bench.soak.load import Load
from bench.soak.pacing import Pace
from bench.soak.samples import FIGURES, Sample, bars, sampling, thirds
from bench.talk.server import Server

__all__ = ["run"]

_MINUTES, _DRY_MINUTES = 20.0, 0.25
_EVERY_S, _DRY_EVERY_S = 2.0, 0.2
_SHARE = 0.33
_WORKSPACES, _FILES, _DRY_FILES = 4, 200, 20
# So small that a few reads and questions overflow it.
_WINDOW_TOKENS = "4096"
_LABEL = "soak"


def run(setup: Setup) -> Outcome:
    """Load a server for minutes, and compare the last third of them with the middle one.

    Raises:
        MissingData: the server is not ours to start, or its process cannot be seen.
    """
    if setup.existing is not None:
        raise MissingData("a server that already runs cannot be given the scripted model")
    minutes = setup.minutes or (_DRY_MINUTES if setup.is_dry else _MINUTES)
    files = _DRY_FILES if setup.is_dry else _FILES
    trees = [
        made(setup.scratch / "soak" / f"workspace-{n}", files, is_short=False)
        for n in range(_WORKSPACES)
    ]
    settings = setup.folder(_LABEL) / "config" / "live-memory" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('provider = "openai"\n', encoding="utf-8")
    with serving(newest_in_view) as endpoint:
        environment = {**endpoint.environment(), "LIVE_MEMORY_MAX_CONTEXT_TOKENS": _WINDOW_TOKENS}
        # The file decides, so that a reload can change it.
        del environment["LIVE_MEMORY_PROVIDER"]
        with setup.server(_LABEL, environment) as server:
            draw = random.Random(setup.seed)
            load = Load(server, trees, files=files, endpoint=endpoint, settings=settings, draw=draw)
            return _soaked(setup, server, load, minutes=minutes, trees=trees)


def _soaked(
    setup: Setup, server: Server, load: Load, *, minutes: float, trees: Sequence[Path]
) -> Outcome:
    if server.pid is None:
        raise MissingData("no process to look at")
    data = setup.folder(_LABEL) / "data"
    every_s = _DRY_EVERY_S if setup.is_dry else _EVERY_S
    pace = Pace(server, share=_SHARE)
    with sampling(server.pid, data, every_s=every_s) as samples:
        load.arrive(is_short=setup.is_dry)
        for _ in during("soak", 60 * minutes):
            load.act()
            pace.rest()
        used = pace.used
    load.leave()
    stats = [server.json("GET", f"/stats?cwd={quote(str(tree))}") or {} for tree in trees]
    return _outcome(samples, load, used=used, stats=stats)


def _outcome(
    samples: Sequence[Sample], load: Load, *, used: float, stats: Sequence[dict[str, object]]
) -> Outcome:
    compactions = sum(n for one in stats if isinstance(n := one.get("compactions"), int))
    rows = tuple(_row(samples, name) for name in (*FIGURES, "data_mb"))
    return Outcome(
        "soak",
        tables=(
            Table("The process, medians", ("", "first third", "middle third", "last third"), rows),
            Table("What was done", ("act", "times"), tuple(sorted(load.done.items()))),
        ),
        bars=(
            *bars(samples),
            Bar("acts that failed", "0", float(len(load.failed)), not load.failed),
            Bar(
                "compactions since workspaces were last cleared",
                ">= 1",
                float(compactions),
                compactions >= 1,
            ),
        ),
        charts=_curves(samples),
        rows=tuple(dataclasses.asdict(one) for one in samples),
        notes=(
            f"server and load took {used:.2f} of a core",
            *(f"failed: {one}" for one in load.told()),
        ),
        figures={"share_of_a_core": used, "stats": list(stats), "failed": load.told()},
    )


def _row(samples: Sequence[Sample], figure: str) -> tuple[str | float, ...]:
    return figure.replace("_mb", ", MB"), *thirds(samples, figure)


def _curves(samples: Sequence[Sample]) -> tuple[Curve, Curve]:
    def line(figure: str) -> tuple[str, tuple[tuple[float, float], ...]]:
        points = ((one.at_s / 60, float(getattr(one, figure))) for one in samples)
        return figure.replace("_mb", ", MB"), tuple(points)

    counts = tuple(line(name) for name in FIGURES if name != "resident_mb")
    return (
        Curve("memory", "Memory of the server", "minutes", (line("resident_mb"), line("data_mb"))),
        Curve("counts", "What the server holds open", "minutes", counts),
    )
