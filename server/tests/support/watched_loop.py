"""Runs a Python program and writes down each look at the disk on the event loop's thread.

`python watched_loop.py FILE python -m live_memory serve` is the server, watched: FILE gets a line
for each such call, with the places in our code that it came from. A disk that does not answer (a
network mount, a sleeping drive) holds up whoever calls it, and on the loop that is everybody.
"""

import asyncio
import os
import runpy
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType

__all__: list[str] = []

# fmt: off
_CALLS = (
    "access", "chmod", "chown", "link", "listdir", "lstat", "mkdir", "open", "readlink",
    "remove", "rename", "replace", "rmdir", "scandir", "stat", "statvfs", "symlink", "truncate",
    "unlink", "utime",
)
# fmt: on
_OURS = f"{os.sep}live_memory{os.sep}"


def _watch(file: str) -> None:
    out = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    loop_thread = threading.get_ident()

    def note(name: str, place: object) -> None:
        # A descriptor is open already, and programs are started with no input.
        if isinstance(place, int) or place == os.devnull:
            return
        if threading.get_ident() == loop_thread and asyncio._get_running_loop() is not None:
            places = _places()
            if places is not None:
                os.write(out, f"{name} {' < '.join(places[:4])}\n".encode())

    for name in _CALLS:
        setattr(os, name, _watched(name, getattr(os, name), note))
    sys.addaudithook(lambda event, given: note(event, given[0]) if event == "open" else None)


def _watched(
    name: str, real: Callable[..., object], note: Callable[[str, object], None]
) -> Callable[..., object]:
    def call(*given: object, **named: object) -> object:
        note(name, given[0] if given else None)
        return real(*given, **named)

    return call


def _places() -> Sequence[str] | None:
    """Where in our code we are; nothing in an import, which looks on the disk once."""
    places: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        where = frame.f_code.co_filename
        if "importlib" in where:
            return None
        places += [f"{where}:{frame.f_lineno}"] if _OURS in where else []
        frame = frame.f_back
    return places


if __name__ == "__main__":
    _watch(sys.argv[1])
    # python -m module arguments
    sys.argv = sys.argv[4:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
