"""The same lines as an editor shows, whatever the encoding."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.reading.observation import clean, decode, decode_head, lines_of

_CONSTANT_LINE = 11
_MODULE = [
    '"""Retries."""', "", "import time", "", "", "class Client:",
    "    # größer", "    name = 'x'", "", "    # limit", "    RETRY_LIMIT = 7", "",
    "    def get(self, url):", "        for _ in range(self.RETRY_LIMIT):",
    "            try:", "                return self.send(url)",
    "            except OSError:", "                time.sleep(1)", "        raise OSError", "",
]  # fmt: skip
_JAPANESE = [line.replace("größer", "再試行の回数です") for line in _MODULE]
_LF, _CRLF, _CR = ("\n".join(_MODULE), "\r\n".join(_MODULE), "\r".join(_MODULE))
_MIXED = "".join(line + ("\r\n", "\n", "\r")[n % 3] for n, line in enumerate(_MODULE))
_SAVED = {
    "utf-8": _LF.encode(),
    "utf-8 with mark": codecs.BOM_UTF8 + _LF.encode(),
    "utf-16-le": codecs.BOM_UTF16_LE + _LF.encode("utf-16-le"),
    "utf-16-be": codecs.BOM_UTF16_BE + _CRLF.encode("utf-16-be"),
    "utf-32": codecs.BOM_UTF32_LE + _LF.encode("utf-32-le"),
    "utf-16-le without mark": _LF.encode("utf-16-le"),
    "utf-16-be without mark": _LF.encode("utf-16-be"),
    "latin-1": _LF.encode("latin-1"),
    "shift-jis": "\n".join(_JAPANESE).encode("shift-jis"),
    "euc-jp": "\n".join(_JAPANESE).encode("euc-jp"),
    "crlf": _CRLF.encode(),
    "cr": _CR.encode(),
    "mixed": _MIXED.encode(),
}


@pytest.mark.parametrize("saved", _SAVED)
def test_a_constant_stands_on_the_same_line_in_every_encoding(saved: str) -> None:
    """C17."""
    decoded = decode(_SAVED[saved])
    assert decoded is not None
    lines = lines_of(decoded)
    found = [n for n, line in enumerate(lines, 1) if line.startswith("    RETRY_LIMIT")]
    assert found == [_CONSTANT_LINE]
    assert lines[6] in ("    # größer", "    # 再試行の回数です")


def test_one_broken_byte_does_not_cost_the_rest_of_a_utf_8_file() -> None:
    decoded = decode("größer, naïve, ".encode() + b"\xff end")
    assert decoded is not None
    assert decoded == "größer, naïve, \ufffd end"


def test_broken_text_behind_a_mark_is_kept_with_a_note() -> None:
    decoded = decode(codecs.BOM_UTF16_LE + b"a\0b")
    assert decoded is not None
    assert decoded == "a\ufffd"


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"\x7fELF\x02\x01\x01" + b"\0" * 20,
        bytes(range(1, 256)) * 4,
        b"a\0\0b" * 8,
        b"a\0b\0\x00\xd8c\0d\0e\0f\0g\0",
    ],
    ids=["png", "elf", "no nul", "both sides", "broken utf-16"],
)
def test_binary_content_gives_no_text(data: bytes) -> None:
    assert decode(data) is None


def test_an_empty_file_is_an_empty_text() -> None:
    decoded = decode(b"")
    assert decoded is not None
    assert decoded == ""
    assert lines_of("") == ()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_cut_through_a_character_is_no_broken_file(encoding: str) -> None:
    whole = ("größe 😀" * 3).encode(encoding)
    for cut in range(2, len(whole)):
        decoded = decode_head(whole[:cut])
        assert decoded is not None
        assert ("größe 😀" * 3).startswith(decoded)


def test_nul_and_lone_surrogates_become_the_replacement_character() -> None:
    """C18, D20."""
    assert clean("a\ud83db\udc00\0") == "a\ufffdb\ufffd\ufffd"


@given(st.binary(max_size=300), st.sampled_from([b"", *_SAVED.values()]))
def test_no_bytes_make_decoding_fail_and_none_give_what_cannot_be_sent(
    tail: bytes, head: bytes
) -> None:
    for decoded in (decode(head + tail), decode_head(head + tail)):
        if decoded is not None:
            decoded.encode("utf-8")
            assert "\0" not in decoded


@given(st.text(st.characters(codec=None, exclude_categories=())), st.integers(0, 60))
def test_cut_anywhere_clean_text_stays_valid(text: str, at: int) -> None:
    """C18: Python cuts between code points, so only surrogates that came in could be torn."""
    clean(text)[:at].encode("utf-8")


@given(st.text())
def test_utf_8_text_comes_back_as_it_was(text: str) -> None:
    decoded = decode(text.encode())
    if "\0" in text:  # as git has it: binary, unless it looks like UTF-16 without a mark
        assert decoded is None or "\0" not in decoded
        return
    assert decoded is not None
    assert decoded == clean(text.removeprefix("\ufeff"))


@given(st.lists(st.tuples(st.text("ab \u2028\x0b\x0c\x85"), st.sampled_from(["\n", "\r\n", "\r"]))))
def test_lines_are_what_an_editor_numbers(pairs: list[tuple[str, str]]) -> None:
    """A lone CR before an empty line and LF would be one end, as in every editor."""
    text = "".join(line + end for line, end in pairs)
    expected = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert lines_of(text) == tuple(expected[:-1])
    assert lines_of(text + "x") == (*expected[:-1], "x")
