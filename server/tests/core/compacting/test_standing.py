"""A place is what was shown of it, and a sentence stands only on lines that hold all of it."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.compaction.fact_check import SourceText, clipped, standing
from live_memory.core.evidence.places import Place
from live_memory.core.values import ContentHash, RelPath

A, B = RelPath("src/gateway/pool.py"), RelPath("src/b.py")


def _page(*lines: str, path: RelPath = A) -> SourceText:
    return _page_at(dict(enumerate(lines, 1)), path=path)


def _page_at(lines: Mapping[int, str], *, path: RelPath = A) -> SourceText:
    return SourceText(path, ContentHash.of(b"1"), MappingProxyType(dict(lines)))


def _stands(text: str, page: SourceText, start: int, end: int) -> list[tuple[int, int]] | None:
    found = standing(text, [Place(page.path, start, end)], {page.path: page})
    return None if found is None else [(place.start, place.end) for place in found]


def _runs(numbers: set[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and runs[-1][-1] == n - 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return runs


@pytest.mark.promise("citations-checked")
@given(st.sets(st.integers(1, 25)), st.integers(1, 25), st.integers(0, 12))
def test_a_place_is_its_longest_run_of_lines_shown_where_no_more_is_cut_off_than_stays(
    shown: set[int], start: int, more: int
) -> None:
    asked = set(range(start, start + more + 1))
    longest = max(_runs(shown & asked), key=len, default=[])
    place = clipped(Place(A, start, start + more), _page_at(dict.fromkeys(shown, "x")))
    if longest and len(asked) <= 2 * len(longest):
        assert place == Place(A, longest[0], longest[-1])
    else:
        assert place is None


@pytest.mark.promise("citations-checked")
@pytest.mark.parametrize(
    ("shown", "asked", "expected"),
    [
        ({2}, (1, 2), (2, 2)),
        ({2}, (1, 3), None),
        ({1, 2}, (1, 4), (1, 2)),
        ({1, 2}, (1, 5), None),
        ({1, 3, 4, 6}, (1, 4), (3, 4)),
        ({1, 2, 4}, (1, 4), (1, 2)),
        (set(), (1, 1), None),
    ],
)
def test_half_of_a_place_must_be_shown(
    shown: set[int], asked: tuple[int, int], expected: tuple[int, int] | None
) -> None:
    place = clipped(Place(A, *asked), _page_at(dict.fromkeys(shown, "x")))
    assert place == (expected and Place(A, *expected))


@pytest.mark.promise("citations-checked")
@pytest.mark.parametrize(
    "text",
    [
        "`Pool` loads http://evil.example at first.",
        "`Pool` takes a `poolsize` of connections.",
    ],
)
def test_nothing_stands_on_what_only_two_lines_together_spell(text: str) -> None:
    page = _page("class Pool: http://evil", ".example pool", "size")
    assert _stands(text, page, 1, 3) is None


def test_what_the_path_names_may_be_said_of_its_lines() -> None:
    page = _page("class Pool:", "    size = 3")
    assert _stands("The Gateway keeps its connections in `Pool`.", page, 1, 2) == [(1, 2)]
    assert _stands("The Backend keeps its connections in `Pool`.", page, 1, 2) is None


def test_what_only_code_writes_must_be_in_the_files_word_by_word() -> None:
    page = _page("class Pool:", "    def size(self): return self.max")
    assert _stands("`Pool` is bounded by max.size at first.", page, 1, 2) == [(1, 2)]
    assert _stands("`Pool` is bounded by max.length at first.", page, 1, 2) is None


OTHER = ("size = 4", "from gateway import Pool", "", "", "host = open()", "", "size = 5")
LINES = (
    "limit = 3",
    "class Pool:",
    "    def __init__(self, size):",
    "        self.open = []",
    "        self.size = size",
    "        self.keep()",
    "last_one = 7",
)


@pytest.mark.promise("citations-checked")
@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        # Where the lines hold nothing of it, it does not stand, and no other place is taken.
        ("`last_one` is 7.", (2, 3), None),
        ("`limit` is 3.", (4, 6), None),
        # A name that is on the lines needs no other line, though one above has it too.
        ("`size` is kept, and then `keep` is called.", (4, 6), [(4, 6)]),
        ("`size` is kept where `open` is.", (4, 5), [(4, 5)]),
        # One that is not: the nearest line above rather than a nearer one below.
        ("`size` is passed where `open` begins empty.", (4, 4), [(3, 4)]),
        ("`Pool` calls `keep`.", (6, 6), [(2, 2), (6, 6)]),
        ("`last_one` comes after `keep`.", (6, 6), [(6, 7)]),
    ],
)
def test_the_lines_that_stay_are_those_that_hold_the_names(
    text: str, place: tuple[int, int], expected: list[tuple[int, int]] | None
) -> None:
    assert _stands(text, _page(*LINES), *place) == expected


@pytest.mark.promise("citations-checked")
def test_places_that_hold_it_together_stay_as_they_were_given() -> None:
    page, text = _page(*LINES), "`open` begins empty and `last_one` is 7."
    places = (Place(A, 3, 5), Place(A, 7, 7))
    assert standing(text, places, {A: page}) == places


@pytest.mark.promise("citations-checked")
def test_the_nearest_line_is_rather_above_than_below_and_the_first_of_two_that_are_as_near() -> (
    None
):
    page = _page("size = 1", "", "open()", "use(size)")
    assert _stands("`size` is set before `open` is called.", page, 3, 3) == [(1, 1), (3, 3)]
    page = _page("size = 1", "", "size = 2", "", "open()")
    assert _stands("`size` is set before `open` is called.", page, 5, 5) == [(3, 3), (5, 5)]
    lines = {3: "size = 1", 5: "open()", 7: "size = 2", 9: "close()"}
    page, text = _page_at(lines), "`open` and `close` know the `size`."
    found = standing(text, [Place(A, 5, 5), Place(A, 9, 9)], {A: page})
    assert found == (Place(A, 3, 3), Place(A, 5, 5), Place(A, 9, 9))


CONSTANTS = ("MAX_RETRIES = 7", "TIMEOUT_MS = 30_000", "OFFSET = -5", 'GREETING = "hello there"')


@pytest.mark.promise("citations-checked")
@pytest.mark.parametrize(
    ("text", "is_true"),
    [
        ("`TIMEOUT_MS` is 30_000.", True),
        ("With `TIMEOUT_MS` it waits 30,000 milliseconds.", True),
        ("With `TIMEOUT_MS` it waits 30000 milliseconds.", True),
        ("With `TIMEOUT_MS` it waits 3,000 milliseconds.", False),
        ("`OFFSET` is -5.", True),
        ("With `OFFSET` it moves by -5 at first.", True),
        ("With `OFFSET` it moves by -7 at first.", False),
        ("`GREETING` is `'hello there'`.", True),
        ("With `GREETING` it says `'hello there'` first.", True),
        # A value that shares no line with the name is another constant's.
        ("With `MAX_RETRIES` the client makes `30_000` attempts.", False),
        ("With `MAX_RETRIES` the client says `'hello there'` first.", False),
        ("With `MAX_RETRIES` the client makes `7` attempts.", True),
    ],
)
def test_a_value_is_found_as_it_is_written_and_beside_its_name(text: str, is_true: bool) -> None:
    assert (_stands(text, _page(*CONSTANTS), 1, 4) is not None) == is_true


@pytest.mark.promise("citations-checked")
def test_a_number_in_a_path_is_no_value() -> None:
    path = RelPath("src/http2/7.py")
    page = _page("size = compute()", path=path)
    assert _stands("`size` is `7`.", page, 1, 1) is None
    assert _stands("`size` is 7.", page, 1, 1) is None
    assert _stands("`size` counts `7` of them.", page, 1, 1) is None
    assert _stands("`size` counts 7 of them.", page, 1, 1) is None
    assert _stands("`http2` computes its `size`.", page, 1, 1) == [(1, 1)]
    assert _stands("`http2` is where it is computed.", page, 1, 1) == [(1, 1)]


@pytest.mark.promise("citations-checked")
def test_of_two_files_each_name_needs_one_line_in_either() -> None:
    pages = {A: _page(*LINES), B: _page(*OTHER, path=B)}

    def found(text: str, *places: Place) -> list[str]:
        return [str(place) for place in standing(text, places, pages) or ()]

    # A line of one file is none of the other's that has its number, nor near to it.
    both = (Place(A, 4, 6), Place(B, 2, 2))
    assert found("`keep` is called once `host` is known.", *both) == [
        "src/gateway/pool.py:4-6",
        "src/b.py:2",
        "src/b.py:5",
    ]
    far = (Place(A, 7, 7), Place(B, 2, 2))
    assert found("`last_one` is a bound, and `size` another.", *far) == [
        "src/gateway/pool.py:7",
        "src/b.py:1-2",
    ]
    assert found("`Pool` sets `size` and calls `keep`.", *both) == [
        "src/gateway/pool.py:4-6",
        "src/b.py:2",
    ]
    assert found("`Pool` sets `size` and calls `lend`.", *both) == []
    # What the end of one file and the name of the next spell stands in neither.
    pages[A] = _page(*LINES, "see http://evil/")
    far = (Place(A, 2, 8), Place(B, 2, 2))
    assert found("`Pool` loads http://evil/src/b.py at first.", *far) == []
    assert found("`Pool` loads http://evil/ at first.", *far) != []
