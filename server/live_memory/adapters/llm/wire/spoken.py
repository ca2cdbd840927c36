"""Text as it arrives: halves of characters joined, thoughts and calls written as text held back."""

import re

from live_memory.core.reading.text import clean

__all__ = ["SpokenText", "without_thoughts"]

_HIGH_HALF = re.compile("[\ud800-\udbff]$")
_HALF = re.compile("[\ud800-\udfff]")
_THOUGHTS = re.compile(r"\A\s*<think>.*?(?:</think>\s*|\Z)", re.DOTALL)
_NOT_SPEECH = ("<think>", "<tool_call>", "```json", "```tool_call", "{", "[{")
_LONGEST_MARK = max(len(mark) for mark in (*_NOT_SPEECH, "</think>"))


def without_thoughts(text: str) -> str:
    """Leave out the thoughts that some models write before their answer."""
    return _THOUGHTS.sub("", text, count=1)


class SpokenText:
    """Collects a reply's text, and says what of it may be shown already."""

    def __init__(self, *, longest: int) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._longest = longest
        self._half = ""
        self._held: str | None = ""

    @property
    def text(self) -> str:
        """Everything so far."""
        return clean("".join(self._pieces) + self._half)[: self._longest]

    @property
    def is_full(self) -> bool:
        """Whether the model wrote more than it was asked for by far."""
        return self._length > self._longest

    def add(self, piece: str) -> str:
        """Take the next piece and give what may be shown of it."""
        piece = self._half + piece
        half = _HIGH_HALF.search(piece)
        self._half = half.group() if half else ""
        whole = _joined(piece.removesuffix(self._half))
        self._pieces.append(whole)
        self._length += len(whole)
        return self._shown(whole)

    def _shown(self, piece: str) -> str:
        if self._held is None:
            return piece
        start = (self._held + piece).lstrip()
        if start.startswith("<think>"):
            start = self._think(start)
        if any(start.startswith(mark) or mark.startswith(start) for mark in _NOT_SPEECH):
            # Enough to know what it is: a long JSON reply must not be copied once a piece.
            self._held = start if start.startswith("<think>") else start[:_LONGEST_MARK]
            return ""
        self._held = None
        return start

    def _think(self, start: str) -> str:
        thoughts, end, rest = start.partition("</think>")
        return rest.lstrip() if end else "<think>" + thoughts[7:][-_LONGEST_MARK:]


def _joined(text: str) -> str:
    """Both halves of a character may come in different pieces, each as an escape of its own."""
    if _HALF.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return clean(text)
