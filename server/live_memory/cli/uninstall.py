"""`uninstall`: the server ended, and what it wrote removed; what it knows and what is set stays.

Nothing goes but what we write, name by name, and no link is followed: a data folder may be any
folder, and hold anything else.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from live_memory.cli.connect import disconnecting
from live_memory.cli.doctor import installed_plugins
from live_memory.cli.environment import ExitCode, Failure, FileLock, holder
from live_memory.cli.host_files import NAME
from live_memory.cli.launcher import LOG_NAME, START_LOCK, stop_unheard
from live_memory.cli.lifecycle import end_running
from live_memory.cli.main import configured, json_option
from live_memory.cli.saying import is_watched, say, say_json
from live_memory.cli.service import ENVIRONMENT, installed_for, remove
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Configuration, Settings, config_file
from live_memory.web.identity import published, read_token

__all__ = ["KNOWN"]

# What the next start makes again, and what only a running server needs.
_MADE_AGAIN = (
    *("token", "lock", START_LOCK, "login.lock", "server.json", "server.json.new"),
    *("told", "not-started", ENVIRONMENT, f"{ENVIRONMENT}.new"),
)
# What would be lost: what was heard of and is not learned yet, spent today, imported.
_REMEMBERED = (
    *("spool.jsonl", "spool.old.jsonl", "spool.taken.jsonl", "imported.json"),
    *("spend.jsonl", "spend.jsonl.new"),
)
_ENVIRONMENTS, _COMPANION = "environment", "companion"
# What is remembered of codebases, and of the user in all of them.
_WORKSPACES, _USER = "workspaces", "user"
_CONNECTIONS = "connections.json"
_ROOMS = _ENVIRONMENTS, _WORKSPACES, _USER, _COMPANION
KNOWN = frozenset((*_MADE_AGAIN, *_REMEMBERED, _CONNECTIONS, *_ROOMS, LOG_NAME))
"""Every name that is given to something in the data folder, but for what is numbered or set."""
_OF_ENVIRONMENTS = ("lock", "log", "status", "status.new")
_WORKSPACE = re.compile(r"[0-9a-f]{32}(?:\..+)?")
_HALF_WRITTEN = re.compile(r"token\.\d+|\.imported\.json\.\w+")
_SET_ASIDE = re.compile(r"spend\.jsonl\.unreadable(?:\.\d+)?")
_MACHINES_UNIT = Path("/etc/systemd/system/live-memory.service")

_OTHERS_S = 5.0
Going = dict[Path, Callable[[Path], object]]


@click.command()
@click.option("--purge", is_flag=True, help="Remove what is remembered and your settings, too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and change nothing.")
@json_option
@configured
def uninstall(
    configuration: Configuration, *, purge: bool, yes: bool, dry_run: bool, as_json: bool
) -> int:
    """End the server and remove what it wrote, but for what it knows and your settings.

    \b
    Examples:
      live-memory uninstall --dry-run
      live-memory uninstall --purge
    """
    settings = configuration.settings
    is_ours = _is_ours(settings.data_dir)
    if purge and not (yes or dry_run):
        _ask(settings, can_ask=not as_json and is_watched(sys.stdin))
    connected = _connected(settings.data_dir)
    if connected and _is_own(settings) and not (yes or dry_run):
        raise Failure(
            "a host still starts Live Memory by the command that would go",
            code=ExitCode.REFUSED,
            kind="invalid",
            fix=f"run `{connected[0]}` first, or add --yes",
        )
    told: dict[str, object] = {
        "dry_run": dry_run,
        "data_dir": str(settings.data_dir),
        "connected": connected,
        "others": list(_others(settings)),
        **_ended(settings, dry_run=dry_run),
    }
    failed: dict[str, str] = {}
    with ExitStack() as locks:
        if is_ours and not dry_run:
            _keep_others_out(settings, locks)
        going = _planned(settings, purge=purge) if is_ours else {}
        if purge:
            going |= _settings_file()
        kept = dict(_stays(settings, going)) if is_ours else {}
        if config_file().exists() and config_file() not in going:
            kept[config_file()] = "your settings"
        for path, remove_it in () if dry_run else going.items():
            try:
                remove_it(path)
            except OSError as problem:
                failed[str(path)] = str(problem.strerror).lower()
    told["removed"] = [str(path) for path in going if str(path) not in failed]
    told |= {"kept": {str(path): why for path, why in kept.items()}, "failed": failed}
    if as_json:
        say_json(told)
    else:
        say("\n".join(_lines(told, purge=purge)))
    return ExitCode.FAILED if failed else ExitCode.FINE


def _ask(settings: Settings, *, can_ask: bool) -> None:
    """Make sure that a person means it; a `Failure` where nobody can be asked."""
    if not can_ask:
        raise Failure(
            "--purge removes what is remembered: say --yes as well",
            code=ExitCode.REFUSED,
            kind="invalid",
        )
    what = f"what is remembered of {_codebases(settings.data_dir)}, and your settings"
    click.confirm(f"Remove {what}? There is no way back", abort=True, err=True)


def _ended(settings: Settings, *, dry_run: bool) -> dict[str, object]:
    """End the service and the server, or say what there is of them."""
    service, running = installed_for(settings), holder(settings.data_dir / "lock")
    pid = running.pid if running else None
    if not dry_run:
        if service is not None:
            remove(service)
        try:
            ended = end_running(settings)
        except InvalidRequest:  # without a token that counts, nobody proves himself
            ended = stop_unheard(settings)
        # A supervisor ends what it runs by itself.
        pid = ended if service is None or ended is not None else pid
    return {"service": str(service.file) if service else None, "stopped": pid}


def _keep_others_out(settings: Settings, locks: ExitStack) -> None:
    """Let nobody start a server, or install one, until all is gone.

    Raises:
        Failure: somebody does so now.
    """
    for name in (START_LOCK, "lock", f"{_ENVIRONMENTS}/lock"):
        if not stat.S_ISREG(_mode(settings.data_dir / name)):
            continue
        lock = locks.enter_context(FileLock(settings.data_dir / name))
        if not lock.take(within_s=_OTHERS_S):
            raise Failure(
                f"'{settings.data_dir / name}' is held, so something is being started or "
                "installed: try again in a minute",
                code=ExitCode.LOCKED,
                kind="locked",
            )


def _is_ours(folder: Path) -> bool:
    """Whether a folder is one of our data folders, or was one, whatever else is in it.

    Raises:
        Failure: it belongs to another user.
    """
    try:
        owner = folder.stat().st_uid
    except OSError:
        return False
    if owner != os.geteuid():
        raise Failure(
            f"data folder '{folder}' belongs to another user: run this as that user",
            code=ExitCode.REFUSED,
            kind="auth",
        )
    with suppress(InvalidRequest):
        return bool(read_token(folder))
    left = stat.S_ISREG(_mode(folder / _CONNECTIONS)) or any(_memories(folder))
    return left or folder.name == "live-memory" or published(folder) is not None


def _planned(settings: Settings, *, purge: bool) -> Going:
    """What goes, and how; what is in a folder goes before the folder."""
    folder = settings.data_dir
    names = {*_MADE_AGAIN, *_numbered(LOG_NAME), *(_REMEMBERED if purge else ())}
    if settings.log_file is not None and settings.log_file.name == str(settings.log_file):
        names |= {*_numbered(settings.log_file.name)}
    if not disconnecting(folder):
        names.add(_CONNECTIONS)
    for path in folder.iterdir():
        if _HALF_WRITTEN.fullmatch(path.name) or (purge and _SET_ASIDE.fullmatch(path.name)):
            names.add(path.name)
    files = (folder / name for name in sorted(names))
    going: Going = {path: Path.unlink for path in files if stat.S_ISREG(_mode(path))}
    for path in _environments(folder):
        going[path] = shutil.rmtree if stat.S_ISDIR(_mode(path)) else Path.unlink
    if purge:
        memories = (*_memories(folder), *_memories(folder, _USER))
        going |= dict.fromkeys(memories, shutil.rmtree)
    for name in _ROOMS:
        going |= _once_empty(folder / name, going)
    return going | _once_empty(folder, going)


def _once_empty(folder: Path, going: Going) -> Going:
    """The folder itself, where nothing stays in it."""
    is_empty = stat.S_ISDIR(_mode(folder)) and all(path in going for path in folder.iterdir())
    return {folder: Path.rmdir} if is_empty else {}


def _settings_file() -> Going:
    """The user's settings, and their folder where nothing else is in it; not by way of a link."""
    file = config_file()
    if not (stat.S_ISDIR(_mode(file.parent)) and stat.S_ISREG(_mode(file))):
        return {}
    going: Going = {file: Path.unlink}
    return going | _once_empty(file.parent, going)


def _stays(settings: Settings, going: Going) -> Iterator[tuple[Path, str]]:
    """What is left of the data folder, and why."""
    folder = settings.data_dir
    left = [path for path in sorted(folder.iterdir()) if path not in going]
    for path in left:
        if path.name == _WORKSPACES and any(_memories(folder)):
            yield path, f"what is remembered of {_codebases(folder)}"
        elif path.name == _USER and any(_memories(folder, _USER)):
            yield path, "what is remembered of you in all codebases"
        elif path.name == _CONNECTIONS:
            yield path, "`live-memory disconnect` needs it"
        elif path.name in _REMEMBERED and not path.is_symlink():
            yield path, "what is remembered"
        elif path.name in KNOWN:
            yield path, "a link, or other files are in it"
    others = sum(path.name not in KNOWN for path in left)
    if others:
        yield folder, f"{others} in it that are not ours"
    elif folder.is_symlink():
        yield folder, "a link"
    log = settings.log_file
    if log is not None and log.name != str(log) and (folder / log).exists():
        yield folder / log, "the log, where you set it"


def _numbered(log: str) -> tuple[str, ...]:
    return log, f"{log}.1", f"{log}.2"


def _environments(folder: Path) -> Iterator[Path]:
    """What the plugin made for itself: environments, and what was said of making them."""
    inside = folder / _ENVIRONMENTS
    try:
        is_ours = (inside / "status").read_bytes().startswith(b"Live Memory ")
    except OSError:
        return
    for path in _in(inside) if is_ours else ():
        if path.name in _OF_ENVIRONMENTS:
            if stat.S_ISREG(_mode(path)):
                yield path
        elif stat.S_ISDIR(_mode(path)) and (path / "pyvenv.cfg").is_file():
            yield path


def _memories(folder: Path, room: str = _WORKSPACES) -> Iterator[Path]:
    """The folder of each workspace, and what was set aside of any."""
    for path in _in(folder / room):
        if _WORKSPACE.fullmatch(path.name) and stat.S_ISDIR(_mode(path)):
            yield path


def _in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if stat.S_ISDIR(_mode(folder)) else []


def _mode(path: Path) -> int:
    """What it is, not what it leads to; nothing where it is not there."""
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _codebases(folder: Path) -> str:
    count = sum("." not in path.name for path in _memories(folder))
    return f"{count} codebase" if count == 1 else f"{count} codebases"


def _is_own(settings: Settings) -> bool:
    """Whether this command runs in an environment that the plugin made."""
    return Path(sys.prefix).is_relative_to(settings.data_dir.resolve())


def _connected(folder: Path) -> list[str]:
    """The commands that end it that hosts start us, which would bring all of it back."""
    found = disconnecting(folder)
    claude = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home(), ".claude.json")
    with suppress(OSError, ValueError, LookupError, TypeError):
        json.loads(claude.read_bytes())["mcpServers"][NAME]
        found.append(f"{NAME} disconnect claude")
    return found


def _others(settings: Settings) -> Iterator[str]:
    """What was installed by other means than ours, and how that is removed."""
    program = shutil.which("claude")
    with suppress(OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError):
        for plugin in installed_plugins(program) if program else ():
            yield f"the plugin is still installed: claude plugin uninstall {plugin['id']}"
    if "/uv/tools/" in sys.prefix:
        yield "the command is still installed: uv tool uninstall live-memory"
    elif "/pipx/" in sys.prefix:
        yield "the command is still installed: pipx uninstall live-memory"
    elif not _is_own(settings):
        yield f"the command is still installed, in '{sys.prefix}'"
    if _MACHINES_UNIT.exists():
        how = "sudo live-memory service uninstall --system"
        yield f"a service of the machine is still installed: {how}"


def _lines(told: Mapping[str, object], *, purge: bool) -> Iterator[str]:
    """What was done, for a person."""
    tense = "would be " if told["dry_run"] else ""
    for how in _listed(told, "connected"):
        yield f"a host still starts Live Memory; to end that: {how}"
    if told["stopped"] is not None:
        yield f"{tense}stopped: the server (process {told['stopped']})"
    folder = Path(str(told["data_dir"]))
    removed = [Path(path) for path in _listed(told, "removed")]
    inside = [path for path in removed if path != folder and path.is_relative_to(folder)]
    if folder in removed:
        yield f"{tense}removed: {folder}"
    elif inside:
        names = ", ".join(str(path.relative_to(folder)) for path in inside)
        yield f"{tense}removed from {folder}: {names}"
    others = [*([told["service"]] if told["service"] else []), *removed]
    yield from (f"{tense}removed: {path}" for path in others if path not in (folder, *inside))
    if not others:
        yield "there is nothing of ours to remove"
    for name, verb in (("kept", "kept"), ("failed", "could not be removed")):
        found = told[name]
        assert isinstance(found, dict)
        yield from (f"{verb}: {path} ({why})" for path, why in found.items())
    if told["kept"] and not purge:
        yield "to remove what is remembered and your settings too: live-memory uninstall --purge"
    yield from _listed(told, "others")


def _listed(told: Mapping[str, object], name: str) -> list[str]:
    found = told[name]
    return list(map(str, found)) if isinstance(found, list) else []
