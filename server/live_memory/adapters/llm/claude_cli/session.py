"""One talk with a running client: we speak, its model calls our tools, and replies come out.

The model's calls are in its streamed words before the client comes for their results, so a reply
with calls is complete like any other; the client waits at its pipe until the results are given.
"""

from collections.abc import Callable, Sequence

from live_memory.adapters.llm.claude_cli.failures import ended_early, failure
from live_memory.adapters.llm.claude_cli.process import Running
from live_memory.adapters.llm.claude_cli.speech import (
    Answered,
    Asked,
    Ended,
    Failing,
    Heard,
    Json,
    Started,
    Streamed,
    beginning,
    heard_in,
    interruption,
    listed,
    reply_to,
    result_of,
    user_says,
)
from live_memory.adapters.llm.wire import loose
from live_memory.adapters.llm.wire.complaints import Complaint, error_of
from live_memory.adapters.llm.wire.draft import Draft
from live_memory.adapters.llm.wire.messages_events import MessagesEvents
from live_memory.core.companion.chat import ReplyStop, ToolResult, ToolSpec

__all__ = ["Session"]

_NOT_RUN = "not run: there is no time left for it"
_REPLY_ENDS = (ReplyStop.END, ReplyStop.TOOL_CALLS)


class Session:
    """Reads only while a reply is waited for, so it needs no task of its own."""

    def __init__(self, client: Running, tools: Sequence[ToolSpec]) -> None:
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
        self._waiting: dict[str, Asked] = {}
        self.has_key = False
        # A line half written, or a turn that the client goes on with by itself.
        self.is_astray = False
        # What came for the last request, the reply at the end.
        self.drafts: Sequence[Draft] = ()

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

    async def reply(self, max_output_tokens: int, heard: Callable[[str], None]) -> Draft:
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

    def _anew(self, max_output_tokens: int, before: Sequence[Draft]) -> Draft:
        draft = Draft.within(max_output_tokens)
        self.drafts = (*before, draft)
        return draft

    async def end(self) -> None:
        """End the client."""
        await self._client.end()

    def _take(
        self, said: Streamed, sink: MessagesEvents, draft: Draft, heard: Callable[[str], None]
    ) -> bool:
        """Take an event; true when the reply is complete."""
        try:
            shown = sink.take(said.event)
        except Complaint as complaint:
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

    async def _note(self, said: Heard, line: bytes) -> None:
        match said:
            case Asked():
                await self._serve(said)
            case Answered(id_) if id_ == self._awaited:
                self._awaited = ""
            case Started(has_key):
                self.has_key = has_key
            case Failing(kind):
                self._kind = kind
            case None if not line.lstrip().startswith(b"{"):
                self._last_words = line.decode("utf-8", "replace")
            case _:
                pass

    async def _serve(self, asked: Asked) -> None:
        params = loose.mapping(asked.message.get("params"))
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

    async def _broken(self, draft: Draft, ended: Ended | None) -> Draft:
        if draft.spoken.text:
            return self._astray(draft)
        if ended is not None:
            said = ended.text if ended.is_error else "its turn ended without a reply"
            raise failure(self._kind, ended.status, said)
        code = await self._client.exit_code()
        raise ended_early(
            code, self._client.problem or self._last_words, has_spoken=self._has_spoken
        )

    def _astray(self, draft: Draft) -> Draft:
        """What broke off after it was heard is a reply that was cut."""
        draft.stop = None
        self.is_astray = True
        return draft
