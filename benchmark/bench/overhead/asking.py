"""How long a question takes with more and more known, and what many callers get."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import quote

from bench.figures import Chart
from bench.model.endpoint import serving
from bench.overhead.found import Found, Row, p50, p99
from bench.overhead.learning import figures_of, learn
from bench.overhead.process import processor_s
from bench.overhead.trees import file_name, question_of, value_line
from bench.report import Table, at_least, at_most
from bench.setup import MissingData, Setup
from bench.talk.server import Server

__all__ = [
    "AT_ONCE",
    "CALLERS",
    "EVIDENCE",
    "SMALLEST",
    "WARMING",
    "Case",
    "Crowd",
    "at_once",
    "crowd",
    "many_callers",
    "roughly",
    "warmed",
    "with_more_known",
]

CALLERS, _AT_A_TIME, _MODEL_S = 16, 4, 0.05
WARMING = 3
# Files of the tree of which nothing is known.
SMALLEST = 20
_BARS_MS = (10, 12, 20)
EVIDENCE, AT_ONCE = "evidence", "model that answers at once"


def with_more_known(
    setup: Setup, trees: Sequence[tuple[Path, int]], *, known: Sequence[int], questions: int
) -> Found:
    """Ask without a model and with one that answers at once, with so many files of a tree known.

    Each tree comes with the number of its files; the last is asked once more, with nothing known.
    """
    cases = [Case(*tree, size) for tree, size in zip(trees, known, strict=True)]
    cases.append(replace(cases[-1], told_of=0))
    with setup.server("asking") as server:
        found = [_asked(setup, server, case, questions) for case in cases]
    skipped: list[str] = []
    try:
        with (
            serving(at_once, count=roughly) as model,
            setup.server("asking-model", model.environment()) as server,
        ):
            for case in cases:
                one = _asked(setup, server, case, questions)
                found.append(replace(one, mode=AT_ONCE))
    except MissingData as problem:
        skipped.append(f"questions to a model: {problem}")
    return _told(found, known, skipped)


def many_callers(setup: Setup, tree: Path, *, each: int) -> Found:
    """Callers at the same time, each with so many questions, over a model that takes its time."""
    try:
        found = crowd(setup, tree, each=each, has_model=True)
    except MissingData as problem:
        return Found(skipped=(f"many callers: {problem}",))
    columns = ("questions", "a second", "kept, share", "answered by the model", "model calls each")
    row = (found.count, found.a_second, found.kept, found.by_model, found.model_calls)
    return Found(
        tables=(Table(f"{CALLERS} callers, model of 50 ms, 4 at a time", columns, (row,)),),
        bars=(
            at_least(f"{CALLERS} callers: questions a second", found.a_second, 70),
            at_least(f"{CALLERS} callers: answers kept, share", found.kept, 1),
        ),
        notes=(f"{_AT_A_TIME} calls of 50 ms at a time are 80 questions a second at most",),
    )


@dataclass(frozen=True, slots=True)
class Crowd:
    """What callers at the same time got; shares and calls are of their questions."""

    count: int
    a_second: float
    kept: float | None
    by_model: float
    model_calls: float
    processor_ms: float | None


def crowd(setup: Setup, tree: Path, *, each: int, has_model: bool) -> Crowd:
    """Ask from all callers at once, with a model that takes its time or without one.

    Raises:
        MissingData: a running server was named, and it cannot be given a model.
    """
    with ExitStack() as open_now:
        model, environment = None, None
        if has_model:
            model = open_now.enter_context(serving(_slowly, count=roughly))
            at_a_time = {"LIVE_MEMORY_MAX_PARALLEL_QUESTIONS": str(_AT_A_TIME)}
            environment = model.environment() | at_a_time
        label = f"many-callers-{'model' if has_model else 'evidence'}"
        server = open_now.enter_context(setup.server(label, environment))
        setup.ask(server, question_of(0), tree)
        before, busy_s = _kept(server, tree), processor_s(server)
        called = len(model.prompts) if model else 0
        took_s, modes = _all_asked(setup, server, tree, each)
        busy_s = None if busy_s is None else (processor_s(server) or 0) - busy_s
        kept = _kept(server, tree)
        calls = len(model.prompts) - called if model else 0
    count = CALLERS * each
    return Crowd(
        count,
        count / took_s,
        None if kept is None or before is None else (kept - before) / count,
        sum(mode in {"companion", "single-shot"} for mode in modes) / count,
        calls / count,
        None if busy_s is None else 1_000 * busy_s / count,
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A tree of so many files, and how many of them the server is told of."""

    tree: Path
    files: int
    told_of: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """The questions of one case."""

    mode: str
    files: int
    told_of: int
    known: int | None
    first_s: float
    each_s: tuple[float, ...]
    processor_ms: float | None
    window_tokens: int | None
    answered_as: frozenset[str]

    @property
    def p50_ms(self) -> float | None:
        return p50(self.each_s)

    def row(self) -> Row:
        return asdict(self) | {"part": "ask", "answered_as": sorted(self.answered_as)}


def warmed(setup: Setup, server: Server, case: Case) -> tuple[float, int | None]:
    """Seconds of the first answer, and how many files are known; then the server is warm."""
    tree = case.tree
    server.clear(tree)
    began = time.perf_counter()
    setup.ask(server, question_of(0), tree)
    first_s = time.perf_counter() - began
    known = learn(server, tree, case.told_of) if case.told_of else 0
    for number in range(WARMING):
        setup.ask(server, question_of(number), tree)
    return first_s, known


def _asked(setup: Setup, server: Server, case: Case, questions: int) -> _Asked:
    tree = case.tree
    first_s, known = warmed(setup, server, case)
    busy_s = processor_s(server)
    answers = [
        setup.ask(server, question_of(number % case.files), tree)
        for number in range(WARMING, WARMING + questions)
    ]
    busy_s = None if busy_s is None else (processor_s(server) or 0) - busy_s
    tokens = figures_of(server, tree).get("window_tokens")
    return _Asked(
        EVIDENCE,
        case.files,
        case.told_of,
        known,
        first_s,
        tuple(answer.elapsed_s for answer in answers),
        None if busy_s is None else 1_000 * busy_s / questions,
        tokens if isinstance(tokens, int) else None,
        frozenset(answer.mode for answer in answers),
    )


def _told(found: Sequence[_Asked], known: Sequence[int], skipped: Sequence[str]) -> Found:
    lines = tuple(
        (
            one.mode,
            one.files,
            one.told_of,
            one.known,
            one.p50_ms,
            p99(one.each_s),
            one.processor_ms,
            one.window_tokens,
        )
        for one in found
    )
    bars, groups = [], []
    for size, limit in zip(known, _BARS_MS, strict=True):
        mine = [one for one in found if one.told_of == size and one.files <= max(size, SMALLEST)]
        bars += [
            at_most(f"ask, {one.mode}, {size:,} files known, p50 ms", one.p50_ms, limit)
            for one in mine
        ]
        groups.append((f"{size:,} files known", tuple(one.p50_ms for one in mine)))
    columns = (
        "",
        "files in the tree",
        "told of",
        "known",
        "p50 ms",
        "p99 ms",
        "server's processor ms each",
        "tokens of memory",
    )
    return Found(
        tables=(Table("A question", columns, lines),),
        bars=tuple(bars),
        charts=(Chart("ask", "A question, p50 ms", (EVIDENCE, AT_ONCE), tuple(groups)),),
        rows=tuple(one.row() for one in found),
        skipped=tuple(skipped),
    )


def _all_asked(setup: Setup, server: Server, tree: Path, each: int) -> tuple[float, list[str]]:
    """Seconds from the first question to the last answer, and who answered."""
    together = threading.Barrier(CALLERS + 1)

    def caller(which: int) -> list[str]:
        together.wait()
        numbers = range(which * each, (which + 1) * each)
        return [setup.ask(server, question_of(number), tree).mode for number in numbers]

    with ThreadPoolExecutor(CALLERS) as pool:
        callers = [pool.submit(caller, which) for which in range(CALLERS)]
        together.wait()
        began = time.perf_counter()
        modes = [mode for each_caller in callers for mode in each_caller.result()]
        return time.perf_counter() - began, modes


def _kept(server: Server, tree: Path) -> int | None:
    """How many answers the server holds; it lists at most 200."""
    found = server.json("GET", f"/v1/answers?cwd={quote(str(tree))}")
    answers = None if found is None else found.get("answers")
    return len(answers) if isinstance(answers, list) else None


def at_once(prompt: str) -> str:
    """A true answer with its place to the last question of the prompt, found without reading it."""
    at = prompt.rfind("`VALUE_")
    number = int(prompt[at + 7 : at + 12]) if at >= 0 else 0
    return f"{file_name(number)}:3 reads `{value_line(number)}`."


def _slowly(prompt: str) -> str:
    time.sleep(_MODEL_S)
    return at_once(prompt)


def roughly(text: str) -> int:
    """Tokens of a prompt, in no time."""
    return len(text) // 4
