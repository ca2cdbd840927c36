"""Definitions by the look of lines, in the languages that no grammar is at hand for."""

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.outline import block_end, is_code, outline, signature_at
from live_memory.core.evidence.places import DefinitionKind
from live_memory.core.values import RelPath

SAMPLES = {
    "A.java": (
        """
        @Service
        public class Foo<T> extends Bar {
            public Foo(int a) {
                this.a = a;
            }
            public static List<String> find(String name, int b) {
                if (x) {
                    return call(a, b);
                }
                doThing(1,
                    2);
                return null;
            }
        }
        """,
        ["Foo 3-15", "Foo.Foo 4-6", "Foo.find 7-14"],
    ),
    "a.c": (
        """
        #define MAX_LEN 20
        static int helper(const char *s,
                          int n)
        {
            return printf("x", n);
        }
        struct point {
            int x;
        };
        """,
        ["MAX_LEN 2-2", "helper 3-7", "point 8-10"],
    ),
    "a.cs": (
        """
        namespace Shop {
            public sealed class Cart {
                public async Task<int> Total(int tax) {
                    return await Sum();
                }
            }
        }
        """,
        ["Shop 2-8", "Shop.Cart 3-7", "Shop.Cart.Total 4-6"],
    ),
    "a.rb": (
        """
        module Foo
          class Bar < Baz
            def self.create(a)
              new(a)
            end
            def ok?
              true
            end
          end
        end
        """,
        ["Foo 2-11", "Foo.Bar 3-10", "Foo.Bar.create 4-6", "Foo.Bar.ok? 7-9"],
    ),
    "a.php": (
        """
        final class Kernel extends HttpKernel
        {
            public function handle(Request $r): Response
            {
                return $this->x($r);
            }
        }
        """,
        ["Kernel 2-8", "Kernel.handle 4-7"],
    ),
    "a.kt": (
        """
        data class User(val name: String)
        suspend fun load(id: Int): User {
            return repo.find(id)
        }
        """,
        ["User 2-2", "load 3-5"],
    ),
    "a.swift": (
        """
        protocol Shape {
            func area() -> Double
        }
        """,
        ["Shape 2-4", "Shape.area 3-3"],
    ),
    "a.sh": (
        """
        LIMIT=3
        run_all() {
          echo hi
        }
        """,
        ["LIMIT 2-2", "run_all 3-5"],
    ),
    "a.sql": (
        "\ncreate table if not exists users (\n  id int\n);\nCREATE VIEW v AS SELECT 1;\n",
        ["users 2-4", "v 5-5"],
    ),
    "a.md": (
        "\n# Top\ntext\n## Inner\nmore\n# Next\nend\n",
        ["Top 2-5", "Inner 4-5", "Next 6-7"],
    ),
    "a.rst": ("\nTitle\n=====\n\ntext\n\nPart\n----\nmore\n", ["Title 2-6", "Part 7-9"]),
    "a.toml": ('\n[tool.x]\nname = "y"\n[other]\n', ["tool.x 2-3", "name 3-3", "other 4-4"]),
    "a.yaml": ("\njobs:\n  build:\n    runs-on: x\n", ["jobs 2-4", "build 3-4", "runs-on 4-4"]),
    "a.json": ('{\n  "name": "x",\n  "deep": {"a": 1}\n}\n', ["name 2-2", "deep 3-3"]),
    "Makefile": ("\nBIN := x\ntest: .venv\n\tpytest\n", ["BIN 2-2", "test 3-4"]),
    "a.go": (
        """
        func (n *node) addRoute(path string) {
        \tn.add()
        }
        """,
        ["node.addRoute 2-4"],
    ),
    "a.js": (
        """
        res.send = function send(body) {
          return this;
        };
        const f = async (x) => {
          return x;
        };
        class A {
          render(props) {
            if (x) {
              y();
            }
          }
        }
        """,
        ["res.send 2-4", "f 5-7", "A 8-14", "A.render 9-13"],
    ),
    "a.py": (
        '''
        LIMIT: int = 3

        class A(Base):
            """Doc."""

            def f(self,
                  x: int) -> int:
                return (
                    x
                )

            async def g(self): ...
        ''',
        ["LIMIT 2-2", "A 4-13", "A.f 7-11", "A.g 13-13"],
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_definitions_of_a_file_are_known_by_their_look(name: str) -> None:
    text, expected = SAMPLES[name]
    found = outline(RelPath(name), dedent(text).splitlines())
    assert [f"{d.name} {d.place.start}-{d.place.end}" for d in found] == expected


@pytest.mark.parametrize(
    "line",
    [
        "    return call(a, b)",
        "    raise ValueError(",
        '    panic("no / before catch-all in path \'" +',
        "interface as well as the other",
        "    assert.Equal(t, 1,",
        "if (a == b) {",
        "} else if (x) {",
        "    foo.bar(1, 2);",
        "x" * 500 + " = function () {",
    ],
)
def test_calls_and_prose_define_nothing(line: str) -> None:
    assert outline(RelPath("a.x"), ["", line, "        more", ""]) == ()


def test_text_without_structure_has_no_outline() -> None:
    assert outline(RelPath("a.txt"), ["class A:", "    pass"]) == ()


def test_kinds_follow_from_the_line_and_what_is_around() -> None:
    lines = ["class A:", "    def f(self):", "        pass", "def g():", "    pass", "X = 1"]
    kinds = [d.kind for d in outline(RelPath("a.py"), lines)]
    assert kinds == [
        DefinitionKind.CLASS,
        DefinitionKind.METHOD,
        DefinitionKind.FUNCTION,
        DefinitionKind.VALUE,
    ]


def test_a_signature_is_one_line_without_what_opens_the_block() -> None:
    lines = ["def f(", "    a: int,", "    b: str,", ") -> None:", "    pass"]
    assert signature_at(lines, 0) == "def f(a: int, b: str) -> None"
    assert signature_at(["function f() {"], 0) == "function f()"
    assert signature_at(["def f(" + "a, " * 200], 0).endswith("…")


def test_a_head_that_never_closes_is_cut_off() -> None:
    assert signature_at(["f(", *["x,"] * 50], 0) == "f("


def test_a_program_is_no_prose_and_no_data() -> None:
    assert all(map(is_code, map(RelPath, ["a.py", "b.rs", "c.sh", "d.sql", "bin/run", "x.zig"])))
    assert not any(map(is_code, map(RelPath, ["a.md", "b.json", "LICENSE", ".bashrc", "c.po"])))


code = st.lists(st.sampled_from(["", "def f():", "    x(", "    )", "class A:", "}", "\t{", "a"]))


@given(code, st.sampled_from(["a.py", "a.md", "a.rst", "a.toml", "a.yaml", "Makefile"]))
def test_every_definition_lies_within_its_file(lines: list[str], name: str) -> None:
    for definition in outline(RelPath(name), lines):
        assert 1 <= definition.place.start <= definition.place.end <= len(lines)


@given(code.filter(bool), st.data())
def test_a_block_ends_within_its_file(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    assert at + 1 <= block_end(lines, at) <= len(lines)


def test_a_word_that_begins_a_declaration_is_no_name() -> None:
    lines = ["static inline int f(int a)", "{", "}", "const void *g;", "static limit = 3;"]
    assert [d.name for d in outline(RelPath("a.x"), lines)] == ["f", "limit"]


def test_manual_pages_and_help_texts_are_no_programs() -> None:
    assert not any(is_code(RelPath(name)) for name in ("rg.1", "tool.8", "long.help", "a.man"))
    assert is_code(RelPath("expire.tcl"))
