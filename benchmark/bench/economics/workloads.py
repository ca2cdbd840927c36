"""What is asked in which order, and what is learned before: recordings, question sets, floods."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.economics.asking import Desk, asking
from bench.economics.gold import resolved
from bench.economics.measuring import Row
from bench.economics.requests import Protocol
from bench.recordings import COMMIT, FILES, REPOSITORY, events_of, payload_of
from bench.scores import Place
from bench.setup import MissingData, Setup
from bench.source.repositories import MissingRepository, Tree, git
from bench.talk.payloads import file_read
from bench.views import Lines

__all__ = ["APART", "EDITS", "READ_ONLY", "flood", "question_set", "replayed"]

READ_ONLY, EDITS, APART = "read-only", "with edits", "10 min apart"
_APART_S = 600.0
_SETS = {"flask": "flask.jsonl", "requests": "requests.jsonl"}
_FLOOD_FILES, _FLOOD_QUESTIONS, _AT_ONCE = 300, 10, 50


def replayed(setup: Setup, protocol: Protocol, order: str) -> list[Row]:
    """The recorded sessions in order: their events are learned, their questions asked.

    Raises:
        MissingData: the recordings or their repository are not there.
    """
    sessions = [row for file in FILES for row in setup.sample(setup.read("replay", file))]
    tree = _exported(setup, REPOSITORY, COMMIT, f"replay-{order}-{protocol}")
    names = _names(tree)
    about = {"workload": "replay", "order": order}
    with asking(setup, protocol, tree, label=f"replay-{order}-{protocol}", about=about) as desk:
        waiting: list[Mapping[str, object]] = []
        for session in sessions:
            for event in events_of(session):
                if event["tool"] != "ask":
                    told = payload_of(tree.path, session, event)
                    waiting += [told] if told else []
                    continue
                desk.learn(waiting)
                waiting = []
                _replay_question(desk, event, names, order, str(session["session"]))
        return desk.rows


def _replay_question(
    desk: Desk, event: Mapping[str, object], names: Sequence[str], order: str, session: str
) -> None:
    cited = event.get("cited")
    places = resolved(Lines(desk.tree.path), cited if isinstance(cited, list) else [], names)
    after = {"after_s": _APART_S} if order == APART else {}
    desk.ask(str(event["question"]), places, **after)
    if order == EDITS:
        desk.edit(places, session=session)


def question_set(setup: Setup, protocol: Protocol, name: str, *, is_warm: bool) -> list[Row]:
    """Public questions: with the files of all of them read before, or each on an empty memory.

    Raises:
        MissingData: the questions or their repository are not there.
    """
    rows, order = _questions(setup, name), "warm" if is_warm else "cold"
    tree = _exported(
        setup, str(rows[0]["repo"]), str(rows[0]["commit"]), f"{name}-{order}-{protocol}"
    )
    about = {"workload": name, "order": order}
    with asking(setup, protocol, tree, label=f"{name}-{order}-{protocol}", about=about) as desk:
        if is_warm:
            files = dict.fromkeys(place.path for row in rows for place in _places(row))
            desk.learn([file_read(tree.path, path) for path in files])
        for row in rows:
            if not is_warm:
                desk.forget()
            desk.ask(str(row["question"]), _places(row))
        return desk.rows


def flood(setup: Setup, protocol: Protocol, name: str) -> list[Row]:
    """Hundreds of files are read, then questions are asked about what was read first.

    Raises:
        MissingData: the questions or their repository are not there.
    """
    rows = _questions(setup, name)[:_FLOOD_QUESTIONS]
    tree = _tree_of(setup, rows, f"flood-{protocol}")
    needed = dict.fromkeys(place.path for row in rows for place in _places(row))
    others = [one for one in _names(tree) if one not in needed and _is_text(tree.path / one)]
    about = {"workload": f"flood of {name}", "order": READ_ONLY}
    with asking(setup, protocol, tree, label=f"flood-{protocol}", about=about) as desk:
        for path in [*needed, *others[:_FLOOD_FILES]]:
            if (tree.path / path).is_file():
                desk.server.notify([file_read(tree.path, path)])
        desk.learn(
            [file_read(tree.path, "README.md")] if (tree.path / "README.md").is_file() else []
        )
        for row in rows:
            desk.ask(str(row["question"]), _places(row))
        return desk.rows


def _questions(setup: Setup, name: str) -> list[dict[str, object]]:
    """The questions of a set that have gold lines, at the commit of the first."""
    rows = [row for row in setup.read("swe-qa", _SETS[name]) if row["lines"]]
    rows = [row for row in rows if row["commit"] == rows[0]["commit"]]
    return setup.sample(rows)


def _places(row: Mapping[str, object]) -> Iterator[Place]:
    lines = row["lines"]
    for path, ranges in lines.items() if isinstance(lines, dict) else ():
        yield from (Place(path, first, last) for first, last in ranges)


def _tree_of(setup: Setup, rows: Sequence[Mapping[str, object]], label: str) -> Tree:
    return _exported(setup, str(rows[0]["repo"]), str(rows[0]["commit"]), label)


def _exported(setup: Setup, repository: str, commit: str, label: str) -> Tree:
    try:
        return setup.repositories.export(repository, commit, label=label.replace(" ", "-"))
    except MissingRepository as problem:
        raise MissingData(str(problem)) from None


def _names(tree: Tree) -> list[str]:
    listed = git(tree.path, "ls-files", "-z").decode("utf-8", "surrogateescape")
    return [name for name in listed.split("\0") if name]


def _is_text(file: Path) -> bool:
    return file.is_file() and not file.is_symlink() and b"\0" not in file.read_bytes()[:4_096]
