"""A host's payloads by two tables: what each of its events says, and what each of its tools did.

What is unknown, of another type or missing gives no event: a newer host must not break us, and
junk tells nothing. The hook has brought the words of agents and the lines of edits to one form
(`client/hook.py`); hosts differ in the names of events, tools and paths.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from live_memory.core.hosts.events import (
    AgentConcluded,
    CommandRan,
    Ending,
    FileEdited,
    FileTouched,
    FileViewed,
    FileWritten,
    HostEvent,
    HostReport,
    LineSlice,
    SessionBegan,
    SessionEnded,
    TaskGiven,
    count_in,
    joined,
)
from live_memory.core.values import Author, Instant

__all__ = [
    "MappedDialect",
    "Reader",
    "Told",
    "asked",
    "began",
    "concluded",
    "edited",
    "edited_each",
    "ended",
    "helped",
    "nothing",
    "patched",
    "ran",
    "ran_elsewhere",
    "touched",
    "viewed",
    "written",
]

Fields = Mapping[str, object]

# Where hosts put the same thing.
_EVENTS, _SESSIONS = ("hook_event_name", "hookEventName"), ("session_id", "conversation_id")
_PATHS = ("file_path", "filePath", "notebook_path", "path")
_FOLDERS = ("dir_path", "workdir", "working_directory")
_FIRST, _LAST = ("start_line", "startLine"), ("end_line", "endLine")
# A hunk of an edit: more of them are a rewrite.
_MOST_REGIONS = 32
_MOST_FOLDERS = 8
# Claude Code tells a session by a prompt of its own that a helper in the background ended.
_NO_PROMPT = "<task-notification>"


@dataclass(frozen=True, slots=True)
class Told:
    """One payload, with what a reader asks of it."""

    payload: Fields

    @property
    def name(self) -> str:
        return _text(self.payload, *_EVENTS) or ""

    @property
    def session(self) -> str:
        return _text(self.payload, *_SESSIONS, "sessionId") or ""

    @property
    def cwd(self) -> str | None:
        """The folder that the payload names, or the first of a window with several."""
        return _text(self.payload, "cwd") or next(iter(self.folders), None)

    @property
    def folders(self) -> tuple[str, ...]:
        """The projects of a window that may have several."""
        roots = self.payload.get("workspace_roots")
        some = roots[:_MOST_FOLDERS] if isinstance(roots, list) else []
        return tuple(root for root in some if isinstance(root, str))

    @property
    def tool(self) -> str:
        return _text(self.payload, "tool_name") or ""

    @property
    def given(self) -> Fields:
        """What the tool was asked; events that are about one thing hold it themselves."""
        return _fields(self.payload, "tool_input") if self.tool else self.payload

    @property
    def response(self) -> Fields:
        return _fields(self.payload, "tool_response")

    @property
    def path(self) -> str | None:
        return self.path_in(self.given)

    def path_in(self, fields: Fields) -> str | None:
        """The file that some fields name."""
        name = _text(fields, *_PATHS)
        return joined(self.cwd, name) if name else None


Reader = Callable[[Told], Iterator[HostEvent]]


class MappedDialect:
    """Knows the payloads of one host."""

    def __init__(
        self,
        events: Mapping[str, Reader],
        *,
        after_tool: str,
        after_failure: str = "",
        tools: Mapping[str, Reader],
    ) -> None:
        """`after_tool` is the event of a tool that ended, `after_failure` of a shell that failed.

        Other tools that failed did nothing.
        """
        self._events = events
        self._tools = tools
        self._after_tool, self._after_failure = after_tool, after_failure

    def parse(self, payload: Fields) -> HostReport:
        """What one payload says; nothing is raised, whatever it holds."""
        told = Told(payload)
        # Its records quote us, and large outputs of tools lie beside them.
        transcript = joined(None, _text(payload, "transcript_path") or "") or ""
        events, is_understood = self._read(told)
        return HostReport(
            told.cwd,
            events,
            transcript.rpartition("/")[0] or None,
            is_understood,
            _call_of(told),
            told.session,
            _text(payload, "host") or "claude_code",
            # What a hook sends is told as it happens, and has no time.
            is_past="timestamp" in payload,
            folders=told.folders,
        )

    def _read(self, told: Told) -> tuple[tuple[HostEvent, ...], bool]:
        if told.name == self._after_tool:
            reader = self._tools.get(told.tool)
            if reader is None:
                return tuple(touched(told)), False
            # What a tool that failed was asked to do was not done.
            if _fields(told.response, "error"):
                return (), True
            events = tuple(reader(told))
            is_told = bool(events) and reader is not ran_elsewhere
            return events, is_told or reader is nothing
        if told.name and told.name == self._after_failure:
            reader = self._tools.get(told.tool)
            # It may have shown and changed files before.
            return tuple(reader(told)) if reader in (ran, ran_elsewhere) else (), True
        reader = self._events.get(told.name, nothing)
        return tuple(reader(told)), told.name in self._events


# What an event may say.


def nothing(_told: Told) -> Iterator[HostEvent]:
    """It is known, and tells of no file."""
    return iter(())


def began(told: Told) -> Iterator[HostEvent]:
    """A session began."""
    yield SessionBegan(told.session)


def ended(told: Told) -> Iterator[HostEvent]:
    """A session ended."""
    yield SessionEnded(told.session)


def asked(told: Told) -> Iterator[HostEvent]:
    """An agent was given a task."""
    prompt = _text(told.payload, "prompt")
    if prompt and not prompt.startswith(_NO_PROMPT):
        yield TaskGiven(told.session, _text(told.payload, "agent_id") or "", prompt)


def concluded(told: Told) -> Iterator[HostEvent]:
    """An agent ended: with a type it is a helper."""
    said, kind = _text(told.payload, "last_assistant_message"), _text(told.payload, "agent_type")
    agent = _text(told.payload, "agent_id") or ""
    author = Author.SUBAGENT if kind else Author.AGENT
    # What the client does for itself is no agent's work, and has no type.
    if said and (kind or told.name != "SubagentStop"):
        # A past session is told with both at once.
        if not kind:
            yield from asked(told)
        yield AgentConcluded(told.session, agent, said, author, _at(told))


# What a tool may have done.


def viewed(told: Told, most: int | None = None) -> Iterator[HostEvent]:
    """The agent saw a file, or its first `most` lines where it named none."""
    if told.path:
        cut = _lines_seen(told.given, told.response)
        if cut is None and most is not None:
            cut = LineSlice(0, most)
        yield FileViewed(told.path, () if cut is None else (cut,))


def written(told: Told) -> Iterator[HostEvent]:
    """The agent wrote a whole file."""
    if told.path:
        yield FileWritten(told.path)


def edited(told: Told) -> Iterator[HostEvent]:
    """The agent changed a file."""
    if told.path:
        yield FileEdited(told.path, tuple(_regions(told.response)))


def edited_each(told: Told) -> Iterator[HostEvent]:
    """The agent changed several files at once."""
    for one in _several(told.given, "replacements"):
        path = told.path_in(one)
        if path:
            yield FileEdited(path)


def patched(told: Told) -> Iterator[HostEvent]:
    """The agent added, changed, moved and removed files."""
    for one in _several(told.given, "files"):
        path = told.path_in(one)
        match one.get("change"):
            case "add" if path:
                yield FileWritten(path)
            case "update" if path:
                yield FileEdited(path, tuple(_regions(one)))
            case "delete" if path:
                yield FileTouched(path)


def touched(told: Told) -> Iterator[HostEvent]:
    """A tool whose doings we cannot tell may have changed the file that it names."""
    if told.path:
        yield FileTouched(told.path)


def ran(told: Told) -> Iterator[HostEvent]:
    """The agent ran a command."""
    command, folder = _text(told.given, "command"), _folder_of(told)
    if command and folder:
        yield CommandRan(command, folder, _ending(told))


def ran_elsewhere(told: Told) -> Iterator[HostEvent]:
    """In another language: what it showed is not told, and it may have changed anything."""
    command, folder = _text(told.given, "command"), _folder_of(told)
    if command and folder:
        yield CommandRan(f"{told.tool.lower()} {command}", folder, Ending.INTERRUPTED)


def helped(told: Told) -> Iterator[HostEvent]:
    """A sub-agent's task, and its result unless it goes on in the background."""
    agent, task = _text(told.response, "agentId") or "", _text(told.given, "prompt")
    texts = [_text(part, "text") for part in _several(told.response, "content")]
    # Without a name it would be taken for the session's own.
    if task and agent:
        yield TaskGiven(told.session, agent, task)
    if any(texts):
        text = "\n".join(filter(None, texts))
        yield AgentConcluded(told.session, agent, text, Author.SUBAGENT, _at(told))


# What fields say.


def _at(told: Told) -> Instant | None:
    """When it was said, where that is told with its time zone."""
    try:
        at = datetime.fromisoformat(_text(told.payload, "timestamp") or "")
    except ValueError:
        return None
    return Instant(at.timestamp()) if at.tzinfo and at.timestamp() > 0 else None


def _call_of(told: Told) -> str | None:
    call = _text(told.payload, "tool_use_id")
    return f"{told.session}/{call}" if told.session and call else None


def _folder_of(told: Told) -> str | None:
    return joined(told.cwd, _text(told.given, *_FOLDERS) or ".")


def _ending(told: Told) -> Ending:
    if told.response.get("interrupted") is True or told.payload.get("is_interrupt") is True:
        return Ending.INTERRUPTED
    failed = told.name.endswith("Failure") or count_in(told.response, "exit")
    return Ending.FAILED if failed else Ending.SUCCEEDED


def _lines_seen(given: Fields, response: Fields) -> LineSlice | None:
    """The lines that were shown: as the host counted them, else as it was asked for."""
    file = _fields(response, "file")
    first, count = count_in(file, "startLine"), count_in(file, "numLines")
    if first is None or count is None:
        first, count = count_in(given, "offset"), count_in(given, "limit")
    start = max(0, (first or 1) - 1)
    if first is not None or count is not None:
        return LineSlice(start, None if count is None else start + count)
    first, last = count_in(given, *_FIRST), count_in(given, *_LAST)
    if first is None and last is None:
        return None
    return LineSlice(max(0, (first or 1) - 1), last)


def _regions(response: Fields) -> Iterator[tuple[int, int]]:
    hunks = _several(response, "structuredPatch")
    if len(hunks) > _MOST_REGIONS:
        return
    for hunk in hunks:
        first, count = count_in(hunk, "newStart"), count_in(hunk, "newLines")
        if first and count:
            yield first, first + count - 1


def _several(of: Fields, name: str) -> Sequence[Fields]:
    value = of.get(name)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _fields(of: Fields, name: str) -> Fields:
    value = of.get(name)
    return value if isinstance(value, Mapping) else {}


def _text(of: Fields, *names: str) -> str | None:
    """The first of some fields that is a text."""
    values = (of.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value), None)
