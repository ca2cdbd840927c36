"""The common dialect of expressions: what ripgrep is given finds at least what Python finds."""

import re
import warnings
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from live_memory.adapters.workspace.patterns import NOT_PLAIN_UTF8, compile_expression
from live_memory.core.errors import InvalidRequest
from live_memory.core.reading.observation import decode, lines_of
from live_memory.core.reading.redaction import compile_glob
from live_memory.core.values import RelPath

_ATOMS = st.sampled_from(
    ["a", "b", "k", "S", "i", "é", "ſ", "\u212a", "日", "1", " ", ".", r"\d", r"\w", r"\W", r"\S",
     r"\s", r"\b", "^", "$", "[a-c]", "[^a]", r"[\w-]", "[é-ü]", r"\.", "-", "(?:)", "{", r"\$"]
)  # fmt: skip
_EXPRESSIONS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(inner, st.sampled_from(["*", "+?", "?", "{1,2}", "{2}"])).map(
            lambda pair: f"({pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=8,
)
_BYTES = st.one_of(
    st.text("abkSiIK1 é日ſ\u212a.-{$\n\r\u2028", max_size=12).map(str.encode),
    st.text("ab é1", max_size=8).map(lambda text: text.encode("latin-1")),
    st.binary(max_size=12),
)


def superset_finds(superset: str, data: bytes) -> bool:
    """Search as ripgrep does: line by line, bytes, `-u` meaning no Unicode rules."""
    expression = superset.removeprefix("(?-u:").removesuffix(")").encode("latin-1")
    return any(re.search(expression, line) for line in data.split(b"\n"))


@example(regex="k", data="\u212a".encode(), ignore_case=True)
@example(regex="\u017f", data=b"S", ignore_case=True)
@example(regex="^b$", data=b"a\rb\rc", ignore_case=False)
@example(regex=r"\bé", data="é".encode("latin-1") + b" abc", ignore_case=False)
@given(regex=_EXPRESSIONS, data=_BYTES, ignore_case=st.booleans())
def test_a_file_with_a_match_is_never_missed(regex: str, data: bytes, ignore_case: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expression = compile_expression(regex, ignore_case=ignore_case)
        python = re.compile(expression.python, re.IGNORECASE if ignore_case else 0)
    decoded = decode(data)
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")) or decoded is None:
        return  # ripgrep turns marked UTF-16 into UTF-8 before it searches
    if any(python.search(line) for line in lines_of(decoded)):
        assert superset_finds(expression.bytes_superset, data)


@given(st.binary(max_size=8))
def test_every_line_that_is_not_plain_utf8_is_recognised_and_no_other(line: bytes) -> None:
    line = line.replace(b"\n", b"")
    try:
        is_plain = "\0" not in line.decode()
    except UnicodeDecodeError:
        is_plain = False
    assert (re.search(NOT_PLAIN_UTF8.encode("latin-1"), line) is None) == is_plain


def test_only_three_ascii_letters_fold_to_letters_outside_ascii() -> None:
    """The rule in the dialect that keeps ripgrep fast on plain words."""
    folded = {
        letter
        for letter in "abcdefghijklmnopqrstuvwxyz"
        if re.search(
            f"(?i){letter}", "".join(map(chr, [*range(128, 0xD800), *range(0xE000, 0x20000)]))
        )
    }
    assert folded == {"i", "k", "s"}


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_is_refused(text: str) -> None:
    with suppress(InvalidRequest):
        re.compile(compile_expression(text, ignore_case=False).python)


@given(st.text("ab*?[]{},/.!-\\^", max_size=20), st.lists(st.text("ab]-", min_size=1), min_size=1))
def test_any_text_is_a_glob_or_is_refused(glob: str, parts: list[str]) -> None:
    with suppress(InvalidRequest):
        assert compile_glob(glob)(RelPath("/".join(parts))) in (True, False)


@pytest.mark.parametrize("star", ["*a" * 12 + "*b", "*?" * 100, "**/*a*/" * 50 + "x"])
def test_a_glob_takes_no_time_on_a_name_made_to_defeat_it(star: str) -> None:
    """S13: backtracking would take longer than the test may."""
    is_named = compile_glob(star)
    for _ in range(100):
        assert not is_named(RelPath("/".join(["a" * 30] * 60)))
