"""Which of a name's definitions a call may mean: by names alone, so it is often one of several."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from live_memory.core.evidence.places import Definition, DefinitionKind, OpenedFile
from live_memory.core.evidence.uses import called_on
from live_memory.core.evidence.words import base_name, is_compound, tokens

__all__ = ["meant_by", "objects_on"]

_SELF, _BASE = frozenset({"self", "this", "cls", "Self"}), frozenset({"super", "base", "parent"})
_OBJECT = re.compile(r"(\w+)(?:\([^()]*\))?\W*$")
# Where a method is called by its name alone; elsewhere such a name is a function's.
_OWN_METHODS_BARE = re.compile(r"\.(?:java|kt|scala|groovy|cs|cc|cpp|h|hpp|rb|swift|dart)$")
_NO_OWNERS = frozenset({"exports", "module"})


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
    for owner in objects_on(line, base_name(named[0].name.rstrip("?!"))):
        if owner in _SELF or _is_receiver(owner, caller):
            meant = _of_the_same(caller, file, named)
            owners = {*map(_owner, meant), _owner(caller)}
            others = [d for d in named if d not in meant and _says(heads.get(_owner(d)), owners)]
            # One that takes the place of its class's further down may be meant as well.
            found |= dict.fromkeys(others, len(meant) + len(others))
        elif owner in _BASE:
            meant = _of_a_base(caller, file, named)
        elif owner:
            kin = [d for d in named if _says(heads.get(owner), {_owner(d)})]
            meant = kin or _on_an_object(owner, caller, file, named)
            if not meant:
                found |= dict.fromkeys(_on_anything(file, named), len(named))
        else:
            meant = _bare(caller, file, named)
        found |= dict.fromkeys(meant, len(meant))
    return found


def _owner(definition: Definition) -> str:
    """The name of the class, or whatever else it belongs to."""
    owner = _scope(definition).rpartition(".")[2]
    return "" if owner in _NO_OWNERS else owner


def _scope(definition: Definition) -> str:
    return definition.name.replace(".prototype.", ".").rpartition(".")[0]


def _is_receiver(owner: str, caller: Definition) -> bool:
    """Whether it is what the head of a method calls its own object: `func (c *Context) JSON()`."""
    own = re.escape(_owner(caller))
    return bool(own) and bool(
        re.match(rf"func\s*\(\s*{re.escape(owner)}\s+\*?{own}\b", caller.signature)
    )


def _of_the_same(
    caller: Definition, file: OpenedFile, named: Sequence[Definition]
) -> list[Definition]:
    """What an object calls on itself: its class's own, or else what that extends has."""
    owners = set(_scope(caller).split("."))
    own = [d for d in named if _owner(d) in owners]
    here = [d for d in own if d.place.path == file.path]
    is_telling = is_compound(base_name(named[0].name))
    return here or own or _of_a_base(caller, file, named) or ([*named] if is_telling else [])


def _of_a_base(
    caller: Definition, file: OpenedFile, named: Sequence[Definition]
) -> list[Definition]:
    """What a class that the caller's begins with naming has."""
    own = _owner(caller)
    heads = (d.signature for d in file.outline if own and base_name(d.name) == own)
    bases = set(re.findall(r"\w+", " ".join(heads))) - {own}
    return [d for d in named if _owner(d) in bases]


def _bare(caller: Definition, file: OpenedFile, named: Sequence[Definition]) -> list[Definition]:
    """What a name on its own is: of the same file before any other."""
    has_own_scope = _OWN_METHODS_BARE.search(file.path.name) is not None
    free = [d for d in named if not _owner(d)]
    around = [d for d in named if f"{caller.name}.".startswith(f"{_scope(d)}.")]
    inner = [d for d in around if has_own_scope or d.kind is not DefinitionKind.METHOD]
    here = [d for d in (*inner, *free) if d.place.path == file.path]
    return here or free or (_of_a_base(caller, file, named) if has_own_scope else [])


def _on_an_object(
    owner: str, caller: Definition, file: OpenedFile, named: Sequence[Definition]
) -> list[Definition]:
    """What is called on something else: told by its name, or by what the caller says of it."""
    body = "\n".join(file.lines[caller.place.start - 1 : caller.place.end])
    exact = [d for d in named if _owner(d) == owner]
    free = [d for d in named if not _owner(d)]
    module = [d for d in free if owner in (d.place.path.name.partition(".")[0], _folder(d))]
    if exact or module or _is_imported_whole(owner, file):
        return exact or module
    return _declared(owner, body, named) or _alike(owner, named)


def _on_anything(file: OpenedFile, named: Sequence[Definition]) -> list[Definition]:
    """What a name that only code has may be on any object: first of classes that the file names."""
    if not is_compound(base_name(named[0].name)):
        return []
    words = set(re.findall(r"\w+", "\n".join(file.lines)))
    return [d for d in named if _owner(d) in words] or [*named]


def _is_imported_whole(owner: str, file: OpenedFile) -> bool:
    """Whether it is a module: `import json as owner`."""
    rows = (line.split() for line in file.lines if "import" in line)
    return any(row[0] == "import" and row[-1].rpartition(".")[2] == owner for row in rows if row)


def _folder(definition: Definition) -> str:
    return definition.place.path.text.rpartition("/")[0].rpartition("/")[2]


def _declared(owner: str, body: str, named: Sequence[Definition]) -> list[Definition]:
    """Those of the class that the caller makes it of, or says that it is."""
    name = re.escape(owner)
    after = rf"\b{name}\b\??[ ]?(?::?=|:|[ ])[ ]?(?:new[ ]|await[ ]|[*&])?(?:\w+\.)*(\w+)"
    before = rf"\b(\w+)(?:<[^<>]*>)?[*&]?[ ][*&]?{name}\b"
    classes = {*re.findall(after, body), *re.findall(before, body)}
    return [d for d in named if _owner(d) in classes]


def _alike(owner: str, named: Sequence[Definition]) -> list[Definition]:
    """Those of classes called like the object: `adapter` may be an `HTTPAdapter`."""
    words = _parts(owner)
    classes = [(_parts(_owner(d)), d) for d in named]
    shared = [(len(words & parts), d) for parts, d in classes if words <= parts or parts <= words]
    most = max((count for count, _ in shared), default=0)
    return [definition for count, definition in shared if count == most > 0]


def _parts(name: str) -> set[str]:
    whole = tokens(name)
    return set(whole[1:] or whole)  # a name of several parts comes first as a whole


def _says(head: str | None, names: Collection[str]) -> bool:
    return head is not None and not set(re.findall(r"\w+", head)).isdisjoint(names)
