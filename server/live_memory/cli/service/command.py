"""`service install | uninstall | status`: the server as the machine's own supervisor runs it."""

import json
import os
import pwd
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from live_memory.cli.failure import ExitCode, Failure
from live_memory.cli.options import configured, json_option
from live_memory.cli.reaching.connection import health
from live_memory.cli.reaching.finding import find
from live_memory.cli.running.environment import absolute_path
from live_memory.cli.running.mode import Mode
from live_memory.cli.service.supervisors import supervisor
from live_memory.cli.service.units import Service, environment_file
from live_memory.core.errors import InvalidRequest
from live_memory.settings import PREFIX, Configuration, Settings, config_file
from live_memory.web.token import ensure_data_dir

__all__ = ["service"]

_ENVIRONMENT = "service.env"
_TEMPORARY = Path("/tmp")  # noqa: S108  (named for a unit; nothing is made there)

_system = click.option("--system", "is_system", is_flag=True, help="Of the machine, not of you.")


@click.group()
def service() -> None:
    """Let the machine start the server and keep it running."""


@service.command()
@_system
@click.option("--print", "only_print", is_flag=True, help="Print the unit and change nothing.")
@configured
def install(configuration: Configuration, *, is_system: bool, only_print: bool) -> None:
    """Write the unit and start it; without --system, when you log in."""
    settings = configuration.settings
    there = supervisor(is_system=is_system)
    described = _described(settings, is_system=is_system)
    environ = _environment(configuration, os.environ)
    text = there.text(described, environ)
    if only_print:
        click.echo(text.decode(), nl=False)
        return
    _check_owner(settings, is_system=is_system)
    there.check()
    if not settings.data_dir.exists():
        ensure_data_dir(settings.data_dir)
    if not described.environment.exists():
        _write(described.environment, environment_file(environ).encode())
    _write(there.file, text)
    there.start()
    click.echo(f"installed {there.file}")
    click.echo(f"its environment is in {described.environment}: a key for a model can stand there")
    click.echo(f"Live Memory runs on port {settings.port}")


@service.command()
@_system
@configured
def uninstall(configuration: Configuration, *, is_system: bool) -> None:
    """Stop it and remove what install wrote; what it knows stays."""
    settings = configuration.settings
    there = supervisor(is_system=is_system)
    environment = settings.data_dir / _ENVIRONMENT
    was_there = there.file.exists()
    if was_there:
        there.stop()
        _remove(there.file)
        there.forget()
    environment.unlink(missing_ok=True)
    click.echo(f"removed {there.file}" if was_there else "no service is installed")
    if settings.data_dir.exists():
        click.echo(f"what is left is the data folder; to remove it: rm -r '{settings.data_dir}'")
    if config_file().exists():
        click.echo(f"and your settings; to remove them: rm '{config_file()}'")


@service.command()
@_system
@json_option
@configured
def status(configuration: Configuration, *, is_system: bool, as_json: bool) -> int:
    """Say whether a service is installed, runs and answers."""
    there = supervisor(is_system=is_system)
    found = {
        "file": str(there.file),
        "installed": there.file.exists(),
        "state": there.state() if there.file.exists() else "absent",
        "server": _server(configuration.settings),
    }
    if as_json:
        click.echo(json.dumps(found))
    else:
        click.echo(f"{found['file']}: {found['state']}")
        click.echo(f"server: {found['server'] or 'does not answer'}")
    return ExitCode.FINE if found["server"] else ExitCode.UNREACHABLE


def _described(settings: Settings, *, is_system: bool) -> Service:
    data_dir = settings.data_dir.absolute()
    owner = _owner(data_dir)
    return Service(
        # -I: neither a folder nor a variable decides what is imported.
        command=(
            *(sys.executable, "-I", "-m", "live_memory", "serve"),
            f"--mode={Mode.SERVICE}",
            f"--data-dir={data_dir}",
        ),
        data_dir=data_dir,
        environment=data_dir / _ENVIRONMENT,
        user=owner.pw_name if is_system else None,
        # The user's own Claude Code, where it answers, keeps its login there.
        writable=(Path(owner.pw_dir, ".claude"), Path(owner.pw_dir, ".claude.json"), _TEMPORARY),
    )


def _owner(data_dir: Path) -> pwd.struct_passwd:
    """Whose memory it is, and so whose code is read; also by way of sudo."""
    try:
        return pwd.getpwuid(data_dir.stat().st_uid)
    except FileNotFoundError:
        return pwd.getpwuid(os.geteuid())


def _check_owner(settings: Settings, *, is_system: bool) -> None:
    """Refuse to make root's memory out of someone's wish for his own.

    Raises:
        Failure: nobody said whose.
    """
    if is_system and "SUDO_USER" in os.environ and not settings.data_dir.exists():
        raise Failure(
            f"data folder '{settings.data_dir}' does not exist: run `live-memory start` as the "
            "user whose code it is about, then name that user's folder with --data-dir",
            code=ExitCode.REFUSED,
            kind="invalid",
        )


def _environment(configuration: Configuration, environ: Mapping[str, str]) -> dict[str, str]:
    """What the service needs of this shell: where programs are, and settings but no secrets."""
    found = {"PATH": absolute_path(environ)}
    for name, source in configuration.sources.items():
        value = getattr(configuration.settings, name)
        if source in ("environment", "flag") and name not in ("api_key", "data_dir"):
            found[PREFIX + name.upper()] = (
                json.dumps(value) if isinstance(value, dict | tuple) else str(value)
            )
    return found


def _server(settings: Settings) -> str | None:
    try:
        server = find(settings)
        return f"{server.url} ({health(server).status})"
    except (Failure, InvalidRequest):
        return None


def _write(file: Path, text: bytes) -> None:
    """Write a whole file that only its owner reads.

    Raises:
        Failure: it cannot be written.
    """
    new = file.with_name(f"{file.name}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(new, flags, 0o600), "wb") as out:
            out.write(text)
        new.replace(file)
    except OSError as problem:
        raise _cannot(file, problem) from problem


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as problem:
        raise _cannot(file, problem) from problem


def _cannot(file: Path, problem: OSError) -> Failure:
    how = ": run it with sudo" if isinstance(problem, PermissionError) else ""
    return Failure(f"'{file}': {problem.strerror}{how}", code=ExitCode.FAILED, kind="unavailable")
