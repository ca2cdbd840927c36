"""Which lines to show."""

from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import OpenedFile, Place, RankedUnit
from live_memory.core.evidence.snippets import dedented, key_lines, quoted, shown
from live_memory.core.values import ContentHash, RelPath

PATH = RelPath("a.py")
TEXT = '''
    def save(self, cookie):
        """Write the cookie cookie."""
        # cookie cookie
        import cookie

        other()
        response.set_cookie(
            "name",
            samesite=self.samesite,  # type: ignore[arg-type]
            cookie=cookie,
        )
        return cookie
'''
WORTH = {"cooki": 2.0, "samesit": 3.0}


def _opened(text: str) -> OpenedFile:
    lines = dedent(text).splitlines()
    return OpenedFile(PATH, ContentHash.of(text.encode()), lines, outline(PATH, lines))


def test_key_lines_do_something_and_hold_what_is_worth_most() -> None:
    file = _opened(TEXT)
    assert key_lines(file, file.outline[0], WORTH, most=2) == (8, 10)
    assert key_lines(file, file.outline[0], WORTH, most=9) == (8, 10, 11, 13)
    assert key_lines(file, file.outline[0], WORTH, most=1, besides={10}) == (8,)
    assert key_lines(file, file.outline[0], {}, most=9) == ()


def test_an_argument_is_quoted_with_its_call_and_without_hints_to_linters() -> None:
    file = _opened(TEXT)
    assert quoted(file, 10) == "response.set_cookie( … samesite=self.samesite …"
    assert quoted(file, 13) == "return cookie"
    assert quoted(file, 2) == "def save(self, cookie):"
    assert quoted(_opened("x" * 300), 1) == "x" * 150 + "…"


def test_the_stretch_shown_is_the_one_worth_most_from_where_its_statement_begins() -> None:
    file = _opened(TEXT)
    unit = RankedUnit(Place(PATH, 1, 13), file.outline[0], 1.0)
    assert shown(file, unit, WORTH, most=99) == Place(PATH, 2, 13)
    assert shown(file, unit, WORTH, most=4) == Place(PATH, 8, 11)
    loose = RankedUnit(Place(PATH, 1, 13), None, 1.0)
    assert shown(file, loose, {}, most=3) == Place(PATH, 2, 4)


def test_a_window_grows_up_to_the_head_of_its_block_if_that_is_near() -> None:
    far = _opened("if a:\n" + "    x()\n" * 9 + "    cookie(\n        cookie\n    )\n")
    unit = RankedUnit(Place(PATH, 1, 13), None, 1.0)
    assert shown(far, unit, {"cooki": 1.0}, most=2).start == 11


def test_a_window_whose_head_is_far_begins_where_it_is_worth_most() -> None:
    deep = _opened("if a:\n" + "    x(\n" + "        y\n" * 8 + "        cookie\n        z\n")
    unit = RankedUnit(Place(PATH, 1, 12), None, 1.0)
    assert shown(deep, unit, {"cooki": 1.0}, most=1) == Place(PATH, 11, 11)
    ragged = _opened("a\n" + "            y\n" * 7 + "            cookie\n    cookie\n")
    assert shown(ragged, RankedUnit(Place(PATH, 1, 10), None, 1.0), WORTH, most=2).start == 9


def test_common_indentation_is_taken_off() -> None:
    assert dedented(["    a", "", "\tb", "      c  "], Place(PATH, 1, 4)) == "a\n\nb\n  c"
    assert dedented(["", ""], Place(PATH, 1, 2)) == "\n"


lines_of_code = st.lists(st.sampled_from(["", "cookie(", "    cookie", ")", "x"]), min_size=1)


@given(lines_of_code, st.integers(1, 9), st.data())
def test_what_is_shown_lies_within_the_unit_and_is_no_longer_than_allowed(
    lines: list[str], most: int, data: st.DataObject
) -> None:
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    file = OpenedFile(PATH, ContentHash.of(b""), lines, ())
    place = shown(file, RankedUnit(Place(PATH, start, end), None, 1.0), WORTH, most=most)
    assert start <= place.start <= place.end <= end
    assert place.end - place.start < most
