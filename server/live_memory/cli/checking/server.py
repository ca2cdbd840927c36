"""Who listens on the port, whether it is our server, and what that says of itself and its model."""

from collections.abc import Iterator

from live_memory import __version__
from live_memory.cli.checking.listener import listener
from live_memory.cli.checks import Check, Verdict
from live_memory.cli.failure import ExitCode, Failure, trouble_of
from live_memory.cli.reaching.connection import health, post
from live_memory.cli.reaching.finding import Server, find
from live_memory.cli.running.mode import Mode
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Settings
from live_memory.web.identity import published

__all__ = ["of_server"]

_AGAIN = "live-memory stop && live-memory start"
# What a reason of the server tells, and what is to be done about it.
_NO_ROOM = "make room in the data folder, and let it be written to; it is tried again by itself"
_ALL_ELSE = f"{_AGAIN} clears this notice: all else was taken up, and that file can be removed"
_FIXES = {
    "(kept as ": _ALL_ELSE,
    "(until then ": "upgrade live-memory; what the newer version wrote is untouched",
    "(nothing is written there": f"let it be read by you, then {_AGAIN}",
    "cannot be written": _NO_ROOM,
    "is not kept": _NO_ROOM,
}


def of_server(settings: Settings) -> Iterator[Check]:
    """The server, its version, its health, and its model, which is asked once."""
    try:
        server = find(settings)
    except InvalidRequest:
        return  # the token's own line has said so
    except Failure as problem:
        yield _not_found(problem, settings)
        return
    yield Check("server", Verdict.OK, f"{server.url} (pid {server.pid}) proved itself")
    try:
        said = health(server)
        if said.version == __version__:
            yield Check("version", Verdict.OK, __version__)
        else:
            found = f"the server is {said.version}, this command is {__version__}"
            # A server that somebody looks after is never replaced by itself.
            yield Check("version", Verdict.WARN, found, f"{_AGAIN}; of a service: restart it")
        for reason in said.reasons:
            yield Check("health", Verdict.WARN, reason, _fix_of(reason, settings))
        for note in said.notes:
            fix = "answers are as true; changes show a bit later"
            yield Check("watching", Verdict.WARN, note, fix)
        yield _model(server)
    except Failure as problem:
        yield Check("server", Verdict.FAIL, problem.what, problem.fix or _AGAIN)


def _not_found(problem: Failure, settings: Settings) -> Check:
    if problem.code != ExitCode.UNREACHABLE:
        who = listener(settings.port)
        found = f"{problem.what}; who listens is {who}" if who else problem.what
        return Check("server", Verdict.FAIL, found, problem.fix)
    if trouble_of(settings.data_dir) is None:
        found = f"nothing listens on port {settings.port}"
        return Check("server", Verdict.WARN, found, "live-memory start")
    fix = "put that right, then live-memory start"
    return Check("server", Verdict.WARN, problem.what, fix)


def _fix_of(reason: str, settings: Settings) -> str:
    for part, fix in _FIXES.items():
        if part in reason:
            return fix
    there = published(settings.data_dir)
    if there and there.mode == Mode.SERVICE and settings.log_file is None:
        return "see `journalctl --user -u live-memory`, or `live-memory service status`"
    return f"see {settings.data_dir / (settings.log_file or 'server.log')}"


def _model(server: Server) -> Check:
    """Whether the model that is set answers; without one there is nothing to go wrong."""
    said = post(server, "/v1/models/test", {})
    if said.get("is_reachable"):
        return Check("model", Verdict.OK, f"{said['model']} answers as {said['mode']}")
    if said.get("model") is None:
        return Check("model", Verdict.OK, "none is set: answers come from evidence")
    fix = "correct that setting, then `live-memory config test`; until then evidence answers"
    return Check("model", Verdict.FAIL, f"{said['model']}: {said.get('problem')}", fix)
