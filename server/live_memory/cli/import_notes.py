"""`import FILE`: notes of another memory, of another tool, or of a folder of Markdown files."""

import json
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from live_memory.cli.connection import ProvenServer, post
from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.launcher import ensure_running
from live_memory.core.notes.foreign import EXPORTED, FoundRecord, memories_in, sections_of
from live_memory.core.notes.records import header_problem
from live_memory.core.reading.observation import visible
from live_memory.settings import Configuration

__all__ = ["bring_notes", "page"]

Form = Mapping[str, object]

_START_S = 30.0
LARGEST_FILE = 64 * 1024 * 1024
# Longer than any record of ours, which holds 16 kB of text: each byte in six characters, twice.
_LONGEST_LINE = 512 * 1024
_LARGEST_PAGE, _MOST_PAGES = 1024 * 1024, 2_000
# What is sent at once.
_MOST_RECORDS, _MOST_CHARACTERS = 200, 1_000_000
# Problems that are told one by one.
_MOST_TOLD = 20
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def bring_notes(
    configuration: Configuration, source: Path, *, cwd: str, scope: str, dry_run: bool
) -> dict[str, object]:
    """Send what a file or a folder holds to the workspace of `cwd`; what came of it.

    Raises:
        Failure: it cannot be read, is nothing that is known, or the server does not take it.
    """
    found = _found(source)
    server = ensure_running(configuration, within_s=_START_S)
    sending = _Sending(server, {"cwd": cwd, "scope": scope, "dry_run": dry_run})
    for record in found:
        sending.put(record)
    sending.flush()
    return sending.outcome()


class _Sending:
    """What was sent so far, and what waits to be."""

    def __init__(self, server: ProvenServer, fields: Form) -> None:
        self._server = server
        self._fields = fields
        self._waiting: list[tuple[str, Form]] = []
        self._characters = 0
        self._counts = Counter[str]()
        self._refused: list[dict[str, str]] = []
        self._skipped = 0

    def put(self, record: FoundRecord) -> None:
        """Send it with others, or note why there is none."""
        if record.form is None:
            self._refuse(record.where, record.problem)
            return
        size = len(json.dumps(record.form))
        if self._characters + size > _MOST_CHARACTERS:
            self.flush()
        self._waiting.append((record.where, record.form))
        self._characters += size
        if len(self._waiting) >= _MOST_RECORDS:
            self.flush()

    def flush(self) -> None:
        """Send what waits."""
        if not self._waiting:
            return
        body = {**self._fields, "records": [form for _, form in self._waiting]}
        reply = post(self._server, "/v1/notes/import", body)
        new = reply["new"]
        assert isinstance(new, dict)
        self._counts.update(new)
        self._counts.update({k: _number(reply, k) for k in ("known", "withdrawn", "redacted")})
        refused = reply["refused"]
        for one in refused if isinstance(refused, list) else ():
            self._refuse(self._waiting[one["at"]][0], one["why"])
        self._waiting.clear()
        self._characters = 0

    def outcome(self) -> dict[str, object]:
        """All that came of it."""
        names = ("notes", "handoffs", "facts", "forgotten", "known", "withdrawn", "redacted")
        return {
            "dry_run": self._fields["dry_run"],
            **{name: self._counts[name] for name in names},
            "skipped": self._skipped,
            "problems": self._refused,
        }

    def _refuse(self, where: str, why: str) -> None:
        self._skipped += 1
        if len(self._refused) < _MOST_TOLD:
            self._refused.append({"where": where, "why": why})


def page(outcome: Mapping[str, object]) -> str:
    """What came of it, for a person."""
    would = "would come" if outcome["dry_run"] else "came"
    names = ("notes", "handoffs", "facts", "forgotten")
    came = ", ".join(f"{outcome[name]} {name}" for name in names if outcome[name])
    lines = [f"{came or 'nothing new'} {would}"]
    for name, says in (
        ("known", "were here before"),
        ("withdrawn", "are withdrawn by it"),
        ("redacted", "secrets were taken out"),
        ("skipped", "were skipped"),
    ):
        lines += [f"{outcome[name]} {says}"] if outcome[name] else []
    problems = outcome["problems"]
    for one in problems if isinstance(problems, list) else ():
        lines.append(f"  {visible(one['where'])}: {visible(one['why'])}")
    return "\n".join(lines)


def _number(reply: Form, name: str) -> int:
    value = reply.get(name)
    return value if isinstance(value, int) else 0


def _found(source: Path) -> Iterator[FoundRecord]:
    """What a file or a folder holds, by what it is."""
    if source.is_dir():
        return _bank(source)
    data = _read(source, most=LARGEST_FILE)
    if source.suffix.lower() in (".md", ".markdown"):
        return _page(source, source.name)
    first = data.lstrip()[:_LONGEST_LINE].partition(b"\n")[0]
    head = _object(first)
    if head is not None and ("format" in head or "kind" in head):
        problem = header_problem(head) if "format" in head else None
        if problem is not None:
            raise _refusal(f"'{source}' cannot be taken in: {problem}")
        return _lines(data)
    try:
        return memories_in(json.loads(data))
    except (ValueError, RecursionError) as problem:
        raise _refusal(f"'{source}' is neither lines of JSON nor JSON: {problem}") from None


def _lines(data: bytes) -> Iterator[FoundRecord]:
    """Records of ours; a line that is none is named, and the others count."""
    start = number = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line, start, number = data[start:end].strip(), end + 1, number + 1
        where = f"line {number}"
        if len(line) > _LONGEST_LINE:
            yield FoundRecord(where, None, f"it has more than {_LONGEST_LINE} bytes")
        elif line:
            form = _object(line)
            if form is None:
                yield FoundRecord(where, None, "it is no JSON object")
            elif "format" not in form:
                yield FoundRecord(where, form)


def _object(line: bytes) -> Form | None:
    try:
        form: object = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return form if isinstance(form, dict) else None


def _refuse(text: str) -> object:
    raise ValueError(text)


def _bank(folder: Path) -> Iterator[FoundRecord]:
    """The sections and bullets of each Markdown file below a folder, hidden ones and links aside.

    Raises:
        Failure: there is none, or there are too many.
    """
    files: list[Path] = []
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [Path(above, name) for name in sorted(names) if _is_page(name)]
        if len(files) > _MOST_PAGES:
            raise _refusal(f"'{folder}' holds more than {_MOST_PAGES} Markdown files")
    if not files:
        raise _refusal(f"'{folder}' holds no Markdown file (*.md)")
    return (record for file in files for record in _page(file, str(file.relative_to(folder))))


def _is_page(name: str) -> bool:
    return name.lower().endswith(".md") and not name.startswith(".")


def _page(file: Path, name: str) -> Iterator[FoundRecord]:
    if file.is_symlink():
        yield FoundRecord(name, None, "it is a link")
        return
    try:
        text = _read(file, most=_LARGEST_PAGE).decode("utf-8", "replace")
    except Failure as problem:
        yield FoundRecord(name, None, problem.what)
        return
    if text.startswith(EXPORTED):
        yield FoundRecord(name, None, "`export` wrote it: take in its lines of JSON instead")
        return
    yield from sections_of(name, text, written_at=file.stat().st_mtime)


def _read(file: Path, *, most: int) -> bytes:
    """The bytes of a regular file.

    Raises:
        Failure: it is none, it is too large, or the system does not give it.
    """
    try:
        with os.fdopen(os.open(file, _READ), "rb") as data:
            status = os.fstat(data.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _refusal(f"'{file}' is no file")
            if status.st_size > most:
                raise _refusal(f"'{file}' has more than {most // 1024 // 1024} MB")
            return data.read(most)
    except OSError as problem:
        raise _refusal(f"'{file}' cannot be read: {problem.strerror}") from None


def _refusal(why: str) -> Failure:
    return Failure(why, code=ExitCode.REFUSED, kind="invalid")
