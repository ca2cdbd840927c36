"""What the readers share: safe reading of a log, and telling a session as live hooks tell it.

A reader makes no events of its own: it tells what Claude Code's hooks would have sent, names,
ranges and commands, and what was asked and concluded. So the server hears of a past session what it
hears of a live one, by the same door and the same rules.
"""

import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import IO

from live_memory.client.hook import LARGEST_PAYLOAD, LONGEST_COMMAND, conclusion
from live_memory.core.hosts.events import Ending, as_absolute, joined, shortened
from live_memory.core.hosts.notices import LONGEST_CONCLUSION, LONGEST_TASK

__all__ = [
    "LONGEST_LINE",
    "Fields",
    "Found",
    "LeftOut",
    "LogLines",
    "PastEvent",
    "PastKind",
    "SessionLog",
    "Teller",
    "Unread",
    "checked_file",
    "fields",
    "hunks",
    "log_files",
    "object_in",
    "rows",
    "small_text",
    "text",
    "texts_in",
]

Fields = Mapping[str, object]

LONGEST_LINE = LARGEST_PAYLOAD
_MOST_HUNKS = 64
_HEAD = 512
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.MULTILINE)


class PastKind(StrEnum):
    """What an event is, as it is counted."""

    QUESTION = "questions"
    CONCLUSION = "conclusions"
    LOOK = "looks"
    EDIT = "edits"
    COMMAND = "commands"


@dataclass(frozen=True, slots=True)
class PastEvent:
    """What happened in a session that began in `folder`, as a payload of a hook.

    `about` is the file, command or text it is about, and `end` where in its log all of it was
    told. Of conclusions only those that cite a place are worth sending.
    """

    kind: PastKind
    folder: str
    payload: Fields
    about: str
    end: int

    @property
    def cites(self) -> bool:
        """Whether its text names a place, as the hooks see it."""
        return bool(conclusion(self.about))


class LogLines:
    """The records of one log, each with the offset behind it; what is none is counted."""

    def __init__(self, stream: IO[bytes], unread: "Unread") -> None:
        """Take a stream of JSON objects, one a line; it stays open."""
        self._stream = stream
        self._unread = unread
        self.end = 0

    def __iter__(self) -> Iterator[tuple[int, Fields]]:
        """Read on; a line that is too long, no object, or cut costs that line."""
        while line := self._stream.readline(LONGEST_LINE):
            is_whole = line.endswith(b"\n")
            size = len(line)
            if not is_whole and size == LONGEST_LINE:
                while not is_whole and (rest := self._stream.readline(1 << 20)):
                    size, is_whole = size + len(rest), rest.endswith(b"\n")
                record = None
            else:
                record = object_in(line)
            if record is None and not is_whole:
                return  # the host writes it just now
            self.end += size
            if record is not None:
                yield self.end, record
            elif line.strip() and self.end > self._unread.after:
                self._unread.lines += 1


def object_in(line: bytes | str) -> Fields | None:
    """A JSON object; nothing for anything else."""
    try:
        # Of bytes, it is found out anew each time which encoding they have.
        value: object = json.loads(line if isinstance(line, str) else line.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


@dataclass(slots=True)
class Unread:
    """How many lines of a log are no record, of those that end after so far."""

    after: int
    lines: int = 0


@dataclass(frozen=True, slots=True)
class SessionLog:
    """A session, or one helper's part of it, as a host keeps it.

    `identity` stays while the log grows, wherever it is moved; `size` is how far it goes now.
    `open` gives its events from the beginning and fills in what could not be read; an `OSError`
    says why nothing more can.
    """

    host: str
    name: str
    identity: str
    changed_at: float
    size: int
    open: Callable[[Unread], Iterator[PastEvent]]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A log that is not opened, and why."""

    name: str
    why: str


Found = Iterator[SessionLog | LeftOut]


def log_files(
    host: str,
    folder: Path,
    ending: str,
    read: Callable[[LogLines, Path], Iterator[PastEvent]],
    *,
    since: float,
    unpacked: Callable[[IO[bytes]], AbstractContextManager[IO[bytes]]] = nullcontext,
) -> Found:
    """Files so named that were changed since then, below a folder; no link below it is followed.

    What `read` reads is what `unpacked` makes of the file.
    """
    for where, _, names in os.walk(folder):
        for path in (Path(where, name) for name in names if name.endswith(ending)):
            try:
                if path.lstat().st_mtime < since:
                    continue
                with _opened(path) as file:
                    state, head = os.fstat(file.fileno()), file.readline(_HEAD)
            except OSError as problem:
                yield LeftOut(str(path), problem.strerror or str(problem))
                continue

            def events(unread: Unread, path: Path = path) -> Iterator[PastEvent]:
                with _opened(path) as file, unpacked(file) as stream:
                    yield from read(LogLines(stream, unread), path)

            # The number of the file system may be another one after each start of the machine.
            identity = f"{state.st_ino}:{zlib.crc32(head)}"
            yield SessionLog(host, str(path), identity, state.st_mtime, state.st_size, events)


def _opened(path: Path) -> IO[bytes]:
    """A regular file of ours, open.

    Raises:
        OSError: it is something else.
    """
    file = os.fdopen(os.open(path, _OPEN), "rb")
    state = os.fstat(file.fileno())
    if stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid():
        return file
    file.close()
    raise OSError("no file of yours")


def checked_file(path: Path) -> None:
    """Make sure that a file is one of ours, for a library that opens it by its name.

    Raises:
        OSError: it is not.
    """
    _opened(path).close()


def small_text(path: Path) -> str:
    """The text of a small file of ours; nothing of any other."""
    with suppress(OSError, ValueError), _opened(path) as file:
        return file.read(LONGEST_LINE).decode()
    return ""


class Teller:
    """Tells one session as hooks would have: what an agent says is told when its turn ends.

    That is when it is asked again, or where the log ends; what stands before a tool's call is no
    conclusion. A helper's work is told as the result of the tool that began it.
    """

    def __init__(
        self, log: Path, *, folder: object = None, session: str = "", agent: str = ""
    ) -> None:
        """What the log says later of folder and names takes the place of what is said here."""
        self._log = str(log)
        self.folder: str | None = None
        self.cwd: str | None = None
        self.session, self.agent = session, agent
        self._at: str | None = None
        self._end = 0
        self._task = ""
        self._said: tuple[str, str | None, int] | None = None
        self.go_to(folder)

    def come_to(self, end: int, at: object = None) -> None:
        """The next record: where it ends, and when it was written, in text or milliseconds."""
        self._end = end
        if isinstance(at, str):
            self._at = at[:40]
        elif isinstance(at, int | float) and not isinstance(at, bool) and 0 < at < 1e14:
            self._at = datetime.fromtimestamp(at / 1000, UTC).isoformat()

    def go_to(self, folder: object) -> None:
        """The agent is in a folder now; the first one is the session's."""
        where = as_absolute(folder) if isinstance(folder, str) and folder != self.cwd else None
        if where is not None:
            self.folder, self.cwd = self.folder or where, where

    def asked(self, words: str) -> Iterator[PastEvent]:
        """The agent is asked to do something, which ends what it did before."""
        yield from self.ended()
        self._task = shortened(words, LONGEST_TASK)
        if not self.agent and self._task:
            payload = {"hook_event_name": "UserPromptSubmit", "prompt": self._task}
            yield from self._told(PastKind.QUESTION, self._task, payload)

    def says(self, words: str, *, goes_on: bool = False) -> None:
        """The agent says something; `goes_on` adds it to what it said before."""
        if words:
            before = f"{self._said[0]}\n" if goes_on and self._said else ""
            whole = shortened(before + words, LONGEST_CONCLUSION)
            self._said = (whole, self._at, self._end)

    def ended(self) -> Iterator[PastEvent]:
        """The agent's turn ends, with the last that it said."""
        if self._said is None:
            return
        (said, at, end), self._said = self._said, None
        payload: Fields = {
            "hook_event_name": "Stop",
            "prompt": self._task,
            "last_assistant_message": said,
        }
        if self.agent:
            payload = _result(self.agent, self._task, said)
        payload = {**payload, "timestamp": at}
        yield from self._told(PastKind.CONCLUSION, said, payload, end=end)

    def helped(self, agent: str, task: str, said: str) -> Iterator[PastEvent]:
        """A helper's result came back."""
        task, said = shortened(task, LONGEST_TASK), shortened(said, LONGEST_CONCLUSION)
        yield from self._told(PastKind.CONCLUSION, said, _result(agent, task, said))

    def works(self) -> None:
        """A tool is called: what was said before is no conclusion."""
        self._said = None

    def viewed(self, path: str | None, first: int | None, lines: int | None) -> Iterator[PastEvent]:
        """Lines of a file were shown, or all of it."""
        yield from self._used(PastKind.LOOK, "Read", path, {"offset": first, "limit": lines})

    def wrote(self, path: str | None) -> Iterator[PastEvent]:
        """A whole file was written."""
        yield from self._used(PastKind.EDIT, "Write", path, {})

    def edited(
        self, path: str | None, regions: Iterator[tuple[int, int]] | Sequence[tuple[int, int]] = ()
    ) -> Iterator[PastEvent]:
        """A file was changed; regions are first lines and how many lines are new."""
        patch = [{"newStart": a, "newLines": n} for a, n in islice(regions, _MOST_HUNKS)]
        yield from self._used(PastKind.EDIT, "Edit", path, {}, {"structuredPatch": patch})

    def ran(
        self, command: str, cwd: str | None = None, *, ending: Ending = Ending.SUCCEEDED
    ) -> Iterator[PastEvent]:
        """A shell command ran, in the folder where the agent is unless another is named."""
        self.works()
        name = "PostToolUse" if ending is Ending.SUCCEEDED else "PostToolUseFailure"
        command = command[: LONGEST_COMMAND + 1]  # one more, so that the server sees it was cut
        payload = {
            "hook_event_name": name,
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "is_interrupt": ending is Ending.INTERRUPTED,
            "cwd": joined(self.cwd, cwd) if cwd else self.cwd,
        }
        yield from self._told(PastKind.COMMAND, command, payload)

    def _used(
        self,
        kind: PastKind,
        tool: str,
        path: str | None,
        given: Fields,
        response: Fields | None = None,
    ) -> Iterator[PastEvent]:
        self.works()
        file = joined(self.cwd, path) if path else None
        if file is not None:
            payload = {
                "hook_event_name": "PostToolUse",
                "tool_name": tool,
                "tool_input": {"file_path": file, **given},
                "tool_response": response or {},
            }
            yield from self._told(kind, file, payload)

    def _told(
        self, kind: PastKind, about: str, payload: Fields, *, end: int | None = None
    ) -> Iterator[PastEvent]:
        if self.folder is not None:
            usual = {
                "session_id": self.session,
                "cwd": self.cwd,
                "transcript_path": self._log,
                "timestamp": self._at,
            }
            end = self._end if end is None else end
            yield PastEvent(kind, self.folder, {**usual, **payload}, about, end)


def _result(agent: str, task: str, said: str) -> Fields:
    """What a helper was asked and came to, as the tool that began it tells both."""
    return {
        "hook_event_name": "PostToolUse",
        "tool_name": "Agent",
        "tool_input": {"prompt": task},
        "tool_response": {"agentId": agent, "content": [{"type": "text", "text": said}]},
    }


def hunks(diff: object) -> Iterator[tuple[int, int]]:
    """First line and number of lines of what each hunk of a unified diff leaves."""
    for found in _HUNK.finditer(diff if isinstance(diff, str) else ""):
        yield int(found[1]), int(found[2] or 1)


def fields(of: Fields, name: str) -> Fields:
    """An object in a record; an empty one for anything else."""
    value = of.get(name)
    return value if isinstance(value, dict) else {}


def rows(of: Fields, name: str) -> Sequence[Fields]:
    """The objects of a list in a record."""
    value = of.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(of: Fields, *names: str) -> str:
    """The first text by one of these names in a record; none is ""."""
    for name in names:
        value = of.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def texts_in(content: object) -> str:
    """What a message says: a text, or a list of parts with texts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(filter(None, (text(one, "text") for one in parts if isinstance(one, dict))))
