"""Our own HTTP routes: each translates a request to one call of the hub, and back."""

import functools
import json
import math
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from live_memory.core.answer import Budget, Question, render
from live_memory.core.errors import InvalidRequest, LiveMemoryError
from live_memory.core.memory.ledger import Fact, FactId
from live_memory.core.reading.observation import clean
from live_memory.core.values import Instant, WorkspaceKey
from live_memory.flow.jobs import Ask, Progress
from live_memory.flow.open_workspaces import Hub
from live_memory.flow.receive_events import Reception
from live_memory.ports import Clock
from live_memory.web.guard import Drain, ErrorClass, Problem, has_token, problem_of
from live_memory.web.identity import Identity, health_form
from live_memory.web.schemas import (
    answer_form,
    answered_form,
    caps_form,
    entry_form,
    fact_form,
    record_form,
    spend_form,
    stats_form,
    why_form,
)

__all__ = [
    "MAX_DEPTH",
    "MAX_VALUES",
    "MOST_ANSWERS",
    "MOST_ENTRIES",
    "MOST_EVENTS",
    "MOST_FACTS",
    "InForce",
    "Reload",
    "Routes",
    "cancel_when_gone",
    "check_shape",
    "folder",
    "get_route",
    "json_object",
    "json_reply",
    "nothing_in",
    "number_in",
    "parse_question",
    "post_route",
    "project_of",
    "refusal",
    "while_there",
    "workspace_of",
]

# A hook event nests about ten deep; a batch of a thousand has some ten thousand values.
MAX_DEPTH = 64
MAX_VALUES = 200_000
# Hook events a request.
MOST_EVENTS = 1_000

_PROJECT_HEADER = "x-live-memory-project"
# One alternative always matches from a quote on, so the pattern never starts over: linear.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_STRUCTURE = re.compile(rb"[^\[\]{},]+")


async def json_object(request: Request) -> Mapping[str, object]:
    """The body as a JSON object.

    Raises:
        InvalidRequest: it is anything else, or not strictly JSON.
    """
    body = await request.body()
    if not body.strip():
        raise InvalidRequest("the body is empty: send a JSON object")
    check_shape(body)
    try:
        value: object = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=_finite,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError:
        raise InvalidRequest("the body is not UTF-8") from None
    except json.JSONDecodeError as problem:
        raise InvalidRequest(f"the body is not JSON: {problem.msg}") from None
    except (ValueError, RecursionError):  # an integer of thousands of digits
        raise InvalidRequest("the body holds a number that is too long") from None
    if not isinstance(value, dict):
        raise InvalidRequest("the body must be a JSON object")
    return value


async def workspace_of(fields: Mapping[str, object], request: Request, hub: Hub) -> str:
    """The folder a request is about: `cwd`, else what the project header names.

    With `workspace` it is the root of the one that has this key.

    Raises:
        InvalidRequest: none is there, or it is no text that can be a path or a key.
    """
    key = fields.get("workspace")
    if isinstance(key, str):
        return await hub.root_of(WorkspaceKey(key))
    return await folder(fields.get("cwd"), project_of(request.headers))


def project_of(headers: Mapping[str, str] | None) -> str | None:
    """The project that the caller's client names in a header, if it does."""
    named = (headers or {}).get(_PROJECT_HEADER)
    if not named:
        return None
    try:  # header bytes come as Latin-1, whatever the client meant
        return named.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return named


async def folder(cwd: object, project: str | None) -> str:
    """The one folder that is meant: the project that the host names, or what `cwd` narrows it to.

    Raises:
        InvalidRequest: there is none, it is no text that can be a path, or `cwd`, which a model
            chooses, lies outside the project.
    """
    chosen = project if cwd is None else cwd
    if chosen is None:
        raise InvalidRequest("cwd is missing: send the absolute path of the project's folder")
    if not isinstance(chosen, str):
        raise InvalidRequest("cwd must be text: the absolute path of the project's folder")
    if "\0" in chosen or any("\ud800" <= c <= "\udfff" for c in chosen):
        raise InvalidRequest("cwd is not a path")
    if not chosen.startswith("/"):
        raise InvalidRequest("cwd must be an absolute path: send the project's folder from '/' on")
    # A name that is no absolute path is a variable that the host did not fill in: it names nothing.
    bound = project if cwd is not None and (project or "").startswith("/") else None
    if bound not in (None, chosen) and not await to_thread.run_sync(_narrows, chosen, bound):
        raise InvalidRequest("cwd lies outside the project that the client names: leave cwd out")
    return chosen


def _narrows(cwd: str, project: str | None) -> bool:
    """Whether a folder is the project's own or lies below it, by their real paths."""
    if project is None or "\0" in project:
        return True
    return Path(os.path.realpath(cwd)).is_relative_to(os.path.realpath(project))


def fact_of(fields: Mapping[str, object]) -> FactId:
    """The fact that a request names.

    Raises:
        InvalidRequest: it names none.
    """
    named = fields.get("id")
    if not isinstance(named, str) or not named:
        raise InvalidRequest("id is missing: send the id of a fact, as /v1/facts gives it")
    return FactId(clean(named))


def parse_events(fields: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    """The payloads of `{"events": [...]}`, or the one payload that a hook's client sends.

    Raises:
        InvalidRequest: it is neither.
    """
    events = fields.get("events") if "hook_event_name" not in fields else [fields]
    if not isinstance(events, list):
        raise InvalidRequest('send one hook payload, or {"events": [payload, ...]}')
    for event in events:
        if not isinstance(event, dict) or not isinstance(event.get("hook_event_name"), str):
            raise InvalidRequest("an event must be a hook payload: an object with its event's name")
    return events


def parse_question(
    text: object,
    *,
    timeout: object,
    max_answer_tokens: object,
    asked_at: Instant,
    wants_why: object = None,
) -> Question:
    """A question as callers send it; `None` stands for the default.

    Raises:
        InvalidRequest: an argument is of the wrong type or out of range.
    """
    if not isinstance(text, str):
        raise InvalidRequest("question must be text: ask about this codebase in a sentence")
    usual = Budget()
    seconds = usual.timeout_s if timeout is None else timeout
    tokens = usual.answer_tokens if max_answer_tokens is None else max_answer_tokens
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidRequest("timeout must be a number of seconds from 5 to 1800")
    if isinstance(tokens, bool) or not isinstance(tokens, int):
        raise InvalidRequest("max_answer_tokens must be a whole number from 256 to 32000")
    if wants_why is not None and not isinstance(wants_why, bool):
        raise InvalidRequest("why must be true or false")
    return Question(text, asked_at, Budget(seconds, tokens), bool(wants_why))


def check_shape(body: bytes) -> None:
    """Bound what parsing can cost before it begins.

    Raises:
        InvalidRequest: it nests too deep, or holds too many values.
    """
    structure = _NOT_STRUCTURE.sub(b"", _STRING.sub(b"", body))
    if len(structure) > MAX_VALUES:
        raise InvalidRequest(f"the body holds more than {MAX_VALUES} values")
    depth = 0
    for mark in structure:
        depth += (mark in b"[{") - (mark in b"]}")
        if depth > MAX_DEPTH:
            raise InvalidRequest(f"the body nests deeper than {MAX_DEPTH}")


def _object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidRequest("the body names a field twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidRequest("the body holds a number that is too large")
    return number


def _refuse_constant(text: str) -> object:
    raise InvalidRequest(f"the body is not JSON: {text} is no JSON value")


T = TypeVar("T")


class ProgressStream:
    """Sends lines of JSON: how far work is, then what came of it; a client that goes cancels it."""

    def __init__(self, work: Callable[[Progress], Awaitable[dict[str, object]]]) -> None:
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reply on this connection."""
        lines = _Lines(send)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_when_gone, receive, tasks.cancel_scope)
            try:
                found = await self._work(lines.progress)
            except LiveMemoryError as error:
                await lines.fail(problem_of(error))
            else:
                await lines.end(found)
            tasks.cancel_scope.cancel()


class _Lines:
    """The reply; it starts with its first line, so that a refusal can still have its status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_started = False

    async def progress(self, message: str, *, done: int = 0, total: int = 0) -> None:
        """Say how far it is."""
        numbers = {"done": done, "total": total} if total else {}
        await self._line({"progress": message, **numbers}, is_last=False)

    async def end(self, last: dict[str, object]) -> None:
        """Say the last thing."""
        await self._line(last, is_last=True)

    async def fail(self, problem: Problem) -> None:
        """Say that there is no answer, and why."""
        await self._line(problem.form(), is_last=True, status=problem.status)

    async def _line(self, value: dict[str, object], *, is_last: bool, status: int = 200) -> None:
        if not self._is_started:
            self._is_started = True
            headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store")]
            start = {"type": "http.response.start", "status": status, "headers": headers}
            await self._send(start)
        body = json.dumps(value, allow_nan=False).encode() + b"\n"
        await self._send({"type": "http.response.body", "body": body, "more_body": not is_last})


async def while_there(request: object, work: Callable[[], Awaitable[T]]) -> T | None:
    """What `work` gives, or nothing where the connection of this request closes first.

    The older protocol lets a call go on without its connection, so that the reply can be had on
    another one; here it cannot, and a model would be asked for nobody.

    Raises:
        LiveMemoryError: the work fails so.
    """
    if not isinstance(request, Request):
        return await work()
    found: T | None = None
    problem: LiveMemoryError | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel_when_gone, request.receive, tasks.cancel_scope)
        try:
            found = await work()
        except LiveMemoryError as error:
            problem = error
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
    return found


async def cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel once the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


# Answers a reply: some 5 kB each.
MOST_ANSWERS = 200
# Entries a timeline: about 200 bytes each.
MOST_ENTRIES = 1_000
# Facts a reply: about 400 bytes each.
MOST_FACTS = 5_000
# So many are gone through faster than a thread is found for it.
_FEW_FACTS = 1_000

# Reads the configuration again; gives the name of the model that is used from now on.
Reload = Callable[[], Awaitable[str | None]]
# Value and source of each setting that the server has now, without secrets.
InForce = Callable[[], Mapping[str, Mapping[str, object]]]
Handler = Callable[[Request], Awaitable[ASGIApp]]


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
        in_force: InForce,
        reception: Reception,
    ) -> None:
        self._hub = hub
        self._ask = ask
        self._reception = reception
        self._reload = reload
        self._in_force = in_force
        self._drain = drain
        self._identity = identity
        self._clock = clock

    def table(self) -> list[Route]:
        """Every route that is ours."""
        return [
            # Hooks come here thousands of times, and routes are tried in order.
            post_route("/notify", self.notify),
            get_route("/health", self.health),
            get_route("/stats", self.stats),
            get_route("/metrics", self.metrics),
            post_route("/reload", self.reload),
            get_route("/v1/config", self.config),
            post_route("/clear", self.clear),
            get_route("/v1/answers", self.answers),
            get_route("/v1/facts", self.facts),
            post_route("/v1/facts/pin", self.pin),
            post_route("/v1/facts/forget", self.forget_fact),
            get_route("/v1/timeline", self.timeline),
            post_route("/v1/models/test", self.test_model),
            post_route("/v1/ask", self.ask),
            post_route("/v1/learn", self.learn),
            post_route("/v1/stop", self.stop),
        ]

    async def health(self, request: Request) -> ASGIApp:
        """Whether all is well; who has no token learns no more than that, and a proof."""
        form = health_form(
            self._identity,
            request.query_params.get("nonce"),
            is_known=has_token(request.scope),
            problems=self._hub.problems,
            notes=self._hub.notes,
        )
        return json_reply(form)

    async def stats(self, request: Request) -> ASGIApp:
        """Figures of one workspace."""
        hub = self._hub
        stats = await hub.stats(await workspace_of(request.query_params, request, hub))
        spend, caps = await hub.spending()
        against = caps_form(spend, caps, now=self._clock.now())
        return json_reply({**stats_form(stats), "spend": spend_form(spend), **against})

    async def metrics(self, _request: Request) -> ASGIApp:
        """Figures of what is open now, for Prometheus."""
        from live_memory.web.metrics import CONTENT_TYPE, told  # noqa: PLC0415  (takes long)

        text = told(await self._hub.open_stats(), self._hub.spend)
        return Response(text, headers={"content-type": CONTENT_TYPE})

    async def answers(self, request: Request) -> ASGIApp:
        """Past answers, newest first; with `at` the one to the question that was asked then."""
        query = request.query_params
        cwd = await workspace_of(query, request, self._hub)
        workspace, asked = await self._hub.answers(cwd)
        if "at" in query:
            at = _time_in(query["at"])
            asked = [one for one in asked if one.question.asked_at == at]
        forms = [answered_form(workspace, one) for one in asked[:MOST_ANSWERS]]
        return json_reply({"answers": forms})

    async def timeline(self, request: Request) -> ASGIApp:
        """What the window holds, newest first, without any text of files."""
        cwd = await workspace_of(request.query_params, request, self._hub)
        workspace, entries = await self._hub.timeline(cwd)
        forms = [entry_form(entry) for entry in entries[:MOST_ENTRIES]]
        return json_reply({"workspace": record_form(workspace), "entries": forms})

    async def facts(self, request: Request) -> ASGIApp:
        """The ledger's newest facts first, each compared with the disk a moment ago.

        With `id` those whose id begins so, with `stale=1` those whose source changed, with
        `pinned=1` those that a person pinned, with `text` those that hold it: of all. They are told
        from `offset` on, `limit` of them; what follows the first ones is not compared again.
        """
        query = request.query_params
        cwd = await workspace_of(query, request, self._hub)
        offset = number_in(query, "offset", most=sys.maxsize, usual=0)
        workspace, ledger = await self._hub.ledger(cwd, is_checked=not offset)
        most = number_in(query, "limit", most=MOST_FACTS)
        found = functools.partial(_matching, ledger.facts, query)
        facts = found() if len(ledger.facts) <= _FEW_FACTS else await to_thread.run_sync(found)
        return json_reply(
            {
                "workspace": record_form(workspace),
                "facts": [fact_form(fact) for fact in facts[offset : offset + most]],
                "matching": len(facts),
                "total": len(ledger.facts),
                "rejected": ledger.rejected,
            }
        )

    async def pin(self, request: Request) -> ASGIApp:
        """Keep one fact in every prompt."""
        fields = await json_object(request)
        cwd = await workspace_of(fields, request, self._hub)
        return json_reply(fact_form(await self._hub.pin(cwd, fact_of(fields))))

    async def forget_fact(self, request: Request) -> ASGIApp:
        """Drop one fact for good."""
        fields = await json_object(request)
        cwd = await workspace_of(fields, request, self._hub)
        return json_reply(fact_form(await self._hub.forget_fact(cwd, fact_of(fields))))

    async def notify(self, request: Request) -> ASGIApp:
        """Take in what a host's hooks say; 202 means that it survives a crash.

        Who sends much at once says `wait`, and is told how much is not learned yet.
        """
        fields = await json_object(request)
        events = parse_events(fields)
        if len(events) > MOST_EVENTS:
            why = f"more than {MOST_EVENTS} events: send less at once"
            return refusal(Problem(413, ErrorClass.LIMIT, why))
        named = project_of(request.headers)
        project = None if named is None else await folder(None, named)
        await self._reception.take(events, project=project)
        if fields.get("wait") is not True or project is None:
            return _accepted(len(events))
        waiting = await self._reception.unlearned(project)
        return json_reply({"accepted": len(events), "waiting": waiting}, status=202)

    async def reload(self, request: Request) -> ASGIApp:
        """Read the configuration again and use its model from now on."""
        nothing_in(await json_object(request))
        return json_reply({"model": await self._reload()})

    async def config(self, _request: Request) -> ASGIApp:
        """Each setting that the server has now with its source, and which model answers."""
        companion = self._hub.models.companion
        model = companion.model.abilities.model if companion else None
        return json_reply({"model": model, "settings": self._in_force()})

    async def test_model(self, request: Request) -> ASGIApp:
        """Ask the model once and say what it can carry."""
        nothing_in(await json_object(request))
        return json_reply(record_form(await self._hub.probe()))

    async def clear(self, request: Request) -> ASGIApp:
        """Forget one workspace or all; the project header is no consent to forget."""
        fields = await json_object(request)
        everything, cwd = fields.get("all"), fields.get("cwd")
        if (everything is True) == (cwd is not None) or everything not in (None, True, False):
            raise InvalidRequest('send {"cwd": FOLDER} to forget one workspace or {"all": true}')
        if everything is True:
            return json_reply({"cleared": await self._hub.clear_all()})
        workspace = await self._hub.clear(await workspace_of(fields, request, self._hub))
        return json_reply({"cleared": 1, "workspace": record_form(workspace)})

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
        cwd = await workspace_of(fields, request, self._hub)

        async def answer(progress: Progress) -> dict[str, object]:
            workspace, found = await self._ask(cwd, question, progress=progress)
            form = {**answer_form(workspace, found), "why": why_form(found)}
            return {"answer": form, "text": render(found)}

        return ProgressStream(answer)

    async def learn(self, request: Request) -> ASGIApp:
        """Index a workspace before anybody asks, saying on the way how far it is."""
        cwd = await workspace_of(await json_object(request), request, self._hub)

        async def learned(progress: Progress) -> dict[str, object]:
            workspace, state = await self._hub.learn(cwd, progress=progress)
            return {"learned": {"workspace": record_form(workspace), **record_form(state)}}

        return ProgressStream(learned)

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
        return json_reply({"stopping": not is_busy})


class _Told:
    """A handler as an application, with what can fail told to the caller.

    The library's own way to call a handler takes as long as all that ours do.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reply to a request."""
        try:
            reply = await self._handler(Request(scope, receive))
        except LiveMemoryError as error:
            reply = refusal(problem_of(error))
        await reply(scope, receive, send)


def get_route(path: str, handler: Handler) -> Route:
    """A route that reads."""
    return Route(path, _Told(handler), methods=["GET"])


def post_route(path: str, handler: Handler) -> Route:
    """A route that does something."""
    return Route(path, _Told(handler), methods=["POST"])


def _matching(facts: Sequence[Fact], query: Mapping[str, str]) -> Sequence[Fact]:
    """The facts that a query is about, the newest first."""
    start, text = query.get("id", ""), query.get("text", "").casefold()
    is_stale, is_pinned = query.get("stale") == "1", query.get("pinned") == "1"
    return [
        fact
        for fact in reversed(facts)
        if fact.id.startswith(start)
        and (fact.is_stale or not is_stale)
        and (fact.is_pinned or not is_pinned)
        and (not text or text in fact.text.casefold() or _is_in_a_name(text, fact))
    ]


def _is_in_a_name(text: str, fact: Fact) -> bool:
    return any(text in source.path.text.casefold() for source in fact.sources)


def number_in(query: Mapping[str, str], name: str, *, most: int, usual: int | None = None) -> int:
    """A whole number of a query; the most there may be, or what is usual, where it is not given.

    Raises:
        InvalidRequest: it is none, or too large.
    """
    text = query.get(name)
    if text is None:
        return most if usual is None else usual
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) > most:
        raise InvalidRequest(f"{name} must be a whole number from 0 to {most}")
    return int(text)


def _time_in(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidRequest("at must be the time that a question was asked at") from None


@functools.lru_cache(maxsize=16)
def _accepted(count: int) -> Response:
    """A reply keeps nothing of the request, so that the same one can be sent again."""
    return json_reply({"accepted": count}, status=202)


def refusal(problem: Problem) -> Response:
    """The reply that says what is wrong."""
    return Response(
        problem.body(), problem.status, headers=problem.headers(), media_type="application/json"
    )


def nothing_in(fields: Mapping[str, object]) -> None:
    """Refuse fields that would be ignored, as an `InvalidRequest`."""
    if fields:
        raise InvalidRequest("this takes no fields: send {}")


def json_reply(value: object, *, status: int = 200) -> Response:
    """A reply of one JSON value."""
    # ASCII only: a name on disk may hold what UTF-8 cannot say.
    return Response(json.dumps(value, allow_nan=False), status, media_type="application/json")
