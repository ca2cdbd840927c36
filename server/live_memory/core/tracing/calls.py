"""Which of a name's definitions a call may mean: by names alone, so it is often one of several."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from live_memory.core.evidence.places import Definition, DefinitionKind, OpenedFile
from live_memory.core.evidence.uses import called_on
from live_memory.core.evidence.words import base_name, is_compound, tokens
from live_memory.core.tracing.imports import is_foreign, owner_of, renamed, told_apart
from live_memory.core.values import RelPath

__all__ = ["is_one_language", "is_open", "is_told", "meant_by", "objects_on"]

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
    file: OpenedFile,
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
    file: OpenedFile,
    named: Sequence[Definition],
    heads: Mapping[str, str],
) -> bool:
    """Whether more than the name tells what a line calls: what it is on, or the file's imports."""
    objects = [*objects_on(line, _name_of(named))]
    told = [_on(renamed(written, file), caller, file, named, heads) for written in objects]
    return bool(told) and all(told)


def is_open(line: str, name: str, file: OpenedFile, named: Sequence[Definition]) -> bool:
    """Whether a line may call any of a name's definitions, since nothing tells what it is on."""
    objects = set(objects_on(line, name)) - _OWN - _ROOTS
    return any(not is_foreign(owner, file, named) for owner in objects)


def is_one_language(one: RelPath, other: RelPath) -> bool:
    """Whether what one file defines may be called by its name in the other."""
    return _language(one) == _language(other)


def _on(
    owner: str,
    caller: Definition,
    file: OpenedFile,
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
    found: Mapping[Definition, int], file: OpenedFile, caller: Definition, written: str
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
    caller: Definition, file: OpenedFile, named: Sequence[Definition]
) -> list[Definition]:
    """What an object calls on itself: its class's own, or else what that extends has."""
    owners = set(_scope(caller).split("."))
    own = [d for d in named if owner_of(d.name) in owners]
    here = [d for d in own if d.place.path == file.path]
    is_telling = is_compound(base_name(named[0].name))
    return here or own or _of_a_base(caller, file, named) or ([*named] if is_telling else [])


def _of_a_base(
    caller: Definition, file: OpenedFile, named: Sequence[Definition]
) -> list[Definition]:
    """What a class that the caller's begins with naming has."""
    own = owner_of(caller.name)
    heads = (d.signature for d in file.outline if own and base_name(d.name) == own)
    bases = set(re.findall(r"\w+", " ".join(heads))) - {own}
    return [d for d in named if owner_of(d.name) in bases]


def _bare(caller: Definition, file: OpenedFile, named: Sequence[Definition]) -> list[Definition]:
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
    owner: str, caller: Definition, file: OpenedFile, named: Sequence[Definition]
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


def _on_anything(file: OpenedFile, named: Sequence[Definition]) -> list[Definition]:
    """What a name that only code has may be on any object: first of classes that the file names."""
    if not is_compound(base_name(named[0].name)):
        return []
    words = _words(tuple(file.lines))
    return [d for d in named if owner_of(d.name) in words] or [*named]


@lru_cache(64)  # each use in a file asks for them
def _words(lines: tuple[str, ...]) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", "\n".join(lines)))


def _is_imported_whole(owner: str, file: OpenedFile) -> bool:
    """Whether it is a module: `import json as owner`."""
    rows = (line.split() for line in file.lines if "import" in line and owner in line)
    return any(row[0] == "import" and row[-1].rpartition(".")[2] == owner for row in rows if row)


def _folder(definition: Definition) -> str:
    return definition.place.path.text.rpartition("/")[0].rpartition("/")[2]


def _declared(
    owner: str, lines: Sequence[str], file: OpenedFile, named: Sequence[Definition]
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
