"""Routes for all that is kept: taken out, brought in, purged; and learning paused and resumed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice

from anyio import to_thread
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from live_memory.core.errors import InvalidRequest
from live_memory.core.notes.records import HEADER
from live_memory.flow.notes import Scope
from live_memory.flow.open_workspaces import Hub
from live_memory.flow.receive_events import Reception
from live_memory.web.routes import (
    get_route,
    json_object,
    json_reply,
    post_route,
    workspace_of,
)
from live_memory.web.schemas import record_form

__all__ = ["KeepingRoutes"]

Form = Mapping[str, object]
# Records that are written in one step in a thread.
_AT_ONCE = 200


class KeepingRoutes:
    """The handlers."""

    def __init__(self, hub: Hub, *, reception: Reception) -> None:
        self._hub = hub
        self._reception = reception

    def table(self) -> list[Route]:
        """Every one."""
        return [
            get_route("/v1/notes/export", self.export),
            post_route("/v1/notes/import", self.bring),
            post_route("/v1/purge", self.purge),
            post_route("/v1/pause", self.pause),
            post_route("/v1/resume", self.resume),
        ]

    async def export(self, request: Request) -> ASGIApp:
        """All that is told and understood, a JSON line each, then how many there were.

        With `current=1` what counts now, and nothing that was withdrawn, ended or is stale.
        """
        query = request.query_params
        cwd = await workspace_of(query, request, self._hub)
        records = await self._hub.keeping.exported(
            cwd, scope=_scope(query), is_current=query.get("current") == "1"
        )
        return _Lines(records)

    async def bring(self, request: Request) -> ASGIApp:
        """Take in a batch of such records; with `dry_run` only say what would come of it."""
        fields = await json_object(request)
        cwd = await workspace_of(fields, request, self._hub)
        records = fields.get("records")
        if not isinstance(records, list):
            raise InvalidRequest('send {"records": [RECORD, ...]}, as an export has them')
        is_dry = _flag(fields, "dry_run")
        came = await self._hub.keeping.bring(cwd, records, scope=_scope(fields), is_dry=is_dry)
        refused = [{"at": at, "why": why} for at, why in came.refused.items()]
        return json_reply({**asdict(came), "new": dict(came.new), "refused": refused})

    async def purge(self, request: Request) -> ASGIApp:
        """Remove notes, handoffs, facts or answers from every file, or all of a workspace."""
        fields = await json_object(request)
        is_all, is_forgotten = _flag(fields, "all"), _flag(fields, "forgotten")
        ids = _ids(fields)
        if is_all + is_forgotten + bool(ids) != 1:
            raise InvalidRequest('send one of {"ids": [ID]}, {"forgotten": true}, {"all": true}')
        cwd, scope = await workspace_of(fields, request, self._hub), _scope(fields)
        if not is_all:
            purged = await self._hub.keeping.purge(cwd, ids, scope=scope, is_forgotten=is_forgotten)
            return json_reply(record_form(purged))
        if scope is Scope.USER:
            return json_reply({"purged": await self._hub.keeping.purge_user()})
        workspace = await self._hub.workspace_of(cwd)
        await self._reception.forget(workspace.root)
        await self._hub.clear(cwd)
        return json_reply({"cleared": 1, "workspace": record_form(workspace)})

    async def pause(self, request: Request) -> ASGIApp:
        """Learn and keep nothing more of a workspace."""
        cwd = await workspace_of(await json_object(request), request, self._hub)
        return self._now(await self._hub.keeping.pause(cwd), is_paused=True)

    async def resume(self, request: Request) -> ASGIApp:
        """Learn and keep again."""
        cwd = await workspace_of(await json_object(request), request, self._hub)
        return self._now(await self._hub.keeping.resume(cwd), is_paused=False)

    @staticmethod
    def _now(workspace: object, *, is_paused: bool) -> ASGIApp:
        return json_reply({"workspace": record_form(workspace), "is_paused": is_paused})


class _Lines:
    """Records as lines of JSON, written in a thread a few hundred at a time."""

    def __init__(self, records: Iterator[Form]) -> None:
        self._records = records
        self._count = 0

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Reply on this connection."""
        del scope, receive
        headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await _send(send, _line(HEADER))
        while body := await to_thread.run_sync(self._next):
            await _send(send, body)
        # Who does not get this line did not get all.
        await _send(send, _line({"exported": self._count}), is_last=True)

    def _next(self) -> bytes:
        lines = [_line(record) for record in islice(self._records, _AT_ONCE)]
        self._count += len(lines)
        return b"".join(lines)


async def _send(send: Send, body: bytes, *, is_last: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": not is_last})


def _line(form: Form) -> bytes:
    # ASCII only: a name on disk may hold what UTF-8 cannot say, and a terminal may be shown it.
    return json.dumps(form, allow_nan=False).encode("ascii") + b"\n"


def _scope(fields: Mapping[str, object]) -> Scope:
    try:
        return Scope(str(fields.get("scope", Scope.WORKSPACE)))
    except ValueError:
        raise InvalidRequest("scope must be workspace or user") from None


def _flag(fields: Mapping[str, object], name: str) -> bool:
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise InvalidRequest(f"{name} must be true or false")
    return value


def _ids(fields: Mapping[str, object]) -> Sequence[str]:
    ids = fields.get("ids", [])
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise InvalidRequest("ids must be a list of ids")
    return ids
