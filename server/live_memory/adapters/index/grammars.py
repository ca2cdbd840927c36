"""What defines something in each language that has a grammar: queries over its syntax tree.

A query captures `@name` and one of `@function`, `@class` and `@value` around it; `@owner` where the
definition itself says whose it is. Declarations without a body are left out where the definition
stands elsewhere, and so are namespaces and packages, which would only make names long.
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from live_memory.core.evidence.outline import DEEPEST, signature_at
from live_memory.core.evidence.places import Definition, DefinitionKind, Place
from live_memory.core.values import RelPath

__all__ = ["BY_SUFFIX", "TooLong", "parsed"]


@dataclass(frozen=True, slots=True)
class GrammarSource:
    """Where a grammar comes from: its module, the function in it, and whose query it takes."""

    module: str
    function: str
    language: str


_PYTHON = GrammarSource("tree_sitter_python", "language", "python")
_JAVASCRIPT = GrammarSource("tree_sitter_javascript", "language", "javascript")
_TYPESCRIPT = GrammarSource("tree_sitter_typescript", "language_typescript", "typescript")
_TSX = GrammarSource("tree_sitter_typescript", "language_tsx", "typescript")
_CPP = GrammarSource("tree_sitter_cpp", "language", "cpp")
_KOTLIN = GrammarSource("tree_sitter_kotlin", "language", "kotlin")

BY_SUFFIX: Mapping[str, GrammarSource] = {
    **dict.fromkeys((".py", ".pyi", ".ipynb"), _PYTHON),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), _JAVASCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), _TYPESCRIPT),
    ".tsx": _TSX,
    ".go": GrammarSource("tree_sitter_go", "language", "go"),
    ".rs": GrammarSource("tree_sitter_rust", "language", "rust"),
    ".java": GrammarSource("tree_sitter_java", "language", "java"),
    ".c": GrammarSource("tree_sitter_c", "language", "c"),
    # A header may be of either language; the larger one takes both.
    **dict.fromkeys((".h", ".hh", ".hpp", ".hxx", ".cc", ".cpp", ".cxx"), _CPP),
    ".cs": GrammarSource("tree_sitter_c_sharp", "language", "csharp"),
    ".rb": GrammarSource("tree_sitter_ruby", "language", "ruby"),
    ".php": GrammarSource("tree_sitter_php", "language_php", "php"),
    **dict.fromkeys((".kt", ".kts"), _KOTLIN),
    ".swift": GrammarSource("tree_sitter_swift", "language", "swift"),
}

_OF_JAVASCRIPT = """
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


def _of_c(function: str) -> str:
    """What C and C++ share; pointers may stand around what matches as the name of a function."""
    declarator = f"(function_declarator declarator: {function} @name)"
    variables = (
        "(identifier) @name",
        "(array_declarator declarator: (identifier) @name)",
        "(pointer_declarator declarator: (identifier) @name)",
        "(pointer_declarator declarator: (array_declarator declarator: (identifier) @name))",
    )
    return f"""
(function_definition declarator: {declarator}) @function
(function_definition declarator: (pointer_declarator declarator: {declarator})) @function
(function_definition declarator: (pointer_declarator
  declarator: (pointer_declarator declarator: {declarator}))) @function
(struct_specifier name: (_) @name body: (_)) @class
(union_specifier name: (_) @name body: (_)) @class
(enum_specifier name: (_) @name body: (_)) @class
(type_definition declarator: (type_identifier) @name) @class
(preproc_function_def name: (_) @name) @function
(preproc_def name: (_) @name value: (_)) @value
(enumerator name: (_) @name) @value
""" + "".join(
        f"({around} (declaration declarator: (init_declarator declarator: {variable})) @value)\n"
        for around in ("translation_unit", "preproc_ifdef", "preproc_if")
        for variable in variables
    )


_OF_CPP = _of_c(
    "[(identifier) (field_identifier) (qualified_identifier) (destructor_name) (operator_name)]"
)
QUERIES: Mapping[str, str] = {
    "python": """
(function_definition name: (_) @name) @function
(class_definition name: (_) @name) @class
(module (expression_statement (assignment left: (identifier) @name)) @value)
(class_definition body: (block (expression_statement (assignment left: (identifier) @name)) @value))
""",
    "javascript": _OF_JAVASCRIPT,
    "typescript": _OF_JAVASCRIPT
    + """
(interface_declaration name: (_) @name) @class
(type_alias_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(abstract_class_declaration name: (_) @name) @class
(internal_module name: (_) @name) @class
(method_signature name: (_) @name) @function
(function_signature name: (_) @name) @function
(abstract_method_signature name: (_) @name) @function
""",
    "go": """
(function_declaration name: (_) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner))
  name: (_) @name) @function
(type_spec name: (_) @name) @class
(method_elem name: (_) @name) @function
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
(mod_item name: (_) @name body: (_)) @class
(impl_item type: (_) @name) @class
(type_item name: (_) @name) @class
(macro_definition name: (_) @name) @function
(const_item name: (_) @name) @value
(static_item name: (_) @name) @value
""",
    "java": """
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(annotation_type_declaration name: (_) @name) @class
(method_declaration name: (_) @name) @function
(constructor_declaration name: (_) @name) @function
(compact_constructor_declaration name: (_) @name) @function
(field_declaration declarator: (variable_declarator name: (_) @name)) @value
(constant_declaration declarator: (variable_declarator name: (_) @name)) @value
(enum_constant name: (_) @name) @value
""",
    "c": _of_c("(identifier)"),
    "cpp": _OF_CPP
    + """
(function_definition declarator: (reference_declarator
  (function_declarator declarator: (_) @name))) @function
(class_specifier name: (_) @name body: (_)) @class
(alias_declaration name: (_) @name) @class
(concept_definition name: (_) @name) @class
""",
    "csharp": """
(class_declaration name: (_) @name) @class
(struct_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(delegate_declaration name: (_) @name) @class
(method_declaration name: (_) @name) @function
(constructor_declaration name: (_) @name) @function
(local_function_statement name: (_) @name) @function
(property_declaration name: (_) @name) @value
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @value
(enum_member_declaration name: (_) @name) @value
""",
    "ruby": """
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(class name: (_) @name) @class
(module name: (_) @name) @class
(assignment left: (constant) @name) @value
""",
    "php": """
(function_definition name: (_) @name) @function
(method_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(trait_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(const_declaration (const_element (name) @name)) @value
(enum_case name: (_) @name) @value
""",
    "kotlin": """
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @class
(function_declaration name: (_) @name) @function
(type_alias type: (identifier) @name) @class
(source_file (property_declaration (variable_declaration (identifier) @name)) @value)
(class_body (property_declaration (variable_declaration (identifier) @name)) @value)
(enum_entry (identifier) @name) @value
""",
    "swift": """
(class_declaration name: (_) @name) @class
(protocol_declaration name: (_) @name) @class
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @function
(init_declaration name: _ @name) @function
(typealias_declaration name: (type_identifier) @name) @class
(source_file (property_declaration name: (pattern (simple_identifier) @name)) @value)
(class_body (property_declaration name: (pattern (simple_identifier) @name)) @value)
(enum_entry name: (_) @name) @value
""",
}


if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Point, Query, QueryCursor


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

    Only the process that `worker` runs in calls this.

    Raises:
        TooLong: the text takes too long.
    """
    wheel = BY_SUFFIX.get(path.suffix)
    grammar = _grammar_of(wheel) if wheel else None
    return None if grammar is None else _parsed(grammar, path, lines)


@cache
def _grammar_of(wheel: GrammarSource) -> _Grammar | None:
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
    """What the query finds in a text; `TooLong` where that takes too long, and so much memory."""
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
