"""How long does it take to tell a note, and to find one, where there are many?"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.report import Outcome, Table, at_most
from bench.scores import percentile
from bench.setup import Setup
from bench.source import tiny
from bench.talk.server import Server

__all__ = ["run"]

# Words a note, notes, and how often each thing is done.
_WORDS, _NOTES, _TIMES = 40, 10_000, 200
_LIMIT_MS, _REMEMBER = 50.0, "remember"
_CATEGORIES = ("decision", "todo", "insight", "issue", "progress")
_NAMES = 4_000
_SYLLABLES = [a + b + c for a in "bdfklmnprst" for b in "aeiou" for c in "lmnrst"]
_NOTES_ON_IT = (
    "remember and recall go over HTTP, each on a new connection; a note is in the journal by then",
    "first recall: the first one after a start with all notes, in which their words are cut up",
)


def run(setup: Setup) -> Outcome:
    """Tell notes over a small repository, and find some by their words."""
    chance = random.Random(setup.seed)
    words = [f"{chance.choice(_SYLLABLES)}{chance.choice(_SYLLABLES)}" for _ in range(_NAMES)]
    tree = tiny.made(setup.scratch / "notes")[0] / "flask"
    count = min(_NOTES, setup.limit or _NOTES)
    times = min(_TIMES, count)
    figures: dict[str, list[float]] = {}
    with setup.server("notes") as server:
        told = _told(chance, count, tree, words)
        figures[_REMEMBER] = [_timed(server, "/v1/remember", body) for body in told]
        figures["recall"] = _recalled(server, tree, times, lambda: chance.sample(words, 5))
        figures["recall, newest"] = _recalled(server, tree, times, list)
    with setup.server("notes") as server:
        server.json("GET", f"/stats?cwd={tree}")
        figures["first recall"] = _recalled(server, tree, 1, lambda: words[:5])
    return _outcome(figures, count)


def _told(
    chance: random.Random, count: int, tree: Path, words: Sequence[str]
) -> Iterator[Mapping[str, object]]:
    for number in range(count):
        text = f"Note {number}: {' '.join(chance.choices(words, k=_WORDS))}."
        yield {"cwd": str(tree), "text": text, "category": chance.choice(_CATEGORIES)}


def _recalled(
    server: Server, tree: Path, times: int, query: Callable[[], Sequence[str]]
) -> list[float]:
    bodies = [{"cwd": str(tree), "text": " ".join(query())} for _ in range(times)]
    return [_timed(server, "/v1/recall", body) for body in bodies]


def _timed(server: Server, target: str, body: Mapping[str, object]) -> float:
    began = time.perf_counter()
    server.json("POST", target, body)
    return 1_000 * (time.perf_counter() - began)


def _outcome(figures: Mapping[str, list[float]], count: int) -> Outcome:
    rows = tuple(
        (what, len(values), *(percentile(values, share) for share in (0.5, 0.95, 1.0)))
        for what, values in figures.items()
    )
    bars = tuple(
        at_most(f"{what}, p95, ms", percentile(figures[what], 0.95), _LIMIT_MS)
        for what in (_REMEMBER, "recall")
    )
    table = Table(f"With {count} notes", ("", "times", "p50, ms", "p95, ms", "most, ms"), rows)
    return Outcome("notes", tables=(table,), bars=bars, notes=_NOTES_ON_IT)
