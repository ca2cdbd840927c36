"""What the plugin adds to the time from a session's start to its first request to the model."""

import time
from pathlib import Path

from bench.overhead.client import Client, ClientFailed
from bench.overhead.found import Found, p50
from bench.report import Table, at_most
from bench.setup import Setup

__all__ = ["of_sessions"]

_ALONE, _WITH = "without the plugin", "with it, server up"
# Hooks of the session before may still run.
_REST_S = 0.5


def of_sessions(setup: Setup, tree: Path, *, rounds: int) -> Found:
    """Sessions of the real client in turn, without the plugin and with it."""
    if setup.client is None:
        return Found(skipped=("first request: no `claude` on PATH; name it with --client",))
    took_s: dict[str, list[float]] = {_ALONE: [], _WITH: []}
    try:
        with setup.server("beginning"):
            around = {"LIVE_MEMORY_DATA_DIR": str(setup.folder("beginning") / "data")}
            client = Client(setup.client, home=setup.scratch / "begin-home", environment=around)
            arms = [(_ALONE, None), (_WITH, setup.plugin)]
            for number in range(rounds + 1):
                # Who begins changes with each round; the first of all fills the client's caches.
                for name, plugin in arms if number % 2 else reversed(arms):
                    took = client.first_request_s(tree, plugin=plugin)
                    took_s[name] += [took] if number else []
                    time.sleep(_REST_S)
    except ClientFailed as problem:
        return Found(skipped=(f"first request: {problem}",))
    added_s = [ours - alone for alone, ours in zip(took_s[_ALONE], took_s[_WITH], strict=True)]
    lines = [(name, len(each), p50(each), max(each) * 1000) for name, each in took_s.items()]
    lines.append(("added, paired", len(added_s), p50(added_s), max(added_s) * 1000))
    columns = ("", "sessions", "p50 ms", "most ms")
    return Found(
        tables=(Table("From the client's start to its first request", columns, tuple(lines)),),
        bars=(at_most("the plugin adds to a session's first request, p50 ms", p50(added_s), 150),),
        rows=tuple({"part": "beginning", "arm": n, "each_s": e} for n, e in took_s.items()),
    )
