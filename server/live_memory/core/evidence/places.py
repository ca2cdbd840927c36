"""Places in files, what is defined there, and what a search for a question gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from live_memory.core.evidence.words import Asks
from live_memory.core.values import ContentHash, RelPath

__all__ = [
    "Candidates",
    "Definition",
    "DefinitionKind",
    "Evidence",
    "Place",
    "RankedFile",
    "RankedFileText",
    "RankedUnit",
    "Terms",
]


class DefinitionKind(StrEnum):
    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    VALUE = "value"
    SECTION = "section"


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file, counted from 1, both ends included."""

    path: RelPath
    start: int
    end: int

    def __str__(self) -> str:
        lines = f"{self.start}" if self.start == self.end else f"{self.start}-{self.end}"
        return f"{self.path}:{lines}"


@dataclass(frozen=True, slots=True)
class Definition:
    """Something a file defines; `name` is qualified (`Class.method`)."""

    name: str
    kind: DefinitionKind
    place: Place
    signature: str


@dataclass(frozen=True, slots=True)
class RankedFileText:
    """A file as it was read for this question, with the definitions that are really in it.

    Of a file that `is_clipped` only the head was read.
    """

    path: RelPath
    sha: ContentHash
    lines: Sequence[str]
    outline: Sequence[Definition]
    is_clipped: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """What the question is about: weighted search terms and the names it mentions.

    `edited` are the files that whoever asks has worked on lately.
    """

    weights: tuple[tuple[str, float], ...]
    names: tuple[str, ...]
    edited: frozenset[RelPath] = frozenset()
    asks: Asks = field(default_factory=Asks)


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """A stretch of a file, with the definition it belongs to, if any."""

    place: Place
    definition: Definition | None
    score: float


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file, and which words of the question it holds."""

    path: RelPath
    sha: ContentHash
    score: float
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Files and units, best first.

    `worth` says what each word of the question that occurs at all is worth here: its weight times
    its rarity in this workspace.
    """

    files: tuple[RankedFile, ...] = ()
    units: tuple[RankedUnit, ...] = ()
    worth: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found for a question, and the files that were opened for it, as they are now."""

    candidates: Candidates
    files: Mapping[RelPath, RankedFileText]

    @property
    def units(self) -> list[RankedUnit]:
        """The ranked units of files that are open, best first."""
        return [unit for unit in self.candidates.units if unit.place.path in self.files]

    @property
    def best(self) -> list[RankedFileText]:
        """The ranked files that are open, best first."""
        found = (self.files.get(file.path) for file in self.candidates.files)
        return [file for file in found if file is not None]
