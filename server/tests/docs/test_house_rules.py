"""The sizes of CONTRIBUTING.md hold: a limit that is passed means a missing name."""

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "live_memory"
MODULES = sorted(PACKAGE.rglob("*.py"))
REPOSITORY = PACKAGE.parents[1]
NAMELESS = {"utils", "helpers", "common", "misc", "manager", "base"}


def _comments(module: Path) -> Iterator[tokenize.TokenInfo]:
    with module.open("rb") as source:
        yield from (t for t in tokenize.tokenize(source.readline) if t.type == tokenize.COMMENT)


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(PACKAGE)))
def test_a_module_fits_its_page_and_says_what_it_is_for(module: Path) -> None:
    source = module.read_text(encoding="utf-8")
    tree = ast.parse(source)
    assert source.count("\n") <= 700
    assert ast.get_docstring(tree)
    assert module.stem not in NAMELESS
    too_long = [f.name for f in _functions(tree) if (f.end_lineno or 0) - f.lineno + 1 > 60]
    assert too_long == []


def test_no_module_and_no_public_class_has_the_name_of_another() -> None:
    rooms = [m for m in MODULES if m.stem != "__init__"]
    assert [name for name, times in Counter(m.stem for m in rooms).items() if times > 1] == []
    trees = (ast.parse(m.read_text(encoding="utf-8")) for m in MODULES)
    classes = (n.name for tree in trees for n in tree.body if isinstance(n, ast.ClassDef))
    twice = [name for name, times in Counter(classes).items() if times > 1 and name[0] != "_"]
    assert twice == []


def test_nothing_cites_a_page_that_is_not_in_the_repository() -> None:
    pages = {p.name for p in REPOSITORY.rglob("*.md")} | {"AGENTS.md", "CLAUDE.md", "MEMORY.md"}
    pages |= {"a.md", "b.md"}  # examples of a name
    for module in MODULES:
        said = (t.string for t in _comments(module))
        cited = {name for text in said for name in re.findall(r"[\w-]+\.md\b", text)}
        assert cited <= pages, module


def test_blind_excepts_stand_only_where_something_must_stay_alive() -> None:
    """There are the per-workspace loop, and the scripts that a host runs."""
    blind = [m for m in MODULES if "BLE001" in m.read_text(encoding="utf-8")]
    scripts = ["bridge.py", "hook.py", "session_start.py"]
    assert [m.name for m in blind] == [*scripts, "open_workspaces.py"]


def test_no_text_holds_the_marks_of_an_unfinished_merge() -> None:
    """They stood once in the instructions that every client gets."""
    folders = ("server", "hooks", "bin", "commands", "skills", "docs", "deploy", "benchmark")
    texts = [p for folder in folders for p in (REPOSITORY / folder).rglob("*") if p.is_file()]
    texts += REPOSITORY.glob("*.md")
    mark = re.compile(rb"^(<{7}|>{7}) ", re.MULTILINE)
    assert [p for p in texts if mark.search(p.read_bytes())] == []
