"""What hooks wrote down while the server was away: one JSON line an event, in the data folder.

The hook script appends under the file's lock and this side takes the whole file under the same
lock, so each line is taken once. The form is the hook's (`client/hook.py`). What was taken stays in
a file of ours until it is taken up, so that a server that is killed meanwhile loses none of it.
"""

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from anyio import to_thread

from live_memory.core.errors import StoreUnavailable
from live_memory.core.hosts.events import HostEvent, HostReport
from live_memory.ports import HostDialect, Missed

__all__ = ["DiskSpool", "IgnoreEvents"]

# The hook keeps less than this in each of its two files; more than that is not from the hook.
LARGEST_SPOOL = 1024 * 1024
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# A hook that holds a file longer than this is stopped.
_MOST_LOOKS, _LOOK_EVERY_S = 250, 0.02
_KEEP = _FLAGS | os.O_CREAT | os.O_APPEND


class DiskSpool:
    """Takes the spool of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        # What a killed server had taken, then the older half.
        self._taken = data_dir / "spool.taken.jsonl"
        self._files = (data_dir / "spool.old.jsonl", data_dir / "spool.jsonl")
        self._is_taken_up = False

    async def take(self) -> Sequence[Missed]:
        """Everything that was written down, oldest first; what was given before is taken up."""
        return await to_thread.run_sync(self._take)

    async def forget(self, root: str) -> None:
        """Write each file anew without the lines of this folder and of those below.

        Raises:
            StoreUnavailable: the disk does not let it, or a hook holds a file for seconds.
        """
        try:
            # A full one becomes the older half meanwhile.
            for file in (*reversed(self._files), self._taken):
                await to_thread.run_sync(_write_without, file, root)
        except OSError as problem:
            why = f"the spool cannot be written anew: {problem.strerror}"
            raise StoreUnavailable(why) from problem

    def _take(self) -> Sequence[Missed]:
        if self._is_taken_up:
            with suppress(OSError):
                self._taken.unlink(missing_ok=True)
        before = b"" if self._is_taken_up else _moved(self._taken, to=None)
        texts = [before, *(_moved(file, to=self._taken) for file in self._files)]
        self._is_taken_up = True
        return [missed for text in texts for missed in _missed(text)]


def _moved(file: Path, *, to: Path | None) -> bytes:
    """What a file holds; it is empty then, unless it stays where it is."""
    try:
        descriptor = os.open(file, _FLAGS)
    except OSError:
        return b""
    try:
        # A hook is writing just now: its line is taken the next time.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return b""
        text = os.read(descriptor, LARGEST_SPOOL)
        if text and to is not None:
            # On a full disk it is taken all the same: then a kill would cost it.
            with suppress(OSError):
                _keep(text, to)
            os.ftruncate(descriptor, 0)
    except OSError:
        return b""
    else:
        return text
    finally:
        os.close(descriptor)


def _write_without(file: Path, root: str) -> None:
    """Replace the bytes of a file; a hook that has it open goes on with it."""
    try:
        descriptor = os.open(file, _FLAGS)
    except FileNotFoundError:
        return
    try:
        _lock(descriptor)
        text = os.read(descriptor, LARGEST_SPOOL)
        kept = b"".join(line for line in text.splitlines(True) if not _is_of(line, root))
        if kept != text:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, kept, 0)
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Wait for whoever writes; a hook is done within a moment."""
    for _ in range(_MOST_LOOKS):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_LOOK_EVERY_S)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_of(line: bytes, root: str) -> bool:
    """Whether a line is of a folder in there; one that cannot be read is of any, and goes."""
    try:
        project = json.loads(line)["project"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return True
    if not isinstance(project, str) or "\0" in project:
        return True
    return Path(os.path.realpath(project)).is_relative_to(root)


def _keep(text: bytes, file: Path) -> None:
    descriptor = os.open(file, _KEEP, 0o600)
    try:
        os.write(descriptor, text)
    finally:
        os.close(descriptor)


def _missed(text: bytes) -> Iterator[Missed]:
    for line in text.splitlines():
        try:
            value: object = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(value, dict) or not isinstance(value.get("project"), str):
            continue
        payload, dropped = value.get("payload"), value.get("dropped")
        if isinstance(payload, dict):
            yield Missed(value["project"], payload)
        elif isinstance(dropped, int):
            yield Missed(value["project"], None, max(0, dropped))


# A dialect for a server that was told to learn nothing, or not everything: it understands where.


class IgnoreEvents:
    """Reads a host's payloads as another dialect does and passes events of these kinds not on."""

    def __init__(self, dialect: HostDialect, *kinds: type[HostEvent]) -> None:
        """Without any, no event at all is passed on."""
        self._dialect = dialect
        self._kinds = kinds or (object,)

    def parse(self, payload: Mapping[str, object]) -> HostReport:
        """Which folder a payload names, and what is told of what happened there."""
        report = self._dialect.parse(payload)
        kept = tuple(event for event in report.events if not isinstance(event, self._kinds))
        return replace(report, events=kept)
