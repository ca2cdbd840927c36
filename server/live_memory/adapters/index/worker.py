"""The process that takes files apart: one request and one reply a line, until nobody asks any more.

Grammars are compiled state machines with recovery from errors; a text made for it drives them to
gigabytes within one step, or over the end of memory. So they run where that ends only this.
"""

import json
import select
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import BinaryIO

from live_memory.adapters.index.digest import taken_apart, told
from live_memory.adapters.index.grammars import TooLong, parsed
from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import Definition
from live_memory.core.values import RelPath

_MEMORY_BYTES = 1024 * 1024 * 1024


class _Reader:
    """Definitions by the grammar, where there is one, or else by the look of the lines."""

    def __init__(self, *, has_grammar: bool) -> None:
        self._has_grammar = has_grammar

    def definitions_in(self, path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...]:
        try:
            found = parsed(path, lines) if self._has_grammar else None
        except (TooLong, RecursionError):
            found = None
        return found or outline(path, lines)


def main(asked: BinaryIO, told_to: BinaryIO, *, idle_s: float) -> None:
    """Reply to `[path, lines, whether it has a grammar]` with what the file is made of."""
    _limit()
    while select.select([asked], [], [], idle_s)[0]:
        request = asked.readline()
        if not request:
            return
        path, lines, has_grammar = json.loads(request)
        parts = taken_apart(RelPath(path), lines, _Reader(has_grammar=has_grammar))
        told_to.write(json.dumps(told(parts)).encode() + b"\n")
        told_to.flush()


def _limit() -> None:
    """Bound what this process may take, where the system knows how."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


if __name__ == "__main__":
    # There is never more than one request on the way, so nothing waits in a buffer unseen.
    main(sys.stdin.buffer, sys.stdout.buffer, idle_s=float(sys.argv[1]))
