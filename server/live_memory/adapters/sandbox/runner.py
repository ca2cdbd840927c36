"""The one way a program is started: bounded in time, output, memory and number, and ended whole.

It must not know what the programs are for.
"""

import os
import signal
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE

from anyio import (
    BrokenResourceError,
    CancelScope,
    CapacityLimiter,
    ClosedResourceError,
    EndOfStream,
    create_task_group,
    move_on_after,
    open_process,
)
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from live_memory.core.errors import Exhausted, refuse_exhausted

__all__ = ["Command", "Programs", "Ran", "Runner", "find_programs"]

# Limits are set by a shell that then becomes the program: no code of ours runs between fork and
# exec in a threaded server, and it costs 0.6 ms. `-f 0`: a child can write no file. A limit the
# system does not know (`-v` on macOS) is left out.
_LAUNCHER = (
    'ulimit -f 0; ulimit -c 0; ulimit -n 256; ulimit -t "$1"; ulimit -v "$2" 2>/dev/null; '
    'shift 2; exec "$@"'
)
# git maps whole packs; the largest public repositories have packs of 4 to 6 GB.
_MEMORY_KIB = 8 * 1024 * 1024
# Two cores' worth of searches and log reads; more would only wait for the disk.
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments and everything it may know and use."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    timeout_s: float = 10.0
    max_output: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program did; `code` is `None` when it was ended by us or could not start."""

    code: int | None
    out: bytes
    is_cut: bool = False
    is_late: bool = False
    is_exhausted: bool = False

    @property
    def is_fine(self) -> bool:
        """Whether it ended by itself and was content."""
        return self.code == 0


@dataclass(frozen=True, slots=True)
class Programs:
    """Absolute paths of the programs we use, or nothing where there is none."""

    git: str | None
    rg: str | None
    python: str = sys.executable


def find_programs(search_path: str) -> Programs:
    """Resolve the programs once; relative entries of the search path are never looked at."""
    ours = str(Path(sys.executable).parent)
    return Programs(
        git=_find("git", search_path), rg=_find("rg", f"{ours}{os.pathsep}{search_path}")
    )


class Runner:
    """Starts programs, a few at a time."""

    def __init__(self, *, at_once: int = _AT_ONCE) -> None:
        self._limiter = CapacityLimiter(at_once)

    async def run(self, command: Command) -> Ran:
        """Run a program to its end or to its limits; nothing it started is left behind."""
        async with self._limiter:
            try:
                # Shielded, because a process that starts while we are cancelled would be lost.
                with CancelScope(shield=True):
                    process = await _start(command)
            except (OSError, ValueError) as problem:
                return Ran(None, b"", is_exhausted=_is_exhausted(problem))
            try:
                return await _attend(process, command)
            finally:
                with CancelScope(shield=True):
                    _end_group(process.pid)
                    await process.aclose()


async def _start(command: Command) -> Process:
    cpu_s = str(int(command.timeout_s) + 1)
    launcher = ("/bin/sh", "-c", _LAUNCHER, "sh", cpu_s, str(_MEMORY_KIB))
    stdin = _stdin_of(command.stdin)
    try:
        return await open_process(
            [*launcher, *command.argv],
            stdin=stdin,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd=command.cwd,
            env=command.env,
            start_new_session=True,
        )
    finally:
        if stdin >= 0:
            os.close(stdin)


def _stdin_of(data: bytes | None) -> int:
    """Where a program reads from: memory where the system has such files, else a pipe.

    A program that ends before it has read a pipe to its end leaves an error behind in the event
    loop of some versions of Python, which nobody can catch.
    """
    if data is None:
        return DEVNULL
    if not hasattr(os, "memfd_create"):
        return PIPE
    descriptor = os.memfd_create("input", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as memory:
        memory.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


async def _attend(process: Process, command: Command) -> Ran:
    assert process.stdout is not None
    out, is_cut = bytearray(), False
    with move_on_after(command.timeout_s) as deadline:
        async with create_task_group() as tasks:
            if process.stdin is not None:
                tasks.start_soon(_feed, process.stdin, command.stdin or b"")
            is_cut = await _drain(process.stdout, out, command.max_output)
            tasks.cancel_scope.cancel()
        if not is_cut:
            code = await process.wait()
            return Ran(code, bytes(out))
    return Ran(None, bytes(out), is_cut=is_cut, is_late=deadline.cancelled_caught)


async def _feed(stdin: ByteSendStream, data: bytes) -> None:
    # A program may end before it has read everything; what it did is in its output.
    with suppress(BrokenResourceError, ClosedResourceError, ConnectionError):
        await stdin.send(data)
        await stdin.aclose()


async def _drain(stdout: ByteReceiveStream, out: bytearray, limit: int) -> bool:
    """Collect output until it ends; true when there was more than the limit."""
    while True:
        try:
            out += await stdout.receive()
        except EndOfStream:
            return False
        if len(out) > limit:
            del out[limit:]
            return True


def _is_exhausted(problem: Exception) -> bool:
    """Whether the system has no room for another program now."""
    try:
        refuse_exhausted(problem)
    except Exhausted:
        return True
    return False


def _end_group(leader: int) -> None:
    # The leader may be gone while something it started lives on, so this is done always.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _find(name: str, search_path: str) -> str | None:
    for folder in search_path.split(os.pathsep):
        candidate = os.path.join(folder, name)
        if os.path.isabs(folder) and _is_program(candidate):
            return candidate
    return None


def _is_program(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and os.access(path, os.X_OK)
