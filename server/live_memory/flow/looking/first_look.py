"""A question that comes before the index is built: what it is about is found and taken in first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from live_memory.core.evidence.words import unique
from live_memory.core.looking.portions import portions
from live_memory.core.looking.spotting import (
    Mentions,
    best_first,
    leading,
    likely_first,
    nearly_as_good,
    telling,
    texts_of,
)
from live_memory.core.reading.observation import ListedFile
from live_memory.core.values import RelPath, StatSignature
from live_memory.flow.indexing import Indexer, takes_long
from live_memory.ports import Sandbox

__all__ = ["FirstLook", "first_look"]

# What is taken in at once, in files and bytes: 0.3 s of work on a free processor, and a second if
# they are large. An answer shows ten files, and what they use.
_MOST_FILES, _MOST_BYTES = 40, 1_200_000
# Where there are more files, words that stand everywhere are found by a sample first, and what
# is worked out of them takes 10 ms and more.
_MANY, _SAMPLE = 2_000, 200


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What a question found for itself: of `files` so many are `known`.

    `unread` files hold what the question is about and are not known; where the look `is_cut`,
    nobody knows what else does.
    """

    signatures: Mapping[RelPath, StatSignature]
    files: int
    known: int
    unread: int
    is_cut: bool

    @property
    def notice(self) -> str | None:
        """What whoever asks must know."""
        if not self.unread and not self.is_cut:
            return None
        rest = (
            f"{self.unread} of the others may matter as much as those"
            if not self.is_cut
            else "not all of the others were looked at"
        )
        return f"The first look is not done: {self.known} of {self.files} files are known; {rest}."


async def first_look(
    question: str, *, indexer: Indexer, sandbox: Sandbox, asked_at: float
) -> FirstLook | None:
    """Wait for the index if that is soon; otherwise take in what holds the question's words.

    Gives nothing where the index is complete.

    Raises:
        LiveMemoryError: the workspace cannot be listed, or the index cannot be written.
    """
    if await indexer.caught_up_soon():
        return None
    rest = await indexer.compared_since(asked_at)
    if not takes_long(rest.changed):
        await indexer.take_in(rest.changed)
        return FirstLook(rest.signatures, rest.files, rest.files, 0, is_cut=False)
    spotted = await _spotted(question, rest.changed, sandbox)
    taken = next(portions(spotted.files, most=_MOST_FILES, most_bytes=_MOST_BYTES), ())
    await indexer.take_in(taken)
    known = rest.files - len(rest.changed) + len(taken)
    unread = len(spotted.good.difference(taken))
    return FirstLook(rest.signatures, rest.files, known, unread, is_cut=spotted.is_cut)


@dataclass(frozen=True, slots=True)
class _Spotted:
    """The files that hold what a question is about, best first, and those as good as the best."""

    files: Sequence[ListedFile]
    good: frozenset[ListedFile]
    is_cut: bool


async def _spotted(question: str, files: Sequence[ListedFile], sandbox: Sandbox) -> _Spotted:
    texts = texts_of(question)
    first: Sequence[ListedFile] = ()
    if len(files) > _MANY:
        sample = files[:: len(files) // _SAMPLE]
        found = await sandbox.mentions(texts, among=sample)
        rare = telling(texts, found, size=len(sample))
        small_first = sorted(sample, key=lambda file: file.signature.size)
        first = leading(small_first, [text for text in texts if text not in rare], found)
        texts = rare
        files = await anyio.to_thread.run_sync(likely_first, files, texts)
    found = await sandbox.mentions(texts, among=files)
    work = partial(_ranked, files, texts, found, first)
    return work() if len(files) <= _MANY else await anyio.to_thread.run_sync(work)


def _ranked(
    files: Sequence[ListedFile],
    texts: Sequence[str],
    found: Mentions,
    first: Sequence[ListedFile],
) -> _Spotted:
    scores = best_first(files, texts, found)
    ranked = unique([*first, *leading(scores, texts, found), *scores])
    return _Spotted(ranked, nearly_as_good(scores), found.is_cut)
