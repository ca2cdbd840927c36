"""Runs the application on a socket until it is told to stop."""

import asyncio
import errno
import gc
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
import anyio.to_thread
import httptools
import uvicorn
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from live_memory.core.errors import InvalidRequest
from live_memory.web.app import App

__all__ = [
    "HEAD_DEADLINE_S",
    "MAX_HEAD_BYTES",
    "MAX_WAITING_CONNECTIONS",
    "HeadBodyBuffer",
    "IdleExit",
    "Server",
    "collect_at_rest",
    "host_app",
    "listen",
    "log_to",
    "server_for",
    "set_gil_interval",
    "stop",
]

# What the event loop says then (asyncio.selector_events, 3.11 to 3.14).
_NONE_LEFT = "socket.accept() out of system resource"
_AGAIN_S = 60.0


def say_pauses_once(loop: asyncio.AbstractEventLoop) -> None:
    """Have the loop say one line a minute where it cannot accept; anything else as ever.

    The event loop pauses by itself for a second, but tells each of 128 vain tries with a trace.
    """
    quiet_until = float("-inf")

    # The library's context is an untyped dictionary.
    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal quiet_until
        if context.get("message") != _NONE_LEFT:
            loop.default_exception_handler(context)
        elif loop.time() >= quiet_until:
            quiet_until = loop.time() + _AGAIN_S
            logging.getLogger(__name__).warning(
                "no descriptor is left: new connections wait until others are closed (%s)",
                context.get("exception"),
            )

    loop.set_exception_handler(handle)


Data = bytes | bytearray | memoryview


class HeadBodyBuffer(asyncio.Transport):
    """A connection's transport that keeps a head which announces a body for the moment of that.

    The server library writes head and body one by one: two calls that each wake the client.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._head = b""

    def write(self, data: Data) -> None:
        """Send, together with the head that waits."""
        if self._head:
            data, self._head = self._head + data, b""
        elif isinstance(data, bytes) and _announces_body(data):
            self._head = data
            return
        self._transport.write(data)

    def writelines(self, list_of_data: Iterable[Data]) -> None:
        """Send each."""
        for data in list_of_data:
            self.write(data)

    def flush(self) -> None:
        """Send a head whose body is empty."""
        head, self._head = self._head, b""
        if head:
            self._transport.write(head)

    def close(self) -> None:
        """Send what is left, then close."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once; what is left is lost."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: object = None) -> object:
        """What the transport knows of itself."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Take nothing for a while."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take what comes again."""
        self._transport.resume_reading()


def _announces_body(data: bytes) -> bool:
    """Whether it is a head after which a body of known length follows at once, not a stream."""
    return data.startswith(b"HTTP/1.1 ") and b"\r\ncontent-length:" in data.lower()


# The head of a request comes in one packet; who needs longer is not a client of ours.
HEAD_DEADLINE_S = 5.0
MAX_HEAD_BYTES = 32 * 1024
# Sessions of a client keep one or two connections idle; beyond this the oldest gives way.
MAX_WAITING_CONNECTIONS = 128

# Of few descriptors so many are ours, and half of the rest: what is imported late, or a file of a
# workspace, must not fail because a crowd stands at the door.
_OURS, _LEAST_WAITING = 48, 8

_CREDENTIALS, _UPGRADE = b"authorization:", b"upgrade:"


class GuardedProtocol(HttpToolsProtocol):
    """Takes a request's head whole and in time, or closes the connection.

    One request is read at a time: what a client sends before the reply is there waits, and where
    that is much, or follows a body in chunks, the client is told by `Connection: close` to send it
    again (RFC 9112, 9.3.2). The server library has no limit of its own on how long a request may
    take to arrive, and slow clients shall block nobody: who waits for a request is one of few.
    """

    # The signature is the library's; its state is an untyped dictionary there.
    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        # What has arrived and is not parsed, and how much of it has been searched for its end.
        self._data, self._searched = b"", 0
        # Bytes of a body that are still to come; a body in chunks does not say.
        self._body_left, self._is_in_body = 0, False
        self._head_deadline: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request; whoever has waited longest makes room."""
        self._joined = HeadBodyBuffer(transport)
        super().connection_made(self._joined)
        self._expect_head()
        others = (c for c in self.connections if isinstance(c, GuardedProtocol))
        waiting = [(c._waiting_since, c) for c in others if c._waiting_since is not None]
        if len(waiting) > _most_waiting():
            min(waiting, key=lambda entry: entry[0])[1]._give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what may be parsed now."""
        self._data = self._data + data if self._data else data
        self._go_on()

    def on_message_begin(self) -> None:
        """Stop where a request follows a body in chunks before the reply to that is there."""
        if self._is_answering():
            raise ValueError("another request")
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """What comes now is the body."""
        if not self.url.startswith(b"/"):
            raise ValueError("no path")
        codings = (value for name, value in self.headers if name == b"transfer-encoding")
        if any(coding.lower() != b"chunked" for coding in codings):
            raise ValueError("a body that is compressed on the way")
        sizes = [value for name, value in self.headers if name == b"content-length"]
        self._body_left, self._is_in_body = int(sizes[0]) if sizes else 0, True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body is complete."""
        self._body_left, self._is_in_body = 0, False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The connection is idle again: it may be the one to make room."""
        self._joined.flush()
        super().on_response_complete()
        if not self._is_in_body and not self.transport.is_closing():
            self._waiting_since = self.loop.time()
            if self._data:
                self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        while self._data and not self.transport.is_closing():
            if self._is_in_body:
                end = self._body_left or len(self._data)
                part, self._data = self._data[:end], self._data[end:]
                self._body_left = max(0, self._body_left - len(part))
                self._parse(part)
            elif self._is_answering():
                if len(self._data) > MAX_HEAD_BYTES:
                    self._data, self.cycle.keep_alive = b"", False
                return
            elif not self._parse_head():
                return

    def _parse_head(self) -> bool:
        """Parse a head once it is here; whether there may be more to do."""
        # However much comes in one piece, no more of it than a head may have is looked at.
        end = _end_of_head(self._data, max(0, self._searched - 3))
        self._searched = 0 if end is not None else len(self._data)
        if end is not None:
            self._stop_waiting()
            head, self._data = self._data[:end], self._data[end:]
            last = self.cycle
            self._parse(_as_parsed(head))
            if self.cycle is last and not self.transport.is_closing():
                # Nothing but blank lines: nobody would wait for the rest any more.
                self.send_400_response("Invalid HTTP request received.")
        elif len(self._data) >= MAX_HEAD_BYTES:
            self._stop_waiting()
            self._data = b""
            self.send_400_response("The head of the request is too large.")
        elif self._head_deadline is None:
            self._stay_open()
            self._expect_head()
        return end is not None

    def _parse(self, data: bytes) -> None:
        self._stay_open()
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if self._is_answering():
                self.cycle.keep_alive = False
            else:
                self.send_400_response("Invalid HTTP request received.")

    def _is_answering(self) -> bool:
        """Whether a request is complete and its reply is not."""
        return self.cycle is not None and not (self._is_in_body or self.cycle.response_complete)

    def _stay_open(self) -> None:
        """A request has begun: what would close an idle connection must not end it."""
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None

    def _expect_head(self) -> None:
        self._waiting_since = self.loop.time()
        self._head_deadline = self.loop.call_later(HEAD_DEADLINE_S, self._give_up)

    def _stop_waiting(self) -> None:
        self._waiting_since = None
        if self._head_deadline is not None:
            self._head_deadline.cancel()
            self._head_deadline = None

    def _give_up(self) -> None:
        self._stop_waiting()
        self.transport.abort()


def _most_waiting() -> int:
    """How many connections may wait for a request, by how many descriptors there are."""
    with suppress(ImportError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            return min(MAX_WAITING_CONNECTIONS, max(_LEAST_WAITING, (soft - _OURS) // 2))
    return MAX_WAITING_CONNECTIONS


def _end_of_head(data: bytes, start: int) -> int | None:
    """Where a head ends, within what one may have: behind an empty line, CR LF or LF."""
    ends = ((data.find(mark, start, MAX_HEAD_BYTES), len(mark)) for mark in (b"\n\r\n", b"\n\n"))
    return min((at + size for at, size in ends if at >= 0), default=None)


def _as_parsed(head: bytes) -> bytes:
    """The head with a mark for blanks after credentials, and without an offer of other protocols.

    The parser drops such blanks, and so would take a token with a blank after it for the right one.
    Some clients offer HTTP/2 with any request (Java's own): a server may pass over that, and the
    parser would take the body for the other protocol's.
    """
    lines = head.split(b"\n")
    lines = [line for line in lines if line[: len(_UPGRADE)].lower() != _UPGRADE]
    for at, line in enumerate(lines):
        if line[: len(_CREDENTIALS)].lower() == _CREDENTIALS:
            value = line.removesuffix(b"\r")
            kept = value.rstrip(b" \t")
            lines[at] = line if kept == value else kept + b"%20" + line[len(value) :]
    return b"\n".join(lines)


# A thread that computes lets others go on after this; 5 ms, which is usual, adds up in each reply.
_TURN_S = 0.001
# Young objects as usual. Nothing counts so far as the last, so that all are looked through at rest.
_YOUNG, _NO_COLLECTION = (700, 10), 1_000_000
# How often rest is looked for; a rest is so long, and is used after so many looks at young ones.
_REST_S, _WORTH_IT = 5.0, 5
# What a look that took so long has left lives on, and the next need not go through it.
_LONG_S = 0.02
# Someone always speaks: then after this much, a million objects more than were let go.
_TOO_MUCH = 150


def set_gil_interval() -> None:
    """Set up this process for a loop whose threads compute."""
    sys.setswitchinterval(_TURN_S)
    gc.set_threshold(*_YOUNG, _NO_COLLECTION)


async def collect_at_rest() -> None:
    """Look for garbage while nothing goes on, until cancelled.

    Work beside the loop must not hold it: where 2,000 files were learned and 12,000 facts made of
    them, a look through all objects for garbage stops every thread for 0.06 to 0.1 s, and came
    every other second.
    """
    before = 0
    while True:
        await anyio.sleep(_REST_S)
        _, _, looks = gc.get_count()
        is_resting = looks == before and looks >= _WORTH_IT
        if is_resting or looks >= _TOO_MUCH:
            began = anyio.current_time()
            gc.collect()
            if anyio.current_time() - began > _LONG_S:
                gc.freeze()
            looks = 0
        before = looks


_NAME = "NOTIFY_SOCKET"


def tell_supervisor(state: str) -> None:
    """Send a state such as `READY=1` (sd_notify(3)); without a listener, do nothing."""
    address = os.environ.get(_NAME, "")
    if not address.startswith(("/", "@")):
        return
    # A name that begins with @ is in the kernel's own name space.
    name = f"\0{address[1:]}" if address.startswith("@") else address
    # A supervisor that went away is no reason to end.
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as there:
        there.settimeout(1.0)
        there.connect(name)
        there.send(state.encode("ascii"))


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
    """A listening socket that no child inherits, or why this port cannot be had; 0 is any port.

    Raises:
        InvalidRequest: no port of this address can be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # Only where the protocol is named does asyncio send small replies at once (TCP_NODELAY).
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as problem:
        raise _cannot_listen(host, problem) from None
    try:
        # Lets a restart have the port at once; a second listener is refused all the same, because
        # we listen before anybody else can. SO_REUSEPORT would share the port with a stranger.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as problem:
        listener.close()
        if port and problem.errno in (errno.EADDRINUSE, errno.EACCES):
            return str(problem.strerror).lower()
        raise _cannot_listen(host, problem) from None
    listener.setblocking(False)
    return listener


def _cannot_listen(host: str, problem: OSError) -> InvalidRequest:
    return InvalidRequest(f"cannot listen on {host}: {(problem.strerror or str(problem)).lower()}")


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


# Whoever removed what a server was started for expects no process of ours after a minute.
_LOOK_EVERY_S, _LEFT_ALONE_S = 10.0, 45.0


@dataclass(frozen=True, slots=True)
class IdleExit:
    """When a server ends by itself, and whom it tells: quiet for so long, never by default.

    `is_left_behind` says whether what it was started for is gone; it may look at the disk.
    """

    after_quiet_s: float | None = None
    say: Callable[[str], None] = _nothing
    is_left_behind: Callable[[], bool] | None = None


_NEVER = IdleExit()


async def host_app(app: App, listener: socket.socket, *, leaving: IdleExit = _NEVER) -> int:
    """Serve until told to stop, or until nobody speaks any more; returns the exit code.

    Raises:
        InvalidRequest: what is to be served cannot be built.
    """
    server = server_for(app)
    set_gil_interval()
    say_pauses_once(asyncio.get_running_loop())
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, signals, app, server)
            tasks.start_soon(_stop_when_asked, app, server)
            tasks.start_soon(collect_at_rest)
            if leaving.after_quiet_s:
                tasks.start_soon(_stop_when_quiet, app, server, leaving)
            if leaving.is_left_behind is not None:
                tasks.start_soon(_stop_when_left_behind, app, server, leaving)
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


async def _stop_when_quiet(app: App, server: Server, leaving: IdleExit) -> None:
    assert leaving.after_quiet_s is not None
    await app.drain.quiet(leaving.after_quiet_s)
    leaving.say(f"nobody spoke for {leaving.after_quiet_s:g} s: ends until it is needed again")
    await stop(app, server)


async def _stop_when_left_behind(app: App, server: Server, leaving: IdleExit) -> None:
    assert leaving.is_left_behind is not None
    while not (
        app.drain.is_quiet(_LEFT_ALONE_S) and await anyio.to_thread.run_sync(leaving.is_left_behind)
    ):
        await anyio.sleep(_LOOK_EVERY_S)
    leaving.say("what started it is gone, and nobody speaks to it: ends")
    await stop(app, server)


async def _stop_on_signal(signals: AsyncIterator[signal.Signals], app: App, server: Server) -> None:
    """Stop at the first signal; a second one waits for nothing."""
    async with anyio.create_task_group() as tasks:
        await anext(signals)
        tasks.start_soon(stop, app, server)
        await anext(signals)
        tasks.cancel_scope.cancel()
    server.should_exit = True


class _Lines(Protocol):
    def write(self, text: str, /) -> object:
        """Write a whole line."""
        ...


class _JsonLines(logging.Formatter):
    """One JSON line a record, like the signals; JSON escapes what a terminal could act on."""

    def format(self, record: logging.LogRecord) -> str:
        """Write it out."""
        fields = {
            "at": record.created,
            "event": "log",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        return json.dumps(fields).replace("\x7f", "\\u007f")


def log_to(lines: _Lines, level: str) -> None:
    """Libraries speak only when something is wrong: below that, some write what they send.

    That holds whatever their own settings are, such as `OPENAI_LOG=debug` in the environment.
    """
    handler = logging.StreamHandler(lines)
    handler.setFormatter(_JsonLines())
    handler.setLevel("ERROR" if level == "error" else "WARNING")
    logging.basicConfig(handlers=[handler], level=handler.level)
