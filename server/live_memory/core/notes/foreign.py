"""Memories of other tools as records of ours: what their documented exports hold, and no more.

Each comes with where it stands in its file, so that what is refused can be named.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from live_memory.core.errors import InvalidRequest
from live_memory.core.memory.notebook import NoteCategory

__all__ = ["EXPORTED", "FoundRecord", "memories_in", "sections_of"]

Form = Mapping[str, object]

# The first line of each page that an export writes: such a page is not taken in again.
EXPORTED = "<!-- written by live-memory export: what is changed here is not read back -->"


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A record, or why there is none, and where it stands."""

    where: str
    form: Form | None
    problem: str = ""


# Keys of a whole export that hold the list, keys of a memory that hold its text, and what its
# state must not be.
_LISTS = ("results", "memories", "items")
_TEXTS = ("memory", "content", "text")
_NOT_ACTIVE = frozenset({"deleted", "archived", "paused"})
_CATEGORIES = {category.value: category for category in NoteCategory}


def memories_in(value: object) -> Iterator[FoundRecord]:
    """What a JSON export of mem0 (`results`) or OpenMemory (`memories`) holds, or their bare list.

    Raises:
        InvalidRequest: it is neither.
    """
    found = value
    if isinstance(value, dict):
        found = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if not isinstance(found, list):
        raise InvalidRequest(
            "the file is no export that is known: ours (JSONL), mem0's (results) or OpenMemory's "
            "(memories)"
        )
    for number, one in enumerate(found, 1):
        where = f"memory {number}"
        if not isinstance(one, dict):
            yield FoundRecord(where, None, "it is no JSON object")
            continue
        text = next((one[key] for key in _TEXTS if isinstance(one.get(key), str)), None)
        state = str(one.get("state", "active"))
        if text is None:
            yield FoundRecord(where, None, "it has no text")
        elif state in _NOT_ACTIVE:
            yield FoundRecord(where, None, f"it is {state} there")
        else:
            yield FoundRecord(where, _memory(one, text))


def _memory(one: Form, text: str) -> Form:
    named = [str(each) for each in _list(one.get("categories")) if isinstance(each, str | int)]
    metadata = one.get("metadata", one.get("metadata_"))
    told = metadata.get("category") if isinstance(metadata, dict) else None
    words = [word.strip().lower() for word in (*named, str(told or "")) if word.strip()]
    category = next((_CATEGORIES[word] for word in words if word in _CATEGORIES), None)
    agent = one.get("agent_id")
    by = agent or one.get("user_id") or one.get("app_name") or ""
    host = "openmemory" if "content" in one else "mem0"
    tags = [name[:64] for name in dict.fromkeys(words) if name != category]
    form: dict[str, object] = {
        "kind": "note",
        "text": text,
        "category": (category or NoteCategory.OBSERVATION).value,
        "writer": {"author": "agent" if agent else "person", "name": str(by)[:200], "host": host},
        "tags": tags[:16],
    }
    at = _time(one.get("created_at"))
    return form | ({} if at is None else {"told_at": at})


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _time(value: object) -> float | None:
    """Seconds since 1970 of an ISO time or a number of seconds; nothing where it is neither."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


# What a file of a memory bank is about, by its name in small letters alone.
_FILES: Mapping[str, NoteCategory] = {
    **dict.fromkeys(("decisions", "decisionlog", "adr"), NoteCategory.DECISION),
    **dict.fromkeys(("activecontext", "progress", "changelog"), NoteCategory.PROGRESS),
    **dict.fromkeys(("open", "todo", "todos", "tasks", "nextsteps"), NoteCategory.TODO),
    **dict.fromkeys(("issues", "bugs", "knownissues"), NoteCategory.ISSUE),
    **dict.fromkeys(("questions", "openquestions"), NoteCategory.QUESTION),
    **dict.fromkeys(("preferences", "conventions", "rules"), NoteCategory.PREFERENCE),
    **dict.fromkeys(
        ("projectbrief", "brief", "productcontext", "techcontext"), NoteCategory.INSIGHT
    ),
    **dict.fromkeys(("systempatterns", "architecture", "patterns"), NoteCategory.INSIGHT),
}
_HEADING = re.compile(r"#{1,6}[ \t]")
_BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")


@dataclass(slots=True)
class _Part:
    """Lines that become one note: a bullet with what is below it, or the rest of a section."""

    line: int
    heading: str
    lines: list[str]
    mark: str | None = None
    is_bullet: bool = False


def sections_of(name: str, text: str, *, written_at: float) -> Iterator[FoundRecord]:
    """What a Markdown file of a memory bank holds: a note for each bullet, and for each section.

    `name` is the file's; `written_at` is when it was written last.
    """
    stem = re.sub(r"[^a-z]", "", name.rpartition("/")[2].rpartition(".")[0].lower())
    usual = _FILES.get(stem, NoteCategory.OBSERVATION)
    for part in _parts(_without_comments(text).split("\n")):
        body = "\n".join(part.lines).strip()
        if not body:
            continue
        category = usual
        if part.mark is not None:
            category = NoteCategory.TODO if part.mark == " " else NoteCategory.PROGRESS
        between = ": " if part.is_bullet else "\n\n"
        form: Form = {
            "kind": "note",
            "text": f"{part.heading}{between}{body}" if part.heading else body,
            "category": category.value,
            "writer": {"author": "person", "host": "memory bank"},
            "told_at": written_at,
        }
        yield FoundRecord(f"{name}:{part.line}", form)


def _without_comments(text: str) -> str:
    """Without comments and front matter; every line keeps its number."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    before, *comments = lines.split("<!--")
    kept = [before]
    for one in comments:
        comment, end, after = one.partition("-->")
        kept.append("\n" * comment.count("\n") + after if end else f"<!--{one}")
    lines = "".join(kept)
    if not lines.startswith("---\n") or "\n---\n" not in lines:
        return lines
    front, _, rest = lines.partition("\n---\n")
    return "\n" * (front.count("\n") + 2) + rest


def _parts(lines: Sequence[str]) -> Iterator[_Part]:
    part, fence, heading = _Part(1, "", []), "", ""
    for number, line in enumerate(lines, 1):
        opened = _FENCE.match(line)
        if opened and (not fence or opened[1].startswith(fence)):
            fence = "" if fence else opened[1]
        found = None if fence or opened else _HEADING.match(line)
        bullet = None if fence or opened else _BULLET.fullmatch(line)
        if found:
            yield part
            heading = line.strip("# \t")
            part = _Part(number, heading, [])
        elif bullet:
            yield part
            part = _Part(number, heading, [bullet[2]], bullet[1], is_bullet=True)
        elif part.is_bullet and line and not line[0].isspace():
            yield part
            part = _Part(number, heading, [line])
        else:
            part.lines.append(line[2:] if part.is_bullet and line.startswith("  ") else line)
    yield part
