"""What was read of a file: the raw reading, the redacted observation, or why there is none."""

from dataclasses import dataclass
from enum import StrEnum

from live_memory.core.reading.text import lines_of
from live_memory.core.values import ContentHash, RelPath, StatSignature

__all__ = [
    "LONGEST_LINE",
    "FileRead",
    "ListedFile",
    "Observation",
    "RedactedText",
    "SkipReason",
    "Skipped",
]

# A longer line is data. Both ends of it are kept: they tell what it is, and close its quotes.
LONGEST_LINE, _FIRST_OF_LINE, _LAST_OF_LINE = 2_000, 120, 40


class SkipReason(StrEnum):
    """Why a name gave no text."""

    OUTSIDE = "outside the workspace or missing"
    NOT_REGULAR = "not a regular file"
    UNREADABLE = "cannot be read"
    TOO_LARGE = "too large"
    BINARY = "binary"
    CREDENTIALS = "a credential file"
    GENERATED = "generated"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A name that gave no text; `name` is as it was asked for."""

    name: str
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A regular file that listing found, with what the file system says of it."""

    path: RelPath
    signature: StatSignature


@dataclass(frozen=True, slots=True)
class FileRead:
    """Raw bytes as the one file opener gave them; only `core.admission` turns them into text.

    `data` is the whole file, or its head where the file is longer than the caller's cap;
    `sha` is always of the whole file.
    """

    path: RelPath
    signature: StatSignature
    sha: ContentHash
    data: bytes

    @property
    def is_clipped(self) -> bool:
        """Whether `data` is only the head of the file."""
        return len(self.data) < self.signature.size


@dataclass(frozen=True, slots=True)
class RedactedText:
    """Text that went through `core.redaction`, the only place that may construct one.

    It has the same number of lines as the file, so that line numbers hold.
    """

    text: str

    def shortened(self) -> "RedactedText":
        """Without the middle of lines that are data; redacted text stays so when it is cut."""
        lines = map(_shortened, lines_of(self.text))
        return RedactedText("\n".join([*lines, ""]))


@dataclass(frozen=True, slots=True)
class Observation:
    """A file's redacted text with the hash of its bytes on disk."""

    path: RelPath
    signature: StatSignature
    sha: ContentHash
    text: RedactedText
    lines: tuple[str, ...]
    is_clipped: bool
    is_thinned: bool  # of lines of data or a notebook a part is left out

    def excerpt(self, first: int, count: int) -> RedactedText:
        """`count` lines from line `first` on; redacted text stays redacted when it is cut."""
        return RedactedText("\n".join(self.lines[first - 1 : first - 1 + count]))


def _shortened(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    left_out = len(line) - _FIRST_OF_LINE - _LAST_OF_LINE
    return f"{line[:_FIRST_OF_LINE]}...({left_out:,} more)...{line[-_LAST_OF_LINE:]}"
