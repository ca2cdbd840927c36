"""Runs `live-memory` as a shell does: a process of its own, with its own home and folders."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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
