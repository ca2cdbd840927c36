"""The options that every command shares, and the configuration they lead to."""

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import click

from live_memory.cli.running.environment import settings_in
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Configuration, config_file, load

__all__ = ["absolute", "configured", "cwd_option", "json_option", "load_configuration"]

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


def configured(command: Callable[Concatenate[Configuration, _P], _R]) -> Callable[..., _R]:
    """Add `--data-dir`, `--host` and `--port`, and hand the command its configuration."""

    @click.option("--data-dir", type=click.Path(path_type=Path), help="The server's data folder.")
    @click.option("--host", help="The address it listens on.")
    @click.option("--port", type=int, help="The port it listens on.")
    @functools.wraps(command)
    def with_configuration(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        flags = {name: kwargs.pop(name, None) for name in _FLAGS}
        if flags["data_dir"] is not None:
            flags["data_dir"] = absolute(str(flags["data_dir"]))
        return command(load_configuration(flags), *args, **kwargs)

    return with_configuration


def load_configuration(flags: Mapping[str, object]) -> Configuration:
    """Read what is set for this run.

    Raises:
        InvalidRequest: a value was refused.
    """
    configuration = load(flags, settings_in(os.environ), config_file())
    for warning in configuration.warnings:
        click.echo(f"warning: {warning}", err=True)
    return configuration
