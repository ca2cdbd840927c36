"""Raw text to `RedactedText`: the only place that makes one.

It reduces what leaks and cannot promise that nothing does: a secret of an unknown shape under an
unknown name stays.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from live_memory.core.reading.observation import RedactedText
from live_memory.core.reading.secrets.assignments import assigned
from live_memory.core.reading.secrets.commands import given
from live_memory.core.reading.secrets.places import placed
from live_memory.core.reading.secrets.shapes import key_blocks, shaped
from live_memory.core.reading.secrets.spans import Span, folded, sites
from live_memory.core.reading.secrets.words import long_words

__all__ = ["DEFAULT", "Redacted", "Redactor", "redact"]

_LINE_END = re.compile(r"\r\n|\r|\n")
# Shorter exact strings ("dummy", a local server's "x") would take ordinary words out of code.
_SHORTEST_EXACT = 8
# BLAKE2s takes a key of at most 32 bytes.
_LONGEST_KEY = 32
# Taking one secret out can lay another bare at its edge. Real text is done after one round and
# one look; the bound keeps text that was made for this linear.
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Redacted:
    """The redacted text and how many secrets were replaced."""

    text: RedactedText
    count: int


@dataclass(frozen=True, slots=True)
class Redactor:
    """Takes secrets out of text, and the `exact` strings, which are our own credentials.

    With a `key`, which has to be secret, a placeholder carries a short keyed hash: equal secrets
    stay equal and cannot be guessed. Without one it names the kind only.
    """

    key: bytes = field(default=b"", repr=False)
    exact: tuple[str, ...] = field(default=(), repr=False)

    def redact(self, text: str) -> Redacted:
        """Replace secrets by typed placeholders, keeping the line count; idempotent."""
        return self._rounds(text, self._found)

    def redact_forms(self, text: str) -> Redacted:
        """Replace what is a secret by its own form alone, whatever is said beside it; idempotent.

        For text that cites: `password: auth.py:12` would lose its place to the other rules.
        """
        return self._rounds(text, self._forms)

    def _rounds(self, text: str, find: Callable[[str], Sequence[Span]]) -> Redacted:
        count = rounds = 0
        while rounds < _ROUNDS and (spans := find(text)):
            text = self._replaced(text, spans)
            count += len(spans)
            rounds += 1
        return Redacted(RedactedText(text), count)

    def _found(self, text: str) -> Sequence[Span]:
        lower = folded(text)
        by_place = (*assigned(text, lower), *placed(text, lower), *given(text))
        return _merged([*self._forms_in(text, lower), *by_place])

    def _forms(self, text: str) -> Sequence[Span]:
        return _merged(self._forms_in(text, folded(text)))

    def _forms_in(self, text: str, lower: str) -> list[Span]:
        by_form = (*key_blocks(text), *long_words(text), *shaped(text, lower))
        return [*self._exact(text), *by_form]

    def _exact(self, text: str) -> Iterator[Span]:
        for secret in self.exact:
            if len(secret) >= _SHORTEST_EXACT and not _LINE_END.search(secret):
                for at in sites(text, secret):
                    yield Span(at, at + len(secret), "credential")

    def _replaced(self, text: str, spans: Sequence[Span]) -> str:
        parts: list[str] = []
        done = 0
        for start, end, kind in spans:
            secret = text[start:end]
            parts += text[done:start], self._placeholder(secret, kind)
            # Every line keeps a word: an empty one at the very end would be no line.
            parts += (f"{end_of_line}<redacted>" for end_of_line in _LINE_END.findall(secret))
            done = end
        return "".join([*parts, text[done:]])

    def _placeholder(self, secret: str, kind: str) -> str:
        if not self.key:
            return f"<redacted:{kind}>"
        raw = secret.encode("utf-8", "surrogatepass")
        key = self.key[:_LONGEST_KEY]
        return f"<redacted:{kind}:{hashlib.blake2s(raw, key=key, digest_size=4).hexdigest()}>"


DEFAULT = Redactor()


def redact(text: str) -> Redacted:
    """Replace secrets by placeholders that name their kind, keeping the line count; idempotent."""
    return DEFAULT.redact(text)


def _merged(spans: Sequence[Span]) -> Sequence[Span]:
    """In order and without overlaps; what overlaps becomes one, named by its first and longest."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
