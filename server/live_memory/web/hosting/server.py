"""Runs the application on a socket until it is told to stop."""

import asyncio
import errno
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
import uvicorn

from live_memory.core.errors import InvalidRequest
from live_memory.web.app import App
from live_memory.web.hosting.accepting import say_pauses_once
from live_memory.web.hosting.connections import GuardedProtocol
from live_memory.web.hosting.interpreter import collect_at_rest, share_the_interpreter
from live_memory.web.hosting.supervisor import tell_supervisor

__all__ = ["Leaving", "Server", "host_app", "listen", "server_for", "stop"]

_BACKLOG = 128
# Connections that are taken before the first of them is looked at: they are over the bound so long.
_TAKEN_AT_ONCE = 4
# Clients drop idle connections after 4 to 5 s, and must be the first to do so: a request that
# meets a closing connection fails.
_KEEP_ALIVE_S = 20
# Every request has been ended by then; this is only for replies on their way out.
_LAST_REPLIES_S = 1


def _nothing(_: str) -> None:
    """Say nothing."""


def listen(host: str, port: int) -> socket.socket | str:
    """A listening socket that no child inherits, or why there is none.

    Raises:
        InvalidRequest: this machine has no such address, or we may not use this port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only where the protocol is named does asyncio send small replies at once (TCP_NODELAY).
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Lets a restart have the port at once; a second listener is refused all the same, because
        # we listen before anybody else can. SO_REUSEPORT would share the port with a stranger.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as problem:
        listener.close()
        if problem.errno == errno.EADDRINUSE:
            return str(problem.strerror)
        raise InvalidRequest(f"cannot listen on {host}:{port}: {problem.strerror}") from None
    listener.setblocking(False)
    return listener


def server_for(app: App) -> "Server":
    """The server library's loop, with its limits."""
    return Server(
        uvicorn.Config(
            app.asgi,
            http=GuardedProtocol,
            ws="none",
            backlog=_TAKEN_AT_ONCE,
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_LAST_REPLIES_S,
        )
    )


@dataclass(frozen=True, slots=True)
class Leaving:
    """When a server ends by itself, and whom it tells: quiet for so long, never by default."""

    after_quiet_s: float | None = None
    say: Callable[[str], None] = _nothing


_NEVER = Leaving()


async def host_app(app: App, listener: socket.socket, *, leaving: Leaving = _NEVER) -> int:
    """Serve until told to stop, or until nobody speaks any more; returns the exit code.

    Raises:
        InvalidRequest: what is to be served cannot be built.
    """
    server = server_for(app)
    share_the_interpreter()
    say_pauses_once(asyncio.get_running_loop())
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, signals, app, server)
            tasks.start_soon(_stop_when_asked, app, server)
            tasks.start_soon(collect_at_rest)
            if leaving.after_quiet_s:
                tasks.start_soon(_stop_when_quiet, app, server, leaving)
            await server.serve(sockets=[listener])
            tasks.cancel_scope.cancel()
    if app.refused is not None:
        raise app.refused
    return 1 if server.lifespan.error_occurred else 0


async def stop(app: App, server: "Server") -> None:
    """Take no more connections, let questions finish, then end."""
    if server.started:
        for listening in server.servers:
            listening.close()
        await app.drain.finish()
    server.should_exit = True


class Server(uvicorn.Server):
    """The server library's loop, with our way of stopping."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to us: the library ends the process before we could tidy up."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say to whoever supervises us that requests are answered."""
        await super().startup(sockets=sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)  # the event loop has one number for both
        if self.started:
            tell_supervisor("READY=1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that we end on our own terms."""
        tell_supervisor("STOPPING=1")
        await super().shutdown(sockets=sockets)

    async def on_tick(self, counter: int) -> bool:
        """Stop when the hub is gone: a server that only looks alive helps nobody."""
        return await super().on_tick(counter) or self.lifespan.error_occurred


async def _stop_when_asked(app: App, server: Server) -> None:
    await app.drain.asked_to_stop()
    await stop(app, server)


async def _stop_when_quiet(app: App, server: Server, leaving: Leaving) -> None:
    assert leaving.after_quiet_s is not None
    await app.drain.quiet(leaving.after_quiet_s)
    leaving.say(f"nobody spoke for {leaving.after_quiet_s:g} s: ends until it is needed again")
    await stop(app, server)


async def _stop_on_signal(signals: AsyncIterator[signal.Signals], app: App, server: Server) -> None:
    """Stop at the first signal; a second one waits for nothing."""
    async with anyio.create_task_group() as tasks:
        await anext(signals)
        tasks.start_soon(stop, app, server)
        await anext(signals)
        tasks.cancel_scope.cancel()
    server.should_exit = True
