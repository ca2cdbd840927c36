"""`connect` and `disconnect`: a host starts the bridge and runs our hooks, or does so no more.

Each edit is undone on paper before it is written, and read back afterwards. What came into being
with it is kept in the data folder, so that `disconnect` leaves the bytes that were there.
"""

import difflib
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click
from pydantic import BaseModel, TypeAdapter, ValidationError

from live_memory.cli.config_edit import OwnText, Standing, Unclear
from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.host_commands import (
    Words,
    adding,
    has_commands,
    listed,
    removing,
    run_all,
)
from live_memory.cli.host_files import (
    HOOKS_STAY_INLINE,
    HOSTS,
    NAME,
    HostChange,
    HostScope,
    entries,
    has_inline_hooks,
    instructions,
    read_config,
    snippets,
    write_config,
)
from live_memory.cli.main import (
    absolute,
    cwd_option,
    data_dir_option,
    json_option,
    load_configuration,
)
from live_memory.cli.saying import is_watched, say, say_json
from live_memory.core.errors import InvalidRequest
from live_memory.core.reading.observation import visible
from live_memory.core.reading.redaction import redact
from live_memory.web.identity import ensure_data_dir


class _Made(BaseModel):
    """What came into being in a file with our entries, and goes with them."""

    host: str
    project: str | None = None
    is_new: bool = False
    containers: set[tuple[str, ...]] = set()
    folders: list[str] = []


_MADE = TypeAdapter(dict[str, _Made])


class _Record:
    """What was made, by file. Where this is lost, empty containers stay behind."""

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / "connections.json"
        self._before = read_config(self._file, project=None)
        try:
            self.made = _MADE.validate_json(self._before) if self._before else {}
        except ValidationError as problem:
            raise InvalidRequest(
                f"'{self._file}' cannot be read: move it away; `disconnect` then takes out our "
                "entries, and leaves what was made to hold them"
            ) from problem

    def save(self) -> None:
        """Write it, or remove it where nothing is left in it."""
        after = _MADE.dump_json(self.made, indent=1) if self.made else None
        if after != self._before:
            ensure_data_dir(self._file.parent)
            write_config(self._file, after, before=self._before, project=None)
            self._before = after


def disconnecting(data_dir: Path) -> list[str]:
    """The commands that take our entries out of every file that `connect` wrote."""
    try:
        made = _Record(data_dir).made.values()
    except InvalidRequest:
        return []
    where = [
        (each.host, ["--project", "--cwd", each.project] if each.project else []) for each in made
    ]
    return sorted({shlex.join([NAME, "disconnect", host, *more]) for host, more in where})


@dataclass(slots=True)
class _Editing:
    """One file of a host while our entries go into it or out of it."""

    file: Path
    new_file: str
    before: bytes | None
    text: str
    made: _Made
    is_ours: bool = False
    """Whether entries of ours are in it, or were."""

    @property
    def after(self) -> bytes | None:
        """What is to be there; nothing is no file."""
        is_none = self.made.is_new and self.text == self.new_file
        return None if is_none else self.text.encode()

    def put(self, change: HostChange) -> None:
        """Put an entry in, in place of an older one of ours."""
        standing = change.edit.standing(self.text)
        if standing is Standing.FOREIGN:
            raise Unclear(f"another '{NAME}' is there")
        self.is_ours = True
        if standing is Standing.THERE:
            return
        self.take(change)
        after, containers = change.edit.put(self.text)
        if change.edit.take(after, containers) != self.text:
            raise Unclear("what is written there could not be undone")
        self.text = after
        self.made.containers |= containers

    def take(self, change: HostChange) -> None:
        """Take an entry of ours out."""
        if change.edit.standing(self.text) in (Standing.THERE, Standing.OLD):
            self.is_ours = True
            self.made.is_new |= isinstance(change.edit, OwnText)
            self.text = change.edit.take(self.text, frozenset(self.made.containers))

    def diff(self) -> str:
        """The lines that change; a secret in one is not shown."""
        before, after = self.before, self.after
        lines = difflib.unified_diff(
            (before or b"").decode().splitlines(),
            (after or b"").decode().splitlines(),
            os.devnull if before is None else str(self.file),
            os.devnull if after is None else str(self.file),
            n=0,
            lineterm="",
        )
        return visible(redact("\n".join(lines)).text.text)


class _Files:
    """The files of one host, changed on paper first."""

    def __init__(self, host: str, scope: HostScope, record: _Record) -> None:
        self._host = host
        self._scope = scope
        self._record = record
        self._opened: dict[Path, _Editing] = {}

    def change(
        self, changes: Sequence[HostChange], step: Callable[[_Editing, HostChange], None]
    ) -> None:
        """Take a step with each.

        Raises:
            InvalidRequest: a file cannot be read as the host reads it, or not be edited.
        """
        for change in changes:
            file = change.files[0]
            try:
                file = self._file_of(change)
                step(self._open(file, change.new_file), change)
            except (Unclear, UnicodeError) as problem:
                raise InvalidRequest(
                    f"'{file}' cannot be changed ({problem}), and nothing was: repair it, or "
                    "do it by hand with `live-memory connect --print`"
                ) from problem

    @property
    def changed(self) -> Sequence[_Editing]:
        """Those that would be other than they are."""
        return [each for each in self._opened.values() if each.after != each.before]

    @property
    def names(self) -> Sequence[str]:
        """Those with entries of ours, before or after."""
        return [str(file) for file, each in self._opened.items() if each.is_ours]

    @property
    def leftovers(self) -> Sequence[str]:
        """Those that name us all the same: somebody changed what was ours, or wrote it himself."""
        return [str(file) for file, each in self._opened.items() if NAME in each.text]

    def write(self) -> None:
        """Write and read back; what is made is noted first.

        Raises:
            InvalidRequest: a file cannot be written, or is other than it was written.
        """
        project = self._scope.project
        for each in self.changed:
            if each.after is not None:
                parents = [folder for folder in each.file.parents if not folder.exists()]
                each.made.folders += [str(folder) for folder in parents]
                self._record.made[str(each.file)] = each.made
        self._record.save()
        for each in self.changed:
            write_config(each.file, each.after, before=each.before, project=project)
            if read_config(each.file, project=project) != each.after:
                raise InvalidRequest(f"'{each.file}' is not as it was written: run this again")

    def forget(self) -> None:
        """Nothing of ours is in them any more."""
        for file, each in self._opened.items():
            self._record.made.pop(str(file), None)
            for folder in each.made.folders if each.after is None else ():
                with suppress(OSError):  # something else is in it by now
                    Path(folder).rmdir()
        self._record.save()

    def _file_of(self, change: HostChange) -> Path:
        """Of several names the one that has the entry, that is there, or that is first."""
        if len(change.files) == 1:
            return change.files[0]
        there = [file for file in change.files if self._open(file, change.new_file).before]
        for file in there:
            if change.edit.standing(self._opened[file].text) is not Standing.ABSENT:
                return file
        return (there or change.files)[0]

    def _open(self, file: Path, new_file: str) -> _Editing:
        if file not in self._opened:
            before = read_config(file, project=self._scope.project)
            project = None if self._scope.project is None else str(self._scope.project)
            made = self._record.made.get(str(file)) or _Made(
                host=self._host, project=project, is_new=before is None
            )
            text = new_file if before is None else before.decode()
            self._opened[file] = _Editing(file, new_file, before, text, made)
        return self._opened[file]


_project_option = click.option(
    "--project", "is_project", is_flag=True, help="In the files of the project at --cwd."
)
_dry_run_option = click.option("--dry-run", is_flag=True, help="Show, and write nothing.")
_yes_option = click.option("--yes", is_flag=True, help="Write without asking.")
_data_dir_option = data_dir_option("The data folder.")


@click.command()
@click.argument("host", type=click.Choice(tuple(HOSTS)), required=False, metavar="[HOST]")
@click.option("--print", "only_print", is_flag=True, help="Show what any other client needs.")
@click.option(
    "--instructions", "with_instructions", is_flag=True, help="Tell the agent when to ask, too."
)
@_project_option
@cwd_option
@_dry_run_option
@_yes_option
@json_option
@_data_dir_option
def connect(
    host: str | None,
    *,
    only_print: bool,
    with_instructions: bool,
    is_project: bool,
    cwd: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    data_dir: str | None,
) -> int:
    """Let HOST ask, and be learned from: claude, codex, gemini, opencode, vscode, cursor, cline.

    \b
    Examples:
      live-memory connect codex --dry-run
      live-memory connect cursor --project
      live-memory connect --print
    """
    program, warning = _program(os.environ)
    if only_print:
        shown = snippets(program)
        if as_json:
            say_json(shown)
        else:
            say("\n".join(shown.values()), nl=False)
        return ExitCode.FINE
    if host is None:
        raise click.UsageError(f"name a host ({', '.join(HOSTS)}), or add --print")
    scope = _scope(cwd, is_project=is_project)
    told = instructions(host, scope)
    if with_instructions and not told:
        raise InvalidRequest(f"{HOSTS[host].title} has instructions in projects: add --project")
    files = _Files(host, scope, _record(data_dir))
    lines = _adding(host, scope, program)
    if lines is None:
        files.change(entries(host, scope, program=program), _Editing.put)
    files.change(told if with_instructions else (), _Editing.put)
    outcome = _Outcome(host, "already connected", files, lines or (), as_json=as_json)
    if outcome.is_agreed(dry_run=dry_run, yes=yes):
        run_all(outcome.lines, home=scope.home)
        files.write()
        outcome.state = "written"
        # A listing in a project would start what that names.
        outcome.listed = None if is_project else listed(host, home=scope.home)
        outcome.next_steps = [
            *HOSTS[host].next_steps,
            *([HOOKS_STAY_INLINE] if has_inline_hooks(host, scope) else []),
            *([warning] if warning and lines is None else []),
            *(["commit none of it: it names a program of this machine"] if is_project else []),
        ]
    return outcome.tell()


def _adding(host: str, scope: HostScope, program: str) -> Sequence[Words] | None:
    """The host's own commands that are left to run; nothing where its files are edited."""
    if scope.project is not None:
        return None
    if has_commands(host):
        return adding(host, program, home=scope.home)
    if HOSTS[host].servers.user:
        return None
    raise Failure(
        f"{host} is not on PATH",
        code=ExitCode.UNREACHABLE,
        kind="unavailable",
        fix=f"install {HOSTS[host].title}, or add its folder to PATH",
    )


@click.command()
@click.argument("host", type=click.Choice(tuple(HOSTS)), metavar="HOST")
@_project_option
@cwd_option
@_dry_run_option
@_yes_option
@json_option
@_data_dir_option
def disconnect(
    host: str,
    *,
    is_project: bool,
    cwd: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    data_dir: str | None,
) -> int:
    """Take out of HOST what connect wrote, and nothing else.

    \b
    Examples:
      live-memory disconnect codex
    """
    scope = _scope(cwd, is_project=is_project)
    files = _Files(host, scope, _record(data_dir))
    lines = removing(host, home=scope.home) if not is_project and has_commands(host) else ()
    ours = list(instructions(host, scope))
    if is_project or HOSTS[host].servers.user:
        ours = [*entries(host, scope, program=NAME), *ours]
    files.change(ours[::-1], _Editing.take)
    outcome = _Outcome(host, "not connected", files, lines, as_json=as_json)
    if not outcome.changes and not dry_run:
        files.forget()  # somebody may have taken it out by hand
    elif outcome.is_agreed(dry_run=dry_run, yes=yes):
        run_all(lines, home=scope.home)
        files.write()
        files.forget()
        outcome.state = "disconnected"
        outcome.next_steps = [
            f"'{file}' still names {NAME}: look there" for file in files.leftovers
        ]
    return outcome.tell()


def _scope(cwd: str, *, is_project: bool) -> HostScope:
    project = Path(absolute(cwd)) if is_project else None
    if project is not None and not project.is_dir():
        raise InvalidRequest(f"project '{project}' is no folder that is there")
    return HostScope(Path.home(), os.environ, project)


def _record(data_dir: str | None) -> _Record:
    return _Record(load_configuration({"data_dir": data_dir}).settings.data_dir)


def _program(environ: Mapping[str, str]) -> tuple[str, str | None]:
    """The command that hosts are to start, and what speaks against it.

    Of this installation; by the link of `uv tool` or `pipx` where there is one, which stays where
    it is when the installation is made anew.
    """
    own = Path(sys.prefix, "bin", NAME)
    links = (shutil.which(NAME, path=environ.get("PATH")), Path.home() / ".local/bin" / NAME)
    for link in links:
        is_ours = link is not None and Path(link).resolve() == own.resolve()
        if link is not None and is_ours and Path(link).parent != own.parent:
            return str(link), None
    if not own.is_file():
        raise Failure(
            f"there is no '{own}' for hosts to start",
            code=ExitCode.FAILED,
            kind="unavailable",
            fix="install live-memory with uv tool install or pipx",
        )
    if sys.prefix == sys.base_prefix:
        return str(own), None
    return str(own), f"'{own}' is in a virtual environment: connect again when that has moved"


@dataclass(slots=True)
class _Outcome:
    """What is told of one run."""

    host: str
    state: str
    files: _Files
    lines: Sequence[Words]
    as_json: bool
    listed: str | None = None
    next_steps: Sequence[str] = ()

    @property
    def changes(self) -> Sequence[str]:
        """The commands that are run and the lines that change."""
        return [
            *(f"$ {shlex.join(words)}" for words in self.lines),
            *(each.diff() for each in self.files.changed),
        ]

    def is_agreed(self, *, dry_run: bool, yes: bool) -> bool:
        """Show what there is to do, and ask where somebody is there; false where there is nothing.

        Raises:
            Failure: nobody is there to agree.
        """
        if not self.changes:
            return False
        if not self.as_json:
            say("\n".join(self.changes))
        if dry_run:
            self.state = "nothing was written"
            return False
        if yes:
            return True
        if self.as_json or not is_watched(sys.stdin):
            raise Failure(
                "nothing was written, since nobody is there to agree",
                code=ExitCode.REFUSED,
                kind="invalid",
                fix="add --yes, or --dry-run to only look",
            )
        return click.confirm("Do this?", abort=True)

    def tell(self) -> int:
        """Print it; returns the exit code."""
        if self.as_json:
            told = {
                "host": self.host,
                "state": self.state,
                "files": self.files.names,
                "changes": self.changes,
                "listed": self.listed,
                "next": list(self.next_steps),
            }
            say_json(told)
            return ExitCode.FINE
        where = f" ({', '.join(self.files.names)})" if self.files.names else ""
        say(f"{HOSTS[self.host].title}: {self.state}{where}")
        if self.listed:
            say(self.listed)
        for step in self.next_steps:
            say(f"next: {step}")
        return ExitCode.FINE
