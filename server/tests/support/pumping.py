"""Every pattern of the product, and the inputs that make one of them slow, from its own parse."""

import ast
import importlib.util
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]  # no stubs
from re import _parser as parser  # type: ignore[attr-defined]  # no stubs
from time import thread_time_ns
from types import ModuleType
from typing import Any, NoReturn

# The shapes of a parse are the library's own and untyped.
_Tree = Any

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "server" / "live_memory"
_ALONE = ("hooks", "bin")
_WAYS = ("search", "match", "fullmatch", "finditer")
_MORE = ("sub", "subn", "findall")
_USES = {"search": "search", "match": "match", "fullmatch": "fullmatch"}
# Members of classes that are tried: letters, digits, signs, blanks and line ends.
_TRIED = "aA0_ \n\t.-/:,;'\"`()[]{}<>=*#@$\\|&%+é\u4e00\u3042"
_SEEN = ("_", "A", "0", "a-", "$a", ")", "+", "-", "[", " ", "\n", "\t", "a ", "a.", "(a", "A0")
_SMALL, _LARGE = 500, 4_000
# Below it no pattern is worth a second look: a quadratic one takes 20 ms and more for _LARGE.
_QUICK_NS = 3_000_000
# Eight times the text: a linear pattern takes 8 times as long, a quadratic one 64 times.
_MOST_TIMES = 24
# Processor time after which an input is slow whatever its size; the engine looks for signals.
_HOPELESS_S = 3.0
_LONG_NS = 100_000_000
# What is done with a text is tried at so many characters, and at eight times as many.
_READ = 2_500


@dataclass(frozen=True)
class Found:
    """A pattern, where it stands, and the ways in which the product applies it."""

    where: str
    pattern: re.Pattern[str] | re.Pattern[bytes]
    ways: tuple[str, ...]


def every_pattern() -> Sequence[Found]:
    """Those of the package, of `hooks/` and of `bin/`, each once."""
    trees = {path: list(ast.walk(ast.parse(path.read_text("utf-8")))) for path in _modules()}
    own = {path: _ways_of_names(nodes) for path, nodes in trees.items()}
    used: dict[str, set[str]] = {}
    for each in own.values():
        for name, names_ways in each.items():
            used.setdefault(name, set()).update(names_ways)
    found: dict[tuple[object, int], Found] = {}
    for path, nodes in trees.items():
        module = _loaded(path)
        for name, value in vars(module).items():
            for pattern, way in _patterns_in(value):
                known = own[path] if name.startswith("_") else used
                ways = {way} if way else known.get(name, set(_WAYS))
                _add(found, f"{path.relative_to(ROOT)}:{name}", pattern, ways)
        for line, text, way in _written_out(nodes):
            _add(found, f"{path.relative_to(ROOT)}:{line}", re.compile(text), {way})
    return list(found.values())


def _add(
    found: dict[tuple[object, int], Found],
    where: str,
    pattern: re.Pattern[str] | re.Pattern[bytes],
    ways: Set[str],
) -> None:
    before = found.get((pattern.pattern, pattern.flags))
    both = ways | {*(before.ways if before else ())}
    name = before.where if before else where
    found[pattern.pattern, pattern.flags] = Found(name, pattern, tuple(sorted(both)))


def _modules() -> Iterator[Path]:
    yield from (p for p in sorted(PACKAGE.rglob("*.py")) if p.name != "__main__.py")
    for folder in _ALONE:
        yield from sorted((ROOT / folder).glob("*.py"))


def _loaded(path: Path) -> ModuleType:
    if path.is_relative_to(PACKAGE):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        return importlib.import_module(".".join(parts).removesuffix(".__init__"))
    spec = importlib.util.spec_from_file_location(f"_pumped_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def _patterns_in(
    value: Any, depth: int = 0
) -> Iterator[tuple[re.Pattern[str] | re.Pattern[bytes], str | None]]:
    """Patterns, also in tables, in values of ours, and where only a method of one is kept."""
    owner = getattr(value, "__self__", None)
    if isinstance(value, re.Pattern):
        yield value, None
    elif isinstance(owner, re.Pattern):
        yield owner, _USES.get(getattr(value, "__name__", ""), "finditer")
    elif depth < 4 and isinstance(value, Mapping):
        for each in (*value.keys(), *value.values()):
            yield from _patterns_in(each, depth + 1)
    elif depth < 4 and isinstance(value, (tuple, list, set, frozenset)):
        for each in value:
            yield from _patterns_in(each, depth + 1)
    elif depth < 4 and is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _patterns_in(getattr(value, field.name), depth + 1)


def _ways_of_names(nodes: Sequence[ast.AST]) -> Mapping[str, set[str]]:
    """How each name is applied; one that is handed on may be in any way that is used there.

    The nodes are those of one module.
    """
    ways: dict[str, set[str]] = {}
    applied = {id(n.value): n.attr for n in nodes if isinstance(n, ast.Attribute)}
    of_modules = {id(n) for n in nodes if isinstance(n, ast.Name) and n.id == "re"}
    any_way = {w for at, w in applied.items() if w in _WAYS + _MORE and at not in of_modules}
    looped = dict(_ways_of_loops(nodes))
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            way = applied.get(id(node))
            if way != "pattern":
                found = {way} if way else looped.get(id(node)) or any_way or set(_WAYS)
                ways.setdefault(node.id, set()).update(_USES.get(w, "finditer") for w in found)
    return ways


def _ways_of_loops(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, set[str]]]:
    """How a loop over a named table of patterns applies each; what else it does with one is no way.

    Yields the identity of the name's node with those ways, where all of them are seen.
    """
    for node in nodes:
        loops = [node] if isinstance(node, ast.For) else getattr(node, "generators", [])
        for loop in loops:
            if isinstance(loop.iter, ast.Name) and isinstance(loop.target, ast.Name):
                each, inner = loop.target.id, list(ast.walk(node))
                read = [
                    n
                    for n in inner
                    if isinstance(n, ast.Name) and n.id == each and isinstance(n.ctx, ast.Load)
                ]
                owners = {id(n.value): n.attr for n in inner if isinstance(n, ast.Attribute)}
                ways = {owners.get(id(n), "") for n in read}
                if ways and ways <= {*_WAYS, *_MORE}:
                    yield id(loop.iter), ways


def _written_out(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str, str]]:
    """Patterns that are value to `re` where they are used; a name put into one is an example."""
    for node in nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        of = node.func.value
        if (
            isinstance(of, ast.Name)
            and of.id == "re"
            and node.func.attr not in ("compile", "escape")
        ):
            text = node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield node.lineno, text.value, _USES.get(node.func.attr, "finditer")


def slow_inputs(found: Found) -> Iterator[str]:
    """What makes the pattern take more than linear time; nothing where nothing does."""
    signal.signal(signal.SIGVTALRM, _give_up)
    for way in found.ways:
        if way == "search" and "finditer" in found.ways:
            continue
        for made in _inputs(found.pattern):
            if _is_superlinear(_applied(found.pattern, way), made):
                yield f"{way} of {made(60)!r}"
                break


def takes_long(found: Found, size: int) -> bool:
    """Whether any input of that size takes the pattern a tenth of a second of processor time."""
    signal.signal(signal.SIGVTALRM, _give_up)
    return any(
        _least_time(_applied(found.pattern, way), made(size), 1) > _LONG_NS
        and _least_time(_applied(found.pattern, way), made(size), 5) > _LONG_NS
        for way in found.ways
        for made in _inputs(found.pattern)
    )


def grows(run: Callable[[str], object], unit: str) -> bool:
    """Whether a text of one thing repeated takes more than linear time; a quick one never does."""
    signal.signal(signal.SIGVTALRM, _give_up)
    made = _pumped("x.py:1 `f` ", unit, "\0a")
    return _is_superlinear(run, made, large=8 * _READ, small=_READ, quick_ns=3 * _LONG_NS)


def _applied(pattern: re.Pattern[str] | re.Pattern[bytes], way: str) -> Callable[[str], object]:
    is_text = isinstance(pattern.pattern, str)
    apply = getattr(pattern, way)

    def run(text: str) -> object:
        value = text if is_text else text.encode("utf-8", "replace")
        if way != "finditer":
            return apply(value)
        return sum(1 for _ in apply(value))

    return run


def _is_superlinear(
    run: Callable[[str], object],
    made: Callable[[int], str],
    *,
    large: int = _LARGE,
    small: int = _SMALL,
    quick_ns: int = _QUICK_NS,
) -> bool:
    try:
        # Three sizes, the shortest first: what takes a quadratic way so long for the whole takes it
        # a sixteenth of that for a quarter of the text.
        for part in (4, 1):
            if _least_time(run, made(large // part), 1) < quick_ns // part**2:
                return False
        for repeats in (1, 5):
            before = _least_time(run, made(small), 2 * repeats)
            if _least_time(run, made(large), repeats) < _MOST_TIMES * before:
                return False
    except TimeoutError:
        pass
    return True


def _least_time(run: Callable[[str], object], text: str, repeats: int) -> int:
    """Processor time of this thread, in nanoseconds: another process' work is not in it."""
    times = []
    for _ in range(repeats):
        signal.setitimer(signal.ITIMER_VIRTUAL, _HOPELESS_S)
        begun = thread_time_ns()
        try:
            run(text)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        times.append(thread_time_ns() - begun)
    return min(times)


def _give_up(_number: int, _frame: object) -> NoReturn:
    raise TimeoutError


def _inputs(pattern: re.Pattern[str] | re.Pattern[bytes]) -> Iterator[Callable[[int], str]]:
    text = pattern.pattern
    decoded = text if isinstance(text, str) else text.decode("latin-1")
    flags = pattern.flags & ~re.UNICODE if isinstance(text, bytes) else pattern.flags
    tree = parser.parse(decoded, flags)
    seen = set()
    heads = ["", *_before_repeats(tree, "")]
    units = [*_units(tree), *_SEEN, *(h[-8:] for h in heads if h), _sample(tree)[:-1]]
    for unit in dict.fromkeys(units):
        for head in dict.fromkeys(heads):
            for tail in ("", "\0"):
                if unit and (head, unit, tail) not in seen:
                    seen.add((head, unit, tail))
                    yield _pumped(head, unit, tail)


def _pumped(head: str, unit: str, tail: str) -> Callable[[int], str]:
    return lambda size: head + unit * (size // len(unit)) + tail


def _units(tree: _Tree) -> Iterator[str]:
    """What each repetition may repeat."""
    for kind, value in _nodes(tree):
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            _, most, body = value
            if most is op.MAXREPEAT or most > 8:
                yield from _samples(body)


def _nodes(tree: _Tree) -> Iterator[tuple[object, Any]]:
    for kind, value in tree:
        yield kind, value
        for inner in _inner(kind, value):
            yield from _nodes(inner)


def _inner(kind: object, value: Any) -> Sequence[_Tree]:
    match kind:
        case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
            return [value[2]]
        case op.SUBPATTERN:
            return [value[3]]
        case op.ATOMIC_GROUP:
            return [value]
        case op.BRANCH:
            return list(value[1])
        case op.ASSERT | op.ASSERT_NOT:
            return [value[1]]
    return []


def _before_repeats(tree: _Tree, head: str) -> Iterator[str]:
    """The shortest texts that lead up to each repetition."""
    for kind, value in tree:
        inner = _inner(kind, value)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT) and head:
            yield head
        for each in inner:
            yield from _before_repeats(each, head)
        head += _one(kind, value)


def _samples(tree: _Tree) -> Iterator[str]:
    """Texts that a repetition's body fits: for a class several of its members."""
    if len(tree) == 1:
        kind, value = tree[0]
        if kind is op.BRANCH:
            for each in _inner(kind, value):
                yield from _samples(each)
        elif kind is op.SUBPATTERN:
            yield from _samples(_inner(kind, value)[0])
        else:
            yield from _members(kind, value)[:6]
    yield _sample(tree)


def _sample(tree: _Tree) -> str:
    return "".join(_one(kind, value) for kind, value in tree)


def _one(kind: object, value: Any) -> str:
    match kind:
        case op.LITERAL:
            return chr(value)
        case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
            least, _, body = value
            return str(_sample(body) * max(1, least))
        case op.SUBPATTERN | op.ATOMIC_GROUP | op.BRANCH:
            return _sample(_inner(kind, value)[0])
        case op.ANY | op.IN | op.NOT_LITERAL:
            return next(iter(_members(kind, value)), "")
    return ""


def _members(kind: object, value: Any) -> list[str]:
    if kind is op.LITERAL:
        return [chr(value)]
    if kind is op.ANY:
        return list("a .")
    if kind is op.NOT_LITERAL:
        return [char for char in _TRIED if ord(char) != value]
    if kind is not op.IN:
        return []
    return [char for char in _TRIED if _is_in(char, value)] or [
        chr(v if k is op.LITERAL else v[0]) for k, v in value if k in (op.LITERAL, op.RANGE)
    ]


_CATEGORIES: Mapping[object, Callable[[str], bool]] = {
    op.CATEGORY_DIGIT: str.isdigit,
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    op.CATEGORY_NOT_DIGIT: lambda char: not char.isdigit(),
    op.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    op.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}


def _is_in(char: str, members: Any) -> bool:
    negated = members[0][0] is op.NEGATE
    is_member = False
    for kind, value in members:
        if kind is op.LITERAL:
            is_member = is_member or ord(char) == value
        elif kind is op.RANGE:
            is_member = is_member or value[0] <= ord(char) <= value[1]
        elif kind is op.CATEGORY:
            is_member = is_member or _CATEGORIES[value](char)
    return is_member is not negated
