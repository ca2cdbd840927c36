"""Each promise of DESIGN.md is carried by a test, and no test carries an unknown one."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
TESTS = REPOSITORY / "server" / "tests"
# Promises whose ground is not built yet; each is named in DESIGN.md as not kept yet.
_ROW = re.compile(r"^\| `([a-z-]+)` \|.*\| (kept|not yet) \|$", re.MULTILINE)
_MARK = re.compile(r"mark\.promise\(([^)]*)\)")


def _listed() -> dict[str, str]:
    return dict(_ROW.findall((REPOSITORY / "DESIGN.md").read_text(encoding="utf-8")))


def _carried() -> set[str]:
    sources = (file.read_text(encoding="utf-8") for file in TESTS.rglob("test_*.py"))
    marks = (mark for source in sources for mark in _MARK.findall(source))
    return {name for mark in marks for name in re.findall(r'"([a-z-]+)"', mark)}


def test_every_promise_that_is_called_kept_has_a_test() -> None:
    kept = {name for name, state in _listed().items() if state == "kept"}
    assert kept - _carried() == set()


def test_every_promise_a_test_carries_is_listed() -> None:
    assert _carried() - _listed().keys() == set()


def test_the_table_was_found() -> None:
    assert len(_listed()) == 16
