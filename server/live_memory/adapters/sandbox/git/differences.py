"""What differs from a commit, judged by our own reading where git's time stamps are unsure."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1, sha256
from typing import Self

from live_memory.adapters.sandbox.opener import MAX_HASHED_BYTES, SafeRoot
from live_memory.core.reading.observation import FileRead

__all__ = ["Difference", "real_differences"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A line of `diff-index --raw`."""

    name: str
    status: str
    blob: str  # what the revision holds
    is_unsure: bool  # only the time stamps are known to differ
    is_link: bool

    @classmethod
    def parse(cls, raw: str, name: str) -> Self:
        old_mode, new_mode, blob, new_blob, status = raw.removeprefix(":").split(" ")
        is_unsure = status == "M" and old_mode == new_mode and not new_blob.strip("0")
        return cls(name, status[:1], blob, is_unsure, is_link=new_mode == "120000")


def real_differences(root: SafeRoot, rows: Sequence[Difference]) -> Sequence[Difference]:
    """Drop files whose time stamps alone differ."""
    return [row for row in rows if not (row.is_unsure and _is_same(root, row))]


def _is_same(root: SafeRoot, row: Difference) -> bool:
    if row.is_link:
        data = root.link_text(row.name)
    else:
        read = root.read(row.name, max_bytes=MAX_HASHED_BYTES)
        data = read.data if isinstance(read, FileRead) else None
    if data is None:
        return False
    # A repository may keep LF where the work tree has CRLF.
    return row.blob in (
        _blob_id(data, row.blob),
        _blob_id(data.replace(b"\r\n", b"\n"), row.blob),
    )


def _blob_id(data: bytes, like: str) -> str:
    """The id git gives to these bytes, in the hash that the id `like` has."""
    blob = b"blob %d\0" % len(data) + data
    # git's own naming, no protection: both sides are the user's files.
    return (
        sha256(blob).hexdigest()
        if len(like) == 64
        else sha1(blob, usedforsecurity=False).hexdigest()
    )
