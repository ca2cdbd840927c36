"""What answers spared those who asked, in tokens; below nothing where they cost more."""

from collections.abc import Mapping
from dataclasses import dataclass

from live_memory.core.answer import Answer, CitationStatus
from live_memory.core.values import RelPath, StatSignature

__all__ = ["FORMULA", "Saving", "saving_of"]

FORMULA = (
    "the first three files that an answer cites, read whole (25,000 tokens of a file at most), "
    "less the answer, less what the model took; 4 bytes are a token"
)
_MOST_FILES = 3
# Code has some 3.3 bytes a token: rather too little than too much.
_BYTES_A_TOKEN = 4
# Claude Code shows no more of a file at a time.
_MOST_OF_FILE = 25_000


@dataclass(frozen=True, slots=True)
class Saving:
    """Tokens that reading would have taken, that the answer has, and that the model took."""

    reading: int = 0
    answer: int = 0
    model: int = 0

    @property
    def tokens(self) -> int:
        """What was saved."""
        return self.reading - self.answer - self.model


def saving_of(answer: Answer, signatures: Mapping[RelPath, StatSignature]) -> Saving:
    """What one answer spared, by the sizes that its files have now; one that is gone has none."""
    files: set[RelPath] = set()
    for citation in answer.citations:
        if citation.status is not CitationStatus.UNSUPPORTED and len(files) < _MOST_FILES:
            files.add(citation.path)
    sizes = (signatures[path].size // _BYTES_A_TOKEN for path in files if path in signatures)
    return Saving(
        sum(min(size, _MOST_OF_FILE) for size in sizes),
        len(answer.text) // _BYTES_A_TOKEN,
        answer.usage.input_tokens + answer.usage.output_tokens,
    )
