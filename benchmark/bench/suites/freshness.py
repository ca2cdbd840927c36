"""Is anything ever stale? What was learned at one commit is asked at the next."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.figures import Chart
from bench.model.endpoint import Endpoint, newest_in_view, oldest_in_view, serving
from bench.progress import each
from bench.report import Bar, Outcome, Table
from bench.setup import MissingData, Setup
from bench.source.history import Item, changes, tree_at
from bench.source.repositories import MissingRepository, Tree
from bench.source.switching import WAYS, differing, pad
from bench.talk.payloads import file_read
from bench.talk.server import Answer, Server
from bench.talk.settling import settled

__all__ = ["Gone", "Verdict", "judged", "run"]

Row = dict[str, object]

_REPOSITORIES = ("pallets/flask", "psf/requests")
# About 30 switches a repository over all its history, and so many questions each.
_STEPS, _ITEMS = 40, 8
_CURRENT = {"verified", "corrected", "unknown"}
_CODE = re.compile(r"`([^`\n]+)`")
_SHORTEST = 12
_NOTES = (
    (
        "stale: the answer states the old value, or shows a line that only the old tree has, or a "
        "citation that is called right leads nowhere"
    ),
    "withheld: it has neither the old nor the current value, or the old one marked as not found",
)
_EVIDENCE, _NEWEST, _OLDEST = "evidence", "repeats the newest", "repeats the oldest"


@dataclass(frozen=True, slots=True)
class Gone:
    """The new tree, and the lines that only the old one had."""

    tree: Mapping[str, str]
    lines: frozenset[str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`is_flagged` means that the old value is there, marked as one that no longer holds."""

    is_stale: bool
    is_current: bool
    is_flagged: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Switch:
    """Two commits, how the tree goes from one to the other, and what is asked."""

    repository: str
    old: str
    new: str
    way: str
    items: tuple[Item, ...]


def judged(item: Item, answer: Answer, gone: Gone) -> Verdict:
    """Whether an answer states or cites what is no longer so, or does not state what is."""
    states_new = item.new in answer.text
    said = _states_old(item, answer, gone)
    cited = _cites_nothing(answer, gone)
    is_flagged = bool(said) and "unsupported" in answer.statuses and not states_new
    why = "" if is_flagged else said
    return Verdict(bool(why or cited), states_new, is_flagged, why or cited)


def run(setup: Setup) -> Outcome:
    """Learn, switch, ask: without a model, and with models that trust their prompt."""
    rows: list[Row] = []
    skipped: list[str] = []
    switches = [one for name in _REPOSITORIES for one in _switches(setup, name, skipped)]
    try:
        with setup.server("fresh-evidence") as server:
            rows += _all(setup, server, switches, _EVIDENCE, None)
        for mode, speaker in ((_NEWEST, newest_in_view), (_OLDEST, oldest_in_view)):
            with (
                serving(speaker) as model,
                setup.server(f"fresh-{speaker.__name__}", model.environment()) as server,
            ):
                rows += _all(setup, server, switches, mode, model)
    except MissingData as problem:
        skipped.append(str(problem))
    return _outcome(rows, tuple(skipped))


def _switches(setup: Setup, name: str, skipped: list[str]) -> list[_Switch]:
    """What changed over a repository's history, the ways in turn."""
    found: list[_Switch] = []
    left = setup.limit or 10_000
    try:
        source = setup.repositories.find(name)
        for old, new, items in changes(source, steps=_STEPS, most=_ITEMS, seed=setup.seed):
            way = list(WAYS)[len(found) % len(WAYS)]
            found.append(_Switch(name, old, new, way, tuple(items[:left])))
            left -= len(items)
            if left <= 0:
                break
    except MissingRepository as problem:
        skipped.append(f"{name}: {problem}")
    return found


def _all(
    setup: Setup, server: Server, switches: Sequence[_Switch], mode: str, model: Endpoint | None
) -> Iterator[Row]:
    for one in each(f"freshness, {mode}", switches):
        here = {"repository": one.repository, "from": one.old[:10], "to": one.new[:10]}
        for row in _pair(setup, server, one, model):
            yield here | {"way": one.way, "mode": mode} | row


def _pair(setup: Setup, server: Server, switch: _Switch, model: Endpoint | None) -> Iterator[Row]:
    tree = setup.repositories.export(switch.repository, switch.old, label="fresh")
    files = differing(tree, switch.old, switch.new)
    if switch.way != "checkout":
        pad(tree, files)
    learned = _learn(setup, server, tree, switch.items)
    after = tree_at(tree.path, switch.new)
    gone = Gone(after, _only_in(tree_at(tree.path, switch.old), after))
    WAYS[switch.way](tree, switch.new, files)
    for item, earlier in zip(switch.items, learned, strict=True):
        answer = setup.ask(server, item.question, tree.path)
        in_prompt = model is not None and bool(model.prompts) and item.old in model.prompts[-1]
        yield _row(item, answer, judged(item, answer, gone)) | {
            "learned": item.old in earlier.text,
            "old_in_prompt": None if model is None else in_prompt,
        }


def _learn(setup: Setup, server: Server, tree: Tree, items: Sequence[Item]) -> list[Answer]:
    """Tell of Reads of every file that is asked about, and ask, so that answers are kept too."""
    server.clear(tree.path)
    read = sorted({item.path for item in items if (tree.path / item.path).is_file()})
    if server.notify([file_read(tree.path, path) for path in read]):
        settled(server, tree.path, quiet_s=0.5)
    return [setup.ask(server, item.question, tree.path) for item in items]


def _row(item: Item, answer: Answer, verdict: Verdict) -> Row:
    row: Row = {
        "kind": item.kind,
        "path": item.path,
        "name": item.name,
        "old": item.old,
        "new": item.new,
        "answer_mode": answer.mode,
        "notice": answer.notice,
        "stale": verdict.is_stale,
        "flagged": verdict.is_flagged,
        "current": verdict.is_current,
    }
    if verdict.is_stale:
        return row | {"why": verdict.why, "question": item.question, "answer": answer.text[:600]}
    if not verdict.is_current:
        return row | {"question": item.question, "answer": answer.text[:600]}
    return row


def _states_old(item: Item, answer: Answer, gone: Gone) -> str:
    if item.kind == "moved":  # the old file no longer names it at all
        place = re.compile(rf"(?<![\w./-]){re.escape(item.old)}\d")
        claims = re.split(r"[;\n]", answer.text)
        return next((c.strip() for c in claims if item.name in c and place.search(c)), "")
    if item.old in answer.text:
        return item.old
    return next((line for line in _quoted(answer.text) if line in gone.lines), "")


def _cites_nothing(answer: Answer, gone: Gone) -> str:
    """The first citation that is called right and leads to lines that are not there."""
    for place, status in zip(answer.places, answer.statuses, strict=True):
        text = gone.tree.get(place.path)
        if status in _CURRENT and text is not None and place.start > len(text.splitlines()) + 400:
            return f"{place.path}:{place.start} is beyond the end of the file"
        if status in _CURRENT and text is None and place.path.endswith(".py"):
            return f"{place.path} is not there"
    return ""


def _quoted(text: str) -> Iterator[str]:
    """Code that an answer shows: fenced lines, and what stands in backticks."""
    is_fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            is_fenced = not is_fenced
        elif is_fenced:
            yield line.strip()
        else:
            yield from (code.strip() for code in _CODE.findall(line))


def _only_in(before: Mapping[str, str], after: Mapping[str, str]) -> frozenset[str]:
    """Whole lines of the old tree that are no part of the new one."""
    new = "\n".join(after.values())
    old = {line.strip() for text in before.values() for line in text.splitlines()}
    candidates = old - {line.strip() for line in new.splitlines()}
    return frozenset(line for line in candidates if len(line) >= _SHORTEST and line not in new)


def _outcome(rows: Sequence[Row], skipped: tuple[str, ...]) -> Outcome:
    stale, withheld = _share(rows, _is("stale")), _share(rows, _withheld)
    tables = [
        _grouped("By mode", rows, "mode"),
        _grouped("By how the tree changed", rows, "way"),
        _grouped("By what changed", rows, "kind"),
        _grouped("By repository", rows, "repository"),
    ]
    bars = (
        Bar("items asked", ">= 500", len(rows), len(rows) >= 500),
        Bar("stale rate", "0", stale, None if stale is None else stale == 0),
        Bar("withheld", "<= 0.05", withheld, None if withheld is None else withheld <= 0.05),
    )
    modes = list(dict.fromkeys(str(row["mode"]) for row in rows))
    shares = tuple(
        (mode, tuple(_share(_of(rows, "mode", mode), test) for test in (_is("stale"), _withheld)))
        for mode in modes
    )
    chart = Chart("rates", "After the tree changed", ("stale", "withheld"), shares, 1.0)
    return Outcome(
        "freshness",
        tables=tuple(tables) if rows else (),
        bars=bars if rows else (),
        charts=(chart,) if rows else (),
        rows=tuple(rows),
        skipped=skipped,
        notes=_NOTES,
        figures={"answered_by": dict(Counter(str(row["answer_mode"]) for row in rows))},
    )


def _grouped(title: str, rows: Sequence[Row], by: str) -> Table:
    lines = []
    for name in dict.fromkeys(str(row[by]) for row in rows):
        mine = _of(rows, by, name)
        in_prompt = [row for row in mine if row["old_in_prompt"] is not None]
        tests = (_is("learned"), _is("stale"), _withheld, _by_model)
        shares = (_share(mine, test) for test in tests)
        lines.append((name, len(mine), *shares, _share(in_prompt, _is("old_in_prompt"))))
    columns = (
        "",
        "items",
        "old value learned",
        "stale",
        "withheld",
        "answered by the model",
        "old value in its prompt",
    )
    return Table(title, columns, tuple(lines))


def _of(rows: Iterable[Row], name: str, value: str) -> list[Row]:
    return [row for row in rows if row[name] == value]


def _is(name: str) -> Callable[[Row], bool]:
    return lambda row: bool(row[name])


def _withheld(row: Row) -> bool:
    return not row["stale"] and not row["current"]


def _by_model(row: Row) -> bool:
    return row["answer_mode"] in {"companion", "single-shot"}


def _share(rows: Sequence[Row], test: Callable[[Row], bool]) -> float | None:
    return sum(map(test, rows)) / len(rows) if rows else None
