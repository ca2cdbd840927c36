"""Bytes to text and text to lines, the same way everywhere, so that line numbers agree."""

import codecs
import re
from dataclasses import dataclass

__all__ = ["DecodedText", "clean", "decode", "decode_head", "lines_of"]

_UNSPEAKABLE = re.compile("[\ud800-\udfff\0]")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# git calls a file binary when its first 8,000 bytes hold a NUL.
_BINARY_PROBE = 8_000
# Control bytes that text of no encoding holds. A ninth of compressed data are such bytes, and next
# to none of text in an encoding we do not know.
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b")) + b"\x7f"
_MOST_CONTROL = 0.02
# Kana are frequent in Japanese text and improbable in any other text read as Japanese; half-width
# kana do not count, Latin letters turn into them.
_KANA = re.compile("[\u3041-\u30fa]")


@dataclass(frozen=True, slots=True)
class DecodedText:
    """Text and whether its encoding had to be guessed or some bytes replaced."""

    text: str
    is_lossy: bool


def clean(text: str) -> str:
    """Replace lone surrogates and NUL, which JSON, SQLite and providers refuse."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSPEAKABLE.sub("\ufffd", text)


def decode(data: bytes) -> DecodedText | None:
    """Decode by byte order mark, then UTF-8, then best effort; nothing for binary content.

    Best effort never moves a line end: UTF-16 without a mark by where its NULs stand, UTF-8 with
    broken bytes replaced, Japanese by its kana, else Western European.
    """
    return _decoded(data, is_whole=True)


def decode_head(data: bytes) -> DecodedText | None:
    """Decode the head of a file; a character that the cut went through is left out."""
    return _decoded(data, is_whole=False)


def lines_of(text: str) -> tuple[str, ...]:
    """Lines as an editor numbers them: LF, CRLF and CR end one, and nothing else does."""
    # Ten times as fast as to split at a pattern.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(lines[:-1] if lines[-1] == "" else lines)


def _decoded(data: bytes, *, is_whole: bool) -> DecodedText | None:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _by_mark(data[len(bom) :], encoding, is_whole=is_whole)
    if b"\0" in data[:_BINARY_PROBE]:
        encoding_or_none = _utf16_without_mark(data)
        text = encoding_or_none and _strict(data, encoding_or_none, is_whole=is_whole)
        return DecodedText(clean(text), is_lossy=True) if text else None
    text = _strict(data, "utf-8", is_whole=is_whole)
    if text is not None:
        return DecodedText(clean(text), is_lossy=False)
    return _guessed(data, is_whole=is_whole)


def _by_mark(data: bytes, encoding: str, *, is_whole: bool) -> DecodedText:
    text = _strict(data, encoding, is_whole=is_whole)
    if text is not None:
        return DecodedText(clean(text), is_lossy=False)
    return DecodedText(clean(data.decode(encoding, "replace")), is_lossy=True)


def _strict(data: bytes, encoding: str, *, is_whole: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, final=is_whole)
    except UnicodeDecodeError:
        return None


def _utf16_without_mark(data: bytes) -> str | None:
    """Program text in UTF-16 has a NUL in every other byte, on one side only."""
    probe = data[:_BINARY_PROBE]
    even, odd = probe[::2].count(0), probe[1::2].count(0)
    enough = len(probe) // 4
    if odd > enough and not even:
        return "utf-16-le"
    if even > enough and not odd:
        return "utf-16-be"
    return None


def _guessed(data: bytes, *, is_whole: bool) -> DecodedText | None:
    if len(data) - len(data.translate(None, _CONTROL)) > _MOST_CONTROL * len(data):
        return None
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if sum(not char.isascii() for char in text) < 2 * broken:
        text = _japanese(data, is_whole=is_whole) or data.decode("cp1252", "replace")
    return DecodedText(clean(text), is_lossy=True)


def _japanese(data: bytes, *, is_whole: bool) -> str | None:
    for encoding in ("cp932", "euc_jp"):
        text = _strict(data, encoding, is_whole=is_whole)
        if text and len(_KANA.findall(text)) > 1:
            return text
    return None
