"""Tells things of one name apart by what a file brings in: where from, and under which name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from live_memory.core.evidence.places import Definition, OpenedFile
from live_memory.core.evidence.uses import import_lines, is_import
from live_memory.core.evidence.words import base_name, tokens
from live_memory.core.values import RelPath

__all__ = ["is_foreign", "owner_of", "renamed", "told_apart"]

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


def renamed(word: str, file: OpenedFile) -> str:
    """What a name is called where it comes from: `import { Service as Admin }`."""
    return _brought(tuple(file.lines[:_TOP]), file.path).aliases.get(word, word)


def told_apart(
    found: Sequence[Definition], file: OpenedFile, caller: Definition, written: str
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
    near = [d for d in found if _folder(d.place.path) == _folder(file.path)]
    if here or not _WHOLE.search(file.path.name):
        return here or [*found]
    return near or _best(found, imports, name) or [*found]


def is_foreign(word: str, file: OpenedFile, named: Sequence[Definition]) -> bool:
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


def _folder(path: RelPath) -> str:
    return path.text.rpartition("/")[0]
