"""What does it add to a machine and to a session?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from bench.overhead import asking, beginning, hooks, paired, starting, traffic, weight
from bench.overhead.found import Found
from bench.overhead.trees import made
from bench.progress import each
from bench.report import Outcome
from bench.setup import MissingData, Setup
from bench.source.repositories import MissingRepository
from bench.talk.server import ServerFailed

__all__ = ["run"]


@dataclass(frozen=True, slots=True)
class _Size:
    """How much of everything."""

    known: tuple[int, int, int] = (0, 200, 2_000)
    trees: tuple[int, ...] = (20_000,)
    requests: int = 2_000
    rounds: int = 5
    killed: int = 20
    questions: int = 25
    # A tick of the processor's clock is 10 ms.
    paired: int = 50
    callers_each: int = 10
    hook_times: int = 60
    sessions: int = 10
    reads: int = 41
    edits: int = 5
    workspaces: int = 400


_USUAL = _Size()
_SLOW = _Size(trees=(20_000, 60_000, 100_000))
_DRY = _Size(
    known=(0, 30, 40),
    trees=(60,),
    requests=60,
    rounds=1,
    killed=4,
    questions=2,
    paired=2,
    callers_each=1,
    hook_times=2,
    sessions=1,
    reads=4,
    edits=1,
    workspaces=3,
)


def run(setup: Setup) -> Outcome:
    """Measure every figure that this machine has the programs for.

    With another server beside, only that both take turns at.
    """
    size = _size(setup)
    if setup.beside:
        return replace(_together([_in_turns(setup, size)]), suite="overhead-paired")
    found: list[Found] = []
    for part in each("overhead", _parts(setup, size)):
        try:
            found.append(part())
        except (MissingData, MissingRepository, ServerFailed) as problem:
            found.append(Found(skipped=(str(problem),)))
    return _together(found)


def _size(setup: Setup) -> _Size:
    size = _DRY if setup.is_dry else _SLOW if setup.is_slow else _USUAL
    most = setup.limit or size.rounds
    return replace(size, rounds=min(most, size.rounds))


def _parts(setup: Setup, size: _Size) -> Sequence[Callable[[], Found]]:
    most = max(size.known)
    folder = setup.scratch / "overhead"

    def tree(label: str, count: int = most) -> Path:
        return made(folder / label, count, is_short=True)

    def large(count: int) -> Found:
        label = f"tree-{count}"
        grown = made(folder / label, count, is_short=False)
        return weight.large_tree(setup, grown, files=count, label=label, edits=size.edits)

    return (
        lambda: starting.cold_starts(setup, rounds=size.rounds),
        lambda: hooks.in_the_client(
            setup, tree("client", size.reads), reads=size.reads, rounds=size.rounds
        ),
        lambda: beginning.of_sessions(setup, tree("begin", 1), rounds=size.sessions),
        lambda: hooks.by_itself(setup, tree("hook", 1), times=size.hook_times),
        lambda: _notified(setup, tree("notify"), size),
        lambda: traffic.killed(setup, tree("killed", 2 * size.killed), files=size.killed),
        lambda: asking.with_more_known(
            setup,
            [(tree(f"ask-{n}", n), n) for n in (max(k, asking.SMALLEST) for k in size.known)],
            known=size.known,
            questions=size.questions,
        ),
        lambda: asking.many_callers(setup, tree("callers", size.known[1]), each=size.callers_each),
        lambda: starting.restarts(setup, tree("restart"), known=most, rounds=size.rounds),
        lambda: weight.resident(setup, tree("weight"), known=most),
        lambda: weight.many(setup, [tree(f"many/{n}", 1) for n in range(size.workspaces)]),
        *(lambda count=count: large(count) for count in size.trees),
    )


def _in_turns(setup: Setup, size: _Size) -> Found:
    known = size.known[1]
    tree = made(setup.scratch / "overhead" / "paired", known, is_short=True)
    return paired.in_turns(
        setup,
        asking.Case(tree, known, known),
        questions=min(known, size.paired),
        each=size.callers_each,
        rounds=size.rounds,
    )


def _notified(setup: Setup, tree: Path, size: _Size) -> Found:
    with setup.server("notify") as server:
        return traffic.measured(
            server, tree, files=max(size.known), requests=size.requests, rounds=size.rounds
        )


def _together(found: Sequence[Found]) -> Outcome:
    return Outcome(
        "overhead",
        tables=tuple(chain.from_iterable(one.tables for one in found)),
        bars=tuple(chain.from_iterable(one.bars for one in found)),
        charts=tuple(chain.from_iterable(one.charts for one in found)),
        rows=tuple(chain.from_iterable(one.rows for one in found)),
        skipped=tuple(chain.from_iterable(one.skipped for one in found)),
        notes=tuple(chain.from_iterable(one.notes for one in found)),
    )
