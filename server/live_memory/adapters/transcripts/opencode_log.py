"""opencode's sessions, which lie in one SQLite database that is only read."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import quote

from live_memory.adapters.transcripts.session_log import (
    LONGEST_LINE,
    Fields,
    Found,
    LeftOut,
    PastEvent,
    SessionLog,
    Teller,
    Unread,
    checked_file,
    fields,
    hunks,
    object_in,
    text,
)
from live_memory.core.hosts.events import Ending, count_in

__all__ = ["opencode_logs"]

# A part is written again while its tool runs, so how far a session goes is when that was last.
_SESSIONS = """
    select s.id, s.parent_id, s.directory, max(cast(p.time_updated as integer))
    from session s join part p on p.session_id = s.id
    group by s.id having max(cast(p.time_updated as integer)) >= ?
"""
_PARTS = """
    select m.id, case when length(m.data) <= :most then m.data end,
           case when length(p.data) <= :most then p.data end, cast(p.time_updated as integer)
    from message m join part p on p.message_id = m.id
    where m.session_id = :session order by m.time_created, m.id, p.id
"""
# What was not opened by the program for so long waits for nobody.
_WAIT_S = 2.0


def opencode_logs(home: Path, environ: Mapping[str, str], since: float) -> Found:
    """Every session that changed since then."""
    data = environ.get("XDG_DATA_HOME", "")
    root = Path(data) if data.startswith("/") else home / ".local/share"
    file = root / "opencode/opencode.db"
    try:
        with closing(_open(file)) as database:
            found = database.execute(_SESSIONS, [int(since * 1000)]).fetchall()
    except FileNotFoundError:
        return
    except (OSError, sqlite3.Error) as problem:
        yield LeftOut(str(file), str(problem))
        return
    for session, parent, folder, end in found:
        read = partial(_read, file, session, parent, folder)
        yield SessionLog("opencode", str(file), f"opencode:{session}", end / 1000, end, read)


def _open(file: Path) -> sqlite3.Connection:
    """The database, to be read alone: where nothing waits to be folded in, nothing is made beside.

    Raises:
        OSError: it is no file of ours.
    """
    checked_file(file)
    waiting = file.with_name(f"{file.name}-wal")
    how = "mode=ro" if waiting.exists() and waiting.stat().st_size else "immutable=1"
    database = sqlite3.connect(f"file:{quote(str(file))}?{how}", uri=True, timeout=_WAIT_S)
    database.execute("pragma trusted_schema = off")
    return database


def _read(
    file: Path, session: object, parent: object, folder: object, unread: Unread
) -> Iterator[PastEvent]:
    own = str(session)
    main, agent = (parent, own) if isinstance(parent, str) and parent else (own, "")
    teller = Teller(file, folder=folder, session=main, agent=agent)
    try:
        with closing(_open(file)) as database:
            rows = database.execute(_PARTS, {"session": session, "most": LONGEST_LINE})
            yield from _tell(teller, rows, unread)
    except sqlite3.Error as problem:
        raise OSError(str(problem)) from problem
    yield from teller.ended()


def _tell(teller: Teller, rows: sqlite3.Cursor, unread: Unread) -> Iterator[PastEvent]:
    message, edited = "", set[str]()
    for name, about, data, changed in rows:
        of_message = object_in(about) if isinstance(about, str) else None
        part = object_in(data) if isinstance(data, str) else None
        if of_message is None or part is None:
            unread.lines += changed > unread.after
            continue
        teller.come_to(changed, changed)
        if name != message:
            message = name
            edited.clear()
        is_text = part.get("type") == "text" and part.get("synthetic") is not True
        if of_message.get("role") == "user":
            if is_text:
                yield from teller.asked(text(part, "text"))
        elif is_text:
            teller.says(text(part, "text"))
        else:
            yield from _did(teller, part, edited)


def _did(teller: Teller, part: Fields, edited: set[str]) -> Iterator[PastEvent]:
    state = fields(part, "state")
    if part.get("type") == "patch":
        # What a step left changed, by whatever tool; known better of those that name their file.
        files = part.get("files")
        for path in files if isinstance(files, list) else []:
            if isinstance(path, str) and path not in edited:
                yield from teller.edited(path)
    elif part.get("type") == "tool" and state.get("status") in ("completed", "error"):
        teller.works()
        yield from _called(teller, part, state, edited)


def _called(teller: Teller, part: Fields, state: Fields, edited: set[str]) -> Iterator[PastEvent]:
    given, result = fields(state, "input"), fields(state, "metadata")
    path = text(given, "filePath")
    is_done = state.get("status") == "completed"
    match part.get("tool"):
        case "bash" if command := text(given, "command"):
            code = result.get("exit")
            ending = Ending.SUCCEEDED if code == 0 else Ending.FAILED
            ending = ending if isinstance(code, int) and is_done else Ending.INTERRUPTED
            yield from teller.ran(command, text(given, "workdir"), ending=ending)
        case "read" if is_done:
            shown = fields(result, "display")
            first, last = count_in(shown, "lineStart"), count_in(shown, "lineEnd")
            lines = None if last is None or first is None else max(0, last - first + 1)
            yield from teller.viewed(path, first, lines)
        case "write" if is_done:
            edited.add(path)
            yield from teller.wrote(path)
        case "edit" if is_done:
            edited.add(path)
            yield from teller.edited(path, hunks(result.get("diff")))
        case _:
            pass
