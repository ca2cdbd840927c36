"""One running client: lines in, lines out, and an end that leaves nothing behind."""

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

import anyio
import anyio.to_thread
from anyio.abc import ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from live_memory.adapters.llm.claude_cli.program import ClaudeProgram
from live_memory.core.errors import ModelRefused

__all__ = ["Launcher", "Running"]

# A client takes 200 MB and half a second of one core to start.
_AT_ONCE = 4
# Becomes the client, with a watch in its process group: it reads a pipe that only we can end, so it
# ends the group when this server is killed. A client that waits for its model does not notice that
# its input has ended (2.1.332, seen for half a minute). The pipe comes as standard error, because
# a shell can name no other descriptor that it is given.
_LAUNCHER = '(read -r _ <&2; kill -KILL 0) >/dev/null & exec "$@" 2>&1'
# The client repeats tool results of up to 30,000 characters on one line.
_LONGEST_LINE = 8 * 1024 * 1024
# Between two lines; the caller's deadline comes first in nearly any case.
_LONGEST_SILENCE_S = 120.0
# Told to end, the client is gone after 0.06 s, whatever it was doing (2.1.332).
_GRACE_S = 0.5


class Running:
    """A started client; whoever has it must end it."""

    def __init__(self, process: Process, *, lifeline: int, scratch: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._lifeline = lifeline
        self._scratch = scratch
        self._stdin: ByteSendStream = process.stdin
        self._lines = BufferedByteReceiveStream(process.stdout)
        self.problem = ""

    async def send(self, message: Mapping[str, object]) -> None:
        """Write one line; a client that is gone is noticed when it is read from."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            await self._stdin.send(json.dumps(message).encode() + b"\n")

    async def next_line(self) -> bytes | None:
        """The next line, or nothing when there are no more. Cancelling loses no line."""
        try:
            with anyio.fail_after(_LONGEST_SILENCE_S):
                return await self._lines.receive_until(b"\n", _LONGEST_LINE)
        except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError):
            return None
        except anyio.DelimiterNotFound:
            self.problem = "it wrote a line without an end"
        except TimeoutError:
            self.problem = "it was silent for too long (timeout)"
        return None

    async def exit_code(self) -> int | None:
        """How it ended, once it has closed its output."""
        with anyio.move_on_after(_GRACE_S):
            await self._process.wait()
        return self._process.returncode

    async def end(self) -> None:
        """Ask it to end, so that it finishes what it writes in the user's home; then make sure."""
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(_GRACE_S):
                _signal_group(self._process.pid, signal.SIGTERM)
                await self._process.wait()
            # Always: what it started may live on without it.
            _signal_group(self._process.pid, signal.SIGKILL)
            os.close(self._lifeline)
            await self._process.aclose()
            await anyio.to_thread.run_sync(_remove, self._scratch)


class Launcher:
    """Starts clients, a few at a time, in folders of ours."""

    def __init__(self, program: ClaudeProgram, folder: Path, *, model: str) -> None:
        self._program = program
        self._folder = folder
        self._model = model
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)
        self._is_clean = False

    async def start(self, borrower: object, *, max_output_tokens: int) -> Running:
        """Start a client when there is room for `borrower`, who must give the room back.

        Raises:
            ModelRefused: it cannot be started here.
        """
        await self._limiter.acquire_on_behalf_of(borrower)
        # Shielded, because a process that starts while we are cancelled would be lost.
        with anyio.CancelScope(shield=True):
            try:
                running = await self._start(max_output_tokens)
            except OSError as problem:
                self.give_back(borrower)
                raise ModelRefused(
                    f"Claude Code cannot be started from {self._program.path}: {problem.strerror}"
                ) from problem
        return running

    def give_back(self, borrower: object) -> None:
        """Let the next one start."""
        self._limiter.release_on_behalf_of(borrower)

    async def _start(self, max_output_tokens: int) -> Running:
        empty, scratch = await anyio.to_thread.run_sync(self._folders)
        watched, lifeline = os.pipe()
        try:
            process = await anyio.open_process(
                ["/bin/sh", "-c", _LAUNCHER, "sh", *self._program.command(self._model)],
                stdin=PIPE,
                stdout=PIPE,
                stderr=watched,
                cwd=empty,
                env=self._program.environment(scratch=scratch, max_output_tokens=max_output_tokens),
                start_new_session=True,
            )
        except OSError:
            os.close(lifeline)
            raise
        finally:
            os.close(watched)
        return Running(process, lifeline=lifeline, scratch=scratch)

    def _folders(self) -> tuple[Path, Path]:
        """Where it runs, which is always the same, and a place for what it leaves lying about."""
        empty, scratches = self._folder / "empty", self._folder / "scratch"
        if not self._is_clean:
            _remove(scratches)
            self._is_clean = True
        for folder in (empty, scratches):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return empty, Path(tempfile.mkdtemp(dir=scratches))


def _signal_group(leader: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
