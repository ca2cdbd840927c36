"""Collects, from a repository's history, what a reader may have learned that is so no longer."""

import ast
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.source.repositories import git

__all__ = ["Item", "Tree", "changes", "commits", "items_between", "tree_at"]

Tree = Mapping[str, str]
# A larger file is data.
_LARGEST = 200_000
# A shorter line could stand anywhere by chance, so that seeing it would prove nothing.
_SHORTEST = 10
_OWNERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.If, ast.Try)


@dataclass(frozen=True, slots=True)
class Item:
    """Something whose old value is nowhere in the new tree."""

    kind: str
    path: str
    name: str
    old: str
    new: str
    question: str


@dataclass(frozen=True, slots=True)
class _Known:
    """A definition: what it says, and the line that says it."""

    kind: str
    path: str
    name: str
    value: str
    line: str


def commits(repository: Path, *, count: int) -> list[str]:
    """Commits evenly spread over the main line, oldest first."""
    every = git(repository, "rev-list", "--first-parent", "--reverse", "HEAD").decode().split()
    step = max(1, len(every) // count)
    return every[::-1][::step][:count][::-1]


def tree_at(repository: Path, commit: str) -> dict[str, str]:
    """Every text file of a commit."""
    listed = git(repository, "ls-tree", "-r", "-l", "-z", commit).decode(errors="replace")
    wanted = []
    for row in filter(None, listed.split("\0")):
        meta, _, path = row.partition("\t")
        mode, kind, blob, size = meta.split()
        if kind == "blob" and mode != "120000" and int(size) <= _LARGEST:
            wanted.append((path, blob))
    given = "".join(f"{blob}\n" for _, blob in wanted).encode()
    data, files, at = git(repository, "cat-file", "--batch", given=given), {}, 0
    for path, _ in wanted:
        head, at = data[at : data.index(b"\n", at)], data.index(b"\n", at) + 1
        end = at + int(head.split()[2])
        with suppress(UnicodeDecodeError):
            files[path] = data[at:end].decode("utf-8")
        at = end + 1
    return files


def changes(
    repository: Path, *, steps: int, most: int, seed: int
) -> Iterator[tuple[str, str, list[Item]]]:
    """Pairs of commits with what changed between them, at most so many items a pair."""
    chosen = commits(repository, count=steps)
    draw = random.Random(seed)
    seen: set[tuple[str, str, str]] = set()
    before = tree_at(repository, chosen[0])
    for old, new in pairwise(chosen):
        after = tree_at(repository, new)
        found = [
            item
            for item in items_between(before, after)
            if (item.name, item.old, item.new) not in seen
        ]
        draw.shuffle(found)
        kept = _mixed(found)[:most]
        seen.update((item.name, item.old, item.new) for item in kept)
        if kept:
            yield old, new, kept
        before = after


def items_between(before: Tree, after: Tree) -> list[Item]:
    """What differs, where the old wording stands nowhere in the new tree."""
    whole = "\n".join(after.values())
    old, new = _unique(before), _unique(after)
    found = []
    for key, was in old.items():
        now = new.get(key)
        if now is None or was.value == now.value or was.line in whole:
            continue
        if "split" in {was.kind, now.kind} or (was.kind == "constant") != (now.kind == "constant"):
            continue
        if len(was.line) >= _SHORTEST and len(now.line) >= _SHORTEST:
            question = _question(was)
            found.append(Item(was.kind, was.path, was.name, was.line, now.line, question))
    return found + _moved(before, after)


def _mixed(items: list[Item]) -> list[Item]:
    """Kinds in turn, so that the commonest does not crowd out the others."""
    kinds: dict[str, list[Item]] = {}
    for item in items:
        kinds.setdefault(item.kind, []).append(item)
    rounds = max(map(len, kinds.values()), default=0)
    return [some[n] for n in range(rounds) for some in kinds.values() if n < len(some)]


def _question(known: _Known) -> str:
    if known.kind == "constant":
        return f"In {known.path}, what is the value of `{known.name}`?"
    return f"In {known.path}, what are the parameters and defaults of `{known.name}`?"


def _unique(tree: Tree) -> dict[tuple[str, str], _Known]:
    """Definitions by file and name, where the name is defined once in its file."""
    found: dict[tuple[str, str], _Known] = {}
    counted: Counter[tuple[str, str]] = Counter()
    for path, text in tree.items():
        for known in _known(path, text):
            counted[path, known.name] += 1
            found[path, known.name] = known
    return {key: known for key, known in found.items() if counted[key] == 1}


def _known(path: str, text: str) -> Iterator[_Known]:
    module = _parsed(path, text)
    if module is None:
        return
    lines = text.splitlines()
    for owner in (node for node in ast.walk(module) if isinstance(node, _OWNERS)):
        for node in owner.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                line = lines[node.lineno - 1].strip()
                kind = "default" if node.args.defaults or node.args.kw_defaults else "signature"
                is_whole = line.endswith(":") and "(" in line
                kind, line = (kind if is_whole else "split"), line.rstrip(":")
                yield _Known(kind, path, node.name, _shape(node), line)
            elif isinstance(owner, ast.Module | ast.ClassDef):
                yield from _constant(path, node, lines)


def _constant(path: str, node: ast.stmt, lines: list[str]) -> Iterator[_Known]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            pass
        case _:
            return
    if node.lineno == node.end_lineno and _is_literal(value):
        yield _Known("constant", path, name, ast.unparse(value), lines[node.lineno - 1].strip())


def _shape(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The parameters without their annotations, which change without a change of meaning."""
    return re.sub(r": [^,=]+", "", ast.unparse(node.args))


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _moved(before: Tree, after: Tree) -> list[Item]:
    """Functions and classes, defined once in each tree, whose file no longer names them."""
    old, new = _places(before), _places(after)
    found = []
    for name, path in old.items():
        there, left = new.get(name, path), after.get(path, "")
        if there != path and not re.search(rf"\b{re.escape(name)}\b", left):
            question = f"Which file defines `{name}`?"
            found.append(Item("moved", path, name, f"{path}:", f"{there}:", question))
    return found


def _places(tree: Tree) -> dict[str, str]:
    found: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for path, text in tree.items():
        module = _parsed(path, text)
        for node in module.body if module else []:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                counted[node.name] += 1
                found[node.name] = path
    return {name: place for name, place in found.items() if counted[name] == 1 and len(name) > 4}


def _parsed(path: str, text: str) -> ast.Module | None:
    if not path.endswith(".py"):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):  # another Python's
            return None
