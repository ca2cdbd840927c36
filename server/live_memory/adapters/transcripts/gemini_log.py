"""Gemini's chats: messages that may be written again, changed or taken back, a file a session."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from live_memory.adapters.transcripts.session_log import (
    Fields,
    Found,
    LogLines,
    PastEvent,
    Teller,
    fields,
    log_files,
    object_in,
    rows,
    small_text,
    text,
    texts_in,
)
from live_memory.core.hosts.events import Ending, count_in, shortened
from live_memory.core.hosts.notices import LONGEST_CONCLUSION

__all__ = ["gemini_logs"]

# Messages that can still be changed or taken back; those before are told.
_MOST_HELD = 500


def gemini_logs(home: Path, _environ: Mapping[str, str], since: float) -> Found:
    """Every chat that changed since then."""
    yield from log_files("gemini", home / ".gemini/tmp", ".jsonl", _read, since=since)


@dataclass(frozen=True, slots=True)
class _Message:
    """What is kept of a message until it is told."""

    end: int
    at: object
    is_user: bool
    words: str
    calls: Sequence[Fields] = ()


def _read(lines: LogLines, path: Path) -> Iterator[PastEvent]:
    folder = _folder(path)
    if folder is None:
        raise OSError("the folder of its project is not told")
    teller = Teller(path, folder=folder)
    held: dict[str, _Message] = {}
    for end, line in lines:
        if "$rewindTo" in line:
            _take_back(held, text(line, "$rewindTo"))
        elif "$set" in line:
            for one in rows(fields(line, "$set"), "messages"):
                _hold(held, one, end)
        elif "id" in line:
            _hold(held, line, end)
        elif "sessionId" in line:
            _begin(teller, line, path)
        while len(held) > _MOST_HELD:
            yield from _tell(teller, held.pop(next(iter(held))))
    for message in held.values():
        yield from _tell(teller, message)
    yield from teller.ended()


def _folder(path: Path) -> str | None:
    """The project, which the folder of all its chats names."""
    home = next((p for p in path.parents if p.parent.name == "tmp"), path.parent)
    named = small_text(home / ".project_root").strip()
    known = object_in(small_text(home.parent.parent / "projects.json")) or {}
    slugs = fields(known, "projects").items()
    return named or next((folder for folder, slug in slugs if slug == home.name), None)


def _begin(teller: Teller, line: Fields, path: Path) -> None:
    own = text(line, "sessionId")
    is_helper = line.get("kind") == "subagent"
    teller.session = path.parent.name if is_helper else own
    teller.agent = own if is_helper else ""


def _take_back(held: dict[str, _Message], to: str) -> None:
    """A person went back to before that message; to one that is gone is to before all."""
    names = list(held)
    for name in names[names.index(to) if to in held else 0 :]:
        del held[name]


def _hold(held: dict[str, _Message], line: Fields, end: int) -> None:
    """Keep a message, in the place of what was written of it before."""
    kind = line.get("type")
    if kind not in ("user", "gemini"):
        return
    words = shortened(texts_in(line.get("content")), LONGEST_CONCLUSION)
    calls = [_kept(call) for call in rows(line, "toolCalls")]
    held[text(line, "id")] = _Message(end, line.get("timestamp"), kind == "user", words, calls)


def _kept(call: Fields) -> Fields:
    """A call without what was written or shown."""
    given = {
        name: value
        for name, value in fields(call, "args").items()
        if isinstance(value, int) or (isinstance(value, str) and name in _NAMED)
    }
    return {"name": text(call, "name"), "status": text(call, "status"), "args": given}


_NAMED = ("file_path", "absolute_path", "path", "command", "directory", "dir_path")


def _tell(teller: Teller, message: _Message) -> Iterator[PastEvent]:
    teller.come_to(message.end, message.at)
    # The client's own messages begin with a mark, and a tool's result has no words.
    if message.is_user and message.words and not message.words.lstrip().startswith("<"):
        yield from teller.asked(message.words)
    if message.is_user:
        return
    teller.says(message.words)
    for call in message.calls:
        yield from _called(teller, call)


def _called(teller: Teller, call: Fields) -> Iterator[PastEvent]:
    teller.works()
    given = fields(call, "args")
    path = text(given, "file_path", "absolute_path", "path")
    if call["name"] == "run_shell_command" and call["status"] != "cancelled":
        # That a command succeeded as a call does not say how it ended.
        if command := text(given, "command"):
            folder = text(given, "directory", "dir_path")
            failed = call["status"] != "success"
            ending = Ending.FAILED if failed else Ending.SUCCEEDED
            yield from teller.ran(command, folder, ending=ending)
    elif call["status"] == "success":
        match call["name"]:
            case "read_file":
                first, last = count_in(given, "start_line"), count_in(given, "end_line")
                lines = None if last is None else max(0, last - (first or 1) + 1)
                yield from teller.viewed(path, first, lines)
            case "write_file":
                yield from teller.wrote(path)
            case "replace":
                yield from teller.edited(path)
            case _:
                pass
