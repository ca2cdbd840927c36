"""Cursor's agent transcripts: what was said, and calls without their results or any time."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from live_memory.adapters.transcripts.session_log import (
    Fields,
    Found,
    LogLines,
    PastEvent,
    Teller,
    fields,
    log_files,
    rows,
    text,
    texts_in,
)
from live_memory.core.hosts.events import Ending, count_in

__all__ = ["cursor_logs"]

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]+")
# Folders that are looked at to find out which one a name means.
_MOST_FOLDERS = 1_000
_READS, _WRITES = ("Read", "read_file"), ("Write", "write")
_EDITS = ("StrReplace", "Edit", "MultiEdit", "search_replace", "edit_file", "Delete")


def cursor_logs(home: Path, _environ: Mapping[str, str], since: float) -> Found:
    """Every transcript that changed since then."""
    yield from log_files("cursor", home / ".cursor/projects", ".jsonl", _read, since=since)


def _read(lines: LogLines, path: Path) -> Iterator[PastEvent]:
    """Tell a transcript: its folder names the workspace, and the time is when it was written."""
    at = next((n for n, part in enumerate(path.parts) if part == "agent-transcripts"), 0)
    folder = _spelt_so(_plain(path.parts[at - 1]), Path(path.anchor)) if at else None
    if folder is None:
        raise OSError("no one folder is there by the name of its workspace")
    teller = Teller(path, folder=folder, session=path.stem)
    changed_ms = path.stat().st_mtime * 1000
    for end, line in lines:
        teller.come_to(end, changed_ms)
        content = fields(line, "message").get("content")
        words = texts_in(content)
        if line.get("role") == "user":
            _, _, rest = words.partition("<user_query>")
            query, is_whole, _ = rest.partition("</user_query>")
            yield from teller.asked(query.strip() if is_whole else words)
            continue
        teller.says(words)
        for part in rows(fields(line, "message"), "content"):
            if part.get("type") == "tool_use":
                yield from _called(teller, text(part, "name"), fields(part, "input"))
    yield from teller.ended()


def _called(teller: Teller, name: str, given: Fields) -> Iterator[PastEvent]:
    teller.works()
    path = text(given, "path", "file_path", "target_file")
    if name in _READS:
        yield from teller.viewed(path, count_in(given, "offset"), count_in(given, "limit"))
    elif name in _WRITES:
        yield from teller.wrote(path)
    elif name in _EDITS:
        yield from teller.edited(path)
    elif command := text(given, "command"):
        # How it ended is not told: only what ran for sure counts.
        yield from teller.ran(command, text(given, "working_directory"), ending=Ending.FAILED)


def _plain(name: str) -> str:
    return _NOT_PLAIN.sub("-", name).strip("-")


def _spelt_so(slug: str, root: Path) -> str | None:
    """The folder that is there whose path is so spelt, each other sign as `-`; one alone."""
    found: list[Path] = []
    left, looked = [(root, slug)], 0
    while left and looked < _MOST_FOLDERS:
        folder, rest = left.pop()
        looked += 1
        try:
            inner = [one for one in folder.iterdir() if one.is_dir() and not one.is_symlink()]
        except OSError:
            continue
        for one in inner:
            name = _plain(one.name)
            if name and rest == name:
                found.append(one)
            elif name and rest.startswith(f"{name}-"):
                left.append((one, rest[len(name) + 1 :]))
    return str(found[0]) if len(found) == 1 else None
