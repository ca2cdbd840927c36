"""Prefix caches as providers keep them, on a clock that the harness moves."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Protocol

from bench.economics.prices import Counted
from bench.economics.requests import Part
from bench.text import estimate_tokens

__all__ = ["Automatic", "Explicit", "PrefixCache", "tokens_of"]

# Automatic caches find the longest known prefix in blocks of 128 tokens, from 1,024 tokens on; what
# is used stays for up to an hour (OpenAI's longest, less than the hours that DeepSeek keeps).
_BLOCK_CHARACTERS, _AUTOMATIC_LEAST, _AUTOMATIC_S = 512, 1_024, 3_600.0
# Explicit caches (Messages API, Haiku 4.5): at most 4 marks, prefixes of 4,096 tokens and more,
# found at a mark and up to 20 blocks before it, for 5 minutes after the last use.
_MARKS, _EXPLICIT_LEAST, _LOOK_BACK, _EXPLICIT_S = 4, 4_096, 20, 300.0


class PrefixCache(Protocol):
    """Counts a prompt: what of it is known, what is kept from now on, what is paid in full."""

    def take(self, parts: Sequence[Part], now: float) -> Counted:
        """Count the prompt of one call at a time in seconds, and remember it."""
        ...


class Automatic:
    """Finds the longest common prefix by itself."""

    def __init__(self) -> None:
        self._until: dict[bytes, float] = {}

    def take(self, parts: Sequence[Part], now: float) -> Counted:
        """Count a prompt; writing costs nothing extra."""
        total = sum(tokens_of(part.text) for part in parts)
        text = "".join(part.text for part in parts)
        known, is_known = 0, True
        for size, key in _blocks(text):
            is_known = is_known and self._until.get(key, -1.0) >= now
            known = size if is_known else known
            self._until[key] = now + _AUTOMATIC_S
        cached = total * known // max(1, len(text))
        if cached < _AUTOMATIC_LEAST:
            cached = 0
        return Counted(input=total - cached, cached=cached)


class Explicit:
    """Keeps what ends at a mark, and finds it at the marks of later prompts."""

    def __init__(self) -> None:
        self._until: dict[bytes, float] = {}

    def take(self, parts: Sequence[Part], now: float) -> Counted:
        """Count a prompt: from the prefix that is known to the last mark it is written."""
        ends, total, digest = [], 0, hashlib.sha256()
        for part in parts:
            total += tokens_of(part.text)
            digest.update(f"{len(part.text)}:".encode() + part.text.encode("utf-8", "replace"))
            ends.append((total, digest.digest()))
        marks = [n for n, part in enumerate(parts) if part.is_mark][-_MARKS:]
        marks = [n for n in marks if ends[n][0] >= _EXPLICIT_LEAST]
        cached = max((self._known(ends, n, now) for n in marks), default=0)
        written = max((ends[n][0] for n in marks), default=0)
        for n in marks:
            self._until[ends[n][1]] = now + _EXPLICIT_S
        last = max(cached, written)
        return Counted(input=total - last, cached=cached, written=last - cached)

    def _known(self, ends: Sequence[tuple[int, bytes]], mark: int, now: float) -> int:
        for n in range(mark, max(-1, mark - _LOOK_BACK - 1), -1):
            tokens, key = ends[n]
            if self._until.get(key, -1.0) >= now:
                self._until[key] = now + _EXPLICIT_S
                return tokens
        return 0


@lru_cache(maxsize=65_536)
def tokens_of(text: str) -> int:
    """Tokens by the harness's own estimate, piece by piece: most of a prompt was counted before."""
    if len(text) <= _PIECE:
        return estimate_tokens(text)
    return sum(tokens_of(piece) for piece in _pieces(text))


_PIECE = 4_096


def _pieces(text: str) -> Iterator[str]:
    """A text cut where an entry begins, else after so many characters, at a line's end."""
    at = 0
    while at < len(text):
        end = min(len(text), at + _PIECE)
        cut = text.find("\n===", at + 1, end)
        if cut < 0:
            cut = text.rfind("\n", at + 1, end) if end < len(text) else end
        cut = cut if cut > at else end
        yield text[at:cut]
        at = cut


def _blocks(text: str) -> Iterator[tuple[int, bytes]]:
    """The end and the name of each whole block; a name stands for everything before it too."""
    digest = hashlib.sha256()
    for end in range(_BLOCK_CHARACTERS, len(text) + 1, _BLOCK_CHARACTERS):
        digest.update(text[end - _BLOCK_CHARACTERS : end].encode("utf-8", "replace"))
        yield end, digest.digest()
