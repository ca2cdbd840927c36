"""Files taken apart by the workers, or here where no worker can.

What a worker is told and what it tells is one line of JSON each.
"""

import json
from array import array
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

from live_memory.adapters.index.digest import Digest, Parts, Uses, Words, digest
from live_memory.adapters.index.syntax.grammars import BY_SUFFIX
from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import Definition, DefinitionKind, Place
from live_memory.core.evidence.units import Unit
from live_memory.core.reading.observation import Observation
from live_memory.core.values import RelPath

__all__ = ["Digester", "Worker", "told"]

# Characters a line on average; more is written by a program, and takes seconds to parse.
_WIDEST = 200
# A repository made to be hard is read by the look of its lines after so many attempts.
_MOST_FAILURES = 8
_LARGEST = 2**32 - 1
# A question takes in so many files at most, and does not wait for the batches of a pass.
_FEW = 40


class Worker(Protocol):
    """Replies to one line with one; who is first does not wait for the others."""

    def first(self) -> AbstractContextManager[None]:
        """Be first."""
        ...

    def exchange(self, request: bytes, *, is_first: bool = False) -> bytes:
        """Send a line and receive one.

        Raises:
            OSError: there is no reply.
        """
        ...


class Digester:
    """Takes apart the files of one workspace, which may be made to be hard."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._failures = 0

    def digest_all(self, observations: Sequence[Observation]) -> Sequence[Digest]:
        """Take files apart; a few go first."""
        if len(observations) > _FEW:
            return [self.digest(each) for each in observations]
        with self._worker.first():
            return [self.digest(each, is_first=True) for each in observations]

    def digest(self, observation: Observation, *, is_first: bool = False) -> Digest:
        """Take a file apart; one that no worker can is read by the look of its lines."""
        if self._failures < _MOST_FAILURES:
            request = [observation.path.text, observation.lines, _has_grammar(observation)]
            try:
                line = json.dumps(request).encode() + b"\n"
                reply = self._worker.exchange(line, is_first=is_first)
                return Digest(observation, *_parts(observation.path, json.loads(reply)))
            except (OSError, ValueError, TypeError, LookupError):
                self._failures += 1
        return digest(observation, _ByLook())


class _ByLook:
    """Definitions without a grammar."""

    def definitions_in(self, path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...]:
        return outline(path, lines)


def _has_grammar(observation: Observation) -> bool:
    wheel, lines = BY_SUFFIX.get(observation.path.suffix), observation.lines
    is_written = sum(map(len, lines)) <= _WIDEST * len(lines)
    return wheel is not None and is_written and _is_there(wheel.module)


@cache
def _is_there(module: str) -> bool:
    return find_spec("tree_sitter") is not None and find_spec(module) is not None


def told(parts: Parts) -> Sequence[object]:
    """What a worker tells of a file."""
    at = {id(definition): number for number, definition in enumerate(parts.definitions)}
    rows = [
        (each.name, each.kind, each.place.start, each.place.end, each.signature)
        for each in parts.definitions
    ]
    units = [
        (unit.start, unit.end, at.get(id(unit.definition)), unit.traits) for unit in parts.units
    ]
    words = parts.words
    flat = words.texts, words.sizes, words.units.tolist(), words.weights.tolist()
    return rows, units, flat, parts.uses


def _parts(path: RelPath, told: Sequence[Sequence[Sequence[object]]]) -> Parts:
    """What a worker told, which is data.

    Raises:
        LookupError, TypeError, ValueError: these are no parts of a file.
    """
    rows, units, words, uses = told
    definitions = [_definition(path, row) for row in rows]
    names, lines = uses
    used = Uses(_texts(names), [_number(line) for line in _list(lines)])
    if len(used.names) != len(used.lines):
        raise ValueError(lines)
    cut = [_unit(row, definitions) for row in units]
    return Parts(definitions, cut, _words(*words, among=len(cut)), used)


def _definition(path: RelPath, row: Sequence[object]) -> Definition:
    name, kind, start, end, signature = row
    place = Place(path, _number(start), _number(end, least=_number(start)))
    return Definition(str(name), DefinitionKind(str(kind)), place, str(signature))


def _unit(row: Sequence[object], definitions: Sequence[Definition]) -> Unit:
    start, end, at, traits = row
    owner = None if at is None else definitions[_number(at, least=0)]
    last = _number(end, least=_number(start))
    return Unit(_number(start), last, owner, _number(traits, least=0))


def _words(texts: object, sizes: object, units: object, weights: object, *, among: int) -> Words:
    words = Words(
        _texts(texts),
        [_number(size) for size in _list(sizes)],
        array("I", [_number(unit, least=0) for unit in _list(units)]),
        array("I", [_number(weight) for weight in _list(weights)]),
    )
    if not len(words.units) == len(words.weights) == sum(words.sizes):
        raise ValueError(sizes)
    if len(words.texts) != len(words.sizes) or max(words.units, default=-1) >= among:
        raise ValueError(texts)
    return words


def _texts(value: object) -> Sequence[str]:
    texts = _list(value)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(value)
    return texts


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _number(value: object, *, least: int = 1) -> int:
    if not isinstance(value, int) or not least <= value <= _LARGEST:
        raise ValueError(value)
    return value
