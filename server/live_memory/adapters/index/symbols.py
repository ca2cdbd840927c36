"""Definitions by grammar where its wheel is installed, by the look of the lines elsewhere."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from live_memory.core.evidence.outline import outline, signature_at
from live_memory.core.evidence.places import Definition, DefinitionKind, Place
from live_memory.core.values import RelPath

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query, QueryCursor

__all__ = ["definitions_in", "grammar_of"]

_SUFFIXES: Mapping[str, tuple[str, str, str]] = {  # module, its function, our name of the grammar
    ".py": ("tree_sitter_python", "language", "python"),
    ".pyi": ("tree_sitter_python", "language", "python"),
    ".js": ("tree_sitter_javascript", "language", "javascript"),
    ".mjs": ("tree_sitter_javascript", "language", "javascript"),
    ".cjs": ("tree_sitter_javascript", "language", "javascript"),
    ".jsx": ("tree_sitter_javascript", "language", "javascript"),
    ".ts": ("tree_sitter_typescript", "language_typescript", "typescript"),
    ".mts": ("tree_sitter_typescript", "language_typescript", "typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx", "typescript"),
    ".go": ("tree_sitter_go", "language", "go"),
    ".rs": ("tree_sitter_rust", "language", "rust"),
}
_JAVASCRIPT = """
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: (_) @name) @function
(assignment_expression left: (_) @name right: [(function_expression) (arrow_function)]) @function
(assignment_expression left: (_) @name right: (class)) @class
(program (lexical_declaration (variable_declarator name: (identifier) @name) @value))
(program (variable_declaration (variable_declarator name: (identifier) @name) @value))
(program (export_statement (lexical_declaration
  (variable_declarator name: (identifier) @name) @value)))
(variable_declarator name: (identifier) @name
  value: [(function_expression) (arrow_function)]) @function
(arguments (function_expression name: (_) @name) @function)
(pair key: (_) @name value: [(function_expression) (arrow_function)]) @function
"""
_QUERIES: Mapping[str, str] = {
    "python": """
(function_definition name: (_) @name) @function
(class_definition name: (_) @name) @class
(module (expression_statement (assignment left: (identifier) @name)) @value)
(class_definition body: (block (expression_statement (assignment left: (identifier) @name)) @value))
""",
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT
    + """
(interface_declaration name: (_) @name) @class
(type_alias_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(abstract_class_declaration name: (_) @name) @class
(internal_module name: (_) @name) @class
(method_signature name: (_) @name) @function
(function_signature name: (_) @name) @function
""",
    "go": """
(function_declaration name: (_) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner))
  name: (_) @name) @function
(type_spec name: (_) @name) @class
(source_file (const_declaration (const_spec name: (_) @name) @value))
(source_file (var_declaration (var_spec name: (_) @name) @value))
(source_file (var_declaration (var_spec_list (var_spec name: (_) @name) @value)))
""",
    "rust": """
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(struct_item name: (_) @name) @class
(enum_item name: (_) @name) @class
(trait_item name: (_) @name) @class
(mod_item name: (_) @name) @class
(impl_item type: (_) @name) @class
(type_item name: (_) @name) @class
(macro_definition name: (_) @name) @function
(const_item name: (_) @name) @value
(static_item name: (_) @name) @value
""",
}
_KINDS = {
    "function": DefinitionKind.FUNCTION,
    "class": DefinitionKind.CLASS,
    "value": DefinitionKind.VALUE,
}


@dataclass(frozen=True, slots=True)
class _Grammar:
    parser: Parser
    query: Query
    cursor: type[QueryCursor]


def definitions_in(path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...]:
    """Every definition of a file, in order, by the best means at hand."""
    known = _SUFFIXES.get(path.suffix)
    grammar = grammar_of(*known) if known else None
    return outline(path, lines) if grammar is None else _parsed(grammar, path, lines)


@cache
def grammar_of(module: str, function: str, name: str) -> _Grammar | None:
    """Load a grammar, or find out once that its wheel is not installed."""
    try:
        tree_sitter = importlib.import_module("tree_sitter")
        language = tree_sitter.Language(getattr(importlib.import_module(module), function)())
    except ImportError:  # the optional extra `syntax` is not installed
        return None
    query = tree_sitter.Query(language, _QUERIES[name])
    return _Grammar(tree_sitter.Parser(language), query, tree_sitter.QueryCursor)


def _parsed(grammar: _Grammar, path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...]:
    tree = grammar.parser.parse("\n".join(lines).encode())
    found: dict[tuple[int, int], tuple[Node, str, DefinitionKind]] = {}
    for _, captures in grammar.cursor(grammar.query).matches(tree.root_node):
        label = next(key for key in captures if key in _KINDS)
        node, kind = captures[label][0], _KINDS[label]
        name = _text(captures["name"][0])
        if "owner" in captures:
            name = f"{_text(captures['owner'][0]).lstrip('*').partition('[')[0]}.{name}"
        place = (node.start_point.row, captures["name"][0].start_byte)
        if place not in found or found[place][2] is DefinitionKind.VALUE:
            found[place] = (node, name, kind)
    return _qualified(path, lines, sorted(found.items()))


def _qualified(
    path: RelPath,
    lines: Sequence[str],
    found: Sequence[tuple[tuple[int, int], tuple[Node, str, DefinitionKind]]],
) -> tuple[Definition, ...]:
    definitions: list[Definition] = []
    around: list[tuple[int, str, DefinitionKind]] = []
    for _, (node, own_name, own_kind) in found:
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        name, kind = own_name, own_kind
        if around:
            name = f"{around[-1][1]}.{own_name}"
            if own_kind is DefinitionKind.FUNCTION and around[-1][2] is DefinitionKind.CLASS:
                kind = DefinitionKind.METHOD
        elif "." in own_name and own_kind is DefinitionKind.FUNCTION:
            kind = DefinitionKind.METHOD
        if own_kind is not DefinitionKind.VALUE:
            around.append((node.end_byte, name, own_kind))
        row = node.start_point.row
        place = Place(path, row + 1, max(row, node.end_point.row) + 1)
        definitions.append(Definition(name, kind, place, signature_at(lines, row)))
    return tuple(definitions)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
