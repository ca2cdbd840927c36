"""What the page is made of, and what it is told; each handler translates to a call and back."""

import json
from collections.abc import Mapping
from importlib import resources

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from live_memory import __version__
from live_memory.core.errors import Busy, InvalidRequest
from live_memory.core.evidence.places import Place
from live_memory.core.memory.ledger import FactId
from live_memory.core.memory.window import QuestionAnswered
from live_memory.core.reading.observation import clean, visible
from live_memory.core.savings import FORMULA, Saving
from live_memory.core.values import RelPath
from live_memory.flow.inspect_memory import (
    asked_with_savings,
    learned_lately,
    open_places,
    reasons_of,
)
from live_memory.flow.open_workspaces import Hub, WorkspaceRow
from live_memory.flow.workspace import Workspace, statistics
from live_memory.ports import Clock
from live_memory.web.guard import Drain, ErrorClass, Problem, is_page, secret_in
from live_memory.web.identity import Identity
from live_memory.web.page_links import LINK_S, PAGE_KEY, PAGE_PARTS, PageLinks
from live_memory.web.routes import (
    cancel_when_gone,
    get_route,
    json_object,
    json_reply,
    nothing_in,
    number_in,
    post_route,
    refusal,
    workspace_of,
)
from live_memory.web.schemas import (
    caps_form,
    fact_form,
    file_event_form,
    record_form,
    spend_form,
    stats_form,
)

__all__ = ["PageRoutes"]

# Scripts and styles are ours alone, and no script may make markup of a text.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache",
}
_KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
# Rows that are told at a time.
_MOST_ROWS, _MOST_LEARNED = 200, 300
# Pages that listen at a time; how often it is looked for news, and how often silence is broken, so
# that a page notices a server that is gone.
_MOST_LISTENING, _LOOK_S, _SILENT_S = 16, 1.0, 15.0
_LONGEST_QUESTION = 300


class PageRoutes:
    """The routes that the page alone needs."""

    def __init__(
        self, hub: Hub, *, drain: Drain, links: PageLinks, identity: Identity, clock: Clock
    ) -> None:
        self._hub = hub
        self._drain = drain
        self._links = links
        self._identity = identity
        self._clock = clock
        self._listening = 0

    def table(self) -> list[Route]:
        """Every one."""
        return [
            get_route("/", _to_page),
            get_route("/ui", _File("index.html")),
            *(get_route(f"/ui/{name}", _File(name)) for name in PAGE_PARTS),
            post_route("/v1/page/link", self.link),
            post_route(PAGE_KEY, self.key),
            get_route("/v1/events", self.events),
            get_route("/v1/overview", self.overview),
            get_route("/v1/workspaces", self.workspaces),
            get_route("/v1/stats", self.stats),
            get_route("/v1/questions", self.questions),
            get_route("/v1/activity", self.activity),
            get_route("/v1/facts/why", self.why),
            post_route("/v1/places", self.places),
        ]

    async def link(self, request: Request) -> ASGIApp:
        """Make a link for who has the token; the page has none to give away."""
        nothing_in(await json_object(request))
        if is_page(request.scope):
            return refusal(Problem(403, ErrorClass.AUTH, "the page opens no other page"))
        return json_reply({"secret": self._links.made(), "seconds": LINK_S})

    async def key(self, request: Request) -> ASGIApp:
        """Give the key of this start for a link that was not used yet."""
        nothing_in(await json_object(request))
        shown = request.headers.get("authorization", "").encode("latin-1")
        if not self._links.used(secret_in(shown)):
            raise InvalidRequest(
                "this is no link that opens the page: it was used, or is older than a minute; "
                "run `live-memory ui` again"
            )
        return json_reply({"key": self._identity.page_key})

    async def events(self, request: Request) -> ASGIApp:
        """Say which workspaces something happened in, as server-sent events."""
        del request
        if self._listening >= _MOST_LISTENING:
            raise Busy("too many pages are open: close one", retry_after_s=5.0)
        return self._stream

    async def overview(self, request: Request) -> ASGIApp:
        """How the server is, which model answers, and what all workspaces took."""
        del request
        hub, now = self._hub, self._clock.now()
        companion = hub.models.companion
        spend, caps = await hub.spending()
        abilities = companion.model.abilities if companion else None
        problems = [visible(clean(problem)) for problem in hub.problems]
        return json_reply(
            {
                "version": __version__,
                "status": "degraded" if problems else "ok",
                "reasons": problems,
                "notes": [visible(clean(note)) for note in hub.notes],
                "model": abilities and record_form(abilities, "model", "is_subscription"),
                **caps_form(spend, caps, now=now),
                "hours": [record_form(hour) for hour in spend.of_day(now)],
                "spend": spend_form(spend),
                "asking": self._drain.questions_in_flight,
                "workspaces": len(await hub.roots()),
            }
        )

    async def workspaces(self, request: Request) -> ASGIApp:
        """Those whose folder's name holds `text`, `limit` of them, the latest first."""
        query = request.query_params
        text = query.get("text", "").casefold()
        rows = [r for r in await self._hub.workspaces() if text in r.identity.root.casefold()]
        limit = number_in(query, "limit", most=_MOST_ROWS)
        forms = [await _row_form(row) for row in rows[:limit]]
        return json_reply({"workspaces": forms, "matching": len(rows)})

    async def stats(self, request: Request) -> ASGIApp:
        """The figures of `/stats`."""
        cwd = await workspace_of(request.query_params, request, self._hub)
        return json_reply(stats_form(await self._hub.stats(cwd)))

    async def questions(self, request: Request) -> ASGIApp:
        """All questions that are kept, each in short, and what answers spared; newest first."""
        memory = await self._memory(request.query_params, request)
        with memory.in_use():
            asked = await asked_with_savings(memory)
        return json_reply(
            {"questions": [_asked_form(*each) for each in asked], "saved_is": FORMULA}
        )

    async def activity(self, request: Request) -> ASGIApp:
        """What was heard of files, what was understood, what was compacted; newest first."""
        memory = await self._memory(request.query_params, request)
        found = learned_lately(memory, most=_MOST_LEARNED)
        return json_reply(
            {
                "heard": [file_event_form(event) for event in reversed(memory.heard)],
                "learned": [record_form(each) for each in found],
                "compactions": [record_form(each) for each in reversed(memory.compactor.lately)],
            }
        )

    async def why(self, request: Request) -> ASGIApp:
        """Why a fact is believed, with the lines that it rests on as they are now."""
        query = request.query_params
        memory = await self._memory(query, request)
        with memory.in_use():
            found = await reasons_of(memory, FactId(query.get("id", "")))
        return json_reply(
            {
                "fact": fact_form(found.fact),
                "stands": found.standing is not None,
                "places": [record_form(place) for place in found.places],
            }
        )

    async def places(self, request: Request) -> ASGIApp:
        """The lines of places as they are now."""
        fields = await json_object(request)
        wanted = fields.get("places")
        if not isinstance(wanted, list):
            raise InvalidRequest("places is missing: send a list of path, start and end")
        places = [_place_in(each) for each in wanted]
        memory = await self._memory(fields, request)
        with memory.in_use():
            found = await open_places(memory, places)
        return json_reply({"places": [record_form(place) for place in found]})

    async def _memory(self, fields: Mapping[str, object], request: Request) -> Workspace:
        return await self._hub.opened(await workspace_of(fields, request, self._hub))

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One page that listens, until it is gone."""
        del scope
        kind = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        self._listening += 1
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cancel_when_gone, receive, tasks.cancel_scope)
                await self._tell_news(send)
        finally:
            self._listening -= 1

    async def _tell_news(self, send: Send) -> None:
        last: Mapping[str, object] = {}
        silent_since = float("-inf")
        while True:
            now = self._pulse()
            news = [name for name in {**last, **now} if last.get(name) != now.get(name)]
            if news or anyio.current_time() - silent_since >= _SILENT_S:
                data = json.dumps({"changed": news, "asking": self._drain.questions_in_flight})
                body = f"data: {data}\n\n".encode()
                await send({"type": "http.response.body", "body": body, "more_body": True})
                silent_since = anyio.current_time()
            last = now
            await anyio.sleep(_LOOK_S)

    def _pulse(self) -> Mapping[str, object]:
        hub, asking = self._hub, self._drain.questions_in_flight
        companion, users = hub.models.companion, hub.notebook.user.window.revision
        told = (hub.problems, hub.notes, asking, id(companion), hub.spend, users)
        return {**hub.pulse, "server": told}


async def _to_page(request: Request) -> ASGIApp:
    del request
    return RedirectResponse("/ui", 307, headers=_HEADERS)


class _File:
    """A file of the page; what is in it is the same for everybody."""

    def __init__(self, name: str) -> None:
        data = (resources.files(__package__) / name).read_bytes()
        kind = _KINDS[name.rpartition(".")[2]]
        self._reply = Response(data, media_type=kind, headers=_HEADERS)

    async def __call__(self, request: Request) -> ASGIApp:
        """Send it."""
        del request
        return self._reply


async def _row_form(row: WorkspaceRow) -> dict[str, object]:
    form: dict[str, object] = {**record_form(row.identity), "saved_at": row.saved_at}
    if row.here is not None:
        with row.here.in_use():
            found = await statistics(row.here)
        form["figures"] = record_form(
            found, "known_files", "facts", "questions", "cost_usd", "tokens_saved", "problems"
        )
    return form


def _asked_form(asked: QuestionAnswered, saving: Saving) -> dict[str, object]:
    question, answer = asked.question, asked.answer
    return {
        "at": question.asked_at,
        "question": visible(clean(question.text[:_LONGEST_QUESTION])),
        **record_form(answer, "mode", "grounding", "cost_usd", "elapsed_s", "is_subscription"),
        **record_form(saving),
        "saved": saving.tokens,
    }


def _place_in(value: object) -> Place:
    if isinstance(value, dict):
        path, start, end = (value.get(name) for name in ("path", "start", "end"))
        if isinstance(path, str) and type(start) is int and type(end) is int and 1 <= start <= end:
            return Place(RelPath.parse(clean(path)), start, end)
    raise InvalidRequest("a place is a path, and the lines start and end, counted from 1")
