"""The small types everything is made of; each is validated once, where it is made."""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType, Self

from live_memory.core.errors import InvalidRequest, OutsideWorkspace

__all__ = [
    "Author",
    "ContentHash",
    "Instant",
    "NoticedChanges",
    "Origin",
    "RelPath",
    "StatSignature",
    "TokenCount",
    "WatchState",
    "WorkspaceKey",
]

# Wall-clock seconds since 1970, for display and order of magnitude only; durations are floats
# named `*_s` and come from a monotonic clock.
Instant = NewType("Instant", float)
TokenCount = NewType("TokenCount", int)

# Linux PATH_MAX and NAME_MAX: a longer name cannot be opened anyway.
_LONGEST_PATH, _LONGEST_PART = 4096, 255
_HEX64 = re.compile(r"[0-9a-f]{64}")
_KEY = re.compile(r"[0-9a-f]{32}")


class Author(StrEnum):
    """Who said something that is remembered."""

    AGENT = "agent"  # the coding agent, at the end of a turn
    SUBAGENT = "subagent"  # one of its helpers, in its report
    COMPANION = "companion"  # the model that answers here
    PERSON = "person"
    SUMMARY = "summary"  # a model, when entries were compacted


@dataclass(frozen=True, slots=True, order=True)
class RelPath:
    """A name relative to the workspace root: `/` between parts, no `.` or `..`, never absolute."""

    text: str

    def __post_init__(self) -> None:
        parts = self.text.split("/")
        if not self.text or len(self.text) > _LONGEST_PATH or "\0" in self.text:
            raise OutsideWorkspace("not a path in this workspace")
        if any(part in ("", ".", "..") or len(part) > _LONGEST_PART for part in parts):
            raise OutsideWorkspace("not a path in this workspace")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take a name as a caller or a model writes it: `./a`, `a//b` and `a/../b` are tidied.

        Raises:
            OutsideWorkspace: it is empty, absolute, holds NUL, or climbs above the root.
        """
        if not text.strip() or text.startswith(("/", "~")) or len(text) > _LONGEST_PATH:
            raise OutsideWorkspace("not a path in this workspace")
        parts: list[str] = []
        for part in text.split("/"):
            if part == "..":
                if not parts:
                    raise OutsideWorkspace("not a path in this workspace")
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        return cls("/".join(parts))

    @property
    def name(self) -> str:
        """The last part."""
        return self.text.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The last ending, lower case with its dot, or nothing: `.py`."""
        stem, dot, ending = self.name.rpartition(".")
        return f".{ending.lower()}" if dot and stem else ""

    def __hash__(self) -> int:
        # Looked up by in every table; the generated one makes a tuple first.
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, order=True)
class ContentHash:
    """SHA-256 of a file's whole bytes on disk, before redaction and truncation."""

    hex: str

    def __post_init__(self) -> None:
        if not _HEX64.fullmatch(self.hex):
            raise InvalidRequest("a content hash is 64 lower-case hexadecimal digits")

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Hash these bytes."""
        return cls(hashlib.sha256(data).hexdigest())


@dataclass(frozen=True, slots=True)
class StatSignature:
    """What the file system says of a file; equal signatures mean the bytes need no re-hashing.

    `changed_ns` (ctime) is part of it because a program can put size and mtime back, not ctime.
    """

    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    device: int


@dataclass(frozen=True, slots=True, order=True)
class WorkspaceKey:
    """Names a workspace's folder in the data folder: 32 hexadecimal digits of its real root."""

    text: str

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.text):
            raise InvalidRequest("a workspace key is 32 lower-case hexadecimal digits")

    @classmethod
    def of_root(cls, real_root: str) -> Self:
        """The key of the workspace whose root has this real path."""
        raw = real_root.encode("utf-8", "surrogateescape")
        return cls(hashlib.sha256(raw).hexdigest()[:32])


class Origin(StrEnum):
    """How something came to be known."""

    READ = "read"
    EDIT = "edit"
    TOOL = "tool"
    DISK = "disk"


@dataclass(frozen=True, slots=True)
class NoticedChanges:
    """Names of files and folders below the root that changed; with `is_cut`, others did too."""

    names: frozenset[str] = frozenset()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class WatchState:
    """Of the folders that were wanted, how many are watched; `problem` says why not all."""

    watched: int = 0
    wanted: int = 0
    problem: str | None = None

    @property
    def name(self) -> str:
        """`on`, `partial` or `off`."""
        if self.problem is None:
            return "on"
        return "partial" if self.watched else "off"
