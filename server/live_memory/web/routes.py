"""Our own HTTP routes: each translates a request to one call of the hub, and back."""

import functools
import json
from collections.abc import Awaitable, Callable, Mapping
from itertools import islice

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from live_memory.core.errors import InvalidRequest, LiveMemoryError
from live_memory.flow.hub import Hub
from live_memory.flow.ingesting.reception import Reception
from live_memory.flow.jobs import Ask
from live_memory.ports import Clock
from live_memory.web.drain import Drain
from live_memory.web.errors import ErrorClass, Problem, problem_of
from live_memory.web.guard import has_token
from live_memory.web.identity import Identity, health_form
from live_memory.web.requests import (
    MOST_EVENTS,
    fact_of,
    folder,
    json_object,
    parse_events,
    parse_question,
    project_of,
    workspace_of,
)
from live_memory.web.schemas import (
    answered_form,
    entry_form,
    fact_form,
    spend_form,
    stats_form,
    verdict_form,
    workspace_form,
)
from live_memory.web.streaming import AnswerStream

__all__ = ["MOST_ANSWERS", "MOST_ENTRIES", "MOST_FACTS", "Reload", "Routes"]

# Answers a reply: some 5 kB each.
MOST_ANSWERS = 200
# Entries a timeline: about 200 bytes each.
MOST_ENTRIES = 1_000
# Facts a reply: about 400 bytes each.
MOST_FACTS = 5_000

# Reads the configuration again; gives the name of the model that is used from now on.
Reload = Callable[[], Awaitable[str | None]]
Handler = Callable[["Routes", Request], Awaitable[ASGIApp]]


class Routes:
    """The handlers; a failure of ours becomes its reply in one place."""

    def __init__(
        self,
        hub: Hub,
        *,
        ask: Ask,
        drain: Drain,
        identity: Identity,
        clock: Clock,
        reload: Reload,
        reception: Reception,
    ) -> None:
        self._hub = hub
        self._ask = ask
        self._reception = reception
        self._reload = reload
        self._drain = drain
        self._identity = identity
        self._clock = clock

    def table(self) -> list[Route]:
        """Every route that is ours."""
        return [
            # Hooks come here thousands of times, and routes are tried in order.
            self._post("/notify", Routes.notify),
            self._get("/health", Routes.health),
            self._get("/stats", Routes.stats),
            self._post("/reload", Routes.reload),
            self._post("/clear", Routes.clear),
            self._get("/v1/answers", Routes.answers),
            self._get("/v1/facts", Routes.facts),
            self._post("/v1/facts/pin", Routes.pin),
            self._post("/v1/facts/forget", Routes.forget_fact),
            self._get("/v1/timeline", Routes.timeline),
            self._post("/v1/models/test", Routes.test_model),
            self._post("/v1/ask", Routes.ask),
            self._post("/v1/stop", Routes.stop),
        ]

    def _get(self, path: str, handler: Handler) -> Route:
        return Route(path, _Told(self, handler), methods=["GET"])

    def _post(self, path: str, handler: Handler) -> Route:
        return Route(path, _Told(self, handler), methods=["POST"])

    async def health(self, request: Request) -> ASGIApp:
        """Whether all is well; who has no token learns no more than that, and a proof."""
        form = health_form(
            self._identity,
            request.query_params.get("nonce"),
            is_known=has_token(request.scope),
            problems=self._hub.problems,
            notes=self._hub.notes,
        )
        return _json(form)

    async def stats(self, request: Request) -> ASGIApp:
        """Figures of one workspace."""
        stats = await self._hub.stats(await workspace_of(request.query_params, request))
        return _json({**stats_form(stats), "spend": spend_form(self._hub.spend)})

    async def answers(self, request: Request) -> ASGIApp:
        """Past answers, newest first."""
        cwd = await workspace_of(request.query_params, request)
        workspace, asked = await self._hub.answers(cwd)
        return _json({"answers": [answered_form(workspace, one) for one in asked[:MOST_ANSWERS]]})

    async def timeline(self, request: Request) -> ASGIApp:
        """What the window holds, newest first, without any text of files."""
        cwd = await workspace_of(request.query_params, request)
        workspace, entries = await self._hub.timeline(cwd)
        forms = [entry_form(entry) for entry in entries[:MOST_ENTRIES]]
        return _json({"workspace": workspace_form(workspace), "entries": forms})

    async def facts(self, request: Request) -> ASGIApp:
        """The ledger's newest facts first, each compared with the disk a moment ago.

        With `id` those whose id begins so, and with `stale=1` those whose source changed: of all.
        """
        query = request.query_params
        workspace, ledger = await self._hub.ledger(await workspace_of(query, request))
        start, is_any = query.get("id", ""), query.get("stale") != "1"
        facts = (f for f in reversed(ledger.facts) if f.id.startswith(start))
        newest = islice((f for f in facts if is_any or f.is_stale), MOST_FACTS)
        return _json(
            {
                "workspace": workspace_form(workspace),
                "facts": [fact_form(fact) for fact in newest],
                "total": len(ledger.facts),
                "rejected": ledger.rejected,
            }
        )

    async def pin(self, request: Request) -> ASGIApp:
        """Keep one fact in every prompt."""
        fields = await json_object(request)
        cwd = await workspace_of(fields, request)
        return _json(fact_form(await self._hub.pin(cwd, fact_of(fields))))

    async def forget_fact(self, request: Request) -> ASGIApp:
        """Drop one fact for good."""
        fields = await json_object(request)
        cwd = await workspace_of(fields, request)
        return _json(fact_form(await self._hub.forget_fact(cwd, fact_of(fields))))

    async def notify(self, request: Request) -> ASGIApp:
        """Take in what a host's hooks say; 202 means that it survives a crash."""
        events = parse_events(await json_object(request))
        if len(events) > MOST_EVENTS:
            why = f"more than {MOST_EVENTS} events: send less at once"
            return _refused(Problem(413, ErrorClass.LIMIT, why))
        named = project_of(request.headers)
        project = None if named is None else await folder(None, named)
        await self._reception.take(events, project=project)
        return _accepted(len(events))

    async def reload(self, request: Request) -> ASGIApp:
        """Read the configuration again and use its model from now on."""
        _nothing_in(await json_object(request))
        return _json({"model": await self._reload()})

    async def test_model(self, request: Request) -> ASGIApp:
        """Ask the model once and say what it can carry."""
        _nothing_in(await json_object(request))
        return _json(verdict_form(await self._hub.probe()))

    async def clear(self, request: Request) -> ASGIApp:
        """Forget one workspace or all; the project header is no consent to forget."""
        fields = await json_object(request)
        everything, cwd = fields.get("all"), fields.get("cwd")
        if (everything is True) == (cwd is not None) or everything not in (None, True, False):
            raise InvalidRequest('send {"cwd": FOLDER} to forget one workspace or {"all": true}')
        if everything is True:
            return _json({"cleared": await self._hub.clear_all()})
        workspace = await self._hub.clear(await workspace_of(fields, request))
        return _json({"cleared": 1, "workspace": workspace_form(workspace)})

    async def ask(self, request: Request) -> ASGIApp:
        """Answer one question, saying on the way how far it is."""
        fields = await json_object(request)
        question = parse_question(
            fields.get("question"),
            timeout=fields.get("timeout"),
            max_answer_tokens=fields.get("max_answer_tokens"),
            asked_at=self._clock.now(),
            wants_why=fields.get("why"),
        )
        cwd = await workspace_of(fields, request)
        return AnswerStream(functools.partial(self._ask, cwd, question))

    async def stop(self, request: Request) -> ASGIApp:
        """Stop at once, or unless a question is in flight; says whether the server does.

        Whoever has the token may. A process id says less: in a container it is another process.
        """
        # A newer client may say more; it must not be refused for that.
        when = (await json_object(request)).get("when")
        if when not in ("now", "idle"):
            raise InvalidRequest('send {"when": "now"} or {"when": "idle"} to stop the server')
        is_busy = when == "idle" and self._drain.questions_in_flight > 0
        if not is_busy:
            self._drain.ask_to_stop()
        return _json({"stopping": not is_busy})


class _Told:
    """A handler as an application, with what can fail told to the caller.

    The library's own way to call a handler takes as long as all that ours do.
    """

    def __init__(self, routes: Routes, handler: Handler) -> None:
        self._routes = routes
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reply to a request."""
        try:
            reply = await self._handler(self._routes, Request(scope, receive))
        except LiveMemoryError as error:
            reply = _refused(problem_of(error))
        await reply(scope, receive, send)


@functools.lru_cache(maxsize=16)
def _accepted(count: int) -> Response:
    """A reply keeps nothing of the request, so that the same one can be sent again."""
    return _json({"accepted": count}, status=202)


def _refused(problem: Problem) -> Response:
    return Response(
        problem.body(), problem.status, headers=problem.headers(), media_type="application/json"
    )


def _nothing_in(fields: Mapping[str, object]) -> None:
    """Refuse what would be ignored.

    Raises:
        InvalidRequest: there are fields.
    """
    if fields:
        raise InvalidRequest("this takes no fields: send {}")


def _json(value: object, *, status: int = 200) -> Response:
    # ASCII only: a name on disk may hold what UTF-8 cannot say.
    return Response(json.dumps(value, allow_nan=False), status, media_type="application/json")
