"""The names that git tracks, read from its index: rules are for untracked names alone.

Asked for only where git itself cannot list.
"""

import os
import stat
from collections.abc import Iterator

__all__ = ["tracked_names"]

# Half a million names; a larger index is no code base that one memory can hold.
_LARGEST = 64 * 1024 * 1024
_HEADER, _BEFORE_ID, _EXTENDED, _LONGEST = 12, 40, 0x4000, 0xFFF
_KNOWN_VERSIONS = (2, 3, 4)
# The extension that says so stands first.
_SPLIT = b"link"


def tracked_names(git_folder: str, *, is_sha256: bool) -> frozenset[str] | None:
    """The names in a git folder's index; nothing where it is damaged, or in another form."""
    index = os.path.join(git_folder, "index")
    data = _bytes_of(index)
    if not data and not os.path.lexists(index):
        return frozenset()
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in _KNOWN_VERSIONS:
        return None
    try:
        names = _names(data, version, 32 if is_sha256 else 20)
        return frozenset(name.decode("utf-8", "surrogateescape") for name in names)
    except (IndexError, ValueError):
        return None


def _names(data: bytes, version: int, id_size: int) -> Iterator[bytes]:
    """The names in order.

    Raises:
        IndexError, ValueError: the index ends before it should, or is damaged.
    """
    at, before = _HEADER, b""
    for _ in range(int.from_bytes(data[8:12], "big")):
        start = at
        at += _BEFORE_ID + id_size
        flags = int.from_bytes(data[at : at + 2], "big")
        at += 4 if version > 2 and flags & _EXTENDED else 2
        if version == 4:
            # As git's packs write an offset: how much of the name before is left out.
            left_out, at = _offset(data, at)
            end = data.index(b"\0", at)
            name = before[: len(before) - left_out] + data[at:end]
            at = end + 1
        else:
            length = flags & _LONGEST
            end = data.index(b"\0", at) if length == _LONGEST else at + length
            name = data[at:end]
            at = start + (end - start + 8) // 8 * 8
        if not name or end >= len(data):
            raise ValueError("a name is empty, or the index ends in it")
        yield (before := name)
    if data[at : at + 4] == _SPLIT:
        raise ValueError("most names are in another file")


def _offset(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _bytes_of(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return b""
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
