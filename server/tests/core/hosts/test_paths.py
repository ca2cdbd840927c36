"""Paths as hosts of any system write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.hosts.events import as_absolute, inside, joined


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a/b.py", "/a/b.py"),
        ("/a//./x/../b.py", "/a/b.py"),
        ("//a/b.py", "/a/b.py"),
        ("/../../a", "/a"),
        ("C:\\Users\\dev\\a.py", "C:/Users/dev/a.py"),
        ("c:/Users/dev/../a.py", "C:/Users/a.py"),
        ("\\\\server\\share\\a.py", "//server/share/a.py"),
        ("a/b.py", None),
        ("C:a.py", None),
        ("~/a.py", None),
        ("/a\0b", None),
        ("/a\ud800", None),
        ("", None),
    ],
)
def test_only_an_absolute_path_is_one(path: str, expected: str | None) -> None:
    assert as_absolute(path) == expected


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        ("/p", "/p/a.py", "a.py"),
        ("/p/", "/p/a/b.py", "a/b.py"),
        ("/p", "/pp/a.py", None),
        ("/p", "/p", None),
        ("/P", "/p/a.py", None),
        ("C:/Dev/App", "C:/dev/app/Src/a.py", "Src/a.py"),
    ],
)
def test_a_name_is_what_stands_below_the_root(root: str, path: str, expected: str | None) -> None:
    assert inside(root, path) == expected


def test_a_relative_path_needs_a_folder() -> None:
    assert joined("/p/src", "../a.py") == "/p/a.py"
    assert joined("C:/p", "a\\b.py") == "C:/p/a/b.py"
    assert joined(None, "a.py") is None
    assert joined(None, "/a.py") == "/a.py"


@given(st.text(max_size=30), st.text(max_size=30))
def test_nothing_climbs_out(folder: str, path: str) -> None:
    whole = joined(f"/{folder}", path)
    assert whole is None or ".." not in whole.split("/")
