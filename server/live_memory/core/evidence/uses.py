"""Which names a file uses, and who uses a name, as the lines say now."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.evidence.docs import silent_lines
from live_memory.core.evidence.natures import is_test
from live_memory.core.evidence.outline import enclosing
from live_memory.core.evidence.places import Definition, OpenedFile, Place
from live_memory.core.evidence.shapes import is_code
from live_memory.core.evidence.words import base_name
from live_memory.core.values import RelPath

__all__ = [
    "Step",
    "Use",
    "called_on",
    "import_lines",
    "in_reading_order",
    "is_definition_of",
    "is_import",
    "names_used",
    "unquoted",
    "uses_of",
]

# Names as only code writes them, and any name that is called.
_USE = re.compile(r"(?<![\w$])([A-Za-z_$][\w$]{2,})(?=(\s?\()|(?![\w$]))")
_IMPORT = re.compile(
    r"\s*(?:import\b|from\s+[\w.]+\s+import\b|export\b.*\bfrom\b|"
    r"(?:pub(?:\([^)]*\))?\s+)?(?:use\s+\w|mod\s+\w+\s*;)|"
    r"#\s*include\b|(?:(?:const|let|var)\s[^=]*=\s*)?require(?:_relative)?\b)"
)
_IMPORT_BEGINS = frozenset("ifepum#clvr")
_STRING = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
_MENTION = re.compile(
    r"(?<!\w)((?:\w++(?:\([^()]*+\))?(?:\?\.|\.|->|::)){0,20})\b([A-Za-z_$][\w$]*)(\()?"
)
_JOINTS = (".", "->", "::")
# A property of Python is named again where it is set.
_NAMED_AGAIN = re.compile(r"^\s*@\w+\.(?:setter|getter|deleter)\b")
# A function that is only declared: a type, the name, its arguments, and no expression before it.
_TYPED = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".mm", ".cs", ".java")
_BEFORE_A_DECLARED = re.compile(
    r"^\s*(?!(?:return|else|case|throw|new|delete|co_await|co_return|co_yield|await|goto|do|in|not|and|"
    r"or|if|while|yield|using|typedef|assert|operator)\b)"
    r"(?:[A-Za-z_][\w:]*(?:<[^<>()]*(?:<[^<>()]*>[^<>()]*)*>)?(?:\[\])?[\s*&]+)+$"
)
_TEST_NAME = re.compile(r"tests?$|.*[a-z](?:Tests?|TestCase)$")
_TEST_MARK = re.compile(
    r"^\s*(?:#\[(?:\w+::)?test\b|@Test\b|\[(?:Fact|Theory|Test)\b|@ParameterizedTest\b)"
)
_LONGEST_LINE = 1_000  # longer ones are data
_LONGEST_COMMENT = 60


@dataclass(frozen=True, slots=True)
class Use:
    """One line that uses a name, the definition it stands in, and whether it only imports it."""

    place: Place
    within: Definition | None
    is_import: bool
    is_test: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A call, and what it leads to: one of `among` definitions that names allow."""

    use: Use
    called: Definition
    among: int


def is_import(line: str) -> bool:
    """Whether a line brings in names from elsewhere."""
    return line.lstrip()[:1] in _IMPORT_BEGINS and _IMPORT.match(line) is not None


def import_lines(lines: Sequence[str], last: int) -> frozenset[int]:
    """The numbers of lines up to `last` that bring in names, with all that is in brackets."""
    found: set[int] = set()
    depth = 0
    for number, line in enumerate(lines[:last], 1):
        if depth > 0 or is_import(line):
            found.add(number)
            depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
            depth = max(0, depth)
    return frozenset(found)


def names_used(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Each name that is called, imported or written as only code writes one; once a line."""
    for number, line in enumerate(lines, 1):
        if len(line) > _LONGEST_LINE:
            continue
        found = _USE.findall(line)
        if not found:
            continue
        imports = is_import(line)
        telling = [n for n, call in found if imports or call or "_" in n or not n.islower()]
        for name in dict.fromkeys(telling):
            yield name, number


def in_reading_order(
    places: Sequence[Place], near: Sequence[RelPath], definitions: Sequence[Definition]
) -> tuple[Place, ...]:
    """Programs before tests before prose, files that are open anyway first, no definition."""
    own = {(d.place.path, d.place.start) for d in definitions}
    rank = {path: at for at, path in enumerate(near)}

    def order(place: Place) -> tuple[bool, bool, int, RelPath, int]:
        path = place.path
        return (not is_code(path), is_test(path), rank.get(path, len(rank)), path, place.start)

    return tuple(sorted((p for p in places if (p.path, p.start) not in own), key=order))


def uses_of(
    name: str, places: Sequence[Place], files: Mapping[RelPath, OpenedFile]
) -> tuple[Use, ...]:
    """The places whose line, as it is now, uses the name in code."""
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    found = []
    for place in places:
        file = files.get(place.path)
        if file is None or not is_code(place.path) or place.start > len(file.lines):
            continue
        line = file.lines[place.start - 1]
        imports = is_import(line)
        if _NAMED_AGAIN.match(line) or not word.search(line if imports else unquoted(line)):
            continue
        if _is_declared(name, place.path, line):
            continue
        within = enclosing(file.outline, place.start)
        if not _is_head(name, within, place) and not _is_spoken(file, within, place.start):
            # What is brought in may be listed over several lines.
            imports |= within is None and place.start in import_lines(file.lines, place.start)
            found.append(Use(place, within, imports, is_test=_is_in_test(file, within)))
    return tuple(found)


def called_on(line: str) -> Iterator[tuple[str, str]]:
    """What is called on a line, after what it stands on: `self.`, `get_app().`, or nothing.

    What is no chain of names, or goes on from the line above, is `?.`.
    """
    plain = unquoted(line)
    for found in _MENTION.finditer(plain):
        owner, name, call = found.groups()
        if call:
            goes_on = plain[: found.start()].rstrip().endswith(_JOINTS)
            yield owner or ("?." if goes_on else ""), name


def is_definition_of(file: OpenedFile, definition: Definition) -> bool:
    """Whether the file as it is now defines it there."""
    start = definition.place.start
    name = base_name(definition.name)
    rows = file.lines[start - 1 : start + 11]
    return definition.place.end <= len(file.lines) and any(name in row for row in rows)


def unquoted(line: str) -> str:
    """A line without what stands in its strings."""
    return _STRING.sub("", line)


def _is_head(name: str, within: Definition | None, place: Place) -> bool:
    """Whether the line is the head of a definition of that name."""
    is_first = within is not None and within.place.start == place.start
    return is_first and within is not None and base_name(within.name) == name


def _is_declared(name: str, path: RelPath, line: str) -> bool:
    """Whether the line only says that there is such a function."""
    before, found, after = line.partition(f"{name}(")
    is_typed = path.suffix in _TYPED and bool(found) and bool(_BEFORE_A_DECLARED.match(before))
    return is_typed and "{" not in after


def _is_in_test(file: OpenedFile, within: Definition | None) -> bool:
    """Whether the definition is one of a test, beside the program or in a file of tests."""
    if is_test(file.path) or within is None:
        return is_test(file.path)
    above = within.place.start - 2
    if any(map(_TEST_NAME.match, within.name.replace("::", ".").split("."))):
        return True
    while above >= 0 and file.lines[above].lstrip().startswith(("#[", "@", "[")):
        if _TEST_MARK.match(file.lines[above]):
            return True
        above -= 1
    return bool(_TEST_MARK.match(file.lines[within.place.start - 1]))


def _is_spoken(file: OpenedFile, within: Definition | None, line: int) -> bool:
    first = within.place.start if within else max(1, line - _LONGEST_COMMENT)
    last = within.place.end if within else line
    return line in silent_lines(file.lines, first, min(last, line + _LONGEST_COMMENT))
