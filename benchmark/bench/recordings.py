"""Recorded sessions: where they are, what happened in them, and what the client sent for it."""

from collections.abc import Mapping
from pathlib import Path

from bench.talk.payloads import bash_ran, file_edited, file_read, file_written

__all__ = ["COMMIT", "FILES", "REPOSITORY", "events_of", "payload_of"]

Fields = Mapping[str, object]

FILES = ("sequence.jsonl", "parallel.jsonl", "understanding.jsonl")
REPOSITORY, COMMIT = "shofer-dev/shofer", "32cdefc"


def events_of(session: Fields) -> list[Fields]:
    """What happened in a session, in order."""
    events = session["events"]
    return list(events) if isinstance(events, list) else []


def payload_of(tree: Path, session: Fields, event: Fields) -> dict[str, object] | None:
    """The hook payload for an event, where the client sends one."""
    name, path = str(session["session"]), str(event.get("path", ""))
    failed = bool(event.get("error"))
    match event["tool"]:
        case "Read" if not failed and (tree / path).is_file():
            offset, limit = _whole(event.get("offset")), _whole(event.get("limit"))
            return file_read(tree, path, offset=offset, limit=limit, session=name)
        case "Edit" if not failed:
            return file_edited(tree, path, session=name)
        case "Write" if not failed:
            return file_written(tree, path, session=name)
        case "Bash":
            return bash_ran(tree, str(event["command"]), failed=failed, session=name)
        case _:
            return None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
