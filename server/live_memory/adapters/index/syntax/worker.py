"""The process that parses: one request and one reply a line, until nobody asks any more.

Grammars are compiled state machines with recovery from errors; a text made for it drives them to
gigabytes within one step, or over the end of memory. So they run where that ends only this.
"""

import json
import select
import sys
from contextlib import suppress
from typing import BinaryIO

from live_memory.adapters.index.syntax.parsing import TooLong, parsed
from live_memory.core.evidence.places import Definition
from live_memory.core.values import RelPath

__all__ = ["main"]

_IDLE_S = 60.0
_MEMORY_BYTES = 1024 * 1024 * 1024


def main(asked: BinaryIO, told: BinaryIO) -> None:
    """Reply to `[path, text]` with the definitions, or with nothing where they cannot be told."""
    _limit()
    while select.select([asked], [], [], _IDLE_S)[0]:
        request = asked.readline()
        if not request:
            return
        path, text = json.loads(request)
        try:
            found = parsed(RelPath(path), text.split("\n"))
        except (TooLong, RecursionError):
            found = None
        reply = None if found is None else [_told(definition) for definition in found]
        told.write(json.dumps(reply).encode() + b"\n")
        told.flush()


def _told(definition: Definition) -> list[str | int]:
    place = definition.place
    return [definition.name, definition.kind, place.start, place.end, definition.signature]


def _limit() -> None:
    """Bound what this process may take, where the system knows how."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


if __name__ == "__main__":
    # There is never more than one request on the way, so nothing waits in a buffer unseen.
    main(sys.stdin.buffer, sys.stdout.buffer)
