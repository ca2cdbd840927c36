"""Every place an answer cites is checked against the lines there, and corrected or marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.asking.answer import CitationStatus, Grounding
from live_memory.core.asking.citations import check, cited_paths
from live_memory.core.asking.claims import claims_of
from live_memory.core.values import RelPath

CONFIG = RelPath("src/config.py")
FILES = {
    CONFIG: (
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
    ),
    RelPath("Makefile.am"): ("all:",),
}


def _statuses(text: str) -> list[str]:
    return [f"{c} {c.status}" for c in check(text, FILES).citations]


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
        ("The settings are read at src/config.py:6-99.", ["src/config.py:6-11 corrected"]),
        ("`MAX_RETRIES` is 3 (src/config.py:3).", ["src/config.py:3 unsupported"]),
        ("MAX_RETRIES equals 3, src/config.py:3", ["src/config.py:3 unsupported"]),
        ('`GREETING` is `"bye"` (src/config.py:4).', ["src/config.py:4 unsupported"]),
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
        ("`load_settings` calls `getenv(x)` (src/config.py:6).", ["src/config.py:6 unsupported"]),
        ("It is in src/ghost.py:3.", ["src/ghost.py:3 unsupported"]),
        ("Nothing stands at src/config.py:500.", ["src/config.py:500 unsupported"]),
    ],
)
def test_a_place_is_verified_corrected_or_not_found(text: str, expected: list[str]) -> None:
    assert _statuses(text) == expected


@pytest.mark.promise("never-falsely-fresh")
def test_an_old_value_is_never_supported_by_the_line_that_holds_the_new_one() -> None:
    checked = check("`MAX_RETRIES` is set to 3 in src/config.py:3.", FILES)
    assert checked.grounding is Grounding.UNGROUNDED
    assert checked.starts_unsupported
    assert "src/config.py:3 (not found there)" in checked.text


def test_corrected_lines_are_written_into_the_text_and_the_rest_is_left_alone() -> None:
    text = "- `load_settings` (src/config.py:1) reads.\n- Also ghost.py:2.\n"
    assert check(text, FILES).text == (
        "- `load_settings` (src/config.py:6) reads.\n- Also ghost.py:2 (not found there).\n"
    )


@pytest.mark.promise("grounded-or-says-so")
@pytest.mark.parametrize(
    ("text", "grade", "starts_unsupported"),
    [
        ("`load_settings` (src/config.py:6).", Grounding.VERIFIED, False),
        ("`load_settings` (src/config.py:6). See ghost.py:1.", Grounding.PARTIAL, False),
        ("See ghost.py:1. `load_settings` (src/config.py:6).", Grounding.PARTIAL, True),
        ("See ghost.py:1.", Grounding.UNGROUNDED, True),
        ("It is handled somewhere.", Grounding.UNGROUNDED, True),
    ],
)
def test_the_grade_is_what_the_places_are_worth(
    text: str, grade: Grounding, starts_unsupported: bool
) -> None:
    checked = check(text, FILES)
    assert (checked.grounding, checked.starts_unsupported) == (grade, starts_unsupported)


@pytest.mark.parametrize(
    "text",
    [
        "at 12:30 it runs on http://127.0.0.1:8080/x and localhost:7711",
        "version 1.2.3:4 of x",
        "see [docs](https://example.com:443)",
        "../out/secret.py:3 and /etc/passwd:1",
        "```\nsrc/config.py:3\n```",
    ],
)
def test_what_is_no_place_in_the_workspace_is_not_taken_for_one(text: str) -> None:
    assert cited_paths(text) == ()


def test_paths_with_brackets_dots_and_dashes_are_read_whole() -> None:
    text = "Routes: app/(group)/[id]/page.tsx:12, pkg/a-b.c/d.go:3 and `web/x+y.ts`:9."
    assert [path.text for path in cited_paths(text)] == [
        "app/(group)/[id]/page.tsx",
        "pkg/a-b.c/d.go",
        "web/x+y.ts",
    ]


@given(st.text(max_size=200))
def test_any_text_can_be_checked(text: str) -> None:
    checked = check(text, FILES)
    assert len(checked.citations) <= sum(len(claim.places) for claim in claims_of(text))


@given(
    st.sampled_from(["src/config.py:3", "ghost.py:1", "`f_x`", "7", "\n", ". A ", "- ", "```\n"])
)
def test_a_text_without_wrong_places_is_given_back_letter_by_letter(piece: str) -> None:
    text = f"`MAX_RETRIES` (src/config.py:3) {piece if 'ghost' not in piece else ''}"
    if all(c.status is CitationStatus.VERIFIED for c in check(text, FILES).citations):
        assert check(text, FILES).text == text
