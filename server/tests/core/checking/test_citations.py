"""Every place an answer cites is checked against the lines there, and corrected or marked."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.answer import CitationStatus, Grounding
from live_memory.core.checking.citations import CheckedText
from live_memory.core.checking.citations import check as check_files
from live_memory.core.checking.claim_check import SourceFile
from live_memory.core.checking.claims import places_in
from live_memory.core.evidence.outline import outline
from live_memory.core.values import RelPath
from tests.support.cited_tree import ANSWERS, CITATION, tree_of

FILES = {
    "src/config.py": (
        "import os",
        "",
        "MAX_RETRIES = 7",
        'GREETING = "hello there"',
        "",
        "def load_settings():",
        '    """Read them."""',
        '    return os.environ["X"]',
        "MASK: int = 0xff",
        '"DEBUG": False,',
        "MARK = u'x'",
        "STEPS = []",
        "config = load",
    ),
    "Makefile": ("all:", "\tpython -m build"),
    "src/table/column.py": (
        "class Column:",
        "    def __setitem__(self, index, value):",
        '        """Assign, and warn of what is cut off."""',
        "        if issubclass(self.dtype.type, np.character):",
        "            self._check_string_truncate(value)",
        "        self.data[index] = value",
        "",
        "    def copy(self, *, order=None, strip=False):",
        "        # Even if not copying use a view so that shape setting",
        "        # does not propagate.",
        "        out = (self.data.view() if order is None",
        "               else self.data.copy(order))",
        '        raise UnitError(f"Can only apply {order!r} function to "',
        '                        "quantities with compatible dimensions")',
    ),
    "src/other/column.py": ("def unrelated():", "    pass"),
}


_COLUMN = "src/table/column.py"


def check(text: str) -> CheckedText:
    files = {RelPath(path): lines for path, lines in FILES.items()}
    sources = {p: SourceFile(p, lines, outline(p, lines)) for p, lines in files.items()}
    return check_files(text, sources)


def _statuses(text: str) -> list[str]:
    return [f"{c} {c.status}" for c in check(text).citations]


@pytest.mark.promise("citations-checked")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`MAX_RETRIES` is 7 (src/config.py:3).", ["src/config.py:3 verified"]),
        ("MAX_RETRIES = 7 at src/config.py:3-4", ["src/config.py:3-4 verified"]),
        ("`load_settings` (src/config.py#L6-L8) reads it.", ["src/config.py:6-8 verified"]),
        ("see `src/config.py` (lines 6-8): `load_settings`", ["src/config.py:6-8 verified"]),
        ('`GREETING` is `"hello there"` (src/config.py, line 4).', ["src/config.py:4 verified"]),
        ("`MAX_RETRIES` is 7 (src/config.py:1).", ["src/config.py:3 corrected"]),
        ("`load_settings` is at src/config.py:99.", ["src/config.py:6 corrected"]),
        ("load_settings() is at src/config.py:1-2.", ["src/config.py:6 corrected"]),
        ("The settings are read at src/config.py:6-99.", ["src/config.py:6-13 corrected"]),
        ("`MAX_RETRIES` is 3 (src/config.py:3).", ["src/config.py:3 unsupported"]),
        ("`MAX_RETRIES` is 3 (src/config.py:1).", ["src/config.py:1 unsupported"]),
        ("MAX_RETRIES equals 3, src/config.py:3", ["src/config.py:3 unsupported"]),
        ('`GREETING` is `"bye"` (src/config.py:4).', ["src/config.py:4 unsupported"]),
        ('`GREETING` is "bye" (src/config.py:4).', ["src/config.py:4 unsupported"]),
        ("`connect_redis` is at src/config.py:3.", ["src/config.py:3 unsupported"]),
        ("It is `return  os.environ` (src/config.py:8).", ["src/config.py:8 verified"]),
        ("See `def load_settings( ):` (src/config.py:1).", ["src/config.py:6 corrected"]),
        ("See `def load_settings(path):` (src/config.py:6).", ["src/config.py:6 unsupported"]),
        (
            "`def load_settings(...): ... return` (src/config.py:6-8)",
            ["src/config.py:6-8 verified"],
        ),
        ("`load_settings()` (src/config.py:6) reads.", ["src/config.py:6 verified"]),
        ("`MAX_RETRIES=7` (src/config.py:3)", ["src/config.py:3 verified"]),
        ("`MAX_RETRIES = 5` (src/config.py:3)", ["src/config.py:3 unsupported"]),
        ("`GREETING = 'hello there'` (src/config.py:4)", ["src/config.py:4 verified"]),
        ("`GREETING = 'hello'` (src/config.py:4)", ["src/config.py:4 unsupported"]),
        ("It reads `GREETING = 'hi. There'` (src/config.py:4).", ["src/config.py:4 unsupported"]),
        ("`MARK = 'x'` (src/config.py:11)", ["src/config.py:11 unsupported"]),
        ("`MARK = u'x'` (src/config.py:11)", ["src/config.py:11 verified"]),
        ("`MASK: 0xff` (src/config.py:9)", ["src/config.py:9 verified"]),
        ("`MASK = 0xf` (src/config.py:9)", ["src/config.py:9 unsupported"]),
        ("`MASK` is `0x0f` (src/config.py:9)", ["src/config.py:9 unsupported"]),
        ("`DEBUG = True` (src/config.py:10)", ["src/config.py:10 unsupported"]),
        ("`config.DEBUG = False` (src/config.py:1)", ["src/config.py:10 corrected"]),
        # What is said behind the last place counts too, and a head that has gained a parameter.
        (
            f"`copy` is at {_COLUMN}:8, which reads `def copy(self, *, order=None):`.",
            [f"{_COLUMN}:8 unsupported"],
        ),
        (
            f"`copy` is at {_COLUMN}:8, which reads `def copy(self, *, order=None, strip=False):`.",
            [f"{_COLUMN}:8 verified"],
        ),
        (
            f"`copy` is at {_COLUMN}:8, which reads `def copy(self, order, strips):`.",
            [f"{_COLUMN}:8 unsupported"],
        ),
        ("`STEPS` is at src/config.py:12: `MARK = []`.", ["src/config.py:12 unsupported"]),
        (
            "The domain passes `py:func` on to `MAX_RETRIES` (src/config.py:3).",
            ["src/config.py:3 verified"],
        ),
        (
            "It runs where `MAX_RETRIES` is 7 and `eager: true` (src/config.py:3).",
            ["src/config.py:3 verified"],
        ),
        # What names the file, too, may stand on its lines.
        ("`config = load` is at src/config.py:13.", ["src/config.py:13 verified"]),
        # A number right behind a name is its value.
        (
            "`MAX_RETRIES` 7, `MASK` 0xff (src/config.py:3, 9).",
            ["src/config.py:3 verified", "src/config.py:9 verified"],
        ),
        (
            "`MASK` is 0xff, `MAX_RETRIES` 8 (src/config.py:3, 9).",
            ["src/config.py:3 unsupported", "src/config.py:9 unsupported"],
        ),
        ("It is `STEPS = ()` (src/config.py:12).", ["src/config.py:12 unsupported"]),
        ("It is `STEPS = []` (src/config.py:12).", ["src/config.py:12 verified"]),
        ("`def load_settings(app)` is at src/config.py:6.", ["src/config.py:6 unsupported"]),
        ("`load_settings` calls `getenv(x)` (src/config.py:6).", ["src/config.py:6 unsupported"]),
        ("It is in src/ghost.py:3.", ["src/ghost.py:3 unsupported"]),
        ("Nothing stands at src/config.py:500.", ["src/config.py:500 unsupported"]),
        ("It runs `python -m build` (Makefile:2).", ["Makefile:2 verified"]),
    ],
)
def test_a_place_is_verified_corrected_or_not_found(text: str, expected: list[str]) -> None:
    assert _statuses(text) == expected


@pytest.mark.promise("citations-checked")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Each place shows what is said next to it, and not what the rest of the sentence says.
        (
            (
                "`MAX_RETRIES` is 7 (src/config.py:3), and `load_settings` reads it "
                f"({_COLUMN}:2-3, src/config.py:6-8)."
            ),
            [
                "src/config.py:3 verified",
                f"{_COLUMN}:2-3 unsupported",
                "src/config.py:6-8 verified",
            ],
        ),
        # The definition in which the lines lie counts as shown.
        (f"`Column.__setitem__` (`{_COLUMN}:6`).", [f"{_COLUMN}:6 verified"]),
        # A value may stand at another place of the sentence, and at none it makes all wrong.
        (
            f"It warns ({_COLUMN}:3-5) after `MAX_RETRIES`, which is 7 (src/config.py:3).",
            [f"{_COLUMN}:3-5 verified", "src/config.py:3 verified"],
        ),
        (
            f"It warns ({_COLUMN}:3-5) after `MAX_RETRIES`, which is `9` (src/config.py:3).",
            [f"{_COLUMN}:3-5 unsupported", "src/config.py:3 unsupported"],
        ),
        # Words in quotation marks are prose; what is filled in or broken over lines is there.
        (
            f'Its comment says "even without a copy, a view is used" ({_COLUMN}:8-10).',
            [f"{_COLUMN}:8-10 verified"],
        ),
        (
            f"`out = self.data.view() if order is None else self.data.copy(order)` ({_COLUMN}:11)",
            [f"{_COLUMN}:11 unsupported"],
        ),
        (
            (
                f"`out = self.data.view() if order is None else self.data.copy(order)` "
                f"({_COLUMN}:11-12)"
            ),
            [f"{_COLUMN}:11-12 verified"],
        ),
        (
            (
                "It says `Can only apply 'add' function to quantities with compatible dimensions` "
                f"({_COLUMN}:13-14)."
            ),
            [f"{_COLUMN}:13-14 verified"],
        ),
        # Arguments are examples, but none may contradict what is shown.
        (f"`copy(strip=False)` keeps all ({_COLUMN}:8).", [f"{_COLUMN}:8 verified"]),
        (f"`copy(strip=True)` is the default ({_COLUMN}:8).", [f"{_COLUMN}:8 unsupported"]),
        # What is said not to be there need not be there.
        (f"`copy` has no `memo=1` ({_COLUMN}:8).", [f"{_COLUMN}:8 verified"]),
    ],
)
def test_a_claim_is_a_clause_with_its_own_places(text: str, expected: list[str]) -> None:
    assert _statuses(text) == expected


@pytest.mark.promise("citations-checked")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"`__setitem__` ({_COLUMN}:2) warns (`:4-5`).", [2, 4]),
        (f"`__setitem__` ({_COLUMN}:2, 4-5; 6).", [2, 4, 6]),
        (f"`__setitem__` ({_COLUMN}:2,4,5).", [2, 4, 5]),
        (f"`__setitem__` ({_COLUMN}:2), which warns on line 5.", [2, 5]),
        (f"`__setitem__`, lines 2-6 of {_COLUMN}.", [2]),
        (f"All in {_COLUMN}. `copy` is on lines 8-12 there.", [8]),
        (f"`__setitem__` ({_COLUMN}:2-3); `copy` does (table/column.py:8).", [2, 8]),
        (f"`__setitem__` ({_COLUMN}:2-3); `copy` does (column.py:8).", [2, 8]),
        (f"`__setitem__` ({_COLUMN}:2-3), `copy` takes a view (10-12).", [2, 10]),
        (f"| `__setitem__` | {_COLUMN}:2 |\n| `copy` | `{_COLUMN}:8` |", [2, 8]),
        (f"## `__setitem__` ({_COLUMN}:2)\n`copy` ({_COLUMN}:8)", [2, 8]),
        (f"1. `__setitem__` [{_COLUMN}:2]\n2. `copy` [c]({_COLUMN}#L8)", [2, 8]),
        (f"It copies. ({_COLUMN}:8-9)", [8]),
    ],
)
def test_places_in_short_forms_are_checked_like_others(text: str, expected: list[int]) -> None:
    checked = check(text)
    assert [c.start for c in checked.citations] == expected
    assert {c.status for c in checked.citations} == {CitationStatus.VERIFIED}
    assert {c.path.text for c in checked.citations} == {_COLUMN}
    assert checked.text == text


@pytest.mark.promise("never-falsely-fresh")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`copy` is at table/column.py:8.", f"`copy` is at {_COLUMN}:8."),
        ("`copy` is on lines 8-9 of table/column.py.", f"`copy` is on lines 8-9 of {_COLUMN}."),
        ("`load_settings` (config.py:1)", "`load_settings` (src/config.py:6)"),
    ],
)
def test_a_path_that_is_written_in_short_only_is_written_out(text: str, expected: str) -> None:
    """A file that moved below another folder still ends so, and its old path leads nowhere."""
    assert check(text).text == expected


@pytest.mark.parametrize(
    "text",
    [
        f"`__setitem__` ({_COLUMN}:2) came in 2019-2020 (see 12).",
        f"`__setitem__` ({_COLUMN}:2) takes the slice `[1:]` and the L2 norm.",
        f"`__setitem__` ({_COLUMN}:2), 3 callers.",
    ],
)
def test_numbers_that_may_be_no_lines_are_left_alone(text: str) -> None:
    checked = check(text)
    assert [c.start for c in checked.citations] == [2]
    assert checked.text == text


@pytest.mark.promise("never-falsely-fresh")
def test_an_old_value_is_never_supported_by_the_line_that_holds_the_new_one() -> None:
    checked = check("`MAX_RETRIES` is set to 3 in src/config.py:3.")
    assert checked.grounding is Grounding.UNGROUNDED
    assert "src/config.py:3 (not found there: `3`)" in checked.text


def test_corrected_lines_are_written_into_the_text_and_the_rest_is_left_alone() -> None:
    text = "- `load_settings` (`src/config.py:1`) reads.\n- Also `ghost.py:2`.\n"
    assert check(text).text == (
        "- `load_settings` (`src/config.py:6`) reads.\n- Also `ghost.py:2` (not found there).\n"
    )


def test_a_place_that_is_cited_twice_holds_where_all_that_is_said_of_it_does() -> None:
    text = "`MAX_RETRIES` is 7 (src/config.py:3). `MAX_RETRIES` is 9 (src/config.py:3)."
    assert _statuses(text) == ["src/config.py:3 unsupported"]


@pytest.mark.promise("grounded-or-says-so")
@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("`load_settings` (src/config.py:6).", Grounding.VERIFIED),
        ("`load_settings` (src/config.py:6). See ghost.py:1.", Grounding.PARTIAL),
        ("See ghost.py:1. `load_settings` (src/config.py:6).", Grounding.PARTIAL),
        ("`load_settings` (src/config.py:1).", Grounding.PARTIAL),
        ("See ghost.py:1.", Grounding.UNGROUNDED),
        ("It is handled somewhere.", Grounding.UNGROUNDED),
    ],
)
def test_the_grade_is_what_the_places_are_worth(text: str, grade: Grounding) -> None:
    assert check(text).grounding is grade


@given(st.text(max_size=200))
def test_any_text_can_be_checked(text: str) -> None:
    checked = check(text)
    assert len(checked.citations) <= len(places_in(text))


@given(
    st.sampled_from(["src/config.py:3", "ghost.py:1", "`f_x`", "7", "\n", ". A ", "- ", "```\n"])
)
def test_a_text_without_wrong_places_is_given_back_letter_by_letter(piece: str) -> None:
    text = f"`MAX_RETRIES` (src/config.py:3) {piece if 'ghost' not in piece else ''}"
    if all(c.status is CitationStatus.VERIFIED for c in check(text).citations):
        assert check(text).text == text


@pytest.mark.promise("citations-checked")
@pytest.mark.parametrize("answer", ANSWERS, ids=range(len(ANSWERS)))
def test_what_models_really_write_is_kept_where_its_code_stands_at_its_places(answer: str) -> None:
    """The answers are real; of each file there is what they say of it at the places they cite."""
    tree = tree_of(answer)
    files = {RelPath(path): lines for path, lines in tree.items()}
    checked = check_files(answer, {p: SourceFile(p, lines) for p, lines in files.items()})
    state = {(c.path.text, c.start, c.end): c.status for c in checked.citations}
    cited = [(m[1], int(m[2]), int(m[3] or m[2])) for m in CITATION.finditer(answer)]
    whole = [place for place in cited if place[0] in tree]
    assert whole
    lost = [place for place in whole if state.get(place) is not CitationStatus.VERIFIED]
    assert lost == []


@pytest.mark.promise("citations-checked")
@pytest.mark.parametrize("answer", ANSWERS, ids=range(len(ANSWERS)))
def test_what_models_really_write_is_not_kept_where_its_files_hold_other_code(answer: str) -> None:
    paths = {RelPath(path): len(lines) for path, lines in tree_of(answer).items()}
    files = {p: SourceFile(p, ["unrelated = zq_other()"] * n) for p, n in paths.items()}
    checked = check_files(answer, files)
    kept = [c for c in checked.citations if c.status is CitationStatus.VERIFIED]
    assert len(kept) <= len(checked.citations) // 10


@pytest.mark.parametrize("unit", ["`", "a/", "(", "a.py:1, ", "1-2, ", "`a = ", "not ", "| ", "- "])
def test_text_made_to_be_hard_takes_no_longer_than_its_length(unit: str) -> None:
    """Patterns of this kind took minutes once; the suite's own limit ends a run that hangs."""
    text = (unit * 20_000)[:60_000] + " (src/config.py:3)"
    assert re.search("config", check(text).text)


@pytest.mark.parametrize(
    "text",
    [
        "In `src/config.py`: `settings.max` (line 3) is `MAX_RETRIES`, 7 by default.",
        "`src/config.py` reads it: `app.config`, `os.environ` (lines 6-8) in `load_settings`.",
        "`src/config.py` has `Options.default`:3, the value of `MAX_RETRIES`.",
        "It is `MAX_RETRIES` in `src/config.py` (line 3), `GREETING` in `src/config.py` (line 4).",
        "It is `MAX_RETRIES` at `src/config.py:3`; then `load_settings` at `src/config.py:6-8`.",
        "`load_settings` reads them (`src/config.py:6-8`, especially line 8).",
        "`load_settings` (`src/config.py:6-8`; its own words are on line 7) reads `os.environ`.",
    ],
)
def test_a_right_place_is_kept_where_code_and_its_file_stand_in_turns(text: str) -> None:
    checked = check(text)
    assert checked.text == text
    assert checked.grounding is Grounding.VERIFIED


@pytest.mark.parametrize(
    "text",
    [
        "`MAX_RETRIES` is set in `nowhere.py:3`, as `src/config.py:3` says too.",
        "`src/config.py` is one, `MAX_RETRIES` is in `missing.go` (line 3).",
        "`MAX_RETRIES` is 7 (`src/config.py:3`), `GREETING` is at `folder/app.xyz:4`.",
    ],
)
def test_a_file_that_is_not_there_is_not_taken_for_code(text: str) -> None:
    assert "not found there" in check(text).text
