"""The command `live-memory`: each subcommand's module is imported only when it is called.

People wait for it, so nothing here may import the server.
"""

import functools
import gc
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import click

from live_memory import __version__
from live_memory.cli.environment import ExitCode, Failure, absolute_path, settings_in
from live_memory.cli.saying import say, say_json
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Configuration, config_file, load

__all__ = [
    "absolute",
    "configured",
    "cwd_option",
    "data_dir_option",
    "json_option",
    "load_configuration",
    "main",
    "run",
]

# In the order in which a person meets them. `serve` alone imports the server.
_COMMANDS = {
    "start": "lifecycle",
    "ask": "ask",
    "learn": "learn",
    "status": "lifecycle",
    "ui": "ui",
    "stats": "facts",
    "empty": "facts",
    "facts": "facts",
    "note": "note",
    "recall": "note",
    "forget": "note",
    "handoff": "handoff",
    "import": "import_sessions",
    "export": "export",
    "pause": "purge",
    "resume": "purge",
    "purge": "purge",
    "config": "config",
    "connect": "connect",
    "disconnect": "connect",
    "doctor": "doctor",
    "stop": "lifecycle",
    "service": "service",
    "mcp": "lifecycle",
    "uninstall": "uninstall",
    "serve": "serve",
    "completion": "completion",
    "headers": "lifecycle",
}
_SHORT = {
    "start": "Start the server in the background, unless it runs.",
    "ask": "Ask about a codebase.",
    "learn": "Index a codebase before it is asked about.",
    "status": "Say whether the server runs, and where.",
    "ui": "Open the page that shows what is remembered.",
    "stats": "Show what is remembered about a workspace.",
    "empty": "Forget a workspace.",
    "facts": "List what was distilled, say why, pin or forget.",
    "note": "Tell agents and yourself something to be remembered.",
    "recall": "Find what was told.",
    "forget": "Take back what was told or learned.",
    "handoff": "Leave work to the next one, or claim it.",
    "import": "Learn from past sessions, or take in the notes of a file.",
    "export": "Write what was told and understood to a file, or as pages.",
    "pause": "Learn and keep nothing of a codebase for a while.",
    "resume": "Learn and keep again.",
    "purge": "Remove what is kept from every file.",
    "config": "Show the settings in force.",
    "connect": "Let another coding tool ask, and be learned from.",
    "disconnect": "Take out what connect wrote.",
    "doctor": "Check the installation and name the fix for what is wrong.",
    "stop": "Stop the server.",
    "service": "Let the machine start the server and keep it running.",
    "mcp": "Speak MCP over standard input and output, for a client.",
    "uninstall": "Stop the server and remove what it wrote.",
    "serve": "Run the server in the foreground.",
    "completion": "Let your shell complete commands and options.",
}


class _Commands(click.Group):
    """A group that knows its commands' names without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in _COMMANDS if name in _SHORT]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"live_memory.cli.{_COMMANDS[cmd_name]}")
        # The name of one is a word of the language, and of one that of its module.
        found = getattr(module, "command" if cmd_name in ("serve", "import") else cmd_name)
        return found if isinstance(found, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _SHORT[name]) for name in self.list_commands(ctx)])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="live-memory")
def _live_memory() -> None:
    """A memory of your codebase: cited answers that were checked a moment ago."""


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    # Thousands of classes are made while importing, and not one of them is garbage. A server
    # collects again once all is imported; nothing else lives long enough to need it.
    gc.disable()
    os.umask(0o077)  # whatever a command makes is for its owner only
    os.environ["PATH"] = absolute_path(os.environ)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # answers hold characters that a terminal may lack
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; what goes wrong is one line, or one JSON object with `--json`."""
    try:
        outcome = _live_memory.main(list(arguments), prog_name="live-memory", standalone_mode=False)
    except (click.ClickException, InvalidRequest) as problem:
        return _tell(problem, as_json="--json" in arguments)
    except click.Abort:
        say("stopped", err=True)
        return ExitCode.FAILED
    except BrokenPipeError:
        sys.stdout = None  # the reader has left; flushing at exit would complain
        return ExitCode.FAILED
    except OSError as problem:
        return _tell(_of_system(problem), as_json="--json" in arguments)
    return outcome if isinstance(outcome, int) else ExitCode.FINE


def _of_system(problem: OSError) -> Failure:
    """What the system refused, and whether that was our output."""
    why = (problem.strerror or str(problem)).lower()
    last = problem.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is not None and last.tb_frame.f_code is click.echo.__code__:  # noqa: TID251
        sys.stdout = None  # flushing at exit would fail again
        what = f"the output cannot be written: {why}"
    elif isinstance(problem, FileNotFoundError) and problem.filename is None:
        what = "the current folder is gone: change to one that is there"
    else:
        what = why if problem.filename is None else f"{why}: '{problem.filename}'"
    return Failure(what, code=ExitCode.FAILED, kind="system")


def _tell(problem: click.ClickException | InvalidRequest, *, as_json: bool) -> int:
    """Say what went wrong; returns the exit code."""
    if isinstance(problem, InvalidRequest):
        problem = Failure(str(problem), code=ExitCode.REFUSED, kind="invalid")
    kind = problem.kind if isinstance(problem, Failure) else "invalid"
    code = problem.code if isinstance(problem, Failure) else problem.exit_code
    try:
        if as_json and sys.stdout is not None:
            say_json({"error": {"class": kind, "message": problem.format_message()}})
        elif isinstance(problem, Failure):
            say(f"live-memory: {problem.format_message()}", err=True)
        else:
            shown = StringIO()
            problem.show(shown)
            say(shown.getvalue(), err=True, nl=False)
    except OSError:  # nobody can be told, and the code says enough
        sys.stdout = sys.stderr = None
    return code


_P = ParamSpec("_P")
_R = TypeVar("_R")

_FLAGS = ("data_dir", "host", "port")

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
cwd_option = click.option(
    "--cwd", default=".", help="A folder of the codebase; the current one by default."
)


def absolute(cwd: str) -> str:
    """The folder as an absolute path, seen from where the shell is; links stay as they are.

    Raises:
        InvalidRequest: the shell is in a folder that is gone, or there is no such user's home.
    """
    try:
        return str(Path(cwd).expanduser().absolute())
    except FileNotFoundError as problem:
        raise InvalidRequest(
            "the current folder is gone: change to one that is there, or name one with --cwd"
        ) from problem
    except RuntimeError as problem:
        raise InvalidRequest(f"'{cwd}' names no home folder that is known") from problem


def data_dir_option(says: str) -> Callable[[Callable[..., _R]], Callable[..., _R]]:
    """The option `--data-dir`; a folder that is named from here stays the same from elsewhere."""

    def whole(_: click.Context, __: click.Parameter, folder: str | None) -> str | None:
        return None if folder is None else absolute(folder)

    return click.option("--data-dir", type=click.Path(), callback=whole, help=says)


def configured(command: Callable[Concatenate[Configuration, _P], _R]) -> Callable[..., _R]:
    """Add `--data-dir`, `--host` and `--port`, and hand the command its configuration."""

    @data_dir_option("The server's data folder.")
    @click.option("--host", help="The address it listens on.")
    @click.option("--port", type=int, help="The port it listens on.")
    @functools.wraps(command)
    def with_configuration(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        flags = {name: kwargs.pop(name, None) for name in _FLAGS}
        return command(load_configuration(flags), *args, **kwargs)

    return with_configuration


def load_configuration(flags: Mapping[str, object]) -> Configuration:
    """Read what is set for this run.

    Raises:
        InvalidRequest: a value was refused.
    """
    configuration = load(flags, settings_in(os.environ), config_file())
    for warning in configuration.warnings:
        say(f"warning: {warning}", err=True)
    return configuration
