"""Which lines to show."""

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import OpenedFile, Place, RankedUnit
from live_memory.core.evidence.snippets import (
    Stretch,
    excerpt,
    is_only_imports,
    is_text,
    key_lines,
    quoted,
    says_something,
    shown,
)
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


def test_the_stretch_shown_is_the_one_worth_most_and_passes_over_what_is_only_said() -> None:
    file = _opened(TEXT)
    unit = RankedUnit(Place(PATH, 1, 13), file.outline[0], 1.0)
    assert shown(file, unit, WORTH, most=99) == (2, 5, 7, 8, 9, 10, 11, 12, 13)
    assert shown(file, unit, WORTH, most=4) == (8, 9, 10, 11)
    loose = RankedUnit(Place(PATH, 1, 13), None, 1.0)
    assert shown(file, loose, {}, most=3) == (2, 5, 7)


def test_where_everything_is_said_it_is_shown() -> None:
    file = _opened("# cookie\n\n# biscuit\n")
    assert shown(file, RankedUnit(Place(PATH, 1, 3), None, 1.0), WORTH, most=9) == (1, 3)
    empty = _opened("\n\n")
    assert shown(empty, RankedUnit(Place(PATH, 1, 2), None, 1.0), WORTH, most=9) == (2,)


def test_an_excerpt_loses_common_indentation_and_marks_what_is_left_out() -> None:
    lines = ["    a", "", "\tb", "    # said", "      c  "]
    assert excerpt(lines, (1, 3, 5)) == "a\nb\n…\n  c"
    assert excerpt(lines, (3,)) == "b"
    assert excerpt([""], (1,)) == ""


lines_of_code = st.lists(
    st.sampled_from(["", "cookie(", "    cookie", ")", "x", "# x"]), min_size=1
)


@given(lines_of_code, st.integers(1, 9), st.data())
def test_what_is_shown_lies_within_the_unit_and_is_no_longer_than_allowed(
    lines: list[str], most: int, data: st.DataObject
) -> None:
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    file = OpenedFile(PATH, ContentHash.of(b""), lines, ())
    numbers = shown(file, RankedUnit(Place(PATH, start, end), None, 1.0), WORTH, most=most)
    assert 1 <= len(numbers) <= most
    assert start <= numbers[0]
    assert numbers[-1] <= end
    assert list(numbers) == sorted(set(numbers))


def _is_only_imports(text: str, first: int = 1, last: int | None = None) -> bool:
    lines = text.splitlines()
    file = OpenedFile(PATH, ContentHash.of(b""), lines, ())
    return is_only_imports(file, RankedUnit(Place(PATH, first, last or len(lines)), None, 1.0))


def test_imports_over_several_lines_are_imports_in_any_language() -> None:
    assert _is_only_imports("# Names.\nfrom a import (\n    b,\n    c,\n)\n\nimport d\n")
    assert _is_only_imports('import (\n\t"fmt"\n\n\t"net/http"\n)\n')
    assert _is_only_imports("import {\n  a,\n  b,\n} from 'c';\nconst d = require('d');\n")
    assert _is_only_imports("from a import (\n    b,\n    c,\n)\n", 2, 3)
    assert not _is_only_imports("import a\n\nb = a()\n")
    assert not _is_only_imports("# Only said.\n")


HELP = """
def help():
    return f'''
    The cookie is sent with every answer that has a session in it.
    The cookie is never sent to another host than the one that set it.
    The cookie is forgotten when the browser is closed by its user.
    '''
def send(cookie):
    return cookie
"""


def test_a_text_in_a_string_is_told_from_what_does_something() -> None:
    file = _opened(HELP.lstrip("\n"))
    text, does = (RankedUnit(d.place, d, 1.0) for d in file.outline)
    assert is_text(file, text, WORTH)
    assert not is_text(file, does, WORTH)
    assert shown(file, text, WORTH, most=3) == (3, 4, 5)
    assert key_lines(file, file.outline[0], WORTH, most=3) == ()


def test_a_message_that_repeats_the_question_is_no_key_line() -> None:
    text = 'def send(jar):\n    log("the cookie was sent at last")\n    jar["cookie"] = jar\n'
    file = _opened(text)
    assert key_lines(file, file.outline[0], WORTH, most=1) == (3,)


def test_a_stretch_begins_and_ends_where_something_happens() -> None:
    file = _opened("def f():\n    x(\n    )\n    a(cookie)\n    if b:\n        c()\n}\n")
    unit = RankedUnit(Place(PATH, 3, 7), None, 1.0)
    assert shown(file, unit, WORTH, most=9) == (4, 5, 6)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("        }\n    }\n}\n", False),
        ("    Ok(found)\n}\n", False),
        ("end\nend\n", False),
        ("    Ok(cookie)\n}\n", True),
        ("    return first_of(names, count)\n}\n", True),
        ("    a()\n    b()\n", True),
    ],
)
def test_what_only_ends_a_block_says_nothing(text: str, says: bool) -> None:
    file = _opened(text)
    numbers = tuple(range(1, len(file.lines) + 1))
    assert says_something(Stretch(file, numbers, ()), WORTH) is says


@pytest.mark.parametrize(
    "line", [" " * 60_000 + "x", "a-a " * 40_000, '"a b c ' * 40_000, "))" * 90_000]
)
def test_lines_that_are_data_are_looked_at_in_no_time(line: str) -> None:
    file = OpenedFile(PATH, ContentHash.of(b""), [line] * 3, ())
    unit = RankedUnit(Place(PATH, 1, 3), None, 1.0)
    assert not is_text(file, unit, WORTH)
    assert shown(file, unit, WORTH, most=2)
