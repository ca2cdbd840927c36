"""What was paid in the last day, one JSON line a payment, in `<data>/spend.jsonl`."""

import contextlib
import errno
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path

from anyio import to_thread

from live_memory.adapters.snapshots.own_files import read_file, set_aside, write_new
from live_memory.core.companion.spend import DAY_S, Payment
from live_memory.core.errors import SnapshotUnreadable, StoreUnavailable
from live_memory.core.saving.forms import read, written
from live_memory.core.values import Instant

__all__ = ["DiskPayments"]

_NAME = "spend.jsonl"
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# A payment has some 60 bytes; what is older than a day is left out each time so much has come in.
_LARGEST, _TIDY_AFTER = 16 * 1024 * 1024, 10_000


class DiskPayments:
    """A `PaymentBook`; the file is 0600 whatever the umask."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _NAME
        self._added = 0

    async def load(self, *, since: Instant) -> Sequence[Payment]:
        """Read what counts still, and leave out the rest from now on."""
        return await to_thread.run_sync(self._tidied, since)

    async def add(self, payment: Payment) -> None:
        """Append a line and sync it."""
        await to_thread.run_sync(self._add, payment)

    def _add(self, payment: Payment) -> None:
        if self._added >= _TIDY_AFTER:
            self._tidied(Instant(payment.at - DAY_S))
        self._added += 1
        try:
            descriptor = os.open(self._file, _FLAGS, 0o600)
            try:
                line = b"\n" + _line(payment)  # the last line may be torn
                if os.write(descriptor, line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as problem:
            raise StoreUnavailable(f"{self._file}: {problem.strerror}") from problem

    def _tidied(self, since: Instant) -> Sequence[Payment]:
        self._added = 0
        try:
            kept = [payment for payment in self._read() if payment.at >= since]
            new = self._file.with_name(f"{_NAME}.new")
            os.close(write_new(new, b"".join(map(_line, kept))))
            new.rename(self._file)
        except OSError as problem:
            raise StoreUnavailable(f"{self._file}: {problem.strerror}") from problem
        return kept

    def _read(self) -> list[Payment]:
        try:
            data = read_file(self._file, most=_LARGEST)
        except FileNotFoundError:
            return []
        except SnapshotUnreadable:
            set_aside(self._file)
            return []
        found: list[Payment] = []
        for line in data.splitlines():
            with contextlib.suppress(ValueError, RecursionError, SnapshotUnreadable):
                found.append(_payment(line))
        return found


def _line(payment: Payment) -> bytes:
    return json.dumps(written(payment)).encode("ascii") + b"\n"


def _payment(line: bytes) -> Payment:
    payment: Payment = read(Payment, json.loads(line))
    if not (math.isfinite(payment.at) and math.isfinite(payment.cost_usd)):
        raise SnapshotUnreadable("no proper payment")
    return payment
