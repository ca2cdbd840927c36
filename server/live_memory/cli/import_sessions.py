"""`import`: past sessions of coding tools teach memory, by the same door as live ones.

Logs are read one after the other, oldest first, and what they tell is sent in batches; the server
says when it has learned one. How far a log was taken is noted once all of that was.
"""

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

import click

from live_memory.cli.connection import ProvenServer, get, post
from live_memory.cli.environment import ExitCode, Failure, write_whole
from live_memory.cli.import_notes import bring_notes, page
from live_memory.cli.launcher import ensure_running
from live_memory.cli.main import absolute, data_dir_option, json_option, load_configuration
from live_memory.cli.saying import progress, say, say_json
from live_memory.core.errors import InvalidRequest
from live_memory.core.hosts.events import Ending
from live_memory.core.hosts.notices import read_command
from live_memory.settings import Configuration
from live_memory.wiring.past_sessions import (
    HOSTS,
    LeftOut,
    PastEvent,
    PastKind,
    SessionLog,
    Unread,
    logs_of,
    root_finder,
)

__all__ = ["command"]

Form = Mapping[str, object]

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DAY_S, _START_S = 86_400.0, 30.0


@click.command("import")
@click.argument("source", required=False, metavar="[FILE|FOLDER]")
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    default=30,
    show_default=True,
    help="Only sessions that went on within so many days.",
)
@click.option("--all", "everything", is_flag=True, help="Sessions of any age.")
@click.option(
    "--host",
    "hosts",
    type=click.Choice([*HOSTS]),
    multiple=True,
    help="Only sessions of this tool; may be given more than once.",
)
@click.option(
    "--cwd",
    help="Only sessions of the codebase that this folder belongs to; the one that a file is for.",
)
@click.option(
    "--scope",
    type=click.Choice(["workspace", "user"]),
    default="workspace",
    show_default=True,
    help="Whether the notes of a file are for one codebase or for all.",
)
@click.option("--again", is_flag=True, help="What was imported before, too, as after `empty`.")
@click.option("--dry-run", is_flag=True, help="Count what is there; send and write nothing.")
@data_dir_option("The server's data folder.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    source: str | None,
    days: int,
    everything: bool,
    hosts: Sequence[str],
    cwd: str | None,
    scope: str,
    again: bool,
    dry_run: bool,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Learn from past sessions of coding tools, or take in the notes of a file or folder.

    Of sessions it learns files seen, and what was asked and concluded.
    A file is what `export` wrote, or an export of mem0 or OpenMemory; a folder holds Markdown.

    \b
    Examples:
      live-memory import --dry-run
      live-memory import --host codex --days 90
      live-memory import memory.jsonl
      live-memory import memory-bank/ --dry-run
    """
    configuration = load_configuration({"data_dir": data_dir})
    if source is not None:
        _refuse_beside(context, ("days", "everything", "hosts", "again"), "FILE|FOLDER")
        outcome: Form = bring_notes(
            *(configuration, Path(absolute(source))),
            cwd=absolute(cwd or "."),
            scope=scope,
            dry_run=dry_run,
        )
    else:
        _refuse_beside(context, ("scope",), "past sessions")
        run = _run_of(configuration, cwd=cwd, is_again=again, is_dry=dry_run)
        since = 0.0 if everything else time.time() - days * _DAY_S  # noqa: TID251  (age of files)
        outcome = _learned(run, hosts or [*HOSTS], since=since)
    if as_json:
        say_json(outcome)
    else:
        say(_page(outcome) if source is None else page(outcome))


def _run_of(
    configuration: Configuration, *, cwd: str | None, is_again: bool, is_dry: bool
) -> "_Run":
    """What takes sessions in: all, or those of the codebase that `cwd` belongs to."""
    settings = configuration.settings
    if not settings.passive:
        why = "memory learns nothing by itself while the setting `passive` is off"
        raise Failure(why, code=ExitCode.REFUSED, kind="invalid")
    root_of = root_finder(settings)
    only = None if cwd is None else root_of(absolute(cwd))
    cursor = _Cursor(settings.data_dir / "imported.json", is_used=not is_again)
    server = None if is_dry else ensure_running(configuration, within_s=_START_S)
    return _Run(server, cursor, root_of, only=only, keeps=settings.remember_conclusions)


def _learned(run: "_Run", hosts: Sequence[str], *, since: float) -> Form:
    """What was learned of the sessions of some hosts that were written to since then."""
    found = [*logs_of(hosts, os.environ, since=since)]
    run.left_out.update(one.why for one in found if isinstance(one, LeftOut))
    logs = sorted((o for o in found if isinstance(o, SessionLog)), key=attrgetter("changed_at"))
    with progress() as tell:
        for n, log in enumerate(logs):
            tell(f"{n + 1:,} of {len(logs):,} logs", done=n, total=len(logs))
            run.take(log)
        run.flush()
    return run.outcome()


def _refuse_beside(context: click.Context, names: Sequence[str], what: str) -> None:
    """Refuse options that would mean nothing."""
    given = click.core.ParameterSource.COMMANDLINE
    if any(context.get_parameter_source(name) is given for name in names):
        raise click.UsageError(f"--{', --'.join(names)} mean nothing for {what}")


# What waits in a server is bounded (`flow/ingest`: 4,000 files, 64 conclusions), and one command
# may show fifty files.
_MOST_EVENTS, _MOST_CONCLUSIONS, _MOST_CHARACTERS = 80, 32, 500_000
# A server that is behind says so after 20 s, and one that has no room is asked again.
_MOST_TRIES, _PAUSE_S = 30, 1.0
# Names and texts that are told apart.
_MOST_KNOWN = 50_000


@dataclass(slots=True)
class _Tally:
    """What was found of one workspace; sessions and files count once."""

    sessions: set[int] = field(default_factory=set)
    files: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    before: Form | None = None

    def add(self, event: PastEvent, host: str) -> None:
        """Count an event."""
        self.counts[event.kind] += 1
        self.sessions.add(hash((host, event.payload["session_id"])))
        if event.kind is PastKind.COMMAND:
            has_failed = event.payload["hook_event_name"] != "PostToolUse"
            ending = Ending.FAILED if has_failed else Ending.SUCCEEDED
            views = read_command(event.about, cwd=str(event.payload["cwd"]), ending=ending).views
            self._see(*(view.path for view in views))
        elif event.kind in (PastKind.LOOK, PastKind.EDIT):
            self._see(event.about)
        elif event.kind is PastKind.CONCLUSION:
            self.counts["cited"] += event.cites

    def _see(self, *paths: str) -> None:
        if len(self.files) < _MOST_KNOWN:
            self.files.update(map(hash, paths))


class _Run:
    """One run: what was read so far, and what of it waits to be sent."""

    def __init__(
        self,
        server: ProvenServer | None,
        cursor: "_Cursor",
        root_of: Callable[[str], str],
        *,
        only: str | None,
        keeps: bool,
    ) -> None:
        """Without a server nothing is sent and nothing noted; `keeps` conclusions or does not."""
        self._server = server
        self._cursor = cursor
        self._root_of = root_of
        self._only, self._keeps = only, keeps
        self._tallies: dict[str, _Tally] = {}
        self._waiting: dict[str, list[Form]] = {}
        self._read: list[tuple[SessionLog, int]] = []
        self._events = self._conclusions = self._characters = 0
        self._met: set[int] = set()
        self.left_out, self._gone = Counter[str](), Counter[str]()
        self._lines = 0

    def take(self, log: SessionLog) -> None:
        """Read what is new in a log."""
        after = self._cursor.after(log)
        if after is None:
            return
        unread, end, tally = Unread(after), after, None
        try:
            for event in log.open(unread):
                if tally is None and (tally := self._tally(event.folder)) is None:
                    return  # all of it is of one folder, which is gone or not asked for
                if event.end > after and not self._is_known(event):
                    tally.add(event, log.host)
                    self._put(event)
                end = max(end, event.end)
        except OSError as problem:
            self.left_out[problem.strerror or str(problem)] += 1
            return
        self._lines += unread.lines
        if tally is not None:
            tally.counts["skipped"] += unread.lines
        self._read.append((log, end))

    def _tally(self, folder: str) -> _Tally | None:
        try:
            root = self._root_of(folder)
        except InvalidRequest:
            root = ""
        # No header names a folder with control characters: its live events do not arrive either.
        if not root or _CONTROL.search(folder):
            self._gone[folder] += 1
            return None
        if self._only not in (None, root):
            return None
        tally = self._tallies.setdefault(root, _Tally())
        if tally.before is None and self._server is not None:
            tally.before = get(self._server, "/stats", cwd=root)
        return tally

    def _is_known(self, event: PastEvent) -> bool:
        """Whether this was told before: a session that another goes on from is copied into that,
        and what a helper found is in its log and in the session's.
        """
        if event.kind not in (PastKind.QUESTION, PastKind.CONCLUSION):
            return False
        at = event.payload["timestamp"] if event.kind is PastKind.QUESTION else None
        name = hash((event.kind, event.folder, event.about, at))
        is_known = name in self._met
        if len(self._met) < _MOST_KNOWN:
            self._met.add(name)
        return is_known

    def _put(self, event: PastEvent) -> None:
        if event.kind is PastKind.QUESTION:
            return  # it comes with what was concluded
        if event.kind is PastKind.CONCLUSION and not (self._keeps and event.cites):
            return
        self._waiting.setdefault(event.folder, []).append(event.payload)
        self._events += 1
        self._conclusions += event.kind is PastKind.CONCLUSION
        self._characters += len(event.about)
        if (
            self._events >= _MOST_EVENTS
            or self._conclusions >= _MOST_CONCLUSIONS
            or self._characters >= _MOST_CHARACTERS
        ):
            self.flush()

    def flush(self) -> None:
        """Send what waits, and note how far each log was read once the server has it."""
        if self._server is not None:
            for folder, payloads in self._waiting.items():
                self._send(self._server, folder, payloads)
            self._cursor.note(self._read)
        self._waiting.clear()
        self._read.clear()
        self._events = self._conclusions = self._characters = 0

    def _send(self, server: ProvenServer, folder: str, payloads: Sequence[Form]) -> None:
        """Send a batch and wait until it is learned, so that nothing that waits is pushed out.

        Raises:
            Failure: the server does not take it.
        """
        for n in range(_MOST_TRIES):
            try:
                body = {"events": payloads, "wait": True}
                if not post(server, "/notify", body, project=folder).get("waiting"):
                    return
                payloads = ()
            except Failure as problem:
                if problem.kind == "invalid":
                    self.left_out[problem.what] += len(payloads)
                    return
                if problem.kind != "limit" or n + 1 == _MOST_TRIES:
                    raise
                time.sleep(_PAUSE_S)

    def outcome(self) -> dict[str, object]:
        """What was found, and what the server made of it."""
        tallies = sorted(self._tallies.items())
        workspaces = [self._form(root, tally) for root, tally in tallies if tally.sessions]
        return {
            "dry_run": self._server is None,
            "workspaces": workspaces,
            "folders_gone": len(self._gone),
            "logs_gone": self._gone.total(),
            "lines_skipped": self._lines,
            "left_out": dict(self.left_out),
        }

    def _form(self, root: str, tally: _Tally) -> dict[str, object]:
        counts = tally.counts
        found: dict[str, object] = {
            "root": root,
            "sessions": len(tally.sessions),
            "files_seen": len(tally.files),
            "edits": counts[PastKind.EDIT],
            "commands": counts[PastKind.COMMAND],
            "questions": counts[PastKind.QUESTION],
            "conclusions": counts[PastKind.CONCLUSION],
            "conclusions_with_lines": counts["cited"],
            "lines_skipped": counts["skipped"],
        }
        if self._server is not None and tally.before is not None:
            now = get(self._server, "/stats", cwd=root)
            for name, figure in _FIGURES.items():
                found[name] = _number(now, figure) - _number(tally.before, figure)
        return found


# What the server counted meanwhile, by its own names.
_FIGURES = {
    "findings": "findings",
    "sentences_refused": "rejected_facts",
    "events_dropped": "dropped_events",
}


def _number(figures: Form, name: str) -> int:
    value = figures.get(name)
    return value if isinstance(value, int) else 0


# Logs that are told apart, at 40 bytes each.
_MOST_LOGS, _LARGEST_CURSOR = 50_000, 16 * 1024 * 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Cursor:
    """How far each log was taken, in a file of the data folder."""

    def __init__(self, file: Path, *, is_used: bool) -> None:
        """Read the file, if there is one and it `is_used`.

        Raises:
            Failure: it is not what was written there.
        """
        self._file = file
        self._known: dict[str, tuple[int, int]] = {}
        if not is_used:
            return
        try:
            with os.fdopen(os.open(file, _READ), "rb") as text:
                form = json.loads(text.read(_LARGEST_CURSOR))
            self._known = {str(k): (int(size), int(end)) for k, (size, end) in form.items()}
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as problem:
            why = f"'{file}' is not what `import` wrote: import all with --again"
            raise Failure(why, code=ExitCode.REFUSED, kind="invalid") from problem

    def after(self, log: SessionLog) -> int | None:
        """Where in a log what is new begins; nothing where nothing is."""
        size, end = self._known.get(log.identity, (0, 0))
        if log.size == size:
            return None
        return end if log.size > size else 0

    def note(self, read: Sequence[tuple[SessionLog, int]]) -> None:
        """These logs were taken so far; on disk, in one step.

        Raises:
            Failure: the disk does not take it.
        """
        if not read:
            return
        for log, end in read:
            self._known.pop(log.identity, None)
            self._known[log.identity] = (log.size, end)
        while len(self._known) > _MOST_LOGS:
            del self._known[next(iter(self._known))]
        try:
            write_whole(self._file, json.dumps(self._known).encode())
        except OSError as problem:
            why = f"'{self._file}' cannot be written ({problem.strerror}): what was sent is learned"
            raise Failure(why, code=ExitCode.FAILED, kind="system") from problem


_COLUMNS = {
    "sessions": "sessions",
    "files_seen": "files",
    "edits": "edits",
    "commands": "commands",
    "questions": "questions",
    "conclusions": "conclusions",
    "conclusions_with_lines": "with lines",
    "lines_skipped": "skipped",
    "findings": "findings",
    "sentences_refused": "refused",
    "events_dropped": "dropped",
}


def _page(outcome: Form) -> str:
    """The outcome as a table with a line a workspace, and what was left out."""
    rows = outcome["workspaces"]
    assert isinstance(rows, list)
    names = [name for name in _COLUMNS if any(name in row for row in rows)]
    lines = [" ".join(f"{_COLUMNS[name]:>{_width(name)}}" for name in names) + "  workspace"]
    for row in rows:
        figures = " ".join(f"{row.get(name, 0):>{_width(name)},}" for name in names)
        lines.append(f"{figures}  {row['root']}")
    if not rows:
        lines = ["nothing new: there is no session, or all was imported (--again takes it again)"]
    elif outcome["dry_run"]:
        lines.append("nothing was sent: without --dry-run it is")
    if outcome["logs_gone"]:
        lines.append(
            f"left out: {outcome['logs_gone']} logs of {outcome['folders_gone']} folders that are "
            "gone or are no project"
        )
    left_out = outcome["left_out"]
    assert isinstance(left_out, dict)
    lines += [f"left out: {many} with: {why}" for why, many in left_out.items()]
    return "\n".join(lines)


def _width(name: str) -> int:
    return max(8, len(_COLUMNS[name]))
