"""The definitions of a file from the look of its lines, where no grammar is at hand."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.evidence.places import Definition, DefinitionKind, Place
from live_memory.core.values import RelPath

__all__ = [
    "DEEPEST",
    "block_end",
    "enclosing",
    "head_end",
    "indent_of",
    "is_code",
    "outline",
    "signature_at",
]

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


# How many definitions a name is qualified by; nobody nests deeper, and what is made to grows names
# without bound.
DEEPEST = 8
_LONGEST_LINE = 400  # longer lines are data
_LONGEST_SIGNATURE_LINES = 12
_LONGEST_SIGNATURE = 240
_CLOSES = re.compile(r"[)\]}]|(?:end|fi|done|esac)\b")
_NESTING = (DefinitionKind.CLASS, DefinitionKind.FUNCTION, DefinitionKind.METHOD)
_GOES_ON = ("{", ":", ",", "(")
_UNDERLINE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}\s*$")


def outline(path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...]:
    """Every definition that its line gives away, in order, names qualified by what is around."""
    shapes = shapes_of(path)
    if not shapes:
        return ()
    underlined = kind_of_file(path) == "underlined"
    found: list[Definition] = []
    around: list[tuple[int, Definition]] = []  # with their indentation
    for at, line in enumerate(lines):
        if not line or len(line) > _LONGEST_LINE or (underlined and not _is_title(lines, at)):
            continue
        hit = _match(shapes, line)
        if hit is None:
            continue
        shape, name = hit
        indent = indent_of(line)
        end = _section_end(lines, at) if underlined else _end(shape.kind, path, lines, at)
        while around and (around[-1][1].place.end <= at or around[-1][0] >= indent):
            around.pop()
        kind = shape.kind
        if around and kind in _NESTING:
            outer = around[-1][1]
            name = f"{outer.name}.{name}"
            if outer.kind is DefinitionKind.CLASS and kind is DefinitionKind.FUNCTION:
                kind = DefinitionKind.METHOD
        found.append(Definition(name, kind, Place(path, at + 1, end), signature_at(lines, at)))
        if kind in _NESTING and len(around) < DEEPEST:
            around.append((indent, found[-1]))
    return tuple(found)


def enclosing(definitions: Sequence[Definition], line: int) -> Definition | None:
    """The innermost definition around a line, values aside; definitions come in order."""
    for at in range(bisect_right(definitions, line, key=lambda d: d.place.start) - 1, -1, -1):
        definition = definitions[at]
        if line <= definition.place.end and definition.kind is not DefinitionKind.VALUE:
            return definition
    return None


def indent_of(line: str) -> int:
    """Columns before the first character; a tab counts four."""
    blanks = len(line) - len(line.lstrip())
    return blanks + 3 * line.count("\t", 0, blanks)


def block_end(lines: Sequence[str], at: int) -> int:
    """The last line (from 1) of what begins at index `at`, by indentation and closing brackets."""
    indent, end = indent_of(lines[at]), at
    for index in range(at + 1, len(lines)):
        line = lines[index].strip()
        depth = indent_of(lines[index])
        if not line:
            continue
        if depth < indent:
            break
        if depth == indent:
            is_brace = line == "{" and index == end + 1
            if not is_brace and not _CLOSES.match(line):
                break
            end = index
            if not line.endswith(_GOES_ON):  # `):` and `) {` belong to the head
                break
        end = index
    return end + 1


def head_end(lines: Sequence[str], at: int) -> int:
    """The line (from 1) on which the head of a definition at index `at` ends."""
    depth = 0
    for index in range(at, min(len(lines), at + _LONGEST_SIGNATURE_LINES)):
        depth += sum(lines[index].count(c) for c in "([") - sum(lines[index].count(c) for c in ")]")
        if depth <= 0:
            return index + 1
    return at + 1


def signature_at(lines: Sequence[str], at: int) -> str:
    """The head of a definition on one line: up to what opens its block."""
    rows = [line.strip() for line in lines[at : head_end(lines, at)]]
    head = " ".join(rows).replace("( ", "(").replace(", )", ")").replace(" )", ")")
    head = head[:-1].rstrip() if head.endswith(("{", ":")) else head
    return head if len(head) <= _LONGEST_SIGNATURE else f"{head[:_LONGEST_SIGNATURE]}…"


def _match(shapes: Sequence[Shape], line: str) -> tuple[Shape, str] | None:
    for shape in shapes:
        found = shape.pattern.match(line)
        if found:
            owner = found.groupdict().get("owner")
            name = found["name"].strip().rstrip(":")
            return shape, f"{owner}.{name}" if owner else name
    return None


def _end(kind: DefinitionKind, path: RelPath, lines: Sequence[str], at: int) -> int:
    if kind is DefinitionKind.SECTION and kind_of_file(path) == "markdown":
        level = len(lines[at]) - len(lines[at].lstrip("#"))
        for index in range(at + 1, len(lines)):
            line = lines[index]
            if line.startswith("#") and len(line) - len(line.lstrip("#")) <= level:
                return index
        return len(lines)
    if kind is DefinitionKind.SECTION:
        rest = range(at + 1, len(lines))
        return next((index for index in rest if lines[index].startswith("[")), len(lines))
    return block_end(lines, at)


def _is_title(lines: Sequence[str], at: int) -> bool:
    return at + 1 < len(lines) and bool(_UNDERLINE.match(lines[at + 1])) and lines[at][0].isalnum()


def _section_end(lines: Sequence[str], at: int) -> int:
    rest = range(at + 2, len(lines) - 1)
    return next((i for i in rest if lines[i] and _is_title(lines, i)), len(lines))
