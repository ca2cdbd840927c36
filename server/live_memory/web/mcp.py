"""The MCP tools. Only this and `mcp_tools` import `mcp`, and nobody imports them at the start."""

import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import anyio
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from live_memory import __version__
from live_memory.client.offer import offer
from live_memory.core.answer import Question, render
from live_memory.core.errors import InvalidRequest, LiveMemoryError
from live_memory.flow.jobs import Ask, Jobs
from live_memory.flow.notes import Notes
from live_memory.ports import Clock
from live_memory.web.application import McpLimits
from live_memory.web.guard import problem_of
from live_memory.web.note_calls import NoteCalls, caller_of
from live_memory.web.note_tools import NOTE_TOOLS, NoteTools
from live_memory.web.routes import folder, parse_question, project_of, while_there

_Context = ServerRequestContext[object, object]
_SUBMIT, _RESULT = "ask_live_memory_submit", "ask_live_memory_result"
# What a session is called that is opened again for a client.
_OPENED_AGAIN = "opened-again"

_HOST, _SESSION, _VERSION = b"host", b"mcp-session-id", b"mcp-protocol-version"
# Said by requests of the newer protocol, which stand alone.
_METHOD = b"mcp-method"
# What the protocol assumes of who says none.
_FIRST_VERSION = b"2025-03-26"
# Ours have 32 characters; a longer name is nobody's.
_LONGEST_NAME = 128
_JSON = (
    (b"content-type", b"application/json"),
    (b"accept", b"application/json, text/event-stream"),
)


@dataclass(frozen=True, slots=True)
class _Use:
    """The requests that a session has under way."""

    calls: set[object] = field(default_factory=set)
    streams: set[object] = field(default_factory=set)


class Sessions:
    """Wraps the protocol's endpoint, which itself refuses what is beyond `most`.

    A new session takes the place of the longest at rest. Clients are killed, and never say that
    they left: without this, a crowd of them that is gone keeps the next one out until its sessions
    run out. Others live longer than their session, which a restart or a rest has ended, and never
    begin another: what they name is opened again for them. It knows sessions by a header only.
    """

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most
        # From the longest at rest to the last used. One that ended unheard is soon at the front.
        self._known: OrderedDict[bytes, _Use] = OrderedDict()
        self._opening: set[object] = set()
        # The session that stands for one that is gone, by the name of that; both are bounded alike.
        self._instead: dict[bytes, bytes] = {}
        self._reopening = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; one that may open a session has room made for it first."""
        headers = dict(scope["headers"])
        named = headers.get(_SESSION)
        if named is not None:
            await self._serve_named(named, headers, scope, receive, send)
        elif _METHOD not in headers:
            with _under_way(self._opening):
                await self._make_room(headers.get(_HOST, b""))
                await self._app(scope, receive, self._noting(send))
        else:
            await self._app(scope, receive, send)

    async def _serve_named(
        self, named: bytes, headers: dict[bytes, bytes], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a request of a session; one of a session that is gone, in another."""
        current = self._instead.get(named, named)
        if scope["method"] == "DELETE" or len(named) > _LONGEST_NAME:
            await self._serve(current, scope, receive, send)
            return
        kept = _Kept(receive)
        if await self._is_served(current, scope, kept, send):
            return
        async with self._reopening:
            if self._instead.get(named, named) == current:  # else another request was quicker
                self._forget(current)
                opened = await self._open(headers)
                if opened is not None:
                    self._instead[named] = opened
        kept.rewind()
        await self._serve(self._instead.get(named, named), scope, kept, send)

    async def _is_served(self, named: bytes, scope: Scope, receive: Receive, send: Send) -> bool:
        """Serve a request unless its session is gone: then nothing is sent."""
        is_gone = False

        async def unless_gone(message: Message) -> None:
            nonlocal is_gone
            is_gone |= message["type"] == "http.response.start" and message["status"] == 404
            if not is_gone:
                await send(message)

        await self._serve(named, scope, receive, unless_gone)
        return not is_gone

    async def _serve(self, named: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, named if name == _SESSION else value) for name, value in scope["headers"]]
        scope = {**scope, "headers": headers}
        use = self._known.get(named)
        if use is None:
            await self._app(scope, receive, send)
            return
        with _under_way(use.calls if scope["method"] == "POST" else use.streams):
            await self._app(scope, receive, send)
        if scope["method"] == "DELETE":
            self._forget(named)
        elif named in self._known:
            self._known.move_to_end(named)

    def _forget(self, named: bytes) -> None:
        self._known.pop(named, None)
        self._instead = {old: new for old, new in self._instead.items() if new != named}

    async def _open(self, headers: dict[bytes, bytes]) -> bytes | None:
        """Open a session as a client of this version does; nothing where there is no room."""
        version = headers.get(_VERSION, _FIRST_VERSION)
        who = {"name": _OPENED_AGAIN, "version": __version__}
        began = {
            "protocolVersion": version.decode("latin-1"),
            "capabilities": {},
            "clientInfo": who,
        }
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": began}
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        known = [(_HOST, headers.get(_HOST, b"")), (_VERSION, version), *_JSON]
        opened: list[bytes] = []

        async def hear(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened.append(dict(message["headers"]).get(_SESSION, b""))

        # A client that goes away meanwhile must not leave half of this.
        with anyio.CancelScope(shield=True):
            with _under_way(self._opening):
                await self._make_room(known[0][1])
                await self._app(_request("POST", known), _body(hello), self._noting(hear))
            if not opened or not opened[0]:
                return None
            await self._app(
                _request("POST", [*known, (_SESSION, opened[0])]), _body(ready), _to_nobody
            )
        return opened[0]

    def _noting(self, send: Send) -> Send:
        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened = dict(message["headers"]).get(_SESSION)
                if opened is not None:
                    self._known[opened] = _Use()
            await send(message)

        return noted

    async def _make_room(self, host: bytes) -> None:
        while len(self._known) + len(self._opening) > self._most:
            resting = self._longest_at_rest()
            if resting is None:
                return
            self._forget(resting)
            await self._end(resting, host)

    def _longest_at_rest(self) -> bytes | None:
        """One without a call in flight; one that still listens only where there is no other."""
        idle = [name for name, use in self._known.items() if not use.calls]
        silent = (name for name in idle if not self._known[name].streams)
        return next(silent, next(iter(idle), None))

    async def _end(self, name: bytes, host: bytes) -> None:
        """End a session the way its client would."""
        scope = _request("DELETE", [(_HOST, host), (_SESSION, name)])
        # A client that goes away while it comes in must not leave half of this.
        with anyio.CancelScope(shield=True):
            await self._app(scope, _no_body, _to_nobody)


class _Kept:
    """A request's messages; the first, which is all of its body, can be had once more."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._first: Message | None = None
        self._is_told = False

    def rewind(self) -> None:
        """Begin again."""
        self._is_told = False

    async def __call__(self) -> Message:
        if self._is_told:
            return await self._receive()
        self._first = self._first or await self._receive()
        self._is_told = True
        return self._first


def _request(method: str, headers: list[tuple[bytes, bytes]]) -> Scope:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": headers,
    }


def _body(message: Mapping[str, object]) -> Receive:
    """A client that says this and then waits."""
    is_said = False

    async def receive() -> Message:
        nonlocal is_said
        if is_said:
            await anyio.sleep_forever()
        is_said = True
        return {"type": "http.request", "body": json.dumps(message).encode(), "more_body": False}

    return receive


@contextmanager
def _under_way(requests: set[object]) -> Iterator[None]:
    request = object()
    requests.add(request)
    try:
        yield
    finally:
        requests.remove(request)


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _to_nobody(_: Message) -> None:
    """Let go of the reply."""


class _Tools:
    """The tools; what they are given is checked by the rules of the routes under `/v1`."""

    def __init__(
        self,
        ask: Ask,
        *,
        clock: Clock,
        jobs: Jobs | None,
        notes: Notes,
        offered: Sequence[Mapping[str, object]],
    ) -> None:
        """Those that answer later need `jobs`."""
        self._ask_hub = ask
        self._clock = clock
        self._jobs = jobs
        self._notes = NoteTools(NoteCalls(notes, clock=clock), clock=clock)
        self._tools = {tool.name: tool for tool in map(Tool.model_validate, offered)}

    async def list(self, _: _Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        """Say what there is."""
        return ListToolsResult(tools=list(self._tools.values()))

    def schema(self, name: str) -> dict[str, object] | None:
        """What a tool takes."""
        return self._tools[name].input_schema if name in self._tools else None

    async def call(self, context: _Context, params: CallToolRequestParams) -> CallToolResult:
        """Do what is asked, or say in a line why not."""
        given = params.arguments or {}
        if params.name not in self._tools:
            raise MCPError(INVALID_PARAMS, "there is no such tool")
        try:
            if params.name == _RESULT:
                text = self._result(given)
            elif params.name in NOTE_TOOLS:
                headers = _headers(context)
                text = await self._notes.call(
                    params.name,
                    given,
                    lambda: folder(given.get("cwd"), project_of(headers)),
                    caller_of(headers, host=_client_of(context)),
                )
            else:
                cwd = await folder(given.get("cwd"), project_of(_headers(context)))
                question = parse_question(
                    given.get("question"),
                    timeout=given.get("timeout"),
                    max_answer_tokens=given.get("max_answer_tokens"),
                    asked_at=self._clock.now(),
                )
                if self._jobs is not None and params.name == _SUBMIT:
                    text = self._jobs.submit(cwd, question)
                else:
                    text = await self._ask(context, cwd, question)
        except LiveMemoryError as error:
            return _text(str(problem_of(error)), is_error=True)
        # One text block: a client that is given structured content drops the text.
        return _text(text)

    async def _ask(self, context: _Context, cwd: str, question: Question) -> str:
        steps = 0

        async def progress(message: str, *, done: int = 0, total: int = 0) -> None:
            nonlocal steps
            steps = max(steps + 1, done)  # it must go up each time
            of = max(steps, total) if total else None
            await context.session.report_progress(steps, of, message)

        found = await while_there(
            context.request, lambda: self._ask_hub(cwd, question, progress=progress)
        )
        return "the client is gone" if found is None else render(found[1])

    def _result(self, given: Mapping[str, object]) -> str:
        job_id = given.get("job_id")
        if self._jobs is None or not isinstance(job_id, str):
            raise InvalidRequest("job_id must be the text that ask_live_memory_submit gave")
        found = self._jobs.result(job_id)
        return f"[running] {found}" if isinstance(found, str) else render(found)


def _headers(context: _Context) -> Mapping[str, str] | None:
    return context.request.headers if isinstance(context.request, Request) else None


def _client_of(context: _Context) -> str:
    """What the client calls itself, where it has said so."""
    said = context.session.client_params
    name = said.client_info.name if said is not None else ""
    return "" if name == _OPENED_AGAIN else name


def _text(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=is_error)


def build(
    ask: Ask,
    *,
    clock: Clock,
    notes: Notes,
    tools: Collection[str],
    jobs: Jobs | None = None,
) -> Server[object]:
    """The protocol's server with our tools. The bridge offers the same before any server runs."""
    offered = offer(tools, has_async_tools=jobs is not None)
    ours = _Tools(ask, clock=clock, jobs=jobs, notes=notes, offered=offered["tools"])
    return Server(
        offered["serverInfo"]["name"],
        version=__version__,
        instructions=offered["instructions"],
        get_tool_input_schema=ours.schema,
        on_list_tools=ours.list,
        on_call_tool=ours.call,
    )


@asynccontextmanager
async def serving(
    ask: Ask,
    *,
    clock: Clock,
    jobs: Jobs | None,
    notes: Notes,
    tools: Collection[str],
    port: int,
    limits: McpLimits,
) -> AsyncIterator[ASGIApp]:
    """The protocol's endpoint, while its sessions may live."""
    server = build(ask, clock=clock, notes=notes, tools=tools, jobs=jobs)
    # The guard in front is stricter; the library's own check stays as a second lock.
    hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
    server.streamable_http_app(
        max_sessions=limits.sessions,
        session_idle_timeout=limits.idle_s,
        max_request_body_size=limits.body_bytes,
        transport_security=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[]),
    )
    async with server.session_manager.run():
        yield Sessions(server.session_manager.handle_request, most=limits.sessions)
