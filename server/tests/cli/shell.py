"""Runs `live-memory` as a shell does: a process of its own, with its own home and folders."""

import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from types import MappingProxyType

from live_memory.web.identity import published
from tests.support.server import a_free_port, environment_for

__all__ = ["Done", "Shell", "open_shell"]

_EACH_S = 60


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        """Its one object on stdout."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value

    @property
    def error(self) -> tuple[str, str]:
        """Class and message of the error object on stdout."""
        error = self.json["error"]
        assert isinstance(error, dict)
        return error["class"], error["message"]


@dataclass(frozen=True, slots=True)
class Shell:
    """A user's shell, whose commands know one data folder and one port."""

    folder: Path
    port: int
    environ: Mapping[str, str]

    @property
    def data_dir(self) -> Path:
        """Where the server of this shell keeps everything."""
        return self.folder / "data"

    def run(
        self,
        *arguments: str,
        cwd: Path | None = None,
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> Done:
        """Run a command to its end."""
        with self.begin(*arguments, cwd=cwd, environ=environ) as process:
            out, err = process.communicate(timeout=_EACH_S)
        return Done(process.returncode, out, err)

    def begin(
        self,
        *arguments: str,
        cwd: Path | None = None,
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> "subprocess.Popen[str]":
        """Start a command."""
        return subprocess.Popen(
            [sys.executable, "-m", "live_memory", *arguments],
            env={**self.environ, **environ},
            cwd=cwd or self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def show(
        self,
        *arguments: str,
        cwd: Path,
        columns: int = 80,
        hears: bool = False,
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[int, bytes]:
        """The exit code, and what a command writes to a terminal of so many columns.

        What it says on standard error is part of that where the terminal `hears` it.
        """
        # Its own size counts, and not that of a terminal in which the tests may run.
        usual = {name: value for name, value in self.environ.items() if name != "COLUMNS"}
        ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-m", "live_memory", *arguments],
            env={**usual, "TERM": "xterm-256color", **environ},
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs if hears else subprocess.DEVNULL,
        )
        os.close(theirs)
        shown = b""
        while chunk := _some(ours):
            shown += chunk
        os.close(ours)
        return process.wait(_EACH_S), shown


def _some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""


@contextmanager
def open_shell(folder: Path) -> Iterator[Shell]:
    """A shell; the server that its commands may have started is ended afterwards."""
    port = a_free_port()
    shell = Shell(folder, port, environment_for(folder, port=port))
    try:
        yield shell
    finally:
        server = published(shell.data_dir)
        if server is not None:
            with suppress(ProcessLookupError):
                os.kill(server.pid, signal.SIGTERM)
