"""How long a start takes: to the first reply, to MCP, and to an answer from what was known."""

import hashlib
import os
import time
from pathlib import Path

from bench.overhead.found import Found, Row, median
from bench.overhead.learning import learn
from bench.overhead.trees import file_name, question_of
from bench.report import Table, at_least, at_most
from bench.setup import Setup
from bench.talk.mcp import greet
from bench.talk.server import Server

__all__ = ["cold_starts", "restarts"]

_MODEL_LIBRARIES = ("anthropic", "openai")
# A provider with a key, and one without: neither needs its library before a question comes.
_WITH_KEY = {
    "LIVE_MEMORY_PROVIDER": "anthropic",
    "LIVE_MEMORY_API_KEY": "bench",
    "LIVE_MEMORY_MODEL": "bench-scripted",
    "LIVE_MEMORY_BASE_URL": "http://127.0.0.1:9",
}
_CHANGED = 5


def cold_starts(setup: Setup, *, rounds: int) -> Found:
    """Start with an empty data folder each time."""
    if setup.existing is not None:
        return Found(skipped=("cold start: the server runs already",))
    rows: list[Row] = []
    for number in range(rounds):
        began = time.perf_counter()
        with setup.server(f"cold-{number}") as server:
            health_s = time.perf_counter() - began
            greet(server)
            mcp_s = time.perf_counter() - began
        rows.append({"part": "cold start", "health_s": health_s, "mcp_s": mcp_s})
    imported = _model_libraries(setup)
    health = _middle(rows, "health_s")
    mcp = _middle(rows, "mcp_s")
    return Found(
        bars=(
            at_most("cold start to /health, ms", health, 400),
            at_most("cold start to the first MCP reply, ms", mcp, 900),
            at_most(
                "model libraries imported by then, with a key",
                None if imported is None else len(imported),
                0,
            ),
        ),
        rows=(*rows, {"part": "imports", "model_libraries": imported}),
    )


def restarts(setup: Setup, tree: Path, *, known: int, rounds: int) -> Found:
    """Start with a memory of so many files, ask at once; some files changed meanwhile unseen."""
    if setup.existing is not None:
        return Found(skipped=("restart: the server runs already",))
    with setup.server("restart") as server:
        setup.ask(server, question_of(0), tree)
        held = learn(server, tree, known)
    rows: list[Row] = []
    for number in range(rounds):
        changed = [file_name(known - 1 - _CHANGED * number - n) for n in range(_CHANGED)]
        for name in changed:
            _change(tree / name)
        began = time.perf_counter()
        with setup.server("restart") as server:
            health_s = time.perf_counter() - began
            setup.ask(server, question_of(number), tree)
            answer_s = time.perf_counter() - began
            seen = _seen_again(server, tree, changed)
        rows.append(
            {
                "part": "restart",
                "known": held,
                "health_s": health_s,
                "answer_s": answer_s,
                "changes_seen": seen,
            }
        )
    shares = [row["changes_seen"] for row in rows if isinstance(row["changes_seen"], float)]
    columns = ("files known", "restarts", "to /health ms", "to the first answer ms", "changes seen")
    line = (held, rounds, _middle(rows, "health_s"), _middle(rows, "answer_s"), median(shares))
    return Found(
        tables=(Table("Restart, medians", columns, (line,)),),
        bars=(
            at_most(f"restart with {known:,} known files, first answer, ms", line[3], 700),
            at_least("changes of equal size and time seen by then, share", median(shares), 1),
        ),
        rows=tuple(rows),
    )


def _middle(rows: list[Row], name: str) -> float | None:
    return median([1_000 * value for row in rows if isinstance(value := row[name], float)])


def _change(file: Path) -> None:
    """Other bytes, the same size, the same time."""
    state = file.stat()
    file.write_text(file.read_text(encoding="utf-8").replace("found", "given"), encoding="utf-8")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))


def _seen_again(server: Server, tree: Path, names: list[str]) -> float | None:
    """The share of changed files whose newest entry in memory is of the bytes on disk."""
    newest: dict[object, object] = {}
    for entry in server.timeline(tree) or ():
        newest.setdefault(entry.get("path"), entry.get("sha"))
    if not newest:
        return None
    hashes = {name: hashlib.sha256((tree / name).read_bytes()).hexdigest() for name in names}
    return sum(newest.get(name) == hashed for name, hashed in hashes.items()) / len(names)


def _model_libraries(setup: Setup) -> list[str] | None:
    """Which of them a start with a key imports; Python writes each import into the log."""
    label = "imports"
    with setup.server(label, {**_WITH_KEY, "PYTHONPROFILEIMPORTTIME": "1"}) as server:
        greet(server)
        log = (setup.folder(label) / "log").read_text(encoding="utf-8", errors="replace")
    names = {line.rpartition("|")[2].strip() for line in log.splitlines() if "|" in line}
    if not any(name.partition(".")[0] == "json" for name in names):
        return None
    return [library for library in _MODEL_LIBRARIES if library in names]
