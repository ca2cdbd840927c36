"""Definitions by grammar, and without one where the optional extra is not installed."""

import importlib
from collections.abc import Iterator
from textwrap import dedent
from types import ModuleType

import pytest

from live_memory.adapters.index import symbols
from live_memory.core.values import RelPath

SAMPLES = {
    "a.py": (
        """
        LIMIT: int = 3
        class A(Base):
            salt = "x"
            @property
            def f(self) -> int:
                def inner():
                    pass
                return 1
        async def g(): ...
        """,
        [
            "value LIMIT 2-2",
            "class A 3-9",
            "value A.salt 4-4",
            "method A.f 6-9",
            "function A.f.inner 7-8",
            "function g 10-10",
        ],
    ),
    "a.js": (
        """
        var app = exports;
        app.use = function use(fn) {
          return function inner() {};
        };
        const f = async (x) => x;
        class B { render() { return 1; } }
        defineGetter(req, 'ip', function ip() {
          return 1;
        });
        """,
        [
            "value app 2-2",
            "method app.use 3-5",
            "function f 6-6",
            "class B 7-7",
            "method B.render 7-7",
            "function ip 8-10",
        ],
    ),
    "a.ts": (
        """
        export interface Shape { area(): number }
        export type Id = string;
        export const LIMIT = 3;
        enum Color { Red }
        """,
        [
            "class Shape 2-2",
            "method Shape.area 2-2",
            "class Id 3-3",
            "value LIMIT 4-4",
            "class Color 5-5",
        ],
    ),
    "a.tsx": ("\nfunction View() { return <div/>; }\n", ["function View 2-2"]),
    "a.go": (
        """
        package x
        const limit = 3
        type Engine struct{}
        func (e *Engine) Run(a int) error {
        walk:
        \treturn nil
        }
        func New[T any]() *Engine { return nil }
        func (s Set[T]) Has() bool { return true }
        """,
        [
            "value limit 3-3",
            "class Engine 4-4",
            "method Engine.Run 5-8",
            "function New 9-9",
            "method Set.Has 10-10",
        ],
    ),
    "a.rs": (
        """
        const LIMIT: u8 = 3;
        pub struct Cart;
        impl Cart {
            pub fn total(&self) -> u8 { 1 }
        }
        trait Price { fn of(&self); }
        """,
        [
            "value LIMIT 2-2",
            "class Cart 3-3",
            "class Cart 4-6",
            "method Cart.total 5-5",
            "class Price 7-7",
            "method Price.of 7-7",
        ],
    ),
}


def _found(name: str, text: str) -> list[str]:
    found = symbols.definitions_in(RelPath(name), dedent(text).split("\n"))
    return [f"{d.kind} {d.name} {d.place.start}-{d.place.end}" for d in found]


@pytest.fixture
def no_grammars(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package without its extra `syntax`."""
    load = importlib.import_module

    def refuse(name: str, package: str | None = None) -> ModuleType:
        if name.startswith("tree_sitter"):
            raise ImportError(name)
        return load(name, package)

    symbols.grammar_of.cache_clear()
    monkeypatch.setattr(importlib, "import_module", refuse)
    yield
    symbols.grammar_of.cache_clear()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_grammar_finds_every_definition_with_its_owner(name: str) -> None:
    text, expected = SAMPLES[name]
    assert _found(name, text) == expected


@pytest.mark.usefixtures("no_grammars")
@pytest.mark.parametrize("name", SAMPLES)
def test_without_grammars_the_look_of_lines_finds_functions_and_classes(name: str) -> None:
    text, expected = SAMPLES[name]
    wanted = {row.split()[1].rpartition(".")[2] for row in expected if row.startswith("function")}
    names = {row.split()[1].rpartition(".")[2] for row in _found(name, text)}
    assert wanted - {"inner", "ip"} <= names


def test_broken_code_still_has_the_definitions_around_the_break() -> None:
    found = _found("a.py", "\ndef good():\n    pass\n\ndef bad(:\n  )(\n\ndef fine():\n    pass\n")
    assert "function good 2-3" in found


def test_text_that_cannot_be_code_has_none() -> None:
    assert _found("a.py", "\ufffd" * 50) == []
    assert _found("a.go", "") == []


def test_the_wheels_are_loaded_only_when_a_file_needs_them() -> None:
    assert "tree_sitter" not in vars(symbols)
