"""The supervisors that we can hand the server to: each installs, removes and shows one service."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import platformdirs

from live_memory.cli.failure import ExitCode, Failure
from live_memory.cli.service.units import LABEL, Service, launchd_agent, systemd_unit

__all__ = ["Launchd", "Supervisor", "Systemd", "supervisor"]

# A manager that is asked to start us waits until we answer.
_EACH_S = 60.0


class Supervisor(Protocol):
    """What starts the server with the machine, or with its user's session."""

    @property
    def file(self) -> Path:
        """The one file outside the data folder."""
        ...

    def text(self, service: Service, environ: Mapping[str, str]) -> bytes:
        """What the file says."""
        ...

    def check(self) -> None:
        """Refuse where nobody would read the file.

        Raises:
            Failure: this machine has no such supervisor running.
        """
        ...

    def start(self) -> None:
        """Take the file up, now and from now on.

        Raises:
            Failure: it does not start; the text says where to look.
        """
        ...

    def stop(self) -> None:
        """End it, and start it no more."""
        ...

    def forget(self) -> None:
        """Take notice that the file is gone."""
        ...

    def state(self) -> str:
        """What the supervisor says of it, in a word."""
        ...


@dataclass(frozen=True, slots=True)
class Systemd:
    """Of the user, or with `is_system` of the machine."""

    is_system: bool

    @property
    def file(self) -> Path:
        """Where units that a person adds belong."""
        folder = Path("/etc") if self.is_system else platformdirs.user_config_path()
        return folder / f"systemd/{'system' if self.is_system else 'user'}/{LABEL}.service"

    def text(self, service: Service, environ: Mapping[str, str]) -> bytes:
        """The unit; its environment is a file of its own."""
        return systemd_unit(service).encode()

    def check(self) -> None:
        """Ask the manager something that changes nothing."""
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
        """Enable and start; returns when the server answers, because the unit notifies."""
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


def supervisor(*, is_system: bool, platform: str = sys.platform) -> Supervisor:
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
