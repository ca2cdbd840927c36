"""Runs the real client, cut off from everything but a scripted Messages API on loopback."""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.overhead.messages import reading

__all__ = ["Client", "ClientFailed", "hooks_only"]

_SESSION_S = 120


class ClientFailed(Exception):
    """The client did not play its script to the end."""


class Client:
    """The client's program with a home of its own and one plugin, or none."""

    def __init__(self, program: Path, *, home: Path, environment: Mapping[str, str]) -> None:
        self._program = program
        self._home = home
        self._environment = environment
        for name in (".claude", "tmp"):
            (home / name).mkdir(parents=True, exist_ok=True)

    def first_request_s(self, project: Path, *, plugin: Path | None) -> float:
        """Seconds from its start to its first request to the model.

        Raises:
            ClientFailed: there was none.
        """
        with reading(()) as reads:
            began = time.perf_counter()
            said = self._ran(project, reads.port, plugin)
        if reads.first_at is None:
            raise ClientFailed(f"no request came: {said}")
        return reads.first_at - began

    def read(self, project: Path, paths: Sequence[str], *, plugin: Path | None) -> list[float]:
        """Have it read these files one by one; seconds from each call to its result.

        Raises:
            ClientFailed: a call is missing.
        """
        with reading(paths) as reads:
            said = self._ran(project, reads.port, plugin)
        if len(reads.gaps_s) != len(paths):
            raise ClientFailed(f"{len(reads.gaps_s)} of {len(paths)} calls came back: {said}")
        return reads.gaps_s

    def _ran(self, project: Path, port: int, plugin: Path | None) -> str:
        """The end of what one session said."""
        given = [] if plugin is None else ["--plugin-dir", str(plugin)]
        try:
            done = subprocess.run(
                [str(self._program), "-p", "go", *given, "--allowedTools", "Read"],
                cwd=project,
                env=self._around(port),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_SESSION_S,
                check=False,
            )
        except subprocess.TimeoutExpired as problem:
            raise ClientFailed("the client did not end") from problem
        said = (done.stdout + done.stderr)[-300:]
        if done.returncode:
            raise ClientFailed(said)
        return said

    def _around(self, port: int) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._home),
            "CLAUDE_CONFIG_DIR": str(self._home / ".claude"),
            "TMPDIR": str(self._home / "tmp"),
            "LANG": "C.UTF-8",
            "ANTHROPIC_API_KEY": "dummy-key",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            # Nothing else can leave: there is no proxy at this address.
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "HTTP_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            **self._environment,
        }


def hooks_only(plugin: Path, target: Path) -> Path:
    """A copy of a plugin with its hooks and nothing that would start a server."""
    for name in (".claude-plugin", "hooks", "server/live_memory/client"):
        shutil.copytree(plugin / name, target / name)
    return target
