"""Notes, handoffs and facts as pages of Markdown, by templates; the same memory, the same bytes.

A line `{{ notes decision todo }}`, `{{ notes pinned }}`, `{{ handoffs }}` or `{{ facts }}` of a
template is replaced by what there is. No text that is shown can begin a heading, a list of its
own, a table, front matter or a link: its marks are escaped.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from live_memory.core.errors import InvalidRequest
from live_memory.core.memory.notebook import NoteCategory
from live_memory.core.notes.foreign import EXPORTED
from live_memory.core.reading.observation import clean, visible

__all__ = ["page_of"]

Form = Mapping[str, object]

_CATEGORIES = frozenset(NoteCategory)
# What means something wherever it stands, and what only where a line begins.
_INLINE = re.compile(r"[\\<\[\]&]")
_AT_START = re.compile(r"[#>|:+*=_~`!-]")
_NUMBERED = re.compile(r"(\d{1,9})([.)])")
_BACKTICKS = re.compile(r"`+")
_NOTHING = "Nothing yet."
_BY = {
    "agent": "the agent",
    "subagent": "a sub-agent",
    "companion": "the companion",
    "person": "a person",
    "summary": "a summary",
}


def page_of(name: str, template: str, records: Sequence[Form]) -> str:
    """The page that a template makes of records as they are exported.

    Raises:
        InvalidRequest: a directive of the template is none that is known; says where.
    """
    lines = [EXPORTED]
    for number, line in enumerate(template.rstrip("\n").split("\n"), 1):
        directive = line.strip()
        if not directive.startswith("{{") or not directive.endswith("}}"):
            lines.append(line.rstrip())
            continue
        try:
            shown = list(_shown(directive.strip("{}").split(), records))
        except InvalidRequest as problem:
            raise InvalidRequest(f"{name}:{number}: {problem}") from None
        lines += shown or [_NOTHING]
    return "\n".join(lines) + "\n"


def _shown(words: Sequence[str], records: Sequence[Form]) -> Iterator[str]:
    what, wanted = (words[0] if words else ""), frozenset(words[1:])
    if what == "notes" and wanted <= _CATEGORIES | {"pinned"}:
        for one in records:
            if one["kind"] == "note" and _is_wanted(one, wanted):
                yield from _note(one)
    elif what == "handoffs" and not wanted:
        for one in records:
            if one["kind"] == "handoff":
                yield from _handoff(one)
    elif what == "facts" and not wanted:
        for one in records:
            if one["kind"] == "fact":
                yield from _item(str(one["text"]))
                yield f"  - {_BY[str(one['author'])]}, {_day(one['at'])}"
                yield from _places(one)
    else:
        raise InvalidRequest(
            "a directive must be `notes` with categories or `pinned`, `handoffs` or `facts`"
        )


def _is_wanted(note: Form, wanted: Collection[str]) -> bool:
    categories = frozenset(wanted) - {"pinned"} or _CATEGORIES
    return note["category"] in categories and (bool(note["pinned"]) or "pinned" not in wanted)


def _note(note: Form) -> Iterator[str]:
    yield from _item(str(note["text"]))
    about = [f"{note['category']} by {_writer(note['writer'])}", _day(note["told_at"])]
    about += ["pinned"] if note["pinned"] else []
    about += [f"until {_day(note['expires_at'])}"] if note["expires_at"] is not None else []
    tags = note["tags"]
    about += [f"tagged {', '.join(map(_inline, tags))}"] if isinstance(tags, list) and tags else []
    yield f"  - {', '.join(about)}"
    yield from _places(note)


def _handoff(one: Form) -> Iterator[str]:
    yield from _item(str(one["summary"]))
    to = f" for {_inline(one['to_agent'])}" if one["to_agent"] else ""
    yield f"  - left by {_writer(one['writer'])}{to}, {_day(one['left_at'])}"
    for key, says in (("next_steps", "next"), ("open_questions", "open"), ("files", "see")):
        parts = one[key]
        for part in parts if isinstance(parts, list) else ():
            shown = _code(str(part)) if key == "files" else _inline(part)
            yield f"  - {says}: {shown}"


def _item(text: str) -> Iterator[str]:
    """A text as an item of a list; each of its lines stays one."""
    lines = [_line(line) for line in visible(clean(text)).strip().split("\n")]
    for n, line in enumerate(lines):
        goes_on = line and n + 1 < len(lines) and lines[n + 1]
        shown = f"{line}\\" if goes_on else line
        yield f"- {shown}" if n == 0 else f"  {shown}".rstrip()


def _line(text: str) -> str:
    """One line as text: none of its marks means anything."""
    escaped = _INLINE.sub(r"\\\g<0>", " ".join(text.split()))
    if _AT_START.match(escaped):
        return f"\\{escaped}"
    return _NUMBERED.sub(r"\1\\\2", escaped, count=1) if _NUMBERED.match(escaped) else escaped


def _inline(text: object) -> str:
    return _line(visible(clean(str(text))))


def _places(one: Form) -> Iterator[str]:
    sources = one["sources"]
    for source in sources if isinstance(sources, list) else ():
        start, end = source["start"], source["end"]
        lines = f"{start}" if start == end else f"{start}-{end}"
        place = f"{source['path']}:{lines}"
        yield f"  - at {_code(place)}"


def _code(text: str) -> str:
    """A name as code, whatever it is made of."""
    plain = " ".join(visible(clean(text)).split())
    fence = "`" * (1 + max(map(len, _BACKTICKS.findall(plain)), default=0))
    return f"{fence} {plain} {fence}" if len(fence) > 1 else f"{fence}{plain}{fence}"


def _writer(writer: object) -> str:
    assert isinstance(writer, dict)
    names = [_inline(writer[key]) for key in ("name", "host") if writer[key]]
    by = _BY[writer["author"]]
    return f"{by} ({', '.join(names)})" if names else by


def _day(at: object) -> str:
    return f"{datetime.fromtimestamp(float(str(at)), UTC):%Y-%m-%d}"
