"""What `doctor` looks at; each check says what it found and, if it is not right, the fix."""

import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from live_memory import __version__
from live_memory.cli.connection import find, health
from live_memory.cli.failure import ExitCode, Failure, trouble_of
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Settings
from live_memory.web.token import read_token

__all__ = ["Check", "Verdict", "of_installation", "of_plugin", "of_server"]

_GRAMMARS = ("python", "javascript", "typescript", "go", "rust")
_HOST_S = 20.0
# What older kernels allow a user; editors and build tools take their share of it.
_LEAST_LIMITS = {"max_user_watches": 8_192, "max_user_instances": 128}
_LEAST_FREE_BYTES = 200 * 1024 * 1024


class Verdict(StrEnum):
    """How it stands."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `fix` is what to do unless all is well."""

    name: str
    verdict: Verdict
    found: str
    fix: str | None = None


def of_installation(settings: Settings) -> Iterator[Check]:
    """The interpreter, the programs it needs, and the data folder."""
    yield _python()
    yield _program("ripgrep", "rg", fix="install ripgrep; without it text search is slower")
    yield _program("git", "git", fix="install git; without it history cannot be asked about")
    yield _full_text_search()
    yield _grammars()
    yield _watching(settings)
    yield _data_folder(settings.data_dir)
    yield _token(settings.data_dir)


def of_server(settings: Settings) -> Iterator[Check]:
    """Who listens on the port, whether it is ours, and what it says of itself."""
    try:
        server = find(settings)
    except InvalidRequest:
        return  # the token's own line has said so
    except Failure as problem:
        is_absent = problem.code == ExitCode.UNREACHABLE
        verdict = Verdict.WARN if is_absent else Verdict.FAIL
        fix = "live-memory start" if is_absent else "free the port, or set LIVE_MEMORY_PORT"
        is_known = trouble_of(settings.data_dir) is not None
        nothing = f"nothing listens on port {settings.port}"
        found = nothing if is_absent and not is_known else str(problem)
        yield Check("server", verdict, found, fix)
        return
    yield Check("server", Verdict.OK, f"{server.url} (pid {server.pid}) proved itself")
    if server.version == __version__:
        yield Check("version", Verdict.OK, __version__)
    else:
        found = f"the server is {server.version}, this command is {__version__}"
        # A server that somebody looks after is never replaced by itself.
        fix = "live-memory stop && live-memory start; of a service: restart it"
        yield Check("version", Verdict.WARN, found, fix)
    said = health(server)
    for reason in said.reasons:
        log = settings.data_dir / (settings.log_file or "server.log")
        yield Check("health", Verdict.WARN, reason, f"see {log}")
    for note in said.notes:
        yield Check("watching", Verdict.WARN, note, "answers are as true; changes show a bit later")


def of_plugin(settings: Settings) -> Iterator[Check]:
    """Whether Claude Code is there and has our plugin."""
    del settings
    program = shutil.which("claude")
    if program is None:
        yield Check("claude", Verdict.WARN, "not on PATH", "install Claude Code")
        return
    yield Check("claude", Verdict.OK, program)
    try:
        # Its own cheapest question; the timeout is for a machine whose name server is away.
        answered = subprocess.run(  # noqa: S603 - a fixed question to the user's own program
            [program, "plugin", "list", "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_HOST_S,
            check=True,
        )
        plugins = json.loads(answered.stdout)
        ours = [p for p in plugins if str(p["id"]).startswith("live-memory@")]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        yield Check("plugin", Verdict.WARN, "`claude plugin list` gave no list", "update claude")
        return
    if not ours:
        fix = "claude plugin marketplace add …; claude plugin install live-memory@live-memory"
        yield Check("plugin", Verdict.WARN, "not installed", fix)
    elif not ours[0].get("enabled"):
        fix = f"claude plugin enable {ours[0]['id']}"
        yield Check("plugin", Verdict.WARN, f"{ours[0]['id']} is disabled", fix)
    else:
        yield Check("plugin", Verdict.OK, f"{ours[0]['id']} {ours[0].get('version')}")


def _python() -> Check:
    # An older one cannot have installed this package, let alone have come here.
    found = ".".join(map(str, sys.version_info[:3]))
    return Check("python", Verdict.OK, f"{found} ({sys.executable})")


def _program(name: str, program: str, *, fix: str) -> Check:
    beside = shutil.which(program, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(program)
    if found is None:
        return Check(name, Verdict.WARN, "not found", fix)
    return Check(name, Verdict.OK, found)


def _full_text_search() -> Check:
    database = sqlite3.connect(":memory:")
    try:
        database.execute("CREATE VIRTUAL TABLE t USING fts5(words)")
    except sqlite3.OperationalError:
        fix = "use a Python whose sqlite3 has FTS5"
        return Check("sqlite", Verdict.FAIL, f"{sqlite3.sqlite_version} without FTS5", fix)
    finally:
        database.close()
    return Check("sqlite", Verdict.OK, f"{sqlite3.sqlite_version} with FTS5")


def _grammars() -> Check:
    modules = {"tree_sitter": "tree-sitter"} | {f"tree_sitter_{g}": g for g in _GRAMMARS}
    missing = [shown for name, shown in modules.items() if not importlib.util.find_spec(name)]
    if missing:
        fix = "pip install 'live-memory[syntax]'; other outlines are by regular expression"
        return Check("syntax", Verdict.WARN, f"not installed: {', '.join(missing)}", fix)
    return Check("syntax", Verdict.OK, ", ".join(_GRAMMARS))


def _watching(settings: Settings) -> Check:
    if not settings.watch:
        return Check("watching", Verdict.OK, "setting 'watch' is off")
    if not importlib.util.find_spec("watchdog"):
        return Check("watching", Verdict.WARN, "not installed", "pip install watchdog")
    limits = {name: _limit(name) for name in _LEAST_LIMITS}
    found = ", ".join(f"{name} {limit}" for name, limit in limits.items() if limit is not None)
    low = [name for name, limit in limits.items() if limit and limit < _LEAST_LIMITS[name]]
    if low:
        raised = " ".join(f"fs.inotify.{name}={_LEAST_LIMITS[name]}" for name in low)
        return Check("watching", Verdict.WARN, found, f"sudo sysctl {raised}")
    return Check("watching", Verdict.OK, found or "by this system's own means")


def _limit(name: str) -> int | None:
    """A limit of inotify for this user; nothing where there is none."""
    try:
        return int(Path("/proc/sys/fs/inotify", name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _data_folder(folder: Path) -> Check:
    try:
        mode = folder.stat().st_mode & 0o777
        free = shutil.disk_usage(folder).free
    except FileNotFoundError:
        return Check("data folder", Verdict.OK, f"{folder} is made at the first start")
    except OSError as problem:
        return Check("data folder", Verdict.FAIL, f"{folder}: {problem.strerror}", "set data_dir")
    if mode & 0o077:
        found = f"{folder} is open to other users ({mode:o})"
        return Check("data folder", Verdict.FAIL, found, f"chmod 700 '{folder}'")
    if not os.access(folder, os.W_OK | os.X_OK):
        fix = "make it writable, or set another with `data_dir`"
        return Check("data folder", Verdict.FAIL, f"{folder} cannot be written to", fix)
    if free < _LEAST_FREE_BYTES:
        found = f"{folder} has {free // 2**20} MiB left"
        return Check("data folder", Verdict.WARN, found, "free some space")
    return Check("data folder", Verdict.OK, f"{folder} ({mode:o})")


def _token(data_dir: Path) -> Check:
    if not (data_dir / "token").exists():
        return Check("token", Verdict.OK, "is made at the first start")
    try:
        read_token(data_dir)
    except InvalidRequest as problem:
        fix = "live-memory stop; remove the file; live-memory start"
        return Check("token", Verdict.FAIL, str(problem), fix)
    return Check("token", Verdict.OK, f"{data_dir / 'token'} is for you alone")
