"""What do many notes cost an answer? Two workspaces with the same files, one of them with notes."""

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.overhead.found import median, p50, p99, thousandths
from bench.overhead.process import processor_s
from bench.overhead.trees import file_name, made, question_of
from bench.report import Outcome, Table, at_most
from bench.setup import MissingData, Setup
from bench.talk.server import Server

__all__ = ["run"]

_NOTES, _FILES, _QUESTIONS, _ROUNDS = 10_000, 200, 25, 5
_DRY_NOTES, _DRY_FILES, _DRY_QUESTIONS, _DRY_ROUNDS = 60, 20, 3, 1
_WARMING, _A_BATCH = 3, 500
_PLAIN, _NOTED = "no note", "with notes"
_CATEGORIES = ("decision", "todo", "insight", "issue", "observation")
_SAID = (
    "cache queue token order page retry limit parcel voucher login mail worker signal index batch "
    "thread schema release session budget window socket header cookie invoice stock refund theme"
)


def run(setup: Setup) -> Outcome:
    """Ask both in turns; a restart before each round, so that the first question is told apart."""
    notes, files, questions, rounds = _size(setup)
    trees = {
        label: made(setup.scratch / "told" / label.replace(" ", "-"), files, is_short=True)
        for label in (_PLAIN, _NOTED)
    }
    rows: list[Mapping[str, object]] = []
    for number in range(rounds):
        with setup.server("told") as server:
            if number == 0:
                _tell(server, trees[_NOTED], notes, files)
            numbers = [(_WARMING + n) % files for n in range(questions)]
            rows += _round(setup, server, trees, number=number, asked=numbers)
    return _outcome(rows, notes=notes, files=files)


def _size(setup: Setup) -> tuple[int, int, int, int]:
    if setup.is_dry:
        return _DRY_NOTES, _DRY_FILES, _DRY_QUESTIONS, _DRY_ROUNDS
    return _NOTES, _FILES, _QUESTIONS, min(setup.limit or _ROUNDS, _ROUNDS)


def _tell(server: Server, tree: Path, notes: int, files: int) -> None:
    """Every second note names a place.

    Raises:
        MissingData: the server keeps no notes.
    """
    records = list(_records(notes, files))
    for start in range(0, notes, _A_BATCH):
        body = {"cwd": str(tree), "records": records[start : start + _A_BATCH]}
        if server.json("POST", "/v1/notes/import", body) is None:
            raise MissingData("this server takes no notes")


def _records(notes: int, files: int) -> Iterator[dict[str, object]]:
    draw, words = random.Random(1), _SAID.split()
    for n in range(notes):
        at = f" ({file_name(n % files)}:3)" if n % 2 else ""
        said = " ".join(draw.choices(words, k=14))
        yield {"text": f"{said.capitalize()}, note {n}{at}.", "category": _CATEGORIES[n % 5]}


def _round(
    setup: Setup, server: Server, trees: Mapping[str, Path], *, number: int, asked: Sequence[int]
) -> Iterator[Mapping[str, object]]:
    first: dict[str, float] = {}
    taken: dict[str, list[float]] = {label: [] for label in trees}
    busy: dict[str, float] = dict.fromkeys(trees, 0.0)
    told = dict.fromkeys(trees, 0)
    labels = tuple(trees)
    for label in labels:
        for n in range(_WARMING):
            answer = setup.ask(server, question_of(n), trees[label])
            first.setdefault(label, answer.elapsed_s)
    for at in asked:
        for label in labels if at % 2 else reversed(labels):
            before = processor_s(server)
            answer = setup.ask(server, question_of(at), trees[label])
            after = processor_s(server)
            taken[label].append(answer.elapsed_s)
            told[label] += "Told, not checked:" in answer.text
            busy[label] += (after or 0.0) - (before or 0.0)
    for label in labels:
        yield {
            "round": number,
            "workspace": label,
            "first_ms": 1_000 * first[label],
            "ms": thousandths(taken[label]),
            "processor_ms": 1_000 * busy[label] / len(asked),
            "told": told[label],
        }


def _outcome(rows: Sequence[Mapping[str, object]], *, notes: int, files: int) -> Outcome:
    lines, medians = [], {}
    for label in (_PLAIN, _NOTED):
        mine = [row for row in rows if row["workspace"] == label]
        taken = [ms / 1_000 for row in mine for ms in _list(row["ms"])]
        medians[label] = p50(taken)
        # The first round is of a new index, and of a server that was just told.
        later = [row for row in mine if row["round"]] or mine
        lines.append(
            (
                label,
                medians[label],
                p99(taken),
                median([_figure(row["processor_ms"]) for row in mine]),
                median([_figure(row["first_ms"]) for row in later]),
                sum(int(_figure(row["told"])) for row in mine) / max(1, len(taken)),
            )
        )
    plain, noted = medians[_PLAIN], medians[_NOTED]
    more = None if plain is None or noted is None else noted - plain
    columns = ("", "p50 ms", "p99 ms", "processor ms", "first ms", "told, share")
    title = f"An answer without a model, {files} files, {notes:,} notes"
    return Outcome(
        "told",
        tables=(Table(title, columns, tuple(lines)),),
        bars=(at_most(f"{notes:,} notes: more ms an answer, median", more, 25),),
        rows=tuple(rows),
        notes=("the first question after a start cuts the notes up into words",),
    )


def _list(value: object) -> list[float]:
    return value if isinstance(value, list) else []


def _figure(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
