"""A file in places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.units import (
    LONGEST_WHOLE,
    PARTS,
    Unit,
    cut,
    headings,
    loses_words,
    unpacked,
    weigh,
)
from live_memory.core.values import RelPath

PATH = RelPath("src/shop/cart.py")
LINES = [
    "import os",
    "",
    "LIMIT = 3",
    "",
    "# Counts.",
    "@total",
    "def first():",
    "    def inner():",
    "        return 1",
    "    return inner",
    "",
    "class A:",
    "    size = 2",
    "",
    "    def g(self):",
    "        return 2",
    "",
    "    def h(self):",
    "        return 3",
]


def _cut(lines: list[str], path: RelPath = PATH) -> list[tuple[int, int, str | None]]:
    units = cut(path, lines, outline(path, lines))
    return [(u.start, u.end, u.definition.name if u.definition else None) for u in units]


def test_a_place_is_a_whole_definition_with_what_stands_above() -> None:
    assert _cut(LINES) == [
        (1, 3, None),
        (5, 10, "first"),
        (12, 13, "A"),
        (15, 16, "A.g"),
        (18, 19, "A.h"),
    ]


def test_a_comment_of_one_definition_is_no_part_of_the_one_before() -> None:
    lines = ["def a():", "    return 1", "# Of b.", "@cached", "def b():", "    return 2"]
    assert _cut(lines) == [(1, 2, "a"), (3, 6, "b")]


def test_a_long_inner_function_is_a_place_of_its_own() -> None:
    short = ["def f():", "    def g():", *["        x()"] * 70, "    return g"]
    long = ["def f():", "    def g():", *["        x()"] * 90, "    return g"]
    assert {name for _, _, name in _cut(short)} == {"f"}
    assert {name for _, _, name in _cut(long)} == {"f", "f.g"}


def test_a_definition_is_whole_up_to_a_length_and_then_cut_at_blank_or_shallow_lines() -> None:
    assert _cut(["def f():", *["    x()"] * (LONGEST_WHOLE - 1)]) == [(1, LONGEST_WHOLE, "f")]
    block = ["    if x:", *["        x()"] * 30]
    assert _cut(["def f():", *block, *block, *block]) == [
        (1, 32, "f"),
        (33, 63, "f"),
        (64, 94, "f"),
    ]
    blank = ["def f():", *["    x()"] * 39, "", *["    x()"] * 40]
    assert _cut(blank) == [(1, 40, "f"), (42, 81, "f")]


def test_documents_are_cut_by_their_headings() -> None:
    lines = ["# Shop", "", "Sells.", "", "## Cart", "", "Holds.", "", "# End"]
    assert _cut(lines, RelPath("a.md")) == [(1, 3, "Shop"), (5, 7, "Cart"), (9, 9, "End")]


def test_what_a_place_looks_like_is_kept_of_programs_only() -> None:
    lines = ["# If a, if b.", "# Else.", "def f(a):", "    if a:", "        return 1"]
    program = cut(PATH, lines, outline(PATH, lines))
    assert any(unit.traits for unit in program)
    prose = cut(RelPath("a.md"), lines, outline(RelPath("a.md"), lines))
    assert [unit.traits for unit in prose] == [0] * len(prose)
    assert unpacked(0).comment == 0


rows = st.lists(st.sampled_from(["", "def f():", "    x()", "class A:", "# c", "    def g():"]))


@given(rows, st.sampled_from(["a.py", "a.md", "a.rb"]))
def test_each_line_with_text_is_in_exactly_one_place(lines: list[str], name: str) -> None:
    path = RelPath(name)
    units = cut(path, lines, outline(path, lines))
    covered = [n for unit in units for n in range(unit.start, unit.end + 1)]
    assert covered == sorted(set(covered))
    assert {n for n, line in enumerate(lines, 1) if line.strip()} <= set(covered)
    assert all(unit.end - unit.start < LONGEST_WHOLE for unit in units)


def test_a_name_weighs_more_than_what_is_done_and_a_path_counts_once() -> None:
    lines = ["def save(jar):", "    return write(jar)"]
    (unit,) = cut(PATH, lines, outline(PATH, lines))
    words = weigh(PATH, lines, unit)
    assert words["shop"] == words["cart"] == PARTS
    assert words["sav"] > 2 * words["writ"] > 0
    assert words["jar"] > words["writ"]


def test_a_word_weighs_less_the_more_words_there_are_beside_it() -> None:
    def weight(lines: list[str]) -> int:
        return weigh(PATH, lines, Unit(1, len(lines), None))["cooki"]

    assert weight(["cookie"]) > weight(["cookie", *["other words"] * 50]) > 0


def test_what_is_said_and_what_is_done_are_weighed_apart() -> None:
    """A long comment does not weaken the words of the few lines below it."""
    done = ["def f():", "    return cookie"]
    told = ["# Many words.", "# Many more of them.", *done]
    bare, commented = (weigh(PATH, lines, Unit(1, len(lines), None)) for lines in (done, told))
    assert bare["cooki"] == commented["cooki"]
    prose = RelPath("a.md")
    bare, commented = (weigh(prose, lines, Unit(1, len(lines), None)) for lines in (done, told))
    assert bare["cooki"] > commented["cooki"]


def test_every_word_of_a_place_has_a_weight_however_long_the_place_is() -> None:
    lines = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}q()" for n in range(600)]
    assert min(weigh(PATH, lines, Unit(1, 600, None)).values()) >= 1


def test_lines_that_are_data_lose_words_and_others_do_not() -> None:
    assert not loses_words(LINES)
    assert loses_words(["x = 1", "a b " * 600])
    assert loses_words(["x" * 90])


@pytest.mark.parametrize(
    "order", ["# pylint: disable=cookie", "# noqa: cookie", "// eslint-disable-line cookie"]
)
def test_what_is_said_to_a_tool_hardly_weighs(order: str) -> None:
    told, said = f"bake()  {order}", "bake()  # the cookie"
    ordered, plain = (weigh(PATH, [line], Unit(1, 1, None))["cooki"] for line in (told, said))
    assert 0 < ordered < plain / 4


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("a.md", ["# Releasing", "text", "## With tox", "run it"]),
        ("a.md", ["# Guide", "", "# Releasing", "text", "## With tox", "run it"]),
        ("a.rst", ["Releasing", "=========", "", "text", "", "With tox", "--------", "", "run it"]),
    ],
)
def test_a_part_of_a_document_stands_under_its_headings(path: str, lines: list[str]) -> None:
    document = RelPath(path)
    sections = outline(document, lines)
    units = cut(document, lines, sections)
    last, (*_, under) = units[-1], headings(units, sections)
    assert "Releasing" in under
    assert "tox" not in under
    assert weigh(document, lines, last, under=under)["releas"] == PARTS
    assert "releas" not in weigh(document, lines, last)


def test_a_definition_of_a_program_stands_under_no_heading() -> None:
    lines = ["class A:", "    def f(self):", "        pass"]
    definitions = outline(PATH, lines)
    assert [*headings(cut(PATH, lines, definitions), definitions)] == ["", ""]
