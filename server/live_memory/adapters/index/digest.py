"""What the index keeps of one observation: definitions, words of units, uses of names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from live_memory.adapters.index.syntax.reader import SyntaxReader
from live_memory.core.evidence.places import Definition
from live_memory.core.evidence.shapes import is_code
from live_memory.core.evidence.units import Unit, cut, weigh
from live_memory.core.evidence.uses import names_used
from live_memory.core.reading.observation import Observation

__all__ = ["Digest", "digest"]


@dataclass(frozen=True, slots=True)
class Digest:
    """One file, ready to be written; `words` has the weights of words for each unit."""

    observation: Observation
    definitions: Sequence[Definition]
    units: Sequence[Unit]
    words: Sequence[Mapping[str, int]]
    uses: Sequence[tuple[str, int]]


def digest(observation: Observation, syntax: SyntaxReader) -> Digest:
    """Take a file apart."""
    path, lines = observation.path, observation.lines
    definitions = syntax.definitions_in(path, lines)
    units = cut(path, lines, definitions)
    return Digest(
        observation=observation,
        definitions=definitions,
        units=units,
        words=[weigh(path, lines, unit) for unit in units],
        uses=tuple(names_used(lines)) if is_code(path) else (),
    )
