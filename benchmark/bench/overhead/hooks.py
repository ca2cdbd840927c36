"""What a hook adds: to a tool call in the real client, and as a process by itself.

Each with the server up, down, and hung: its address leads to a listener that never replies.
"""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Chart
from bench.overhead.client import Client, ClientFailed, hooks_only
from bench.overhead.found import Found, Row, p50, p99
from bench.overhead.trees import file_name
from bench.report import Table, at_most
from bench.setup import Setup
from bench.talk.payloads import file_read

__all__ = ["by_itself", "in_the_client"]

_ALONE = "without the plugin"
_EVENT, _TOOL = "PostToolUse", "Read"
# A last asynchronous hook may still run when its client has ended; it must not meet the next state.
_REST_S = 0.4


@dataclass(frozen=True, slots=True)
class _States:
    """Data folders as a hook meets them; `hung` and `down` know the token of a server that was."""

    up: Path
    down: Path
    hung: Path

    def each(self) -> Iterator[tuple[str, Path]]:
        """By name."""
        for name in ("up", "down", "hung"):
            yield name, getattr(self, name)


def by_itself(setup: Setup, tree: Path, *, times: int) -> Found:
    """Wall time of the hook's whole process, started as the client starts it."""
    command = None if setup.plugin is None else _command(setup.plugin)
    if command is None:
        return Found(skipped=("hooks: no plugin with a hook on Read",))
    payload = json.dumps(file_read(tree, file_name(0))).encode()
    rows: list[Row] = []
    with _states(setup, "hook-by-itself") as states:
        for name, folder in states.each():
            around = os.environ | _around(folder) | {"CLAUDE_PROJECT_DIR": str(tree)}
            took_s = [_ran(command, payload, around) for _ in range(times)]
            rows.append({"part": "hook process", "server": name, "each_s": took_s})
    nothing_s = [_ran(("sh", "-c", ":"), b"", os.environ) for _ in range(times)]
    lines = [(f"server {row['server']}", *_ends(row)) for row in rows]
    lines.append(("a shell that does nothing", p50(nothing_s), p99(nothing_s)))
    return Found(
        tables=(Table("The hook's whole process", ("", "p50 ms", "p99 ms"), tuple(lines)),),
        rows=tuple(rows),
    )


def in_the_client(setup: Setup, tree: Path, *, reads: int, rounds: int) -> Found:
    """Sessions of the real client in turn: without the plugin, and with it in each state."""
    if setup.client is None:
        return Found(skipped=("hooks in the client: no `claude` on PATH; name it with --client",))
    if setup.plugin is None or _command(setup.plugin) is None:
        return Found(skipped=("hooks in the client: no plugin with a hook on Read",))
    plugin = hooks_only(setup.plugin, setup.scratch / "plugin")
    paths = [str(tree / file_name(number)) for number in range(reads)]
    gaps_s: dict[str, list[float]] = {}
    try:
        with _states(setup, "hook-in-client") as states:
            for _ in range(rounds):
                arms = [(_ALONE, states.up, None), *((n, f, plugin) for n, f in states.each())]
                for name, folder, loaded in arms:
                    home = setup.scratch / "client-home"
                    client = Client(setup.client, home=home, environment=_around(folder))
                    # The first call also waits for what the client does once.
                    gaps_s.setdefault(name, []).extend(client.read(tree, paths, plugin=loaded)[1:])
                    time.sleep(_REST_S)
    except ClientFailed as problem:
        return Found(skipped=(f"hooks in the client: {problem}",))
    return _compared(gaps_s)


def _compared(gaps_s: Mapping[str, Sequence[float]]) -> Found:
    alone = p50(gaps_s[_ALONE]) or 0.0, p99(gaps_s[_ALONE]) or 0.0
    lines, added = [], {}
    for name, gaps in gaps_s.items():
        ends = p50(gaps) or 0.0, p99(gaps) or 0.0
        added[name] = ends[0] - alone[0], ends[1] - alone[1]
        label = name if name == _ALONE else f"server {name}"
        lines.append((label, len(gaps), *ends, *(added[name] if name != _ALONE else (None, None))))
    columns = ("", "calls", "p50 ms", "p99 ms", "added to p50 ms", "added to p99 ms")
    bars = [
        at_most("a hook adds to a tool call, p50 ms", added["up"][0], 20),
        at_most("a hook adds to a tool call, p99 ms", added["up"][1], 60),
        at_most("the same with the server down, p50 ms", added["down"][0], 20),
        at_most("the same with the server hung, p50 ms", added["hung"][0], 20),
    ]
    chart = Chart(
        "hooks",
        "A Read in the real client, ms",
        ("p50", "p99"),
        tuple((str(line[0]), (line[2], line[3])) for line in lines),
    )
    return Found(
        tables=(Table("A tool call in the real client: call to result", columns, tuple(lines)),),
        bars=tuple(bars),
        charts=(chart,),
        rows=tuple({"part": "client", "arm": n, "gaps_s": list(g)} for n, g in gaps_s.items()),
        notes=("added: p50 with the hook less p50 without, p99 with it less p99 without",),
    )


@contextmanager
def _states(setup: Setup, label: str) -> Iterator[_States]:
    """A server that runs, the folder of one that was killed, and one whose port is silent."""
    with setup.server(label) as server, socket.create_server(("127.0.0.1", 0)) as silent:
        up = setup.folder(label) / "data"
        states = _States(up, *(setup.folder(f"{label}-{n}") / "data" for n in ("down", "hung")))
        with socket.create_server(("127.0.0.1", 0)) as closed:
            nobody = closed.getsockname()[1]
        for folder, port in ((states.down, nobody), (states.hung, silent.getsockname()[1])):
            _moved(up, folder, old=server.port, new=port)
        yield states


def _moved(source: Path, target: Path, *, old: int, new: int) -> None:
    """The small files of a data folder, which say that the server is at another port."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True, mode=0o700)
    for file in source.iterdir():
        if file.is_file() and file.stat().st_size < 4_096:
            text = file.read_text(encoding="utf-8", errors="replace")
            if file.suffix == ".json":
                text = text.replace(str(old), str(new))
            (target / file.name).write_text(text, encoding="utf-8")
            (target / file.name).chmod(0o600)


def _around(folder: Path) -> dict[str, str]:
    return {"LIVE_MEMORY_DATA_DIR": str(folder)}


def _command(plugin: Path) -> tuple[str, ...] | None:
    """What the plugin runs after a Read."""
    file = plugin / "hooks" / "hooks.json"
    if not file.is_file():
        return None
    for group in json.loads(file.read_text(encoding="utf-8"))["hooks"].get(_EVENT, ()):
        if _TOOL in str(group.get("matcher", _TOOL)).split("|"):
            hook = group["hooks"][0]
            args = hook.get("args")
            # Without arguments it is a line for a shell.
            words = ("sh", "-c", hook["command"]) if args is None else (hook["command"], *args)
            return tuple(word.replace("${CLAUDE_PLUGIN_ROOT}", str(plugin)) for word in words)
    return None


def _ran(command: Sequence[str], payload: bytes, around: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, input=payload, env=around, check=False, capture_output=True)
    return time.perf_counter() - began


def _ends(row: Row) -> tuple[float | None, float | None]:
    each_s = row["each_s"]
    return (p50(each_s), p99(each_s)) if isinstance(each_s, list) else (None, None)
