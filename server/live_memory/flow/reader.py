"""Reads files of one workspace for whoever needs their text: bytes of this moment, redacted."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from live_memory.core.reading.admission import observe
from live_memory.core.reading.observation import FileRead, Observation, Skipped
from live_memory.core.reading.redaction import Redactor
from live_memory.ports import Sandbox

__all__ = ["Reader"]

# So many bytes are redacted in two milliseconds, faster than a busy pool gives a thread.
_LITTLE = 16_000


@dataclass(frozen=True, slots=True)
class Reader:
    """The sandbox, what hides secrets, and how many bytes of a file are read at most."""

    sandbox: Sandbox
    redactor: Redactor
    max_bytes: int

    async def bytes_of(
        self, names: Sequence[str], *, max_bytes: int | None = None
    ) -> Sequence[FileRead | Skipped]:
        """Read files as they are now, each from its beginning; outcomes are in the order of names.

        Raises:
            LiveMemoryError: the workspace cannot be read.
        """
        if not names:
            return ()
        return await self.sandbox.read(names, max_bytes=max_bytes or self.max_bytes)

    def observe(self, read: FileRead | Skipped) -> Observation | Skipped:
        """Redact what was read; for a thread, where it is much."""
        return read if isinstance(read, Skipped) else observe(read, redactor=self.redactor)

    async def observed(
        self, reads: Sequence[FileRead | Skipped]
    ) -> Sequence[Observation | Skipped]:
        """Redact what was read, off the loop where it is much."""
        work = partial(_all, self, reads)
        size = sum(len(read.data) for read in reads if isinstance(read, FileRead))
        return work() if size <= _LITTLE else await anyio.to_thread.run_sync(work)

    def redacted(self, text: str) -> str:
        """A text without secrets."""
        return self.redactor.redact(text).text.text


def _all(reader: Reader, reads: Sequence[FileRead | Skipped]) -> Sequence[Observation | Skipped]:
    return [reader.observe(read) for read in reads]
