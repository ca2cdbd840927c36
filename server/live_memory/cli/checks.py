"""What `doctor` looks at on this machine; each check names the fix for what is not right."""

import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from live_memory.core.errors import InvalidRequest
from live_memory.settings import Settings
from live_memory.web.token import read_token

__all__ = ["Check", "Verdict", "of_installation", "of_plugin"]

_GRAMMARS = (
    *("python", "javascript", "typescript", "go", "rust", "java"),
    *("c", "cpp", "c_sharp", "ruby", "php", "kotlin", "swift"),
)
_HOST_S = 20.0
# From this one on the host asks for headers again after a refusal; older ones were not tried.
_LEAST_HOST = (2, 1, 193)
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
    yield _grammars()
    yield _watching(settings)
    yield _data_folder(settings.data_dir)
    yield _token(settings.data_dir)


def of_plugin(settings: Settings) -> Iterator[Check]:
    """Whether Claude Code is there and has our plugin."""
    del settings
    program = shutil.which("claude")
    if program is None:
        yield Check("claude", Verdict.WARN, "not on PATH", "install Claude Code")
        return
    try:
        version = re.match(rb"(\d+)\.(\d+)\.(\d+)", _said_by(program, "--version"))
        if version and tuple(map(int, version.groups())) < _LEAST_HOST:
            least = ".".join(map(str, _LEAST_HOST))
            found = f"{program} is {version[0].decode()}, the plugin needs {least}"
            yield Check("claude", Verdict.FAIL, found, "claude update")
        else:
            yield Check("claude", Verdict.OK, program)
        plugins = json.loads(_said_by(program, "plugin", "list", "--json"))
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
    return Check("python", Verdict.OK, f"{found} ({sys.executable})")


def _program(name: str, program: str, *, fix: str) -> Check:
    beside = shutil.which(program, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(program)
    if found is None:
        return Check(name, Verdict.WARN, "not found", fix)
    return Check(name, Verdict.OK, found)


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
        state = folder.stat()
        free = shutil.disk_usage(folder).free
    except FileNotFoundError:
        return Check("data folder", Verdict.OK, f"{folder} is made at the first start")
    except OSError as problem:
        return Check("data folder", Verdict.FAIL, f"{folder}: {problem.strerror}", "set data_dir")
    mode = stat.S_IMODE(state.st_mode)
    if not stat.S_ISDIR(state.st_mode):
        fix = "move the file away, or set another folder with `data_dir`"
        return Check("data folder", Verdict.FAIL, f"{folder} is no folder", fix)
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
