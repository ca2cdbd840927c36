"""What the index keeps of one observation: definitions, words of units, uses of names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from live_memory.core.evidence.places import Definition
from live_memory.core.evidence.shapes import is_code
from live_memory.core.evidence.units import Unit, cut, headings, weigh
from live_memory.core.evidence.uses import names_used
from live_memory.core.reading.observation import Observation
from live_memory.core.values import RelPath

__all__ = ["Digest", "Parts", "Syntax", "digest", "taken_apart"]


class Syntax(Protocol):
    """Knows what a file defines."""

    def definitions_in(self, path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...]:
        """Every definition of a file, in order."""
        ...


class Parts(NamedTuple):
    """What a file is made of; `words` has one count of words for each unit."""

    definitions: Sequence[Definition]
    units: Sequence[Unit]
    words: Sequence[Mapping[str, int]]
    uses: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Digest:
    """One file, ready to be written; `words` has the weights of words for each unit."""

    observation: Observation
    definitions: Sequence[Definition]
    units: Sequence[Unit]
    words: Sequence[Mapping[str, int]]
    uses: Sequence[tuple[str, int]]


def digest(observation: Observation, syntax: Syntax) -> Digest:
    """Take a file apart."""
    return Digest(observation, *taken_apart(observation.path, observation.lines, syntax))


def taken_apart(path: RelPath, lines: Sequence[str], syntax: Syntax) -> Parts:
    """What these lines are made of."""
    definitions = syntax.definitions_in(path, lines)
    units = cut(path, lines, definitions)
    return Parts(
        definitions=definitions,
        units=units,
        words=[
            weigh(path, lines, unit, under=under)
            for unit, under in zip(units, headings(units, definitions), strict=True)
        ],
        uses=tuple(names_used(lines)) if is_code(path) else (),
    )
