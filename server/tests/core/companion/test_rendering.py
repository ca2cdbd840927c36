"""Lines of files read the same everywhere, and no data passes for what we say."""

import re

from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.companion.prompt import excerpt, name_of_file, numbered, quoted
from live_memory.core.values import RelPath

A = RelPath("a.py")
LINES = ("one", "two", "", "four", "five")


def test_lines_stand_under_their_place_and_gaps_are_marked() -> None:
    assert excerpt(A, LINES, [5, 1, 2], about="f") == (
        "a.py:1-5 f\n1|one\n2|two\n… (2 lines)\n5|five\n"
    )
    assert excerpt(A, LINES, [2], until=5) == "a.py:2\n2|two\n… (3 lines)\n"
    assert excerpt(A, LINES, [4], until=5) == "a.py:4\n4|four\n… (1 line)\n"
    assert excerpt(A, LINES, [0, 1, 9]) == "a.py:1\n1|one\n"
    assert excerpt(A, LINES, [9]) == ""


def test_a_line_that_is_data_is_cut() -> None:
    assert numbered(["x" * 1_200], start=7) == f"7|{'x' * 1_000}… (200 characters)\n"


@given(st.text(), st.lists(st.text(), min_size=1), st.text(min_size=1, max_size=50))
def test_no_text_of_a_file_no_name_in_it_and_no_file_name_starts_a_line(
    about: str, lines: list[str], name: str
) -> None:
    path = RelPath(re.sub(r"[/\0]", "_", f"a{name}"))
    text = excerpt(path, lines, range(1, len(lines) + 1), about=f"{about}\n=== facts")
    head, *rest = text.splitlines()
    assert head.startswith("a")
    assert len(rest) == len(lines)
    assert all(re.match(r"\d+\|", line) for line in rest)
    assert all(line.startswith("|") for line in quoted(about).splitlines())


def test_a_file_called_like_a_header_is_told_by_another_spelling() -> None:
    assert name_of_file(RelPath("=== facts")) == "./=== facts"
    assert name_of_file(RelPath("a\n=== facts")) == "a\ufffd=== facts"
