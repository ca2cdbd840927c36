"""A text read by the grammar of its language. Only the process that `worker` runs in calls this."""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from live_memory.adapters.index.syntax.grammars import BY_SUFFIX, QUERIES, Wheel
from live_memory.core.evidence.outline import DEEPEST, signature_at
from live_memory.core.evidence.places import Definition, DefinitionKind, Place
from live_memory.core.values import RelPath

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Point, Query, QueryCursor

__all__ = ["TooLong", "parsed"]

_KINDS = {
    "function": DefinitionKind.FUNCTION,
    "class": DefinitionKind.CLASS,
    "value": DefinitionKind.VALUE,
}

# Of 3,300 files of twelve languages none takes a quarter of this, but text made to be hard takes
# minutes and gigabytes: brackets that never close, comparisons that might be types.
_LONGEST_S = 0.4
_CHUNK = 65_536
# Whose a function is, where its own name says so: `res.send` and `Pool::grow`.
_QUALIFIED = re.compile(r"\.|::")
# What stands within a definition and above its head.
_ABOVE = frozenset(("annotation", "marker_annotation", "attribute_list", "attribute", "comment"))


class TooLong(Exception):
    """A text that a grammar cannot read in time."""


@dataclass(frozen=True, slots=True)
class _Grammar:
    language: Language
    parser: type[Parser]
    query: Query
    cursor: type[QueryCursor]


@dataclass(frozen=True, slots=True)
class _Found:
    """The node of a definition, its own name, and the row on which that stands."""

    node: Node
    name: str
    name_row: int
    kind: DefinitionKind


def parsed(path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...] | None:
    """Every definition of a file, in order; nothing where its language has no grammar here.

    Raises:
        TooLong: the text takes too long.
    """
    wheel = BY_SUFFIX.get(path.suffix)
    grammar = _grammar_of(wheel) if wheel else None
    return None if grammar is None else _parsed(grammar, path, lines)


@cache
def _grammar_of(wheel: Wheel) -> _Grammar | None:
    """Load a grammar, or find out once that its wheel is not there or is not the one we know."""
    try:
        tree_sitter = importlib.import_module("tree_sitter")
        module = importlib.import_module(wheel.module)
    except ImportError:  # the optional extra `syntax` is not installed
        return None
    language = tree_sitter.Language(getattr(module, wheel.function)())
    try:
        query = tree_sitter.Query(language, QUERIES[wheel.language])
    except tree_sitter.QueryError:  # a later version of the grammar calls things otherwise
        return None
    return _Grammar(language, tree_sitter.Parser, query, tree_sitter.QueryCursor)


def _parsed(grammar: _Grammar, path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...]:
    found: dict[tuple[int, int], _Found] = {}
    text = "\n".join(lines).encode("utf-8", "replace")
    for captures in _captured(grammar, text):
        label = next(key for key in captures if key in _KINDS)
        node, named = captures[label][0], captures["name"][0]
        if _KINDS[label] is DefinitionKind.VALUE and node.has_error:
            continue  # macros that stand for types make C read as something else
        name = " ".join(_said(named, text).split())
        if "owner" in captures:
            name = f"{_said(captures['owner'][0], text).lstrip('*').partition('[')[0]}.{name}"
        place = (node.start_point.row, named.start_byte)
        if place not in found or found[place].kind is DefinitionKind.VALUE:
            found[place] = _Found(node, name, named.start_point.row, _KINDS[label])
    return _qualified(path, lines, [found[place] for place in sorted(found)])


def _captured(grammar: _Grammar, text: bytes) -> Sequence[Mapping[str, Sequence[Node]]]:
    """What the query finds in a text.

    Raises:
        TooLong: parsing takes too long, and so too much memory.
    """
    end = time.thread_time() + _LONGEST_S

    def is_over(_at: int, _has_error: bool) -> bool:
        return time.thread_time() > end

    def read(at: int, _point: Point) -> bytes:
        return text[at : at + _CHUNK]

    try:
        tree = grammar.parser(grammar.language).parse(read, progress_callback=is_over)
    except ValueError as stopped:
        raise TooLong from stopped
    # A search can be stopped in the same way, but then ends the process every other time.
    return [captures for _, captures in grammar.cursor(grammar.query).matches(tree.root_node)]


def _qualified(
    path: RelPath, lines: Sequence[str], found: Sequence[_Found]
) -> tuple[Definition, ...]:
    definitions: dict[tuple[str, int], Definition] = {}
    around: list[tuple[int, str, DefinitionKind]] = []
    for each in found:
        node, name, kind = each.node, each.name, each.kind
        while around and around[-1][0] < node.end_byte:
            around.pop()
        if around:
            name = f"{around[-1][1]}.{each.name}"
            if each.kind is DefinitionKind.FUNCTION and around[-1][2] is DefinitionKind.CLASS:
                kind = DefinitionKind.METHOD
        elif _QUALIFIED.search(each.name) and each.kind is DefinitionKind.FUNCTION:
            kind = DefinitionKind.METHOD
        if each.kind is not DefinitionKind.VALUE and len(around) < DEEPEST:
            around.append((node.end_byte, name, each.kind))
        row = _head_row(node)
        place = Place(path, row + 1, max(row, _last_row(node)) + 1)
        # What stands above the name belongs to the head: C writes the type on a line of its own.
        above = [line.strip() for line in lines[row : each.name_row]]
        signature = " ".join([*above, signature_at(lines, each.name_row)])
        definitions.setdefault((name, row), Definition(name, kind, place, signature))
    return tuple(definitions.values())


def _head_row(node: Node) -> int:
    """Where a definition begins below its annotations."""
    for child in node.children:
        if child.type == "modifiers":
            below = [each for each in child.children if each.type not in _ABOVE]
            if below:
                return below[0].start_point.row
        elif child.type not in _ABOVE:
            return child.start_point.row
    return node.start_point.row


def _last_row(node: Node) -> int:
    """Where it ends; some end with the line break."""
    end = node.end_point
    return end.row - 1 if end.column == 0 and end.row > node.start_point.row else end.row


def _said(node: Node, text: bytes) -> str:
    # `Node.text` reads memory that is gone where the text came in pieces.
    return text[node.start_byte : node.end_byte].decode("utf-8", "replace")
