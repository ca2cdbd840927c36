"""Does the check of citations know right places from wrong ones?"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.checking.prose import citations, sentence_around, written
from bench.checking.scoring import is_caught, is_thrown, verdicts
from bench.checking.spoiling import BARRED, KINDS, Original, Wrong, spoiled
from bench.figures import Chart
from bench.model.endpoint import serving
from bench.progress import each
from bench.report import Bar, Outcome, Table
from bench.scores import Place
from bench.setup import MissingData, Setup
from bench.source.repositories import MissingRepository
from bench.talk.server import Answer, Server, ask_http
from bench.views import Lines

__all__ = ["run"]

Row = dict[str, object]

_AS_WRITTEN, _READER = "as written", "reader"
_NOTES = (
    "kept: called right where it stood; moved: with other lines, or gone; denied: called wrong",
    "thrown: evidence was given instead, although 80 % of the answer's citations are right",
    "caught: not called right, or evidence was given; for a value, no place of its sentence is",
)


def run(setup: Setup) -> Outcome:
    """Let a model say each answer as it was written, then with one thing made wrong.

    Raises:
        MissingData: there are no answers, or the server cannot be given the scripted model.
    """
    files = sorted(file.name for file in setup.data.glob("checking/*.jsonl"))
    if not files:
        raise MissingData("no checking/*.jsonl below the data folder: name it with --data")
    rows: list[Row] = []
    skipped: list[str] = []
    speaker = _Speaker()
    with serving(speaker) as model, setup.server("checking", model.environment()) as server:
        talk = _Talk(server, speaker)
        for file in files:
            try:
                rows += _answers(setup, talk, file)
            except MissingRepository as problem:
                skipped.append(f"{file}: {problem}")
    return _outcome(rows, tuple(skipped))


@dataclass(slots=True)
class _Speaker:
    """A model that says what it was told to say, whatever it is asked."""

    answer: str = ""

    def __call__(self, _: str) -> str:
        return self.answer


@dataclass(slots=True)
class _Talk:
    """A server and its model; no question is asked twice, so no kept answer is given."""

    server: Server
    speaker: _Speaker
    asked: int = field(default=0)

    def about(self, tree: Path, question: str, answer: str) -> Answer:
        """What becomes of an answer; only JSON says whether evidence was given instead."""
        self.asked += 1
        self.speaker.answer = answer
        return ask_http(self.server, f"{question} ({self.asked})", tree)


def _answers(setup: Setup, talk: _Talk, file: str) -> Iterator[Row]:
    for given in each(file, setup.sample(setup.read("checking", file))):
        repository, commit = str(given["repo"]), str(given["commit"])
        label = f"checking-{commit[:10]}"
        tree = setup.repositories.export(repository, commit, label=label).path
        original = Original(str(given["answer"]), Lines(tree), _labelled(given["wrong"]))
        question = str(given["question"])
        here = {"file": file, "question": question}
        answer = talk.about(tree, question, original.text)
        yield here | {"kind": _AS_WRITTEN, "mode": answer.mode} | _as_written(original, answer)
        for kind in KINDS:
            for wrong in spoiled(original, kind):
                answer = talk.about(tree, question, wrong.text)
                yield (
                    here
                    | {"kind": kind, "mode": answer.mode}
                    | _made_wrong(original, wrong, answer)
                )


def _as_written(original: Original, answer: Answer) -> Row:
    named = dict.fromkeys(one.place for one in citations(original.text))
    there = [place for place in named if original.lines.of(place.path)]
    right = [place for place in there if place not in original.labelled]
    wrong = sorted(original.labelled, key=written)
    lost = [written(place) for place in right if not verdicts(answer, [place])["kept"]]
    return {
        "target": [written(place) for place in wrong],
        "right": len(right),
        **verdicts(answer, right),
        "wrong": len(wrong),
        "caught": sum(is_caught(answer, [place]) for place in wrong),
        "thrown": is_thrown(answer, right=len(right), wrong=len(wrong)),
        **({"not_kept": lost} if lost else {}),
    }


def _made_wrong(original: Original, wrong: Wrong, answer: Answer) -> Row:
    """With the sentence where it was not caught, for whoever wants to know why."""
    caught = is_caught(answer, wrong.places)
    row: Row = {
        "target": [written(place) for place in wrong.places],
        "wrong": 1,
        "caught": int(caught),
    }
    return row if caught else row | {"sentence": _changed(original.text, wrong.text)}


def _changed(before: str, after: str) -> str:
    """The sentence in which two texts begin to differ."""
    pairs = enumerate(zip(before, after, strict=False))
    at = next((n for n, (old, new) in pairs if old != new), 0)
    begin, end = sentence_around(after, at)
    return after[begin:end]


def _outcome(rows: Sequence[Row], skipped: tuple[str, ...] = ()) -> Outcome:
    """Tables and bars over single answers."""
    said = [row for row in rows if row["kind"] == _AS_WRITTEN]
    if not said:
        return Outcome("checking", skipped=skipped, notes=_NOTES)
    caught = {_READER: said, **{kind: [r for r in rows if r["kind"] == kind] for kind in KINDS}}
    lines = [(kind, _sum(mine, "wrong"), _share(mine, "caught")) for kind, mine in caught.items()]
    groups = tuple((kind, (share,)) for kind, _, share in lines)
    return Outcome(
        "checking",
        tables=(
            _by_file(said),
            Table("Wrong citations by how they are wrong", ("", "n", "caught"), tuple(lines)),
        ),
        bars=tuple(_bars(said, {kind: share for kind, _, share in lines})),
        charts=(Chart("caught", "Wrong citations that were caught", ("caught",), groups, 1.0),),
        rows=tuple(rows),
        skipped=skipped,
        notes=_NOTES,
        figures={"answered_by": dict(Counter(str(row["mode"]) for row in rows))},
    )


def _by_file(said: Sequence[Row]) -> Table:
    names = list(dict.fromkeys(str(row["file"]) for row in said))
    groups = {name: [row for row in said if row["file"] == name] for name in names}
    if len(groups) > 1:
        groups["all"] = list(said)
    lines = [
        (
            name,
            len(mine),
            _sum(mine, "thrown"),
            _sum(mine, "right"),
            *(_share(mine, verdict, of="right") for verdict in ("kept", "moved", "denied")),
        )
        for name, mine in groups.items()
    ]
    columns = ("", "answers", "thrown", "right citations", "kept", "moved", "denied")
    return Table("Right citations by data file", columns, tuple(lines))


def _bars(said: Sequence[Row], caught: dict[str, float | None]) -> Iterator[Bar]:
    kept, moved, denied = (_share(said, one, of="right") for one in ("kept", "moved", "denied"))
    thrown = _sum(said, "thrown")
    yield Bar("right citations kept", ">= 0.97", kept, None if kept is None else kept >= 0.97)
    yield Bar("right citations moved", "0", moved, None if moved is None else moved == 0)
    yield Bar(
        "right citations denied", "<= 0.02", denied, None if denied is None else denied <= 0.02
    )
    yield Bar("good answers thrown", "0", thrown, thrown == 0)
    for kind in BARRED:
        share = caught[kind]
        yield Bar(f"caught, {kind}", ">= 0.95", share, None if share is None else share >= 0.95)


def _share(rows: Sequence[Row], name: str, *, of: str = "wrong") -> float | None:
    whole = _sum(rows, of)
    return _sum(rows, name) / whole if whole else None


def _sum(rows: Sequence[Row], name: str) -> int:
    return sum(value for row in rows if isinstance(value := row[name], int))


def _labelled(value: object) -> frozenset[Place]:
    rows = value if isinstance(value, list) else []
    return frozenset(Place(str(path), int(start), int(end)) for path, start, end in rows)
