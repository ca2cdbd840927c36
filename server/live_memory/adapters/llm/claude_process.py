"""One talk with a running client: we speak, its model calls our tools, and replies come out.

The model's calls are in its streamed words before the client comes for their results, so a reply
with calls is complete like any other; the client waits at its pipe until the results are given.
"""

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

import anyio
import anyio.to_thread
from anyio.abc import ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from live_memory.adapters.llm import quirks
from live_memory.adapters.llm.anthropic import MessagesEvents
from live_memory.adapters.llm.claude_messages import (
    ClientMessage,
    ClientReady,
    ControlReply,
    Ended,
    Failing,
    Json,
    Streamed,
    ToolServerMessage,
    beginning,
    ended_early,
    failure,
    heard_in,
    interruption,
    listed,
    reply_to,
    result_of,
    user_says,
)
from live_memory.adapters.llm.installed_client import ClaudeProgram
from live_memory.adapters.llm.quirks import ProviderError, error_of
from live_memory.adapters.llm.reply_assembly import ReplyDraft
from live_memory.core.companion.chat import ReplyStop, ToolResult, ToolSpec
from live_memory.core.errors import ModelRefused

__all__ = ["Launcher", "Session"]

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


class ClientProcess:
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

    async def start(self, borrower: object, *, max_output_tokens: int) -> ClientProcess:
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

    async def _start(self, max_output_tokens: int) -> ClientProcess:
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
        return ClientProcess(process, lifeline=lifeline, scratch=scratch)

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


_NOT_RUN = "not run: there is no time left for it"
_REPLY_ENDS = (ReplyStop.END, ReplyStop.TOOL_CALLS)


class Session:
    """Reads only while a reply is waited for, so it needs no task of its own."""

    def __init__(self, client: ClientProcess, tools: Sequence[ToolSpec]) -> None:
        self._client = client
        self._tools = tools
        self._has_spoken = False
        self._last_words = ""
        self._kind = ""
        self._is_answering = False
        self._has_end_due = False
        self._interruptions = 0
        self._awaited = ""
        self._calls: set[str] = set()
        self._results: dict[str, ToolResult] = {}
        self._waiting: dict[str, ToolServerMessage] = {}
        self.has_key = False
        # A line half written, or a turn that the client goes on with by itself.
        self.is_astray = False
        # What came for the last request, the reply at the end.
        self.drafts: Sequence[ReplyDraft] = ()

    async def begin(self, system: str) -> None:
        """Say what the client's model is to be."""
        await self._send(beginning(system))

    async def say(self, content: Sequence[Json], results: Sequence[ToolResult] = ()) -> None:
        """Say something now: a turn that runs is broken off, calls without result get none."""
        if self._is_answering:
            self._interruptions += 1
            self._awaited = f"interrupt-{self._interruptions}"
            self._waiting.clear()
            await self._send(interruption(self._awaited))
        # Before the results, so that the model hears it with them.
        await self._send(user_says(content))
        given = {result.call_id for result in results}
        late = [ToolResult(id_, _NOT_RUN, is_error=True) for id_ in self._calls - given]
        await self.give((*results, *late))

    async def give(self, results: Sequence[ToolResult]) -> None:
        """Let the client have what its model's calls gave."""
        self._is_answering = True
        self._calls.clear()
        self._results |= {result.call_id: result for result in results}
        for result in results:
            if asked := self._waiting.pop(result.call_id, None):
                await self._send(reply_to(asked, result_of(result)))

    async def reply(self, max_output_tokens: int, heard: Callable[[str], None]) -> ReplyDraft:
        """Read until the model's next reply is complete.

        Raises:
            ModelUnavailable: there is none; the subclass says what helps.
        """
        draft, sink = self._anew(max_output_tokens, ()), None
        while True:
            line = await self._client.next_line()
            said = None if line is None else heard_in(line)
            if line is None or (isinstance(said, Ended) and self._is_failure(said)):
                return await self._broken(draft, said if isinstance(said, Ended) else None)
            self._has_spoken = self._has_spoken or said is not None
            if isinstance(said, Streamed) and not self._awaited:
                if said.is_start:
                    if draft.spoken.text:
                        return self._astray(draft)
                    draft = self._anew(max_output_tokens, self.drafts)
                    sink = MessagesEvents(draft)
                if sink is not None and self._take(said, sink, draft, heard):
                    return draft
            elif isinstance(said, Ended) and said.is_aborted:
                draft, sink = self._anew(max_output_tokens, self.drafts), None
            else:
                await self._note(said, line)

    def _anew(self, max_output_tokens: int, before: Sequence[ReplyDraft]) -> ReplyDraft:
        draft = ReplyDraft.within(max_output_tokens)
        self.drafts = (*before, draft)
        return draft

    async def end(self) -> None:
        """End the client."""
        await self._client.end()

    def _take(
        self, said: Streamed, sink: MessagesEvents, draft: ReplyDraft, heard: Callable[[str], None]
    ) -> bool:
        """Take an event; true when the reply is complete."""
        try:
            shown = sink.take(said.event)
        except ProviderError as complaint:
            raise error_of(complaint) from None
        if shown:
            heard(shown)
        if not draft.is_complete and not draft.spoken.is_full:
            return False
        self._is_answering = False
        self._has_end_due = draft.stop is ReplyStop.END
        self._results.clear()
        self._calls = {call.id for call in draft.tool_calls()}
        # After any other end the client goes on by itself: it asks for the rest, or once more.
        self.is_astray = draft.spoken.is_full or draft.stop not in _REPLY_ENDS
        return True

    async def _note(self, said: ClientMessage, line: bytes) -> None:
        match said:
            case ToolServerMessage():
                await self._serve(said)
            case ControlReply(id_) if id_ == self._awaited:
                self._awaited = ""
            case ClientReady(has_key):
                self.has_key = has_key
            case Failing(kind):
                self._kind = kind
            case None if not line.lstrip().startswith(b"{"):
                self._last_words = line.decode("utf-8", "replace")
            case _:
                pass

    async def _serve(self, asked: ToolServerMessage) -> None:
        params = quirks.mapping(asked.message.get("params"))
        result: Json | None = None
        match asked.message.get("method"):
            case "initialize":
                version = params.get("protocolVersion")
                about = {"name": "live-memory", "version": "1"}
                capabilities: Json = {"tools": {}}
                result = {
                    "protocolVersion": version,
                    "capabilities": capabilities,
                    "serverInfo": about,
                }
            case "tools/list":
                result = listed(self._tools)
            case "ping":
                result = {}
            case "tools/call":
                given = self._results.get(asked.call_id)
                if given is None and asked.call_id:
                    self._waiting[asked.call_id] = asked
                    return
                result = result_of(given or ToolResult("", _NOT_RUN, is_error=True))
            case _:
                pass
        await self._send(reply_to(asked, result))

    async def _send(self, message: Json) -> None:
        was_astray, self.is_astray = self.is_astray, True
        await self._client.send(message)
        self.is_astray = was_astray

    def _is_failure(self, ended: Ended) -> bool:
        """An earlier turn's end may still be on its way when the next one was asked for."""
        if ended.is_error:
            return not (ended.is_aborted and self._interruptions)
        is_late = self._has_end_due or self._interruptions > 0
        self._has_end_due = False
        return not is_late

    async def _broken(self, draft: ReplyDraft, ended: Ended | None) -> ReplyDraft:
        if draft.spoken.text:
            return self._astray(draft)
        if ended is not None:
            said = ended.text if ended.is_error else "its turn ended without a reply"
            raise failure(self._kind, ended.status, said)
        code = await self._client.exit_code()
        raise ended_early(
            code, self._client.problem or self._last_words, has_spoken=self._has_spoken
        )

    def _astray(self, draft: ReplyDraft) -> ReplyDraft:
        """What broke off after it was heard is a reply that was cut."""
        draft.stop = None
        self.is_astray = True
        return draft
