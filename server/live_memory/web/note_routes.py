"""The routes by which notes are told, found again and forgotten, and work is handed over."""

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp

from live_memory.core.memory.notebook import Handoff
from live_memory.core.values import Author
from live_memory.flow.notes import Claimed
from live_memory.flow.open_workspaces import Hub
from live_memory.ports import Clock
from live_memory.web.guard import is_page
from live_memory.web.note_calls import Caller, NoteCalls, caller_of
from live_memory.web.note_forms import (
    claimed_form,
    forgot_form,
    handoff_form,
    handoffs_form,
    recalled_form,
    remembered_form,
)
from live_memory.web.routes import json_object, json_reply, post_route, workspace_of

__all__ = ["NoteRoutes"]


class NoteRoutes:
    """The handlers."""

    def __init__(self, hub: Hub, *, clock: Clock) -> None:
        self._hub = hub
        self._clock = clock
        self._calls = NoteCalls(hub.notebook, clock=clock)

    def table(self) -> list[Route]:
        """Every route of these."""
        return [
            post_route("/v1/remember", self.remember),
            post_route("/v1/recall", self.recall),
            post_route("/v1/forget", self.forget),
            post_route("/v1/handoff", self.handoff),
        ]

    async def remember(self, request: Request) -> ASGIApp:
        """Keep a note."""
        fields = await json_object(request)
        done = await self._calls.remember(
            fields, lambda: workspace_of(fields, request, self._hub), _caller(request)
        )
        return json_reply(remembered_form(done))

    async def recall(self, request: Request) -> ASGIApp:
        """Find what is kept."""
        fields = await json_object(request)
        recalled, query = await self._calls.recall(
            fields, lambda: workspace_of(fields, request, self._hub)
        )
        return json_reply(recalled_form(recalled, query, now=self._clock.now()))

    async def forget(self, request: Request) -> ASGIApp:
        """Withdraw what is kept."""
        fields = await json_object(request)
        forgot = await self._calls.forget(
            fields, lambda: workspace_of(fields, request, self._hub), _caller(request)
        )
        return json_reply(forgot_form(forgot))

    async def handoff(self, request: Request) -> ASGIApp:
        """Leave work, look at what is left, take it over, or end it."""
        fields = await json_object(request)
        done = await self._calls.handoff(
            fields, lambda: workspace_of(fields, request, self._hub), _caller(request)
        )
        now = self._clock.now()
        match done:
            case Handoff():
                return json_reply({"handoff": handoff_form(done, now=now)})
            case Claimed():
                return json_reply(claimed_form(done, now=now))
            case _:
                return json_reply(handoffs_form(done.workspace, done.handoffs, now=now))


def _caller(request: Request) -> Caller:
    usual = Author.PERSON if is_page(request.scope) else Author.AGENT
    return caller_of(request.headers, usual=usual)
