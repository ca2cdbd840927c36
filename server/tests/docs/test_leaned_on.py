"""What we use of libraries beyond what they promise; where a test fails, its text says what breaks.

`pyproject.toml` takes no newer minor version of these two before this passes with it.
"""

import inspect
import sys

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


async def _no_app(scope: Scope, receive: Receive, send: Send) -> None:
    """What no request reaches."""


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("cycle", "a second request is read beside the first: web/serving.py"),
        ("parser", "requests are not read: web/serving.py"),
        ("connections", "the oldest idle connection gives no way: web/serving.py"),
        ("loop", "a head that does not come is waited for: web/serving.py"),
        ("transport", "a connection is not aborted: web/serving.py"),
        ("timeout_keep_alive_task", "a slow head is cut by the idle limit: connections.py"),
    ],
)
async def test_the_http_protocol_has_the_state_that_ours_reads(name: str, broken: str) -> None:
    protocol = HttpToolsProtocol(uvicorn.Config(_no_app), uvicorn.server.ServerState(), {})
    assert hasattr(protocol, name), f"uvicorn's HttpToolsProtocol has no {name!r}: {broken}"


@pytest.mark.parametrize(
    ("name", "parameters", "broken"),
    [
        ("data_received", ["self", "data"], "heads are not collected: connections.py"),
        ("on_message_begin", ["self"], "requests in chunks are followed at once: connections.py"),
        ("on_headers_complete", ["self"], "where a body begins is not seen: connections.py"),
        ("on_message_complete", ["self"], "where a body ends is not seen: connections.py"),
        ("on_response_complete", ["self"], "pieces of a reply are not joined: connections.py"),
        ("send_400_response", ["self", "msg"], "too large a head gets no reply: connections.py"),
    ],
)
def test_the_http_protocol_has_the_methods_that_ours_overrides(
    name: str, parameters: list[str], broken: str
) -> None:
    found = list(inspect.signature(getattr(HttpToolsProtocol, name)).parameters)
    assert found == parameters, f"uvicorn's HttpToolsProtocol.{name} changed: {broken}"


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
@pytest.mark.parametrize(
    ("name", "parameters", "broken"),
    [
        ("add_callback", ["self", "path", "mask", "callback", "id_"], "added"),
        ("remove_callbacks", ["self", "callbacks"], "removed"),
        ("start", ["self"], "read"),
        ("stop", ["self"], "closed"),
    ],
)
def test_the_watching_library_has_the_layer_below_its_observers(
    name: str, parameters: list[str], broken: str
) -> None:
    from watchdog.observers.inotify_c import InotifyFD

    found = list(inspect.signature(getattr(InotifyFD, name)).parameters)
    where = "adapters/watch.py"
    assert found == parameters, f"watchdog's InotifyFD.{name}: no folder is {broken}: {where}"
