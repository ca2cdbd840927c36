"""`doctor`: a line for each thing that has to be right, and the fix for what is not."""

import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click

from live_memory import __version__
from live_memory.cli.connection import ProvenServer, find, get, health, post
from live_memory.cli.environment import ExitCode, Failure, StartMode, trouble_of
from live_memory.cli.main import configured, json_option
from live_memory.cli.saying import say, say_json
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Configuration, Settings
from live_memory.web.identity import published, read_token

__all__ = ["CheckVerdict", "installed_plugins", "of_installation"]

_GRAMMARS = (
    *("python", "javascript", "typescript", "go", "rust", "java"),
    *("c", "cpp", "c_sharp", "ruby", "php", "kotlin", "swift"),
)
_HOST_S = 20.0
# Older ones were not tried; what the plugin needs came before it.
_LEAST_HOST = (2, 1, 193)
# What older kernels allow a user; editors and build tools take their share of it.
_LEAST_LIMITS = {"max_user_watches": 8_192, "max_user_instances": 128}
_LEAST_FREE_BYTES = 200 * 1024 * 1024


class CheckVerdict(StrEnum):
    """How it stands."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `fix` is what to do unless all is well."""

    name: str
    verdict: CheckVerdict
    found: str
    fix: str | None = None


def of_installation(settings: Settings) -> Iterator[Check]:
    """The interpreter, the programs it needs, and the data folder."""
    yield _python()
    yield _program("ripgrep", "rg", fix="install ripgrep; without it text search is slower")
    yield _program("git", "git", fix="install git; without it history cannot be asked about")
    yield _grammars()
    yield _watching(settings)
    yield _data_folder(settings.data_dir)
    yield _token(settings.data_dir)


def of_plugin(settings: Settings) -> Iterator[Check]:
    """Whether Claude Code is there and has our plugin."""
    del settings
    program = shutil.which("claude")
    if program is None:
        yield Check("claude", CheckVerdict.WARN, "not on PATH", "install Claude Code")
        return
    try:
        version = re.match(rb"(\d+)\.(\d+)\.(\d+)", _said_by(program, "--version"))
        if version and tuple(map(int, version.groups())) < _LEAST_HOST:
            least = ".".join(map(str, _LEAST_HOST))
            found = f"{program} is {version[0].decode()}, the plugin needs {least}"
            yield Check("claude", CheckVerdict.FAIL, found, "claude update")
        else:
            yield Check("claude", CheckVerdict.OK, program)
        ours = installed_plugins(program)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        yield Check(
            "plugin", CheckVerdict.WARN, "`claude plugin list` gave no list", "update claude"
        )
        return
    if not ours:
        fix = "claude plugin marketplace add …; claude plugin install live-memory@live-memory"
        yield Check("plugin", CheckVerdict.WARN, "not installed", fix)
    elif not ours[0].get("enabled"):
        fix = f"claude plugin enable {ours[0]['id']}"
        yield Check("plugin", CheckVerdict.WARN, f"{ours[0]['id']} is disabled", fix)
    else:
        yield Check("plugin", CheckVerdict.OK, f"{ours[0]['id']} {ours[0].get('version')}")


def installed_plugins(program: str) -> list[dict[str, object]]:
    """Our plugins, as Claude Code lists them.

    Raises:
        OSError, SubprocessError: it does not run, or fails.
        ValueError, LookupError, TypeError: it gives no list.
    """
    plugins = json.loads(_said_by(program, "plugin", "list", "--json"))
    return [plugin for plugin in plugins if str(plugin["id"]).startswith("live-memory@")]


def _said_by(program: str, *question: str) -> bytes:
    """What the host replies to one of its own cheap questions.

    Raises:
        OSError: it does not run.
        SubprocessError: it failed, or took as long as where the name server is away.
    """
    done = subprocess.run(  # noqa: S603 - a fixed question to the user's own program
        [program, *question],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_HOST_S,
        check=True,
    )
    return done.stdout


def _python() -> Check:
    # An older one cannot have installed this package, let alone have come here.
    found = ".".join(map(str, sys.version_info[:3]))
    return Check("python", CheckVerdict.OK, f"{found} ({sys.executable})")


def _program(name: str, program: str, *, fix: str) -> Check:
    beside = shutil.which(program, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(program)
    if found is None:
        return Check(name, CheckVerdict.WARN, "not found", fix)
    return Check(name, CheckVerdict.OK, found)


def _grammars() -> Check:
    modules = {"tree_sitter": "tree-sitter"} | {f"tree_sitter_{g}": g for g in _GRAMMARS}
    missing = [shown for name, shown in modules.items() if not importlib.util.find_spec(name)]
    if missing:
        fix = "pip install 'live-memory[syntax]'; other outlines are by regular expression"
        return Check("syntax", CheckVerdict.WARN, f"not installed: {', '.join(missing)}", fix)
    return Check("syntax", CheckVerdict.OK, ", ".join(_GRAMMARS))


def _watching(settings: Settings) -> Check:
    if not settings.watch:
        return Check("watching", CheckVerdict.OK, "setting 'watch' is off")
    if not importlib.util.find_spec("watchdog"):
        return Check("watching", CheckVerdict.WARN, "not installed", "pip install watchdog")
    limits = {name: _limit(name) for name in _LEAST_LIMITS}
    found = ", ".join(f"{name} {limit}" for name, limit in limits.items() if limit is not None)
    low = [name for name, limit in limits.items() if limit and limit < _LEAST_LIMITS[name]]
    if low:
        raised = " ".join(f"fs.inotify.{name}={_LEAST_LIMITS[name]}" for name in low)
        return Check("watching", CheckVerdict.WARN, found, f"sudo sysctl {raised}")
    return Check("watching", CheckVerdict.OK, found or "by this system's own means")


def _limit(name: str) -> int | None:
    """A limit of inotify for this user; nothing where there is none."""
    try:
        return int(Path("/proc/sys/fs/inotify", name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _data_folder(folder: Path) -> Check:
    try:
        state = folder.stat()
        free = shutil.disk_usage(folder).free
    except FileNotFoundError:
        return Check("data folder", CheckVerdict.OK, f"{folder} is made at the first start")
    except OSError as problem:
        return Check(
            "data folder", CheckVerdict.FAIL, f"{folder}: {problem.strerror}", "set data_dir"
        )
    mode = stat.S_IMODE(state.st_mode)
    if not stat.S_ISDIR(state.st_mode):
        fix = "move the file away, or set another folder with `data_dir`"
        return Check("data folder", CheckVerdict.FAIL, f"{folder} is no folder", fix)
    if mode & 0o077:
        found = f"{folder} is open to other users ({mode:o})"
        return Check("data folder", CheckVerdict.FAIL, found, f"chmod 700 '{folder}'")
    if not os.access(folder, os.W_OK | os.X_OK):
        fix = "make it writable, or set another with `data_dir`"
        return Check("data folder", CheckVerdict.FAIL, f"{folder} cannot be written to", fix)
    if free < _LEAST_FREE_BYTES:
        found = f"{folder} has {free // 2**20} MiB left"
        return Check("data folder", CheckVerdict.WARN, found, "free some space")
    return Check("data folder", CheckVerdict.OK, f"{folder} ({mode:o})")


def _token(data_dir: Path) -> Check:
    if not (data_dir / "token").exists():
        return Check("token", CheckVerdict.OK, "is made at the first start")
    try:
        read_token(data_dir)
    except InvalidRequest as problem:
        fix = "live-memory stop; remove the file; live-memory start"
        return Check("token", CheckVerdict.FAIL, str(problem), fix)
    return Check("token", CheckVerdict.OK, f"{data_dir / 'token'} is for you alone")


# A hook ends within a fifth of a second, the server looks at its event at once; this is for a
# machine that is busy with other things.
_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.05
# The server looks into the spool after each event, once a second at most.
_TAKEN_S = 4.0
_SPOOL = ("spool.old.jsonl", "spool.jsonl")
_REINSTALL = "claude plugin update live-memory@live-memory, then start a new session"


def of_delivery(settings: Settings) -> Iterator[Check]:
    """The discovery file, a hook's round trip, then what hooks had to write down."""
    yield from _environment(settings.data_dir)
    try:
        server = find(settings)
    except InvalidRequest:
        return  # the token's own line has said so
    except Failure as problem:
        if problem.code != ExitCode.LOCKED:  # else it is our server's, that hangs
            yield from _left_behind(settings.data_dir)
        yield from _waiting(settings.data_dir, is_running=False)
        return
    yield _hook(server, settings)
    yield from _waiting(settings.data_dir, is_running=True)


def _environment(data_dir: Path) -> Iterator[Check]:
    """What became of the environment that the plugin makes for itself, if it does."""
    try:
        said = (data_dir / "environment/status").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return
    if "could not be installed" in said:
        fix = "see that log; or install the command: uv tool install live-memory's `server` folder"
        yield Check("environment", CheckVerdict.FAIL, said, fix)
    elif "being installed" in said:
        yield Check(
            "environment", CheckVerdict.WARN, said, "wait: the tool answers when that is done"
        )
    else:
        yield Check("environment", CheckVerdict.OK, said)


def _left_behind(data_dir: Path) -> Iterator[Check]:
    there = published(data_dir)
    if there is not None:
        found = f"names process {there.pid} on port {there.port}, which is not our server any more"
        yield Check("server.json", CheckVerdict.WARN, found, "live-memory start, which replaces it")


def _waiting(data_dir: Path, *, is_running: bool) -> Iterator[Check]:
    """Events in the spool: fine while nobody is there to take them, else something is wrong."""
    events = _spooled(data_dir)
    until = time.monotonic() + _TAKEN_S
    while is_running and events and time.monotonic() < until:
        time.sleep(_LOOK_EVERY_S)
        events = _spooled(data_dir)
    if not events:
        yield Check("spool", CheckVerdict.OK, "empty")
    elif is_running:
        fix = f"live-memory stop && live-memory start; else remove {data_dir / _SPOOL[1]}"
        found = f"{events} events wait and the server does not take them"
        yield Check("spool", CheckVerdict.FAIL, found, fix)
    else:
        yield Check("spool", CheckVerdict.OK, f"{events} events wait for the server")


def _spooled(data_dir: Path) -> int:
    count = 0
    for name in _SPOOL:
        try:
            count += (data_dir / name).read_bytes().count(b"\n")
        except OSError:
            continue
    return count


def _hook(server: ProvenServer, settings: Settings) -> Check:
    """Do what the host does when the agent has read a file, and wait until it is known here."""
    script = _script()
    if script is None:
        found = "not tried: the plugin's folder is not known to this installation"
        return Check("hook", CheckVerdict.WARN, found, "run the doctor of the plugin in a session")
    try:
        made = tempfile.TemporaryDirectory(prefix="live-memory-doctor-")
    except OSError as refused:
        found = f"not tried: no temporary folder can be made ({refused.strerror})"
        return Check(
            "hook", CheckVerdict.WARN, found, "set TMPDIR to a folder that can be written to"
        )
    with made as folder:
        try:
            began = time.monotonic()
            problem = _sent(script, folder, settings) or _arrived(server, folder)
            took_ms = (time.monotonic() - began) * 1000
            post(server, "/clear", {"cwd": folder})
        except Failure as failure:
            problem = str(failure)
    if problem and published(settings.data_dir) is None:
        # The server had no room to say where it is, and the hook has none for its event.
        return Check("hook", CheckVerdict.FAIL, problem, "the data folder's line first")
    if problem:
        return Check("hook", CheckVerdict.FAIL, problem, _REINSTALL)
    return Check("hook", CheckVerdict.OK, f"an event came through in {took_ms:.0f} ms")


def _script() -> Path | None:
    """The hooks beside the folder that this package was installed from."""
    try:
        said = json.loads(distribution("live-memory").read_text("direct_url.json") or "{}")
        url = urlsplit(said["url"])
    except (PackageNotFoundError, ValueError, KeyError, TypeError):
        return None
    script = Path(unquote(url.path)).parent / "hooks/run"
    return script if url.scheme == "file" and script.is_file() else None


def _sent(script: Path, folder: str, settings: Settings) -> str | None:
    """Run the hook with an event of a folder of its own; what is wrong with that."""
    file = Path(folder, "seen.py")
    file.write_text("SEEN = True\n", encoding="utf-8")
    event = {
        "hook_event_name": "PostToolUse",
        "session_id": "live-memory-doctor",
        "cwd": folder,
        "tool_name": "Read",
        "tool_input": {"file_path": str(file)},
        "tool_response": {"file": {"startLine": 1, "numLines": 1, "totalLines": 1}},
    }
    environ = {
        **os.environ,
        "CLAUDE_PROJECT_DIR": folder,
        "LIVE_MEMORY_DATA_DIR": str(settings.data_dir.absolute()),
    }
    try:
        done = subprocess.run(  # noqa: S603 - the plugin's own hook, as the host runs it
            ["/bin/sh", str(script), "hook.py"],
            input=json.dumps(event).encode(),
            env=environ,
            cwd=folder,
            capture_output=True,
            timeout=_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"{script} does not run: {problem}"
    if done.returncode or done.stdout or done.stderr:
        return f"{script} ends with {done.returncode} and says what a hook must not"
    return None


def _arrived(server: ProvenServer, folder: str) -> str | None:
    until = time.monotonic() + _WITHIN_S
    while time.monotonic() < until:
        if get(server, "/stats", cwd=folder).get("hook_events"):
            return None
        time.sleep(_LOOK_EVERY_S)
    return (
        f"an event that the hook sent did not arrive within {_WITHIN_S:.0f} s: no python3 that "
        "hooks can run, or another data folder than this command's"
    )


_PROC = Path("/proc")
_LISTENS = "0A"
# Columns of a line in /proc/net/tcp: the address here, the state, and the socket's number.
_HERE, _STATE, _INODE = 1, 3, 9


def listener(port: int) -> str | None:
    """The process with its name, or nothing where that cannot be seen."""
    sockets = {f"socket:[{number}]" for name in ("tcp", "tcp6") for number in _on(port, name)}
    if not sockets:
        return None
    for process in _PROC.glob("[0-9]*"):
        # Of other users nothing is shown, and processes come and go.
        with suppress(OSError):
            if any(str(file.readlink()) in sockets for file in (process / "fd").iterdir()):
                # Not its arguments, which may hold what nobody should see.
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"process {process.name} ({name})"
    return None


def _on(port: int, name: str) -> list[str]:
    try:
        rows = (_PROC / "net" / name).read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []
    columns = [row.split() for row in rows]
    wanted = f"{port:04X}"
    return [c[_INODE] for c in columns if c[_STATE] == _LISTENS and c[_HERE].endswith(wanted)]


_AGAIN = "live-memory stop && live-memory start"
# What a reason of the server tells, and what is to be done about it.
_NO_ROOM = "make room in the data folder, and let it be written to; it is tried again by itself"
_ALL_ELSE = f"{_AGAIN} clears this notice: all else was taken up, and that file can be removed"
_FIXES = {
    "(kept as ": _ALL_ELSE,
    "(until then ": "upgrade live-memory; what the newer version wrote is untouched",
    "(nothing is written there": f"let it be read by you, then {_AGAIN}",
    "cannot be written": _NO_ROOM,
    "is not kept": _NO_ROOM,
}


def of_server(settings: Settings) -> Iterator[Check]:
    """The server, its version, its health, and its model, which is asked once."""
    try:
        server = find(settings)
    except InvalidRequest:
        return  # the token's own line has said so
    except Failure as problem:
        yield _not_found(problem, settings)
        return
    found = f"{server.url} (pid {server.pid}) proved itself"
    who = None if server.port == settings.port else listener(settings.port)
    if who:
        found += f"; port {settings.port}, which is set, is held by {who}"
    yield Check("server", CheckVerdict.OK, found)
    try:
        said = health(server)
        if said.version == __version__:
            yield Check("version", CheckVerdict.OK, __version__)
        else:
            found = f"the server is {said.version}, this command is {__version__}"
            # A server that somebody looks after is never replaced by itself.
            yield Check("version", CheckVerdict.WARN, found, f"{_AGAIN}; of a service: restart it")
        for reason in said.reasons:
            yield Check("health", CheckVerdict.WARN, reason, _fix_of(reason, settings))
        for note in said.notes:
            fix = "answers are as true; changes show a bit later"
            yield Check("watching", CheckVerdict.WARN, note, fix)
        yield _model(server)
    except Failure as problem:
        yield Check("server", CheckVerdict.FAIL, problem.what, problem.fix or _AGAIN)


def _not_found(problem: Failure, settings: Settings) -> Check:
    if problem.code != ExitCode.UNREACHABLE:
        return Check("server", CheckVerdict.FAIL, problem.what, problem.fix)
    is_known = trouble_of(settings.data_dir) is not None
    fix = "put that right, then live-memory start" if is_known else "live-memory start"
    return Check("server", CheckVerdict.WARN, problem.what, fix)


def _fix_of(reason: str, settings: Settings) -> str:
    for part, fix in _FIXES.items():
        if part in reason:
            return fix
    there = published(settings.data_dir)
    if there and there.mode == StartMode.SERVICE and settings.log_file is None:
        return "see `journalctl --user -u live-memory`, or `live-memory service status`"
    return f"see {settings.data_dir / (settings.log_file or 'server.log')}"


def _model(server: ProvenServer) -> Check:
    """Whether the model that is set answers; without one there is nothing to go wrong."""
    said = post(server, "/v1/models/test", {})
    if said.get("is_reachable"):
        return Check("model", CheckVerdict.OK, f"{said['model']} answers as {said['mode']}")
    if said.get("model") is None:
        return Check("model", CheckVerdict.OK, "none is set: answers come from evidence")
    fix = "correct that setting, then `live-memory config test`; until then evidence answers"
    return Check("model", CheckVerdict.FAIL, f"{said['model']}: {said.get('problem')}", fix)


_Look = Callable[[Settings], Iterator[Check]]
_CHECKS: tuple[_Look, ...] = (
    of_installation,
    of_server,
    of_delivery,
    of_plugin,
)


def _looked(look: _Look, settings: Settings) -> Iterator[Check]:
    """What a look finds; what the system refuses it is a finding too."""
    try:
        yield from look(settings)
    except OSError as problem:
        found = f"could not look: {problem}"
        yield Check("system", CheckVerdict.FAIL, found, "free some space, or give what was refused")


@click.command()
@json_option
@configured
def doctor(configuration: Configuration, *, as_json: bool) -> int:
    """Check the installation and name the fix for what is wrong.

    \b
    Examples:
      live-memory doctor
      live-memory doctor --json
    """
    checks = [check for look in _CHECKS for check in _looked(look, configuration.settings)]
    is_fine = all(check.verdict is not CheckVerdict.FAIL for check in checks)
    if as_json:
        say_json({"ok": is_fine, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            say(f"{check.verdict:<4}  {check.name:<11}  {check.found}")
            if check.verdict is not CheckVerdict.OK and check.fix:
                say(f"      {'fix':<11}  {check.fix}")
    return ExitCode.FINE if is_fine else ExitCode.FAILED
