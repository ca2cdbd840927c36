"""What defines something in each language that has a grammar: queries over its syntax tree.

A query captures `@name` and one of `@function`, `@class` and `@value` around it; `@owner` where the
definition itself says whose it is. Declarations without a body are left out where the definition
stands elsewhere, and so are namespaces and packages, which would only make names long.
"""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["BY_SUFFIX", "QUERIES", "Wheel"]


@dataclass(frozen=True, slots=True)
class Wheel:
    """Where a grammar comes from: its module, the function in it, and whose query it takes."""

    module: str
    function: str
    language: str


_PYTHON = Wheel("tree_sitter_python", "language", "python")
_JAVASCRIPT = Wheel("tree_sitter_javascript", "language", "javascript")
_TYPESCRIPT = Wheel("tree_sitter_typescript", "language_typescript", "typescript")
_TSX = Wheel("tree_sitter_typescript", "language_tsx", "typescript")
_CPP = Wheel("tree_sitter_cpp", "language", "cpp")
_KOTLIN = Wheel("tree_sitter_kotlin", "language", "kotlin")

BY_SUFFIX: Mapping[str, Wheel] = {
    **dict.fromkeys((".py", ".pyi", ".ipynb"), _PYTHON),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), _JAVASCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), _TYPESCRIPT),
    ".tsx": _TSX,
    ".go": Wheel("tree_sitter_go", "language", "go"),
    ".rs": Wheel("tree_sitter_rust", "language", "rust"),
    ".java": Wheel("tree_sitter_java", "language", "java"),
    ".c": Wheel("tree_sitter_c", "language", "c"),
    # A header may be of either language; the larger one takes both.
    **dict.fromkeys((".h", ".hh", ".hpp", ".hxx", ".cc", ".cpp", ".cxx"), _CPP),
    ".cs": Wheel("tree_sitter_c_sharp", "language", "csharp"),
    ".rb": Wheel("tree_sitter_ruby", "language", "ruby"),
    ".php": Wheel("tree_sitter_php", "language_php", "php"),
    **dict.fromkeys((".kt", ".kts"), _KOTLIN),
    ".swift": Wheel("tree_sitter_swift", "language", "swift"),
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
