"""Which names a file uses, and who uses a name."""

from textwrap import dedent

import pytest

from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import Place, RankedFileText
from live_memory.core.evidence.uses import (
    called_on,
    in_reading_order,
    is_definition_of,
    names_used,
    uses_of,
)
from live_memory.core.values import ContentHash, RelPath

TEXT = '''
    from shop import total, save

    @total.setter
    def buy(cart):
        """Call total(1) later."""
        # total(2)
        print("total(3)")
        return total(cart)

    def total(cart):
        return total

    paid = total(4)
'''


def _opened(name: str, text: str) -> RankedFileText:
    lines = dedent(text).splitlines()
    path = RelPath(name)
    return RankedFileText(path, ContentHash.of(text.encode()), lines, outline(path, lines))


def _lines(name: str, numbers: list[int]) -> list[Place]:
    return [Place(RelPath(name), number, number) for number in numbers]


def test_only_lines_of_code_that_do_not_define_a_name_use_it() -> None:
    file = _opened("a.py", TEXT)
    every = _lines("a.py", list(range(1, 40)))
    found = uses_of("total", every, {file.path: file})
    assert [(u.place.start, u.within and u.within.name, u.is_import) for u in found] == [
        (2, None, True),
        (9, "buy", False),
        (12, "total", False),
        (14, None, False),
    ]


def test_prose_and_files_that_are_not_open_use_nothing() -> None:
    prose = _opened("a.md", "use total(1)\n")
    assert uses_of("total", _lines("a.md", [1]), {prose.path: prose}) == ()
    assert uses_of("total", _lines("b.py", [1]), {}) == ()


def test_names_are_used_where_they_are_called_imported_or_written_as_code() -> None:
    lines = ["from shop import cart", "total = add(one, MAX) + my_tax", "return total", "x" * 2_000]
    assert list(names_used(lines)) == [
        ("from", 1),
        ("shop", 1),
        ("import", 1),
        ("cart", 1),
        ("add", 2),
        ("MAX", 2),
        ("my_tax", 2),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "import shop",
        "const a = require('shop')",
        'import { a } from "shop"',
        'export * from "shop"',
        "#include <shop.h>",
        "use shop::a;",
        "require_relative 'shop'",
        "pub(crate) use shop::a;",
        "mod shop;",
    ],
)
def test_imports_are_known_in_many_languages(line: str) -> None:
    assert ("shop", 1) in list(names_used([line]))


@pytest.mark.parametrize(
    ("name", "line", "is_use"),
    [
        ("a.h", "int total(void);", False),
        ("a.h", "  Status total(const Slice& key,", False),
        ("a.c", "static inline unsigned long *total(robj *key);", False),
        ("A.java", "  List<String> total(int from);", False),
        ("A.java", "  Map<String, List<String>> total(int from);", False),
        ("A.java", f"{'a<b> ' * 60}! total(cart);", True),
        ("a.c", "    total(cart);", True),
        ("a.c", "    return total(cart);", True),
        ("a.c", "    int paid = total(cart);", True),
        ("a.c", "    else total(cart);", True),
        ("a.rb", "    puts total(cart)", True),
    ],
)
def test_a_declaration_is_no_use(name: str, line: str, is_use: bool) -> None:
    file = RankedFileText(RelPath(name), ContentHash.of(b""), [line], ())
    assert bool(uses_of("total", _lines(name, [1]), {file.path: file})) is is_use


RUST = """
    use crate::{
        total,
    };
    fn pay() {
        total(1)
    }
    mod tests {
        fn pays() {
            total(2)
        }
    }
    #[test]
    fn adds() {
        total(3)
    }
"""


def test_tests_beside_a_program_and_lists_of_imports_are_told() -> None:
    file = _opened("a.rs", RUST)
    found = uses_of("total", _lines("a.rs", list(range(1, 20))), {file.path: file})
    assert [(u.place.start, u.is_import, u.is_test) for u in found] == [
        (3, True, False),
        (6, False, False),
        (10, False, True),
        (15, False, True),
    ]
    java = _opened("A.java", "class CartTest {\n  void pays() {\n    total(1);\n  }\n}\n")
    (use,) = uses_of("total", _lines("A.java", [3]), {java.path: java})
    assert use.is_test


def test_programs_are_read_before_tests_before_prose_and_open_files_first() -> None:
    places = [
        Place(RelPath(name), line, line)
        for name, line in [("a.md", 1), ("tests/a.py", 2), ("b.py", 9), ("b.py", 3), ("z.py", 1)]
    ]
    own = list(_opened("z.py", "def total():\n    pass\n").outline)
    ordered = in_reading_order([*places, Place(RelPath("z.py"), 2, 2)], [RelPath("z.py")], own)
    assert [str(p) for p in ordered] == ["z.py:2", "b.py:3", "b.py:9", "tests/a.py:2", "a.md:1"]


def test_a_definition_that_moved_away_is_not_there() -> None:
    file = _opened("a.py", TEXT)
    buy = file.outline[0]
    assert is_definition_of(file, buy)
    moved = RankedFileText(file.path, file.sha, ["x = 1"] * 40, ())
    assert not is_definition_of(moved, buy)
    shorter = RankedFileText(file.path, file.sha, file.lines[:6], ())
    assert not is_definition_of(shorter, buy)


@pytest.mark.parametrize(
    ("line", "called"),
    [
        ("return self.finish(rv)", [("self.", "finish")]),
        ("finish(load(1))", [("", "finish"), ("", "load")]),
        ("a.b?.finish(rv) or $this->end()", [("a.b?.", "finish"), ("this->", "end")]),
        ("super().finish(); Job::run(1)", [("super().", "finish"), ("Job::", "run")]),
        ("items[0].finish()", [("?.", "finish")]),
        ("  .finish()", [("?.", "finish")]),
        ("app.finish; print('finish(rv)')", [("", "print")]),
    ],
)
def test_a_call_is_told_with_what_it_stands_on(line: str, called: list[tuple[str, str]]) -> None:
    assert list(called_on(line)) == called
