"""What a supervisor is given to read: a systemd unit, a launchd property list, an environment file.

Pure text; `deploy/` shows what it comes out as.
"""

import plistlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Service", "environment_file", "launchd_agent", "systemd_unit"]

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
    """The unit: started when its user logs in, or with the machine; restarted when it fails."""
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
        f"EnvironmentFile=-{_plain(service.environment)}",
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


def _plain(path: Path) -> str:
    """A path where systemd takes the rest of the line."""
    return str(path).replace("%", "%%")


def _quoted(word: str, *, doubled: str = "") -> str:
    """A word as systemd reads it back: quoted, with `%` and `$` as themselves where they mean."""
    for character in doubled:
        word = word.replace(character, character * 2)
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{word}"'
