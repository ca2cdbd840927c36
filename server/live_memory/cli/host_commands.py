"""What the program of a host does for us: take our plugin, give it back, and list what it has."""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.host_files import HOSTS, NAME
from live_memory.cli.lifecycle import plugin_folder
from live_memory.core.reading.observation import visible

__all__ = ["Words", "adding", "has_commands", "listed", "removing", "run_all"]

Words = tuple[str, ...]

# A host's listing may start every server that it knows.
_EACH_S = 90.0
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PLUGIN = f"{NAME}@{NAME}"


@dataclass(frozen=True, slots=True)
class _Commands:
    """One way in; `shows` is in what is listed when it was taken."""

    add: tuple[Words, ...]
    remove: tuple[Words, ...]
    listing: Words
    shows: str
    needs_plugin: bool = False
    told: str = "it is there"


# What stands for the folder of the plugin and for the command of this installation.
_FOLDER, _PROGRAM = "{folder}", "{program}"
_COMMANDS: Mapping[str, tuple[_Commands, ...]] = {
    "claude": (
        _Commands(
            (
                ("claude", "plugin", "marketplace", "add", _FOLDER),
                ("claude", "plugin", "install", _PLUGIN),
            ),
            (
                ("claude", "plugin", "uninstall", _PLUGIN),
                ("claude", "plugin", "marketplace", "remove", NAME),
            ),
            ("claude", "plugin", "list", "--json"),
            f'"{_PLUGIN}"',
            needs_plugin=True,
        ),
        _Commands(
            (("claude", "mcp", "add", "--scope", "user", NAME, "--", _PROGRAM, "mcp"),),
            (("claude", "mcp", "remove", "--scope", "user", NAME),),
            ("claude", "mcp", "get", NAME),
            "Scope: User",
            told="it is there, without hooks: only the plugin tells what is read and changed, and "
            "it comes with a checkout of Live Memory",
        ),
    ),
    # It is only recognised and taken out. To put it in copies the whole checkout, with its
    # environment, and there is none in what `uv tool` and `pipx` install: one way serves both.
    "codex": (
        _Commands(
            (),
            (
                ("codex", "plugin", "remove", _PLUGIN),
                ("codex", "plugin", "marketplace", "remove", NAME),
            ),
            ("codex", "plugin", "list", "--json"),
            f'"{_PLUGIN}"',
            needs_plugin=True,
        ),
    ),
}


def has_commands(host: str) -> bool:
    """Whether it has commands that we use, and the program is there."""
    return host in _COMMANDS and shutil.which(host) is not None


def adding(host: str, program: str, *, home: Path) -> Sequence[Words] | None:
    """What is left to run so that it has us; nothing where no command of its own is to be used."""
    if any(_is_there(commands, home) for commands in _COMMANDS[host]):
        return ()
    folder = plugin_folder()
    values = {_FOLDER: str(folder), _PROGRAM: program}
    for commands in _COMMANDS[host]:
        if commands.add and (folder is not None or not commands.needs_plugin):
            return [tuple(values.get(word, word) for word in words) for words in commands.add]
    return None


def removing(host: str, *, home: Path) -> Sequence[Words]:
    """What is to be run so that it has us no more."""
    there = (commands for commands in _COMMANDS[host] if _is_there(commands, home))
    return [words for commands in there for words in commands.remove]


def run_all(lines: Sequence[Words], *, home: Path) -> None:
    """Run them one after the other.

    Raises:
        Failure: one did not do it; tells which, and what it said last.
    """
    for words in lines:
        code, said = _run(words, home)
        if code:
            last = (said.strip().splitlines() or ["it said nothing"])[-1]
            raise Failure(
                f"`{' '.join(words)}` failed ({visible(last)})",
                code=ExitCode.FAILED,
                kind="unavailable",
            )


def listed(host: str, *, home: Path) -> str | None:
    """The line in which the host itself lists us; nothing where it has no command for that.

    Raises:
        Failure: it does not list us.
    """
    for commands in _COMMANDS.get(host, ()):
        if has_commands(host) and _is_there(commands, home):
            return f"{' '.join(commands.listing)}: {commands.told}"
    words = HOSTS[host].listing
    if not words or shutil.which(words[0]) is None:
        return None
    asked = " ".join(words)
    code, said = _run(words, home)
    ours = [visible(line.strip()) for line in said.splitlines() if NAME in line]
    if not ours:
        raise Failure(
            f"all is written, and `{asked}` does not name {NAME} (exit code {code}): see what it "
            "says",
            code=ExitCode.FAILED,
            kind="unavailable",
        )
    return f"{asked}: {ours[0]}"


def _is_there(commands: _Commands, home: Path) -> bool:
    code, said = _run(commands.listing, home)
    return code == 0 and commands.shows in said


def _run(words: Words, home: Path) -> tuple[int, str]:
    """In the home folder, since what a project names is not to be started."""
    try:
        done = subprocess.run(  # noqa: S603 - the host's own command, with fixed words
            words,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_EACH_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return 1, str(problem)
    return done.returncode, _STYLE.sub("", done.stdout.decode("utf-8", "replace"))
