"""What a server weighs, how long a large tree takes, and how long nobody else is answered."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.overhead.found import Found, Row, p50, p99
from bench.overhead.learning import figures_of, learn
from bench.overhead.process import megabytes
from bench.overhead.pulse import Pulse, beating
from bench.overhead.trees import file_name, question_of
from bench.report import Table, at_most
from bench.setup import Setup
from bench.talk.mcp import greet
from bench.talk.server import Server
from bench.talk.settling import until_indexed

__all__ = ["large_tree", "many", "resident"]

# What the index took memory for may be given back a moment later.
_REST_S = 1.0
# A first workspace is asked so often until all that any needs was imported.
_TO_WARM = 20
# Trees up to here are answered about within three seconds, and larger ones within five.
_MEDIUM = 5_000


def resident(setup: Setup, tree: Path, *, known: int) -> Found:
    """Memory after the first MCP reply, and with so many files known."""
    with setup.server("weight") as server:
        greet(server)
        time.sleep(_REST_S)
        idle = megabytes(server)
        setup.ask(server, question_of(0), tree)
        held = learn(server, tree, known)
        setup.ask(server, question_of(1), tree)
        time.sleep(_REST_S)
        full = megabytes(server)
    row: Row = {"part": "weight", "idle_mb": idle, "known": held, "known_mb": full}
    return Found(
        bars=(
            at_most("resident when idle, MB", idle, 90),
            at_most(f"resident with {known:,} files known, MB", full, 130),
        ),
        rows=(row,),
        skipped=() if idle is not None else ("resident memory: no process to look at",),
    )


def many(setup: Setup, trees: Sequence[Path]) -> Found:
    """Memory with so many workspaces asked once each, over that of one in full use."""
    with setup.server("many") as server:
        greet(server)
        for _ in range(_TO_WARM):
            setup.ask(server, question_of(0), trees[0])
        time.sleep(_REST_S)
        one = megabytes(server)
        for tree in trees:
            setup.ask(server, question_of(0), tree)
        time.sleep(_REST_S)
        every = megabytes(server)
    added = None if one is None or every is None else every - one
    row: Row = {"part": "many", "workspaces": len(trees), "one_mb": one, "all_mb": every}
    return Found(
        bars=(at_most(f"{len(trees)} workspaces more than one, MB", added, 40),),
        rows=(row,),
        skipped=() if added is not None else ("many workspaces: no process to look at",),
    )


def large_tree(setup: Setup, tree: Path, *, files: int, label: str, edits: int) -> Found:
    """A first question, the index that it begins, warm ones, and one after each edit."""
    with setup.server(label) as server:
        greet(server)
        with beating(server) as during_index:
            began = time.perf_counter()
            setup.ask(server, question_of(0), tree)
            first_s = time.perf_counter() - began
            cold_s = first_s + until_indexed(server, tree)
        indexed = figures_of(server, tree).get("indexed_files")
        weight = megabytes(server)
        with beating(server) as during_asking:
            warm_s = [_took(setup, server, tree, n) for n in range(1, edits + 1)]
            edited_s = list(_after_edits(setup, server, tree, edits))
    row: Row = {
        "part": label,
        "files": files,
        "indexed": indexed,
        "first_answer_s": first_s,
        "cold_s": cold_s,
        "warm_ms": p50(warm_s),
        "edited_ms": p50(edited_s),
        "resident_mb": weight,
        "indexing": _told(during_index),
        "asking": _told(during_asking),
    }
    stall = max(1_000 * (p.longest_s or 0) for p in (during_index, during_asking))
    of = f"{files:,}-file tree"
    return Found(
        tables=(_table(row, of),),
        bars=(
            at_most(f"{of}: first answer, s", first_s, 3 if files <= _MEDIUM else 5),
            at_most(f"{of}: cold index, s", cold_s, 60),
            at_most(f"{of}: a question after one edit, p50 ms", p50(edited_s), 200),
            at_most(f"{of}: resident once indexed, MB", weight, 300),
            at_most(f"{of}: longest stall of /health, ms", stall, 50),
        ),
        rows=(row,),
    )


def _took(setup: Setup, server: Server, tree: Path, number: int) -> float:
    return setup.ask(server, question_of(number), tree).elapsed_s


def _after_edits(setup: Setup, server: Server, tree: Path, edits: int) -> Iterator[float]:
    for number in range(edits):
        file = tree / file_name(number)
        file.write_text(file.read_text(encoding="utf-8") + f"\nADDED = {number}\n")
        yield _took(setup, server, tree, edits + number)


def _told(pulse: Pulse) -> dict[str, object]:
    return {
        "longest_ms": 1_000 * (pulse.longest_s or 0),
        "p99_ms": p99(pulse.each_s),
        "replies": len(pulse.each_s),
        "poller_overslept_ms": 1_000 * (pulse.overslept_s or 0),
    }


def _table(row: Row, of: str) -> Table:
    lines = []
    for phase in ("indexing", "asking"):
        told = row[phase]
        assert isinstance(told, Mapping)
        lines.append((phase, *told.values()))
    columns = ("", "longest ms", "p99 ms", "replies", "poller overslept, longest ms")
    return Table(f"{of}: /health at 50 Hz meanwhile", columns, tuple(lines))
