"""What a line that defines something looks like, by kind of file; one line at a time."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.evidence.places import DefinitionKind
from live_memory.core.values import RelPath

__all__ = ["FileKind", "Shape", "is_code", "kind_of_file", "shapes_of"]

FileKind = str


@dataclass(frozen=True, slots=True)
class Shape:
    """Lines that match define `name`, inside `owner` where the line itself says so."""

    kind: DefinitionKind
    pattern: re.Pattern[str]


def _shape(kind: DefinitionKind, pattern: str, flags: int = 0) -> Shape:
    return Shape(kind, re.compile(pattern, flags))


_F, _C = DefinitionKind.FUNCTION, DefinitionKind.CLASS
_V, _S = DefinitionKind.VALUE, DefinitionKind.SECTION

# Words that stand before a definition in one language or another.
_MODIFIERS = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|final|abstract|async|"
    r"unsafe|override|virtual|inline|open|data|sealed|suspend|partial|readonly|extern|const|local|"
    r"fileprivate|mutating|pub(?:\([^)]*+\))?)\s++){0,9}"
)
_KEYWORD = (
    r"(?:if|else|for|foreach|while|switch|case|catch|return|throw|new|await|yield|do|try|when|with|"
    r"using|lock|synchronized|assert|sizeof|typeof|delete|and|or|not|in|elif|elsif|unless|until|raise|"
    r"import|package|from|go|defer|var|let|print|echo|goto|select|as|is|the|a)"
)
# What a declaration begins with is not what it declares.
_NO_NAME = (
    r"(?!(?:inline|static|const|constexpr|volatile|unsigned|signed|struct|enum|union|void|int|long|short|"
    r"char|bool|float|double|size_t|auto|extern|register|mut|readonly|final|fn|def|class|function)\b)"
)
_CODE = (
    _shape(
        _C,
        rf"^\s*+{_MODIFIERS}(?:class|interface|trait|struct|enum(?: class)?|impl(?:<[^>]*>)?|"
        r"module|namespace|protocol|extension|record|object|union|mod|type)\s++"
        r"(?:[\w:<>, ]+ for )?(?P<name>[A-Za-z_$][\w$.:]{0,120})"
        r"(?=\s*(?:[\[{:(<=;*]|$|extends\b|implements\b|struct\b|interface\b|where\b|for\b|\w+$))",
    ),
    _shape(
        _F,
        rf"^\s*+{_MODIFIERS}(?:def|function\*?|func|fn|fun|sub|proc|macro_rules!)\s+"
        r"(?:\(\s*+(?:\w++\s++)?\*?(?P<owner>\w++)[^)]*+\)\s*+|self\.)?"
        r"(?P<name>[A-Za-z_$][\w$.:]*[?!]?)",
    ),
    # JavaScript: `res.send = function send(body) {`, `const f = async (x) => {`
    _shape(
        _F,
        rf"^\s*+{_MODIFIERS}(?:let|var)?\s*+(?P<name>[A-Za-z_$][\w$.]*)\s*[:=]\s*(?:async\s*)?"
        r"(?:function\b|(?:\([^()]*\)|\w+)\s*=>)",
    ),
    # C, Java, C#, PHP: `static int f(int a)`, its arguments perhaps on the next lines
    _shape(
        _F,
        rf"^\s*+{_MODIFIERS}(?:(?!{_KEYWORD}\b)[A-Za-z_][\w<>\[\],.:?]*+[\s*&]++)+"
        rf"(?!{_KEYWORD}\b)(?P<name>[~A-Za-z_][\w:~]*)\s*\((?:[^;=]*[)\w]\s*\{{|[^;=(){{]*,?|[^;={{]*\))$",
    ),
    # A method of a JavaScript class: `render(props) {`
    _shape(
        _F,
        rf"^\s++(?:(?:static|async|get|set)\s++|\*)*(?!(?:{_KEYWORD}|function)\b)"
        r"(?P<name>[#A-Za-z_$][\w$]*)\s*\([^;]*\)\s*\{$",
    ),
    _shape(
        _V,
        r"^(?:#\s*define|(?:export\s+)?(?:const|var|let|static|val))\s+"
        rf"{_NO_NAME}(?P<name>[A-Za-z_]\w*)",
    ),
    _shape(_V, r"^(?P<name>[A-Za-z_]\w*+)\s*+(?::\s*+[\w\[\]., |\"']++)?\s*+=(?!=)"),
)
_SHELL = (
    _shape(_F, r"^\s*(?:function\s+)?(?P<name>[\w:-]+)\s*\(\)"),
    _shape(_F, r"^\s*function\s+(?P<name>[\w:-]+)"),
    _shape(_V, r"^(?:export\s+)?(?P<name>[A-Z_][A-Z0-9_]*)="),
)
_MAKE = (
    _shape(_F, r"^(?P<name>[\w./%-]+)\s*:(?!=)"),
    _shape(_V, r"^(?P<name>[A-Za-z_]\w*)\s*[:?+]?="),
)
_SQL = (
    _shape(
        _C,
        r"^\s*create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+|materialized\s+)*"
        r"(?:table|view|index|type|trigger|function|procedure|schema)\s+(?:if\s+not\s+exists\s+)?"
        r"(?P<name>[\w.\"`]+)",
        re.IGNORECASE,
    ),
)
_MARKDOWN = (_shape(_S, r"^#{1,6}\s++(?P<name>.*\S)"),)
_BRACKETED = (
    _shape(_S, r"^\s*\[{1,2}(?P<name>[^\]]+)\]"),
    _shape(_V, r"^(?P<name>[\w.-]+)\s*[=:]"),
)
_YAML = (_shape(_V, r"^(?: {0,4}|- )(?P<name>[A-Za-z_][\w.-]*)\s*:(?:\s|$)"),)
_JSON = (_shape(_V, r"^\s{1,4}\"(?P<name>[^\"]+)\"\s*:"),)
# The line above an underline: see `outline`, which looks one line ahead.
_UNDERLINED = (_shape(_S, r"^(?P<name>\S.*)$"),)

_SHAPES: Mapping[FileKind, Sequence[Shape]] = {
    "code": _CODE,
    "shell": _SHELL,
    "make": _MAKE,
    "sql": _SQL,
    "markdown": _MARKDOWN,
    "underlined": _UNDERLINED,
    "bracketed": _BRACKETED,
    "yaml": _YAML,
    "json": _JSON,
    "text": (),
}
_KINDS: Mapping[str, FileKind] = {
    **dict.fromkeys((".sh", ".bash", ".zsh", ".fish", ".ksh"), "shell"),
    **dict.fromkeys((".mk",), "make"),
    **dict.fromkeys((".sql", ".ddl"), "sql"),
    **dict.fromkeys((".md", ".markdown", ".mdx"), "markdown"),
    **dict.fromkeys((".rst", ".adoc"), "underlined"),
    **dict.fromkeys(
        (".toml", ".ini", ".cfg", ".conf", ".properties", ".editorconfig"), "bracketed"
    ),
    **dict.fromkeys((".yaml", ".yml", ".sublime-syntax"), "yaml"),
    **dict.fromkeys((".json", ".jsonc", ".json5", ".lock"), "json"),
    **dict.fromkeys((".txt", ".csv", ".tsv", ".po", ".pot", ".log", ".tex", ".diff"), "text"),
    **dict.fromkeys((".html", ".htm", ".xml", ".svg", ".css", ".scss", ".less"), "text"),
    **dict.fromkeys((".inc", ".patch", ".ipynb", ".help", ".man"), "text"),
    **dict.fromkeys((f".{section}" for section in range(1, 10)), "text"),  # manual pages
}
_NAMED: Mapping[str, FileKind] = {
    **dict.fromkeys(("Makefile", "GNUmakefile", "makefile", "Justfile"), "make"),
    **dict.fromkeys(("LICENSE", "COPYING", "AUTHORS", "NOTICE", "README", "INSTALL"), "text"),
    **dict.fromkeys(("CHANGES", "CHANGELOG", "ChangeLog", "HISTORY", "NEWS", "TODO"), "text"),
}


def kind_of_file(path: RelPath) -> FileKind:
    """By name and ending; what is unknown and has an ending is taken for code."""
    if path.name in _NAMED:
        return _NAMED[path.name]
    if not path.suffix:
        return "shell" if not path.name.startswith(".") else "text"
    return _KINDS.get(path.suffix, "code")


def is_code(path: RelPath) -> bool:
    """Whether a file is a program, not prose, data or configuration."""
    return kind_of_file(path) in ("code", "shell", "sql")


def shapes_of(path: RelPath) -> Sequence[Shape]:
    """What definitions look like in this file."""
    return _SHAPES[kind_of_file(path)]
