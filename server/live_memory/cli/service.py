"""`service install | uninstall | status`: the server as the machine's own supervisor runs it."""

import json
import os
import plistlib
import pwd
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import click
import platformdirs

from live_memory.cli.connection import find, health
from live_memory.cli.environment import ExitCode, Failure, StartMode, absolute_path
from live_memory.cli.main import configured, json_option
from live_memory.cli.saying import say, say_json
from live_memory.core.errors import InvalidRequest
from live_memory.settings import PREFIX, Configuration, Settings
from live_memory.web.identity import ensure_data_dir

__all__ = ["Launchd", "Service", "environment_file", "launchd_agent", "supervisor", "systemd_unit"]

LABEL = "live-memory"

# Options that a user's own manager can apply without name spaces of its own, which many machines
# refuse. No filter of system calls: a call that is refused there is a protection of ours that
# silently is not (Landlock), and the user's Claude Code needs memory that is written and run.
_FOR_ALL = """\
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK"""

# Everything but the data folder is read-only. /tmp stays the machine's own, because people keep
# checkouts there, and ours is among what is private to the data folder.
_FOR_SYSTEM = """\
CapabilityBoundingSet=
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectSystem=strict"""


@dataclass(frozen=True, slots=True)
class Service:
    """What a unit is about; `user` is for a unit of the whole machine."""

    command: tuple[str, ...]
    data_dir: Path
    environment: Path
    user: str | None = None
    writable: tuple[Path, ...] = ()


def systemd_unit(service: Service) -> str:
    """The unit: started when its user logs in, or with the machine; restarted when it fails.

    `deploy/` shows what it comes out as.
    """
    command = " ".join(_quoted(word, doubled="%$") for word in service.command)
    lines = [
        "[Unit]",
        "Description=Live Memory, a memory of your codebase",
        "StartLimitIntervalSec=60",
        "StartLimitBurst=5",
        "",
        "[Service]",
        "Type=notify",
        f"ExecStart={command}",
        f"EnvironmentFile=-{str(service.environment).replace('%', '%%')}",
        *([f"User={service.user}"] if service.user else []),
        "WorkingDirectory=/",
        "UMask=0077",
        # Questions may finish for 5 s, then what is known is saved.
        "TimeoutStopSec=20",
        "Restart=on-failure",
        "RestartSec=2",
        # A refused setting stays refused.
        "RestartPreventExitStatus=2",
        "TasksMax=256",
        "MemoryMax=4G",
        *_FOR_ALL.splitlines(),
        *(_FOR_SYSTEM.splitlines() if service.user else []),
        *([f"ReadWritePaths={_listed(service)}"] if service.user else []),
        "",
        "[Install]",
        f"WantedBy={'multi-user.target' if service.user else 'default.target'}",
        "",
    ]
    return "\n".join(lines)


def launchd_agent(service: Service, environ: Mapping[str, str]) -> bytes:
    """The property list of a user's agent; launchd reads no environment file."""
    log = str(service.data_dir / "server.log")
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(service.command),
            "EnvironmentVariables": dict(environ),
            "WorkingDirectory": "/",
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 5,
            "Umask": 0o077,
            "StandardOutPath": log,
            "StandardErrorPath": log,
        }
    )


def environment_file(environ: Mapping[str, str]) -> str:
    """The environment of the service: what is set for it, and room for a key."""
    lines = [
        "# The environment of the Live Memory service; a line each, NAME=value.",
        "# A key for a model can stand here: this file is for you alone.",
        "#ANTHROPIC_API_KEY=",
        *(f"{name}={_quoted(value)}" for name, value in environ.items()),
        "",
    ]
    return "\n".join(lines)


def _listed(service: Service) -> str:
    paths = (service.data_dir, *service.writable)
    return " ".join(_quoted(f"-{path}", doubled="%") for path in paths)


def _quoted(word: str, *, doubled: str = "") -> str:
    """A word as systemd reads it back: quoted, with `%` and `$` as themselves where they mean."""
    for character in doubled:
        word = word.replace(character, character * 2)
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{word}"'


# A manager that is asked to start us waits until we answer.
_EACH_S = 60.0


@dataclass(frozen=True, slots=True)
class Systemd:
    """Units of the user, or with `is_system` of the machine."""

    is_system: bool

    @property
    def file(self) -> Path:
        """Where units that a person adds belong."""
        folder = Path("/etc") if self.is_system else platformdirs.user_config_path()
        return folder / f"systemd/{'system' if self.is_system else 'user'}/{LABEL}.service"

    def text(self, service: Service, environ: Mapping[str, str]) -> bytes:
        """The unit; its environment is a file of its own."""
        return systemd_unit(service).encode()

    def serves(self, data_dir: Path) -> bool:
        """Whether the unit that is there is about this data folder; an `OSError` without one."""
        flag = _quoted(f"--data-dir={data_dir}", doubled="%$")
        return flag in self.file.read_text(encoding="utf-8", errors="replace")

    def check(self) -> None:
        """Ask the manager something that changes nothing.

        Raises:
            Failure: none is running.
        """
        done = self._ask("show-environment")
        if done.returncode:
            raise Failure(
                f"no systemd runs {'here' if self.is_system else 'for you'} "
                f"({_last_line(done.stderr)}): nothing was changed. `live-memory start` and the "
                "plugin work without a service, and `live-memory service install --print` shows "
                "the unit for another supervisor",
                code=ExitCode.FAILED,
                kind="unavailable",
            )

    def start(self) -> None:
        """Enable and start; returns when the server answers, because the unit notifies.

        Raises:
            Failure: it does not start; the text says where to look.
        """
        for words in (("daemon-reload",), ("enable", LABEL), ("restart", LABEL)):
            done = self._ask(*words)
            if done.returncode:
                user = "" if self.is_system else "--user "
                raise Failure(
                    f"`systemctl {user}{' '.join(words)}` failed ({_last_line(done.stderr)}): see "
                    f"`journalctl {user}-u {LABEL}`",
                    code=ExitCode.FAILED,
                    kind="unavailable",
                )

    def stop(self) -> None:
        """Stop and disable, whatever of it there is."""
        self._ask("disable", "--now", LABEL)

    def forget(self) -> None:
        """Read the units again."""
        self._ask("daemon-reload")
        self._ask("reset-failed", LABEL)

    def state(self) -> str:
        """`active`, `inactive`, `failed`, or that nobody can say."""
        return self._ask("is-active", LABEL).stdout.strip() or "no systemd answers"

    def _ask(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return _run("systemctl", *(() if self.is_system else ("--user",)), *words)


@dataclass(frozen=True, slots=True)
class Launchd:
    """The agents of one user on macOS."""

    @property
    def file(self) -> Path:
        """Where agents that a person adds belong."""
        return Path.home() / f"Library/LaunchAgents/{LABEL}.plist"

    def text(self, service: Service, environ: Mapping[str, str]) -> bytes:
        """The property list, with the environment in it."""
        return launchd_agent(service, environ)

    def serves(self, data_dir: Path) -> bool:
        """Whether the agent that is there is about this data folder; an `OSError` without one."""
        return f"<string>--data-dir={escape(str(data_dir))}</string>" in self.file.read_text(
            "utf-8"
        )

    def check(self) -> None:
        """It is part of the system."""

    def start(self) -> None:
        """Load it anew."""
        self.stop()
        done = _run("launchctl", "bootstrap", _domain(), str(self.file))
        if done.returncode:
            raise Failure(
                f"`launchctl bootstrap` failed ({_last_line(done.stderr)})",
                code=ExitCode.FAILED,
                kind="unavailable",
            )

    def stop(self) -> None:
        """Unload it."""
        _run("launchctl", "bootout", f"{_domain()}/{LABEL}")

    def forget(self) -> None:
        """Nothing is kept of it."""

    def state(self) -> str:
        """`active` where it is loaded."""
        done = _run("launchctl", "print", f"{_domain()}/{LABEL}")
        return "inactive" if done.returncode else "active"


def supervisor(*, is_system: bool, platform: str = sys.platform) -> Systemd | Launchd:
    """The one of this machine.

    Raises:
        Failure: it has none that we know, or not of that kind.
    """
    if platform == "linux":
        return Systemd(is_system)
    if platform == "darwin" and not is_system:
        return Launchd()
    raise Failure(
        "there is no service of that kind on this system: `live-memory start`, or your own "
        "supervisor around `live-memory serve --mode service`",
        code=ExitCode.REFUSED,
        kind="invalid",
    )


def installed_for(settings: Settings) -> Systemd | Launchd | None:
    """The user's own service, where it is about this data folder."""
    try:
        there = supervisor(is_system=False)
        is_it = there.serves(settings.data_dir.absolute())
    except (Failure, OSError):
        return None
    return there if is_it else None


def remove(there: Systemd | Launchd) -> None:
    """Stop a service and remove what starts it."""
    there.stop()
    _remove(there.file)
    there.forget()


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]


def _run(program: str, *words: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(  # noqa: S603 - fixed words to the system's own program
            [program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_EACH_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return subprocess.CompletedProcess([program], 1, "", str(problem))


ENVIRONMENT = "service.env"
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
    """Write the unit and start it; without --system, when you log in.

    \b
    Examples:
      live-memory service install
      live-memory service install --print
    """
    settings = configuration.settings
    there = supervisor(is_system=is_system)
    described = _described(settings, is_system=is_system)
    environ = _environment(configuration, os.environ)
    text = there.text(described, environ)
    if only_print:
        say(text.decode(), nl=False)
        return
    _check_owner(settings, is_system=is_system)
    there.check()
    if not settings.data_dir.exists():
        ensure_data_dir(settings.data_dir)
    if not described.environment.exists():
        _write(described.environment, environment_file(environ).encode())
    _write(there.file, text)
    there.start()
    say(f"installed {there.file}")
    say(f"its environment is in {described.environment}: a key for a model can stand there")
    server = _server(settings)
    say(f"Live Memory runs at {server}" if server else "see `live-memory service status`")


@service.command()
@_system
@configured
def uninstall(configuration: Configuration, *, is_system: bool) -> None:
    """Stop it and remove what install wrote; what it knows stays.

    \b
    Examples:
      live-memory service uninstall
    """
    settings = configuration.settings
    there = supervisor(is_system=is_system)
    environment = settings.data_dir / ENVIRONMENT
    was_there = there.file.exists()
    if was_there:
        remove(there)
    environment.unlink(missing_ok=True)
    say(f"removed {there.file}" if was_there else "no service is installed")
    if settings.data_dir.exists():
        say(f"the data folder '{settings.data_dir}' is left: see `live-memory uninstall`")


@service.command()
@_system
@json_option
@configured
def status(configuration: Configuration, *, is_system: bool, as_json: bool) -> int:
    """Say whether a service is installed, runs and answers.

    \b
    Examples:
      live-memory service status
    """
    there = supervisor(is_system=is_system)
    found = {
        "file": str(there.file),
        "installed": there.file.exists(),
        "state": there.state() if there.file.exists() else "absent",
        "server": _server(configuration.settings),
    }
    if as_json:
        say_json(found)
    else:
        say(f"{found['file']}: {found['state']}")
        say(f"server: {found['server'] or 'does not answer'}")
    return ExitCode.FINE if found["server"] else ExitCode.UNREACHABLE


def _described(settings: Settings, *, is_system: bool) -> Service:
    data_dir = settings.data_dir.absolute()
    owner = _owner(data_dir)
    return Service(
        # -I: neither a folder nor a variable decides what is imported.
        command=(
            *(sys.executable, "-I", "-m", "live_memory", "serve"),
            f"--mode={StartMode.SERVICE}",
            f"--data-dir={data_dir}",
        ),
        data_dir=data_dir,
        environment=data_dir / ENVIRONMENT,
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
    """Refuse to make root's memory out of someone's wish for his own, where nobody said whose."""
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
    """Write a whole file that only its owner reads; a `Failure` where it cannot be written."""
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
