"""What memory kept of what a session showed, counted in characters of files' lines."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from bench.report import Table
from bench.views import SHOWING, Lines, View, shown_by_command, shown_by_read

__all__ = ["Kept", "Seen", "Session", "capture_table", "in_memory", "share"]

Fields = Mapping[str, object]


@dataclass(slots=True)
class Kept:
    """Characters of views, by the program that showed them: all, kept, seen before, answerable."""

    shown: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    again_kept: Counter[str] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    elsewhere_kept: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    # Output of commands that is no file's text, and of commands that are not run again.
    unplaced: int = 0
    not_run: int = 0


class Seen:
    """Lines seen so far, by file."""

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = {}

    def add(self, view: View) -> None:
        """Remember a view."""
        for name, numbers in view.lines.items():
            self.lines.setdefault(name, set()).update(numbers)

    def add_all(self, other: "Seen") -> None:
        """Remember another's."""
        for name, numbers in other.lines.items():
            self.lines.setdefault(name, set()).update(numbers)


@dataclass(frozen=True, slots=True)
class Session:
    """What counting a session needs: what memory held after it, and what was seen before it."""

    lines: Lines
    memory: Mapping[str, set[int]]
    before: Seen
    here: Seen = field(default_factory=Seen)

    def count(self, kept: Kept, events: Sequence[Fields]) -> None:
        """Count every view."""
        for event in events:
            for view in _viewed(self.lines, event, kept):
                self._count(kept, _tool(event), view)
        self.before.add_all(self.here)

    def _count(self, kept: Kept, tool: str, view: View) -> None:
        for name, numbers in view.lines.items():
            known = numbers & self.memory.get(name, set())
            again = numbers & self.here.lines.get(name, set())
            elsewhere = (numbers - again) & self.before.lines.get(name, set())
            kept.shown[tool] += self._size(name, numbers)
            kept.kept[tool] += self._size(name, known)
            kept.again[tool] += self._size(name, again)
            kept.again_kept[tool] += self._size(name, again & known)
            kept.elsewhere[tool] += self._size(name, elsewhere)
            kept.elsewhere_kept[tool] += self._size(name, elsewhere & known)
            kept.missed[f"{tool} {name}"] += self._size(name, numbers - known)
        self.here.add(view)

    def _size(self, name: str, numbers: Set[int]) -> int:
        return self.lines.size(name, frozenset(numbers))


def _viewed(lines: Lines, event: Fields, kept: Kept) -> Iterator[View]:
    if event.get("error"):
        return
    if event["tool"] == "Read":
        yield shown_by_read(
            lines, str(event["path"]), _number(event.get("offset")), _number(event.get("limit"))
        )
    elif event["tool"] == "Bash":
        view = shown_by_command(lines, str(event["command"]))
        if view is None:
            kept.not_run += _number(event.get("chars")) or 0
        else:
            kept.unplaced += view.unplaced
            yield view


def _tool(event: Fields) -> str:
    if event["tool"] == "Read":
        return "Read"
    words = str(event["command"]).replace(";", " ").split()
    return f"Bash: {next((word for word in words if word in SHOWING), words[0])}"


def in_memory(timeline: Sequence[Fields], tree: Path) -> dict[str, set[int]]:
    """The lines of current bytes that memory holds, by file."""
    found: dict[str, set[int]] = {}
    hashes: dict[str, str] = {}
    for entry in timeline:
        name, start, end = entry.get("path"), entry.get("start"), entry.get("end")
        if isinstance(name, str) and isinstance(start, int) and isinstance(end, int):
            file = tree / name
            if name not in hashes and file.is_file():
                hashes[name] = hashlib.sha256(file.read_bytes()).hexdigest()
            if entry.get("sha") == hashes.get(name):
                found.setdefault(name, set()).update(range(start, end + 1))
    return found


def _capture_row(kept: Kept, label: str, tools: Sequence[str]) -> tuple[str | float | None, ...]:
    def of(counts: Counter[str]) -> int:
        return sum(counts[tool] for tool in tools)

    return (
        label,
        of(kept.shown),
        share(of(kept.kept), of(kept.shown)),
        share(of(kept.again_kept), of(kept.again)),
        share(of(kept.elsewhere_kept), of(kept.elsewhere)),
    )


def capture_table(kept: Kept) -> Table:
    """The shares by the program that showed them."""
    tools = sorted(kept.shown, key=lambda tool: -kept.shown[tool])
    rows = [_capture_row(kept, tool, [tool]) for tool in tools]
    rows.append(_capture_row(kept, "all", tools))
    columns = ("views by", "characters", "kept", "same-session re-reads", "cross-session reads")
    return Table("What memory kept of what was shown", columns, tuple(rows))


def share(part: float, whole: float) -> float | None:
    """A part of a whole, where there is one."""
    return part / whole if whole else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
