"""Whether what the agent does gets here: who is named, what waits, and a hook that is tried."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from live_memory.cli.checks import Check, Verdict
from live_memory.cli.failure import ExitCode, Failure
from live_memory.cli.reaching.connection import get, post
from live_memory.cli.reaching.finding import Server, find
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Settings
from live_memory.web.identity import published

__all__ = ["of_delivery"]

# A hook ends within a fifth of a second, the server looks at its event at once; this is for a
# machine that is busy with other things.
_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.05
# The server looks into the spool after each event, once a second at most.
_TAKEN_S = 4.0
_SPOOL = ("spool.old.jsonl", "spool.jsonl")
_REINSTALL = "claude plugin update live-memory@live-memory, then start a new session"


def of_delivery(settings: Settings) -> Iterator[Check]:
    """The discovery file, a hook's round trip, then what hooks had to write down."""
    yield from _environment(settings.data_dir)
    try:
        server = find(settings)
    except InvalidRequest:
        return  # the token's own line has said so
    except Failure as problem:
        if problem.code != ExitCode.LOCKED:  # else it is our server's, that hangs
            yield from _left_behind(settings.data_dir)
        yield from _waiting(settings.data_dir, is_running=False)
        return
    yield _hook(server, settings)
    yield from _waiting(settings.data_dir, is_running=True)


def _environment(data_dir: Path) -> Iterator[Check]:
    """What became of the environment that the plugin makes for itself, if it does."""
    try:
        said = (data_dir / "environment/status").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return
    if "could not be installed" in said:
        fix = "see that log; or install the command: uv tool install live-memory's `server` folder"
        yield Check("environment", Verdict.FAIL, said, fix)
    elif "being installed" in said:
        yield Check("environment", Verdict.WARN, said, "wait, then start a new session")
    else:
        yield Check("environment", Verdict.OK, said)


def _left_behind(data_dir: Path) -> Iterator[Check]:
    there = published(data_dir)
    if there is not None:
        found = f"names process {there.pid} on port {there.port}, which is not our server any more"
        yield Check("server.json", Verdict.WARN, found, "live-memory start, which replaces it")


def _waiting(data_dir: Path, *, is_running: bool) -> Iterator[Check]:
    """Events in the spool: fine while nobody is there to take them, else something is wrong."""
    events = _spooled(data_dir)
    until = time.monotonic() + _TAKEN_S
    while is_running and events and time.monotonic() < until:
        time.sleep(_LOOK_EVERY_S)
        events = _spooled(data_dir)
    if not events:
        yield Check("spool", Verdict.OK, "empty")
    elif is_running:
        fix = f"live-memory stop && live-memory start; else remove {data_dir / _SPOOL[1]}"
        found = f"{events} events wait and the server does not take them"
        yield Check("spool", Verdict.FAIL, found, fix)
    else:
        yield Check("spool", Verdict.OK, f"{events} events wait for the server")


def _spooled(data_dir: Path) -> int:
    count = 0
    for name in _SPOOL:
        try:
            count += (data_dir / name).read_bytes().count(b"\n")
        except OSError:
            continue
    return count


def _hook(server: Server, settings: Settings) -> Check:
    """Do what the host does when the agent has read a file, and wait until it is known here."""
    script = _script()
    if script is None:
        found = "not tried: the plugin's folder is not known to this installation"
        return Check("hook", Verdict.WARN, found, "run the doctor of the plugin in a session")
    try:
        made = tempfile.TemporaryDirectory(prefix="live-memory-doctor-")
    except OSError as refused:
        found = f"not tried: no temporary folder can be made ({refused.strerror})"
        return Check("hook", Verdict.WARN, found, "set TMPDIR to a folder that can be written to")
    with made as folder:
        try:
            began = time.monotonic()
            problem = _sent(script, folder, settings) or _arrived(server, folder)
            took_ms = (time.monotonic() - began) * 1000
            post(server, "/clear", {"cwd": folder})
        except Failure as failure:
            problem = str(failure)
    if problem and published(settings.data_dir) is None:
        # The server had no room to say where it is, and the hook has none for its event.
        return Check("hook", Verdict.FAIL, problem, "the data folder's line first")
    if problem:
        return Check("hook", Verdict.FAIL, problem, _REINSTALL)
    return Check("hook", Verdict.OK, f"an event came through in {took_ms:.0f} ms")


def _script() -> Path | None:
    """The hooks beside the folder that this package was installed from."""
    try:
        said = json.loads(distribution("live-memory").read_text("direct_url.json") or "{}")
        url = urlsplit(said["url"])
    except (PackageNotFoundError, ValueError, KeyError, TypeError):
        return None
    script = Path(unquote(url.path)).parent / "hooks/run"
    return script if url.scheme == "file" and script.is_file() else None


def _sent(script: Path, folder: str, settings: Settings) -> str | None:
    """Run the hook with an event of a folder of its own; what is wrong with that."""
    file = Path(folder, "seen.py")
    file.write_text("SEEN = True\n", encoding="utf-8")
    event = {
        "hook_event_name": "PostToolUse",
        "session_id": "live-memory-doctor",
        "cwd": folder,
        "tool_name": "Read",
        "tool_input": {"file_path": str(file)},
        "tool_response": {"file": {"startLine": 1, "numLines": 1, "totalLines": 1}},
    }
    environ = {
        **os.environ,
        "CLAUDE_PROJECT_DIR": folder,
        "LIVE_MEMORY_DATA_DIR": str(settings.data_dir.absolute()),
    }
    try:
        done = subprocess.run(  # noqa: S603 - the plugin's own hook, as the host runs it
            ["/bin/sh", str(script), "hook.py"],
            input=json.dumps(event).encode(),
            env=environ,
            cwd=folder,
            capture_output=True,
            timeout=_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"{script} does not run: {problem}"
    if done.returncode or done.stdout or done.stderr:
        return f"{script} ends with {done.returncode} and says what a hook must not"
    return None


def _arrived(server: Server, folder: str) -> str | None:
    until = time.monotonic() + _WITHIN_S
    while time.monotonic() < until:
        if get(server, "/stats", cwd=folder).get("hook_events"):
            return None
        time.sleep(_LOOK_EVERY_S)
    return (
        f"an event that the hook sent did not arrive within {_WITHIN_S:.0f} s: no python3 that "
        "hooks can run, or another data folder than this command's"
    )
