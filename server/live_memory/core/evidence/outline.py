"""The definitions of a file from the look of its lines, where no grammar is at hand."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from live_memory.core.evidence.places import Definition, DefinitionKind, Place
from live_memory.core.evidence.shapes import Shape, kind_of_file, shapes_of
from live_memory.core.values import RelPath

__all__ = ["DEEPEST", "block_end", "enclosing", "head_end", "indent_of", "outline", "signature_at"]

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
    for at in range(bisect_right(definitions, line, key=_start) - 1, -1, -1):
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


def _start(definition: Definition) -> int:
    return definition.place.start
