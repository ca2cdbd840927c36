"""Other findings about the same repository, made without a model from what is written in it."""

import ast
import random
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench.checking.definitions import definitions
from bench.scores import Place
from bench.views import Lines

__all__ = ["crowd"]

# What one turn says of one file; a file that is longer is data.
_MOST_A_FILE, _LONGEST_FILE = 8, 5_000
_SUFFIXES = frozenset(
    {".c", ".cc", ".cpp", ".cs", ".go", ".java", ".js", ".py", ".rb", ".rs", ".ts"}
)
_REMARK = re.compile(r"^\s*(?:///?!?|#+|/?\*+)\s?(?P<text>[^/].*)?$")
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s")
_BARE = " is defined in "
_SHORTEST, _LONGEST, _SHORTEST_NAME = 20, 200, 4


def crowd(
    tree: Path, names: Sequence[str], *, taken: Iterable[Place], most: int, seed: int
) -> list[tuple[str, str]]:
    """Questions with conclusions of a few sentences each, `most` sentences in all.

    What touches a place in `taken` is left out: it might be the answer.
    """
    lines, left = Lines(tree), most
    avoided: dict[str, list[Place]] = {}
    for place in taken:
        avoided.setdefault(place.path, []).append(place)
    files = [name for name in names if Path(name).suffix in _SUFFIXES]
    random.Random(seed).shuffle(files)
    found = []
    for name in files:
        if not left:
            break
        if len(lines.of(name)) > _LONGEST_FILE:
            continue
        free = [
            text
            for place, text in _sentences(name, lines.of(name))
            if not any(p.start <= place.end and place.start <= p.end for p in avoided.get(name, ()))
        ]
        # What is documented says more than that it is there.
        free.sort(key=lambda text: _BARE in text)
        said = free[: min(left, _MOST_A_FILE)]
        if said:
            left -= len(said)
            found.append((f"What is defined in {name}?", "\n".join(f"- {one}" for one in said)))
    return found


def _sentences(name: str, lines: Sequence[str]) -> Iterator[tuple[Place, str]]:
    documented = _documented(lines) if name.endswith(".py") else {}
    seen: set[str] = set()
    for one in definitions(lines):
        if len(one.name) < _SHORTEST_NAME or one.name.startswith("__") or one.name in seen:
            continue
        seen.add(one.name)
        first, last, said = documented.get(one.start) or _remarked(lines, one.start)
        if _SHORTEST <= len(said) <= _LONGEST:
            place = Place(name, min(first, one.start), max(last, one.start))
            told = said.rstrip(".").replace("`", "")
            yield place, f"`{one.name}`: {told} ({name}:{place.start}-{place.end})."
        else:
            place = Place(name, one.start, one.start)
            yield place, f"`{one.name}`{_BARE}{name} ({name}:{one.start})."


def _documented(lines: Sequence[str]) -> dict[int, tuple[int, int, str]]:
    """By the line of a definition: where its docstring stands, and the first sentence of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parsed = ast.parse("\n".join(lines))
        except (SyntaxError, ValueError):
            return {}
    found = {}
    for node in ast.walk(parsed):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            text = ast.get_docstring(node)
            if text:
                stands = node.body[0]
                last = stands.end_lineno or stands.lineno
                found[node.lineno] = (node.lineno, last, _first_sentence(text))
    return found


def _remarked(lines: Sequence[str], start: int) -> tuple[int, int, str]:
    """The remark right above a definition."""
    first = start
    while first > 1 and (above := _REMARK.match(lines[first - 2])):
        first -= 1
        if not (above["text"] or "").strip() and first < start - 1:
            break
    texts = (_REMARK.match(line) for line in lines[first - 1 : start - 1])
    return first, start, _first_sentence(" ".join((m["text"] or "") for m in texts if m))


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return _SENTENCE_ENDS.split(paragraph)[0]
