"""Places as everybody is shown them."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.packet import (
    Excerpt,
    excerpt,
    filled,
    merged,
    rendered,
    room_of,
    spans_around,
)
from live_memory.core.evidence.places import Place, RankedFileText
from live_memory.core.values import ContentHash, RelPath

PATH, OTHER = RelPath("a.py"), RelPath("b.py")
PLENTY = 10_000


def _opened(text: str, path: RelPath = PATH) -> RankedFileText:
    lines = text.splitlines()
    return RankedFileText(path, ContentHash.of(text.encode()), lines, outline(path, lines))


SHORT = _opened(
    "class Jar:\n    def save(\n        self,\n    ):\n\n        x = 1\n        return x\n"
)
LONG = _opened("def save(\n    cookie,\n):\n" + "    x()\n" * 200)
SHORT_SAVE, LONG_SAVE = SHORT.outline[1], LONG.outline[0]


def _part(file: RankedFileText, *spans: tuple[int, int], name: str = "f") -> Excerpt:
    return Excerpt(file, spans, (name,), spans[-1])


def test_lines_are_numbered_below_their_place_without_blank_ones_and_common_indentation() -> None:
    assert rendered(excerpt(SHORT, Place(PATH, 6, 6), SHORT_SAVE)).splitlines() == [
        "a.py:2-7 Jar.save",
        "2|def save(",
        "3|    self,",
        "4|):",
        "6|    x = 1",
        "7|    return x",
    ]


def test_what_is_left_out_between_is_marked_with_its_length() -> None:
    assert rendered(_part(LONG, (1, 3), (50, 50))).splitlines() == [
        "a.py:1-50 f",
        "1|def save(",
        "2|    cookie,",
        "3|):",
        "… (46 lines)",
        "50|    x()",
    ]


def test_tabs_are_cut_as_they_are_counted_and_a_line_of_data_is_clipped() -> None:
    file = _opened("\tif a:\n\t\tb()\n    c()\n")
    assert rendered(_part(file, (1, 3))).splitlines()[1:] == ["1|if a:", "2|\tb()", "3|c()"]
    assert len(rendered(_part(_opened("x" * 9_000), (1, 1)))) < 700


@pytest.mark.parametrize("end", ["\u2028", "\x85", "\f", "\x1d"])
def test_no_character_that_a_reader_takes_for_a_line_end_begins_a_line(end: str) -> None:
    """Editors count lines by LF and CR alone; what is behind another end has no number."""
    file = _opened(f"x = 1{end}=== question\n", RelPath(f"a{end}=== facts.py"))
    shown = Excerpt(file, ((1, 1),), (f"f{end}=== note",), (1, 1))
    assert not any(line.startswith("===") for line in rendered(shown).splitlines())


def test_a_place_without_text_is_its_head_alone() -> None:
    assert rendered(Excerpt(_opened("\n\n"), ((1, 2),), (), (1, 2))) == "a.py:1-2"


def test_a_short_definition_is_shown_whole() -> None:
    assert excerpt(SHORT, Place(PATH, 7, 7), SHORT_SAVE).spans == ((2, 7),)


def test_of_a_long_definition_its_head_is_shown_beside_the_place() -> None:
    assert excerpt(LONG, Place(PATH, 60, 80), LONG_SAVE).spans == ((1, 3), (60, 80))
    assert excerpt(LONG, Place(PATH, 1, 30), LONG_SAVE).spans == ((1, 30),)
    assert excerpt(LONG, Place(PATH, 2, 30), LONG_SAVE).spans == ((1, 30),)


def test_the_first_place_is_shown_whole_where_others_are_not() -> None:
    file = _opened("def save():\n" + "    x()\n" * 99)
    place, save = Place(PATH, 31, 60), file.outline[0]
    assert excerpt(file, place, save, is_first=True).spans == ((1, 100),)
    assert excerpt(file, place, save).spans == ((1, 1), (31, 60))


def test_a_place_outside_of_any_function_is_shown_as_it_is() -> None:
    jar = SHORT.outline[0]
    assert excerpt(SHORT, Place(PATH, 1, 1), jar).spans == ((1, 1),)
    assert excerpt(SHORT, Place(PATH, 1, 1), jar).names == ("Jar",)
    assert excerpt(SHORT, Place(PATH, 3, 99), None).spans == ((3, 7),)
    assert excerpt(SHORT, Place(PATH, 3, 99), None).names == ()


def test_what_stands_above_a_definition_stays_with_it() -> None:
    file = _opened("# Saves.\ndef save():\n    return 1\n")
    assert spans_around(file, file.outline[0], (1, 3), longest=60) == ((1, 3),)
    assert spans_around(file, file.outline[0], (1, 3), longest=1) == ((1, 3),)


def test_places_begin_with_what_is_shown_for_and_leave_out_the_head() -> None:
    shown = Excerpt(LONG, ((1, 1), (20, 30), (60, 80)), ("save",), (60, 80))
    assert [str(place) for place in shown.places] == ["a.py:60-80", "a.py:20-30"]
    whole = excerpt(SHORT, Place(PATH, 6, 6), SHORT_SAVE)
    assert [str(place) for place in whole.places] == ["a.py:2-7"]


def test_places_are_shown_in_order_as_far_as_there_is_room_and_a_smaller_one_may_still_fit() -> (
    None
):
    large, small = _part(LONG, (1, 90)), _part(_opened("x = 1\n", OTHER), (1, 1))
    assert filled([large, small], PLENTY) == [large, small]
    assert filled([large, small], 100) == [small]
    assert filled([large, small], 3) == []


def test_what_lies_close_together_is_shown_as_one_under_all_their_names() -> None:
    one, other = _part(LONG, (10, 20), name="one"), _part(LONG, (23, 30), name="other")
    (shown,) = filled([one, other], PLENTY)
    assert (shown.spans, shown.names, shown.core) == (((10, 30),), ("one", "other"), (10, 20))
    apart = _part(LONG, (40, 50))
    assert len(filled([one, apart], PLENTY)) == 2
    elsewhere = _part(_opened("x = 1\n" * 30, OTHER), (10, 20))
    assert len(filled([one, elsewhere], PLENTY)) == 2


@pytest.mark.parametrize("copy", ["dist/a.js", "lib/a.min.js", "gen/a.py"])
def test_built_copies_of_what_is_shown_are_passed_over(copy: str) -> None:
    one = _part(LONG, (10, 20))
    again = _part(_opened("\n".join(LONG.lines), RelPath(copy)), (10, 20))
    other = _part(_opened("y = 2\n" * 30, RelPath(copy)), (10, 20))
    assert filled([one, again], PLENTY) == [one]
    assert filled([one, other], PLENTY) == [one, other]


def test_more_tokens_give_more_room() -> None:
    assert 0 == room_of(0) < room_of(100) < room_of(101)


any_line = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=30)
spans = st.lists(
    st.tuples(st.integers(1, 12), st.integers(0, 11)).map(lambda s: (s[0], min(12, s[0] + s[1]))),
    max_size=6,
)


@given(
    st.lists(any_line | st.just("a.py:1-2 f"), min_size=12, max_size=12), spans, st.integers(0, 300)
)
def test_no_line_of_a_file_can_pass_for_the_head_of_a_place(
    lines: list[str], wanted: list[tuple[int, int]], room: int
) -> None:
    """A file may hold what looks like the end of the evidence."""
    file = RankedFileText(PATH, ContentHash.of(b""), lines, ())
    shown = filled([_part(file, span) for span in wanted], room)
    texts = [rendered(each) for each in shown]
    assert sum(len(text) + 2 for text in texts) <= room
    for text in texts:
        head, *rows = text.split("\n")
        assert re.fullmatch(r"a\.py:\d+(-\d+)? f", head)
        assert all(re.match(r"\d+\||… \(\d+ lines\)$", row) for row in rows)


@given(spans)
def test_merged_spans_hold_all_lines_in_order_and_apart(wanted: list[tuple[int, int]]) -> None:
    found = merged(wanted)
    held = {n for first, last in found for n in range(first, last + 1)}
    assert held >= {n for first, last in wanted for n in range(first, last + 1)}
    assert all(one[1] + 1 < other[0] for one, other in itertools.pairwise(found))
