"""A name that the index does not know: what text to look for, and whether a line really holds it.

A line holds a name where the index would say so, had it read the line: as a word or a part of one.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from live_memory.core.absence.spelling import is_name, is_spelled
from live_memory.core.evidence.words import base_name, tokens, tokens_of_word, unique
from live_memory.core.values import RelPath

__all__ = ["Sought", "sought_in"]

# A last part this short (`md`, `py`) is the ending of a file's name.
_SHORTEST_BASE = 3
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Sought:
    """A name as the question writes it; every line that holds it has `text` in some case."""

    name: str
    text: str
    word: str | None

    @classmethod
    def of(cls, name: str) -> "Sought":
        """By the last part of a qualified name, or by a file's whole name."""
        base = base_name(name)
        words = tokens(base) if len(base) >= _SHORTEST_BASE else []
        # A stem begins every form of a word, but for the `i` that stands for a `y`.
        text = words[0].removesuffix("i") if words else name.rpartition("/")[2].lower()
        return cls(name, text, words[0] if words else None)

    def at(self, line: str) -> int | None:
        """Where in a line the name begins, if it is there."""
        begins = re.compile(re.escape(self.text), re.IGNORECASE)
        found = begins.search(line)
        while found:
            if self.word is None:
                return found.start()
            start, end = found.start(), found.end()
            while start and (line[start - 1].isalnum() or line[start - 1] == "_"):
                start -= 1
            whole = _WORD.match(line, start)
            if whole and whole.end() >= end and self._is(whole.group()):
                return found.start()
            # A word that has it often is looked at once.
            found = begins.search(line, max(end, whole.end() if whole else 0))
        return None

    def _is(self, written: str) -> bool:
        """Whether a word holds the name; one that is written as code's is spelled so."""
        is_spelled_so = not is_name(self.name) or is_spelled(self.name, [written])
        return self.word in tokens_of_word(written) and is_spelled_so

    def is_named_by(self, path: RelPath) -> bool:
        """Whether a file or folder is called so, in any case."""
        lower = path.text.lower()
        if f"/{lower}".endswith(f"/{self.name.lower().strip('/')}"):
            return True
        # Cutting up 100,000 paths takes a second; words that hyphens join count as one, too.
        if self.word is None or self.text not in f"{lower} {lower.replace('-', '_')}":
            return False
        return self.word in tokens(path.text)


def sought_in(names: Iterable[str]) -> tuple[Sought, ...]:
    """What to look for; a single letter is everywhere."""
    return tuple(sought for sought in map(Sought.of, unique(names)) if len(sought.text) > 1)
