"""Remember, recall, forget and hand over for whoever calls, by route or by tool."""

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.errors import InvalidRequest
from live_memory.core.memory.notebook import Handoff, Writer
from live_memory.core.notes.recollection import RecallQuery
from live_memory.core.reading.observation import clean
from live_memory.core.values import Author, Instant
from live_memory.flow.notes import Claimed, Forgot, Notes, Recalled, Remembered, Scope
from live_memory.ports import Clock, WorkspaceIdentity
from live_memory.web.note_arguments import (
    HandoffAction,
    flag_of,
    handoff_action_of,
    handoff_draft_of,
    handoff_id_of,
    ids_of,
    note_draft_of,
    recall_query_of,
    scope_of,
    text_of,
)

__all__ = ["Caller", "Find", "HandoffsListed", "NoteCalls", "caller_of"]

_HOST, _SESSION, _CALL = "x-live-memory-host", "x-live-memory-session", "x-live-memory-call"
_AUTHOR = "x-live-memory-author"
# Who else writes here is no client.
_AUTHORS = frozenset({Author.AGENT, Author.SUBAGENT, Author.PERSON})
_LONGEST_NAME = 128
_BLANKS = re.compile(r"[\s\0-\x20\x7f-\xa0\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and which call it is: asked again, the same one counts once."""

    writer: Writer
    call: str


@dataclass(frozen=True, slots=True)
class HandoffsListed:
    """Handoffs of a workspace, newest first."""

    workspace: WorkspaceIdentity
    handoffs: Sequence[Handoff]


def caller_of(
    headers: Mapping[str, str] | None, *, usual: Author = Author.AGENT, host: str = ""
) -> Caller:
    """Who calls, by what their client says in headers; a client that says nothing is `host`."""
    said = headers or {}
    author = next((one for one in _AUTHORS if one == said.get(_AUTHOR)), usual)
    writer = Writer(author, host=_name(said.get(_HOST) or host), session=_name(said.get(_SESSION)))
    return Caller(writer, _name(said.get(_CALL)) or secrets.token_hex(16))


def _name(said: str | None) -> str:
    """A name on one line."""
    try:  # header bytes come as Latin-1, whatever the client meant
        said = (said or "").encode("latin-1").decode("utf-8")
    except UnicodeError:
        said = said or ""
    return _BLANKS.sub(" ", clean(said)).strip()[:_LONGEST_NAME]


Find = Callable[[], Awaitable[str]]


class NoteCalls:
    """Each takes the arguments as they were sent, and what finds the folder that they are about.

    All of them raise `InvalidRequest` for what is not as it must be.
    """

    def __init__(self, notes: Notes, *, clock: Clock) -> None:
        self._notes = notes
        self._clock = clock

    async def remember(
        self, fields: Mapping[str, object], find: Find, caller: Caller
    ) -> Remembered:
        """Keep a note."""
        draft, scope = note_draft_of(fields, now=self._now), scope_of(fields) or Scope.WORKSPACE
        try:
            cwd = await find()
        except InvalidRequest:
            if scope is Scope.WORKSPACE:
                raise
            cwd = ""  # what is kept across projects is of no folder
        return await self._notes.remember(cwd, draft, caller.writer, scope=scope)

    async def recall(
        self, fields: Mapping[str, object], find: Find
    ) -> tuple[Recalled, RecallQuery]:
        """Find what is kept; with what was understood."""
        query, scope = recall_query_of(fields, now=self._now), scope_of(fields)
        return await self._notes.recall(await find(), query, scope=scope), query

    async def forget(self, fields: Mapping[str, object], find: Find, caller: Caller) -> Forgot:
        """Withdraw what is kept."""
        ids, reason = ids_of(fields), text_of(fields, "reason")
        return await self._notes.forget(await find(), ids, reason, caller.writer)

    async def handoff(
        self, fields: Mapping[str, object], find: Find, caller: Caller
    ) -> Handoff | Claimed | HandoffsListed:
        """Leave work, look at what is left, take it over, or end it."""
        notes, writer = self._notes, caller.writer
        match handoff_action_of(fields):
            case HandoffAction.LEAVE:
                draft = handoff_draft_of(fields, now=self._now)
                return await notes.leave(await find(), draft, writer, call=caller.call)
            case HandoffAction.LIST:
                to_agent, is_all = text_of(fields, "to_agent"), flag_of(fields, "all")
                listed = await notes.handoffs(await find(), to_agent=to_agent, is_open=not is_all)
                return HandoffsListed(*listed)
            case HandoffAction.CLAIM:
                named = handoff_id_of(fields)
                return await notes.claim(await find(), named, writer, call=caller.call)
            case HandoffAction.CANCEL:
                named, reason = handoff_id_of(fields), text_of(fields, "reason")
                return await notes.cancel(await find(), named, reason, writer)

    @property
    def _now(self) -> Instant:
        return self._clock.now()
