"""What hooks wrote down while the server was away: one JSON line an event, in the data folder.

The hook script appends under the file's lock and this side takes the whole file under the same
lock, so each line is taken once. The form is the hook's (`hooks/hook.py`).
"""

import fcntl
import json
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from anyio import to_thread

from live_memory.ports import Missed

__all__ = ["LARGEST_SPOOL", "DiskSpool"]

# The hook keeps less than this in each of its two files; more than that is not from the hook.
LARGEST_SPOOL = 1024 * 1024
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class DiskSpool:
    """Takes the spool of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        # The older half first.
        self._files = (data_dir / "spool.old.jsonl", data_dir / "spool.jsonl")

    async def take(self) -> Sequence[Missed]:
        """Everything that was written down, oldest first; it is gone from the spool afterwards."""
        return await to_thread.run_sync(self._take)

    def _take(self) -> Sequence[Missed]:
        return [missed for file in self._files for missed in _missed(_taken(file))]


def _taken(file: Path) -> bytes:
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
        os.ftruncate(descriptor, 0)
    except OSError:
        return b""
    else:
        return text
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
