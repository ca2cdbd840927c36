"""What the index keeps of one observation: definitions, words of units, uses of names."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Protocol

from live_memory.core.evidence.places import Definition
from live_memory.core.evidence.shapes import is_code
from live_memory.core.evidence.units import Unit, cut, headings, weigh
from live_memory.core.evidence.uses import names_used
from live_memory.core.reading.observation import Observation
from live_memory.core.values import RelPath

__all__ = ["Digest", "Parts", "Syntax", "Uses", "Words", "by_word", "digest", "taken_apart"]


class Syntax(Protocol):
    """Knows what a file defines."""

    def definitions_in(self, path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...]:
        """Every definition of a file, in order."""
        ...


class Words(NamedTuple):
    """The words of a file, flat: word n has the next `sizes[n]` of `units`, from 0, and `weights`.

    An object for each unit would take ten times the memory while many files are on the way.
    """

    texts: Sequence[str]
    sizes: Sequence[int]
    units: "array[int]"
    weights: "array[int]"


class Uses(NamedTuple):
    """The names a file uses, each with its line."""

    names: Sequence[str] = ()
    lines: Sequence[int] = ()


class Parts(NamedTuple):
    """What a file is made of."""

    definitions: Sequence[Definition]
    units: Sequence[Unit]
    words: Words
    uses: Uses


@dataclass(frozen=True, slots=True)
class Digest:
    """One file, ready to be written."""

    observation: Observation
    definitions: Sequence[Definition]
    units: Sequence[Unit]
    words: Words
    uses: Uses


def digest(observation: Observation, syntax: Syntax) -> Digest:
    """Take a file apart."""
    return Digest(observation, *taken_apart(observation.path, observation.lines, syntax))


def taken_apart(path: RelPath, lines: Sequence[str], syntax: Syntax) -> Parts:
    """What these lines are made of."""
    definitions = syntax.definitions_in(path, lines)
    units = cut(path, lines, definitions)
    weights = [
        weigh(path, lines, unit, under=under)
        for unit, under in zip(units, headings(units, definitions), strict=True)
    ]
    uses = [*names_used(lines)] if is_code(path) else []
    used = Uses([name for name, _ in uses], [line for _, line in uses])
    return Parts(definitions, units, by_word(weights), used)


def by_word(weights: Iterable[Mapping[str, int]]) -> Words:
    """Turn what each word weighs in each unit round."""
    rows: dict[str, tuple[list[int], list[int]]] = {}
    for number, of_unit in enumerate(weights):
        for word, weight in of_unit.items():
            units, counts = rows.setdefault(word, ([], []))
            units.append(number)
            counts.append(weight)
    sizes = [len(units) for units, _ in rows.values()]
    flat = (array("I", chain.from_iterable(row[side] for row in rows.values())) for side in (0, 1))
    return Words(list(rows), sizes, *flat)
