"""Which names a file uses, and who uses a name, as the lines say now."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from live_memory.core.evidence.docs import silent_lines
from live_memory.core.evidence.file_kinds import is_test
from live_memory.core.evidence.outline import enclosing, is_code
from live_memory.core.evidence.places import Definition, DefinitionKind, Place, RankedFileText
from live_memory.core.evidence.words import base_name, is_compound, tokens
from live_memory.core.values import RelPath

__all__ = [
    "CallStep",
    "Use",
    "called_on",
    "import_lines",
    "in_reading_order",
    "is_definition_of",
    "is_foreign",
    "is_import",
    "is_one_language",
    "is_open",
    "is_told",
    "meant_by",
    "names_used",
    "objects_on",
    "owner_of",
    "renamed",
    "told_apart",
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
class CallStep:
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
    name: str, places: Sequence[Place], files: Mapping[RelPath, RankedFileText]
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


def is_definition_of(file: RankedFileText, definition: Definition) -> bool:
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


def _is_in_test(file: RankedFileText, within: Definition | None) -> bool:
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


def _is_spoken(file: RankedFileText, within: Definition | None, line: int) -> bool:
    first = within.place.start if within else max(1, line - _LONGEST_COMMENT)
    last = within.place.end if within else line
    return line in silent_lines(file.lines, first, min(last, line + _LONGEST_COMMENT))


# Imports stand at the top of a file, or in the function that needs them.
_TOP = 300
_QUOTED = re.compile(r"['\"<]([^'\"<>\n]+)['\">]")
_DOTTED = re.compile(
    r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:from|import|use|using)\s+(?:static\s+)?(\.*[\w$]*(?:(?:\.|::|\\)[\w$]+)*)"
)
_USING = re.compile(r"(?:global\s+)?using\s+(?:static\s+)?[\w.]+;")
_ALIAS = re.compile(r"(?<![\w$])([\w$]++)\s++as\s++([\w$]++)")
_BETWEEN = re.compile(r"\.|::|\\")
_ENDING = re.compile(r"\.(?:[cm]?[jt]sx?|h|hh|hpp|rb|php|vue)$")
# Words that stand for a place and not for a name.
_RELATIVE = frozenset({"crate", "self", "super"})
# These bring in all that a file or a folder has, and need nothing for their own folder.
_WHOLE = re.compile(r"\.(?:go|c|cc|cpp|cxx|h|hh|hpp|cs|rb|php|java|kt|swift|scala)$")
_GENERIC = re.compile(r"<[^<>]*>")
_NO_OWNERS = frozenset({"exports", "module"})


@dataclass(frozen=True, slots=True)
class _Import:
    """One statement: the words in it, and where what it brings in comes from."""

    words: frozenset[str]
    source: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Brought:
    """What some lines bring in, and the names that have another one there."""

    imports: tuple[_Import, ...]
    aliases: Mapping[str, str]


@lru_cache(16_384)
def owner_of(name: str) -> str:
    """The name of the class, or whatever else a qualified name belongs to."""
    plain = _GENERIC.sub("", name).replace(".prototype.", ".")
    owner = plain.rpartition(".")[0].rpartition(".")[2]
    return "" if owner in _NO_OWNERS else owner


def renamed(word: str, file: RankedFileText) -> str:
    """What a name is called where it comes from: `import { Service as Admin }`."""
    return _brought(tuple(file.lines[:_TOP]), file.path).aliases.get(word, word)


def told_apart(
    found: Sequence[Definition], file: RankedFileText, caller: Definition, written: str
) -> list[Definition]:
    """Those of one name and owner that a file's imports allow; all where they do not tell.

    `written` is what the name is called on. None are left where the file has the name from
    somewhere that none of them can be.
    """
    name = owner_of(found[0].name) or base_name(found[0].name)
    imports = [*_brought(tuple(file.lines[:_TOP]), file.path).imports]
    if caller.place.start > 1:
        body = file.lines[caller.place.start - 1 : caller.place.end]
        imports += _brought(tuple(body), file.path).imports
    for word in (written, name):
        named = [each for each in imports if word and word in each.words]
        if named:
            return _best(found, named, name) or [d for d in found if _is_akin(d, named)]
    here = [d for d in found if d.place.path == file.path]
    near = [d for d in found if _folder_of_import(d.place.path) == _folder_of_import(file.path)]
    if here or not _WHOLE.search(file.path.name):
        return here or [*found]
    return near or _best(found, imports, name) or [*found]


def is_foreign(word: str, file: RankedFileText, named: Sequence[Definition]) -> bool:
    """Whether a file brings in what a name is called on from where none of these can be."""
    imports = _brought(tuple(file.lines[:_TOP]), file.path).imports
    found = [each for each in imports if word in each.words or word in each.source[-1:]]
    return bool(found) and not any(_is_akin(d, found) for d in named)


def _best(found: Sequence[Definition], imports: Sequence[_Import], name: str) -> list[Definition]:
    fits = [max((_fit(e, d.place.path, name) for e in imports), default=0) for d in found]
    most = max(fits)
    return [d for d, fit in zip(found, fits, strict=True) if fit == most > 0]


def _fit(brought: _Import, path: RelPath, name: str) -> int:
    """How many names of a source are those of a file's path, from the end."""
    *folders, last = path.text.split("/")
    stem = last.rpartition(".")[0] or last
    homes = ([*folders, stem], [*folders, stem.partition(".")[0]], folders)
    sources = (brought.source, (*brought.source, name), brought.source[:-1])
    return max(_common(source, home) for source in sources for home in homes)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if a != b:
            break
        count += 1
    return count


def _is_akin(definition: Definition, imports: Sequence[_Import]) -> bool:
    """Whether a source has a word of the path: packages are seldom called like their folders."""
    words = set(tokens(definition.place.path.text))
    sources = [set(tokens(" ".join(each.source))) for each in imports]
    return any(not source or not words.isdisjoint(source) for source in sources)


@lru_cache(256)  # each use in a file asks for what the file brings in
def _brought(lines: tuple[str, ...], path: RelPath) -> _Brought:
    statements: list[list[str]] = []
    last = 0
    using = {number for number, line in enumerate(lines, 1) if _USING.match(line)}
    for number in sorted(import_lines(lines, len(lines)) | using):
        line = lines[number - 1]
        if is_import(line) or number in using or number != last + 1:
            statements.append([])
        statements[-1].append(line)
        last = number
    texts = ["\n".join(rows) for rows in statements]
    found = tuple(each for text in texts for each in _read(text, path))
    aliases = {alias: name for text in texts for name, alias in _ALIAS.findall(text)}
    return _Brought(found, MappingProxyType(aliases))


def _read(statement: str, path: RelPath) -> Iterator[_Import]:
    words = frozenset(re.findall(r"[\w$]+", statement))
    quoted = _QUOTED.findall(statement)
    if len(quoted) > 1:  # a block of Go: each line is one of its own
        words = frozenset()
    for source in quoted:
        yield _Import(words, _absolute(_ENDING.sub("", source).split("/"), path))
    dotted = None if quoted else _DOTTED.match(statement)
    if dotted:
        source = dotted[1]
        level = len(source) - len(source.lstrip("."))
        parts = [part for part in _BETWEEN.split(source.lstrip(".")) if part not in _RELATIVE]
        yield _Import(words, _absolute(["."] * bool(level) + [".."] * (level - 1) + parts, path))


def _absolute(parts: Sequence[str], path: RelPath) -> tuple[str, ...]:
    """From the root, where a source is told from the file's folder."""
    base = path.text.split("/")[:-1] if parts[:1] in (["."], [".."]) else []
    for part in parts:
        if part == "..":
            base = base[:-1]
        elif part not in ("", ".", "@", "~"):
            base = [*base, part]
    return tuple(base)


def _folder_of_import(path: RelPath) -> str:
    return path.text.rpartition("/")[0]


_SELF, _BASE = frozenset({"self", "this", "cls", "Self"}), frozenset({"super", "base", "parent"})
_OWN = _SELF | _BASE | {""}
_METHOD = DefinitionKind.METHOD
_ROOTS = frozenset({"crate"})
# Languages that use one another's names have several endings.
_ENDINGS = (
    "js jsx mjs cjs ts tsx mts cts vue svelte",
    "c h cc hh cpp hpp cxx hxx m mm inl",
    "java kt kts scala groovy",
    "py pyi pyx",
)
_LANGUAGES = {f".{end}": ends for ends in _ENDINGS for end in ends.split()}
_OBJECT = re.compile(r"(\w+)(?:\([^()]*\))?\W*$")
# Where a method is called by its name alone; elsewhere such a name is a function's.
_OWN_METHODS_BARE = re.compile(r"\.(?:java|kt|scala|groovy|cs|cc|cpp|h|hpp|rb|swift|dart)$")


def objects_on(line: str, name: str) -> Iterator[str]:
    """The last names of what that name is called on; nothing for a call on its own."""
    for owner, called in called_on(line):
        if called == name:
            found = _OBJECT.search(owner)
            yield found[1] if found else owner


def meant_by(
    line: str,
    caller: Definition,
    file: RankedFileText,
    named: Sequence[Definition],
    heads: Mapping[str, str],
) -> Mapping[Definition, int]:
    """Those of a name's definitions that a line may call, and each time one of how many.

    Names alone tell it. `file` is the caller's, and `heads` says how classes begin, for what they
    extend. A name of one word says too little on an object that nothing tells of.
    """
    found: dict[Definition, int] = {}
    for written in objects_on(line, _name_of(named)):
        meant = _on(renamed(written, file), caller, file, named, heads)
        if not meant and written not in _OWN and not _is_receiver(written, caller):
            meant = dict.fromkeys(_on_anything(file, named), len(named))
        found |= _as_imported(meant, file, caller, written)
    return found


def is_told(
    line: str,
    caller: Definition,
    file: RankedFileText,
    named: Sequence[Definition],
    heads: Mapping[str, str],
) -> bool:
    """Whether more than the name tells what a line calls: what it is on, or the file's imports."""
    objects = [*objects_on(line, _name_of(named))]
    told = [_on(renamed(written, file), caller, file, named, heads) for written in objects]
    return bool(told) and all(told)


def is_open(line: str, name: str, file: RankedFileText, named: Sequence[Definition]) -> bool:
    """Whether a line may call any of a name's definitions, since nothing tells what it is on."""
    objects = set(objects_on(line, name)) - _OWN - _ROOTS
    return any(not is_foreign(owner, file, named) for owner in objects)


def is_one_language(one: RelPath, other: RelPath) -> bool:
    """Whether what one file defines may be called by its name in the other."""
    return _language(one) == _language(other)


def _on(
    owner: str,
    caller: Definition,
    file: RankedFileText,
    named: Sequence[Definition],
    heads: Mapping[str, str],
) -> dict[Definition, int]:
    """Those that a call on such an object may mean."""
    found: dict[Definition, int] = {}
    if owner in _SELF or _is_receiver(owner, caller):
        meant = _of_the_same(caller, file, named)
        owners = {owner_of(d.name) for d in (*meant, caller)}
        others = [d for d in named if d not in meant and _says(heads.get(owner_of(d.name)), owners)]
        # One that takes the place of its class's further down may be meant as well.
        found |= dict.fromkeys(others, len(meant) + len(others))
    elif owner in _BASE:
        meant = _of_a_base(caller, file, named)
    elif owner:
        kin = [d for d in named if _says(heads.get(owner), {owner_of(d.name)})]
        meant = kin or _on_an_object(owner, caller, file, named)
    else:
        meant = _bare(caller, file, named)
    return found | dict.fromkeys(meant, len(meant))


def _as_imported(
    found: Mapping[Definition, int], file: RankedFileText, caller: Definition, written: str
) -> Mapping[Definition, int]:
    """Fewer of them, where several have one name and owner, or it comes from elsewhere."""
    written = "" if written in _OWN else written
    groups: dict[str, list[Definition]] = {}
    for definition in found:
        groups.setdefault(owner_of(definition.name), []).append(definition)
    kept: list[Definition] = []
    for owner, group in groups.items():
        is_told = len(group) == 1 and (owner or group[0].place.path == file.path)
        kept += group if is_told else told_apart(group, file, caller, written)
    gone = len(found) - len(kept)
    return {definition: max(1, found[definition] - gone) for definition in kept}


def _language(path: RelPath) -> str:
    return _LANGUAGES.get(path.suffix, path.suffix)


def _name_of(named: Sequence[Definition]) -> str:
    return base_name(named[0].name.rstrip("?!"))


def _scope(definition: Definition) -> str:
    return definition.name.replace(".prototype.", ".").rpartition(".")[0]


def _is_receiver(owner: str, caller: Definition) -> bool:
    """Whether it is what the head of a method calls its own object: `func (c *Context) JSON()`."""
    own = re.escape(owner_of(caller.name))
    return bool(own) and bool(
        re.match(rf"func\s*\(\s*{re.escape(owner)}\s+\*?{own}\b", caller.signature)
    )


def _of_the_same(
    caller: Definition, file: RankedFileText, named: Sequence[Definition]
) -> list[Definition]:
    """What an object calls on itself: its class's own, or else what that extends has."""
    owners = set(_scope(caller).split("."))
    own = [d for d in named if owner_of(d.name) in owners]
    here = [d for d in own if d.place.path == file.path]
    is_telling = is_compound(base_name(named[0].name))
    return here or own or _of_a_base(caller, file, named) or ([*named] if is_telling else [])


def _of_a_base(
    caller: Definition, file: RankedFileText, named: Sequence[Definition]
) -> list[Definition]:
    """What a class that the caller's begins with naming has."""
    own = owner_of(caller.name)
    heads = (d.signature for d in file.outline if own and base_name(d.name) == own)
    bases = set(re.findall(r"\w+", " ".join(heads))) - {own}
    return [d for d in named if owner_of(d.name) in bases]


def _bare(
    caller: Definition, file: RankedFileText, named: Sequence[Definition]
) -> list[Definition]:
    """What a name on its own is: of the same file before any other."""
    has_own_scope = _OWN_METHODS_BARE.search(file.path.name) is not None
    free = [d for d in named if not owner_of(d.name)]
    around = [d for d in named if f"{caller.name}.".startswith(f"{_scope(d)}.")]
    inner = [d for d in around if has_own_scope or d.kind is not _METHOD or _is_in_a_module(d)]
    here = [d for d in (*inner, *free) if d.place.path == file.path]
    return here or free or (_of_a_base(caller, file, named) if has_own_scope else [])


def _is_in_a_module(definition: Definition) -> bool:
    """Whether what looks like a method of Rust is a function: those of a module take no object."""
    return definition.place.path.suffix == ".rs" and "self" not in definition.signature


def _on_an_object(
    owner: str, caller: Definition, file: RankedFileText, named: Sequence[Definition]
) -> list[Definition]:
    """What is called on something else: told by its name, or by what the caller says of it."""
    exact = [d for d in named if owner_of(d.name) == owner]
    free = [d for d in named if not owner_of(d.name)]
    module = [d for d in free if owner in (d.place.path.name.partition(".")[0], _folder(d))]
    if exact or module or _is_imported_whole(owner, file):
        return exact or module
    body = file.lines[caller.place.start - 1 : caller.place.end]
    said = _declared(owner, body, file, named) or _declared(owner, file.lines, file, named)
    return said or _alike(owner, named)


def _on_anything(file: RankedFileText, named: Sequence[Definition]) -> list[Definition]:
    """What a name that only code has may be on any object: first of classes that the file names."""
    if not is_compound(base_name(named[0].name)):
        return []
    words = _words(tuple(file.lines))
    return [d for d in named if owner_of(d.name) in words] or [*named]


@lru_cache(64)  # each use in a file asks for them
def _words(lines: tuple[str, ...]) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", "\n".join(lines)))


def _is_imported_whole(owner: str, file: RankedFileText) -> bool:
    """Whether it is a module: `import json as owner`."""
    rows = (line.split() for line in file.lines if "import" in line and owner in line)
    return any(row[0] == "import" and row[-1].rpartition(".")[2] == owner for row in rows if row)


def _folder(definition: Definition) -> str:
    return definition.place.path.text.rpartition("/")[0].rpartition("/")[2]


def _declared(
    owner: str, lines: Sequence[str], file: RankedFileText, named: Sequence[Definition]
) -> list[Definition]:
    """Those of the class that the caller, or else its file, makes it of or says that it is."""
    name, body = re.escape(owner), "\n".join(line for line in lines if owner in line)
    after = rf"\b{name}\b\??[ ]?(?::?=|:|[ ])[ ]?(?:new[ ]|await[ ]|[*&])?(?:\w+\.)*(\w+)"
    before = rf"\b(\w+)(?:<[^<>]*>)?[*&]?[ ][*&]?{name}\b"
    classes = {renamed(c, file) for c in (*re.findall(after, body), *re.findall(before, body))}
    return [d for d in named if owner_of(d.name) in classes]


def _alike(owner: str, named: Sequence[Definition]) -> list[Definition]:
    """Those of classes called like the object: `adapter` may be an `HTTPAdapter`."""
    words = _parts(owner)
    classes = [(_parts(owner_of(d.name)), d) for d in named]
    shared = [(len(words & parts), d) for parts, d in classes if words <= parts or parts <= words]
    most = max((count for count, _ in shared), default=0)
    return [definition for count, definition in shared if count == most > 0]


def _parts(name: str) -> set[str]:
    whole = tokens(name)
    return set(whole[1:] or whole)  # a name of several parts comes first as a whole


def _says(head: str | None, names: Collection[str]) -> bool:
    return head is not None and not set(re.findall(r"\w+", head)).isdisjoint(names)
