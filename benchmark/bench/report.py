"""What a run was and what it found: a table on the terminal, JSON, Markdown and figures."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

from bench.curves import Curve, trace
from bench.figures import Chart, draw

__all__ = [
    "Bar",
    "Outcome",
    "Table",
    "at_least",
    "at_most",
    "circumstances",
    "show",
    "write",
]

_REPOSITORY = Path(__file__).parents[2]
_LIBRARIES = ("mcp", "starlette", "uvicorn", "httpx2", "anyio", "pydantic", "tree-sitter", "openai")

Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under names."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure that is asked for, what was measured, and whether that is enough."""

    figure: str
    wanted: str
    measured: float | None
    is_met: bool | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one suite found, and what it could not look at."""

    suite: str
    tables: tuple[Table, ...] = ()
    bars: tuple[Bar, ...] = ()
    charts: tuple[Chart | Curve, ...] = ()
    rows: tuple[Mapping[str, object], ...] = ()
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    figures: Mapping[str, object] = field(default_factory=dict)


def at_most(figure: str, value: float | None, limit: float) -> Bar:
    """A bar that a smaller figure meets."""
    return Bar(figure, f"<= {limit:,g}", value, None if value is None else value <= limit)


def at_least(figure: str, value: float | None, limit: float) -> Bar:
    """A bar that a larger figure meets."""
    return Bar(figure, f">= {limit:,g}", value, None if value is None else value >= limit)


def circumstances(*, command: str, seed: int, server: Mapping[str, object]) -> dict[str, object]:
    """Where and with what a run was made; nothing that names this machine's folders."""
    return {
        "command": command,
        "seed": seed,
        "commit": _commit(),
        "server": dict(server),
        "cpus": os.cpu_count(),
        "load": [round(one, 2) for one in os.getloadavg()],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in _LIBRARIES},
    }


def show(outcome: Outcome) -> str:
    """Everything but the single rows, as Markdown; that is what the terminal shows too."""
    parts = [_table(table) for table in outcome.tables]
    if outcome.bars:
        rows = tuple((b.figure, b.wanted, b.measured, _verdict(b.is_met)) for b in outcome.bars)
        parts.append(_table(Table("Against the bars", ("figure", "bar", "measured", ""), rows)))
    parts += [f"Skipped: {why}" for why in outcome.skipped]
    parts += [f"Note: {note}" for note in outcome.notes]
    return "\n\n".join(parts) + "\n"


def write(outcome: Outcome, run: Mapping[str, object], *, json_file: Path, folder: Path) -> None:
    """Write the JSON, and beside each other the page and its figures."""
    whole = {"suite": outcome.suite, "run": run, **_plain(outcome)}
    json_file.parent.mkdir(parents=True, exist_ok=True)
    json_file.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    for chart in outcome.charts:
        drawn = draw(chart) if isinstance(chart, Chart) else trace(chart)
        (folder / f"{outcome.suite}-{chart.name}.svg").write_text(drawn, encoding="utf-8")
    page = folder / f"{outcome.suite}.md"
    page.write_text(_page(outcome, run), encoding="utf-8")


def _plain(outcome: Outcome) -> dict[str, object]:
    return {
        "figures": dict(outcome.figures),
        "bars": [asdict(bar) for bar in outcome.bars],
        "tables": [asdict(table) for table in outcome.tables],
        "skipped": list(outcome.skipped),
        "notes": list(outcome.notes),
        "rows": list(outcome.rows),
    }


def _page(outcome: Outcome, run: Mapping[str, object]) -> str:
    figures = "".join(f"![{c.title}]({outcome.suite}-{c.name}.svg)\n\n" for c in outcome.charts)
    load = run["load"]
    one = load[0] if isinstance(load, Sequence) else load
    return (
        f"# {outcome.suite}\n\n"
        f"Made by `{run['command']}` at commit {run['commit']}, "
        f"{run['cpus']} processors at load {one}, Python {run['python']}, seed {run['seed']}.\n\n"
        f"{show(outcome)}\n{figures}"
    ).rstrip() + "\n"


def _table(table: Table) -> str:
    head = [table.title, "", _row(table.columns), "|" + "---|" * len(table.columns)]
    return "\n".join([*head, *(_row(row) for row in table.rows)])


def _row(cells: Sequence[Cell]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(cell: Cell) -> str:
    match cell:
        case None:
            return "-"
        case bool() | str() | int():
            return str(cell)
        case _:
            return f"{cell:.3f}" if abs(cell) < 10 else f"{cell:,.0f}"


def _verdict(is_met: bool | None) -> str:
    return {True: "met", False: "**missed**", None: "not measured"}[is_met]


def _commit() -> str:
    command = ["git", "-C", str(_REPOSITORY), "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
