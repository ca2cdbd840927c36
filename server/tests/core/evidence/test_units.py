"""A file in stretches."""

from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.units import cut, enclosing, stands_above, weigh
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
    "    def g(self):",
    "        return 2",
]


def test_units_begin_where_definitions_do_with_what_stands_above() -> None:
    units = cut(LINES, outline(PATH, LINES))
    assert [(u.start, u.end, u.definition and u.definition.name) for u in units] == [
        (1, 4, None),
        (5, 7, "first"),
        (8, 11, "first.inner"),
        (12, 12, "A"),
        (13, 14, "A.g"),
    ]


def test_a_long_definition_is_cut_into_stretches_of_its_own() -> None:
    lines = ["def f():", *["    x()"] * 59]
    units = cut(lines, outline(PATH, lines))
    assert [(u.start, u.end) for u in units] == [(1, 25), (26, 50), (51, 60)]
    assert {u.definition and u.definition.name for u in units} == {"f"}


def test_the_innermost_definition_encloses_a_line() -> None:
    outlined = outline(PATH, LINES)
    names = [d.name if d else None for d in (enclosing(outlined, n) for n in (3, 9, 10, 13, 99))]
    assert names == [None, "first.inner", "first", "A.g", None]


def test_names_weigh_three_times_and_the_path_once() -> None:
    units = cut(LINES, outline(PATH, LINES))
    words = weigh(PATH, LINES, units[-1])
    assert words["shop"] == words["cart"] == words["self"] == 1
    assert weigh(PATH, LINES, units[1])["first"] == 1 + 3


rows = st.lists(st.sampled_from(["", "def f():", "    x()", "class A:", "# c", "    def g():"]))


@given(rows)
def test_each_line_with_text_is_in_exactly_one_unit(lines: list[str]) -> None:
    units = cut(lines, outline(PATH, lines))
    covered = [n for unit in units for n in range(unit.start, unit.end + 1)]
    assert len(covered) == len(set(covered))
    assert {n for n, line in enumerate(lines, 1) if line.strip()} <= set(covered)
    assert all(unit.end - unit.start < 25 for unit in units)


def test_a_comment_torn_from_its_definition_is_still_written_above_it() -> None:
    lines = [
        "def a():",
        "    return 1",
        "",
        *["# Said."] * 30,
        "@cached",
        "def b():",
        "    return 2",
    ]
    outlined = outline(PATH, lines)
    (first, second, third) = cut(lines, outlined)
    assert (second.start, second.end, second.definition) == (4, 28, None)
    assert stands_above(lines, outlined, second.start, second.end) == outlined[1]
    assert stands_above(lines, outlined, first.start, first.end) is None
    assert stands_above(lines, outlined, third.start, third.end) is None
    apart = [*lines[:33], "", "", *lines[33:]]
    assert stands_above(apart, outline(PATH, apart), 4, 28) is None
