"""The files of an index, packed: an object for each would take ten times the memory."""

import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from live_memory.core.reading.comparing import Known
from live_memory.core.values import ContentHash, RelPath, StatSignature

__all__ = ["File", "Files", "KnownFiles"]

# The signature, the hash, and the number of the first unit and how many there are. Without text
# the last three are zero, which is the number of no unit.
_RECORD = struct.Struct("=qqqQQ32sII")
_SIGNATURE, _HASH, _UNITS = struct.Struct("=qqqQQ"), 32, struct.Struct("=II")


@dataclass(frozen=True, slots=True)
class File:
    """A version of a file that has text, and the units it was cut into."""

    path: RelPath
    sha: ContentHash
    first_unit: int
    units: int

    @property
    def following(self) -> int:
        """The number after its last unit."""
        return self.first_unit + self.units


class Files:
    """Versions of files by number from 1, and by path; a version that is gone leaves a gap.

    Versions come in the order of their rows in the database, so a row is found by bisection.
    """

    def __init__(self) -> None:
        self.rows = array("q", [0])
        self._paths: list[RelPath | None] = [None]
        self._records = bytearray(_RECORD.size)
        self._numbers: dict[str, int] = {}

    def copy(self) -> "Files":
        """The same files, to be changed apart."""
        other = Files()
        other.rows = self.rows[:]
        other._paths = self._paths[:]
        other._records = self._records[:]
        other._numbers = dict(self._numbers)
        return other

    @property
    def count(self) -> int:
        """How many there are, also without text."""
        return len(self._numbers)

    @property
    def end(self) -> int:
        """The number that the next version gets."""
        return len(self._paths)

    def add(
        self,
        row: int,
        path: RelPath,
        signature: StatSignature,
        *,
        sha: str | None,
        first_unit: int = 0,
        units: int = 0,
    ) -> int:
        """Take in a version, and give its number; the one before it has been dropped.

        Raises:
            struct.error: these are no numbers of a file.
        """
        s = signature
        digest = bytes.fromhex(sha) if sha is not None else b""
        stat = s.size, s.modified_ns, s.changed_ns, s.inode, s.device
        self._records += _RECORD.pack(*stat, digest, first_unit, units)
        number = self._numbers[path.text] = len(self._paths)
        self._paths.append(path)
        self.rows.append(row)
        return number

    def drop(self, number: int) -> None:
        """Forget a version."""
        del self._numbers[self.path(number).text]
        self._paths[number] = None

    def dropped(self, kept: Iterable[int]) -> Iterator[int]:
        """The versions whose rows are not among these, which are in order and all known."""
        rows = iter(kept)
        following = next(rows, None)
        for number, (row, path) in enumerate(zip(self.rows, self._paths, strict=True)):
            if path is None:
                continue
            if row == following:
                following = next(rows, None)
            else:
                yield number

    def number_of(self, path: RelPath) -> int | None:
        """The number of a path's version."""
        return self._numbers.get(path.text)

    def at_row(self, row: int) -> int | None:
        """The number of the version with this row, if it is still there and has text."""
        number = bisect_left(self.rows, row)
        if number == len(self.rows) or self.rows[number] != row or self._paths[number] is None:
            return None
        return number if self._units(number)[0] else None

    def path(self, number: int) -> RelPath:
        """The path of a version that is there."""
        path = self._paths[number]
        assert path is not None
        return path

    def signature(self, number: int) -> StatSignature:
        """The signature of a version."""
        return StatSignature(*_SIGNATURE.unpack_from(self._records, number * _RECORD.size))

    def text(self, number: int) -> File | None:
        """A version that is there; nothing where it has no text."""
        first, units = self._units(number)
        if not first:
            return None
        start = number * _RECORD.size + _SIGNATURE.size
        sha = ContentHash(self._records[start : start + _HASH].hex())
        return File(self.path(number), sha, first, units)

    def __iter__(self) -> Iterator[RelPath]:
        """Every path, as they came in."""
        return (path for path in self._paths if path is not None)

    def _units(self, number: int) -> tuple[int, int]:
        """The number of a version's first unit, and how many it has."""
        end = (number + 1) * _RECORD.size
        first, units = _UNITS.unpack_from(self._records, end - _UNITS.size)
        return first, units


class KnownFiles(Known):
    """Every file of an index with its signature, made when it is asked for."""

    def __init__(self, files: Files, revision: int) -> None:
        self._files = files
        self._revision = revision

    @property
    def revision(self) -> int:
        """How many updates led to this."""
        return self._revision

    def __getitem__(self, path: RelPath) -> StatSignature:
        """The signature of a file."""
        number = self._files.number_of(path)
        if number is None:
            raise KeyError(path)
        return self._files.signature(number)

    def __iter__(self) -> Iterator[RelPath]:
        """Every path."""
        return iter(self._files)

    def __len__(self) -> int:
        """How many files there are."""
        return self._files.count
