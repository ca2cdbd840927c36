"""What a model is shown beside what was found: what like answers cited, what the agent viewed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.asking.answer import Answer, CitationStatus
from live_memory.core.evidence.places import OpenedFile, Place
from live_memory.core.evidence.question import terms_of
from live_memory.core.memory.events import FileObserved, QuestionAnswered
from live_memory.core.memory.window import Entry
from live_memory.core.values import ContentHash, Origin, RelPath

__all__ = [
    "Viewed",
    "looked_at",
    "recalled",
    "view",
]

# Recorded questions are put again in other words by every session that does the same work: half of
# what the words are worth in common finds 13 of 15 of them, and a third finds one more.
_ALIKE = 0.5
_MOST_ANSWERS = 3
_LONGEST_SPAN = 120  # a longer one is "this file", not a place
_AROUND = 2  # lines


@dataclass(frozen=True, slots=True)
class Viewed:
    """Lines of a file's bytes that the host's agent looked at, the newest look last."""

    sha: ContentHash
    spans: tuple[tuple[int, int], ...]


def view(viewed: dict[RelPath, Viewed], entry: Entry) -> None:
    """Add what an entry tells of what the agent looked at and changed; other bytes take over."""
    seen = entry.content
    if isinstance(seen, FileObserved) and seen.origin in (Origin.READ, Origin.EDIT):
        before = viewed.get(seen.path)
        spans = before.spans if before is not None and before.sha == seen.sha else ()
        viewed[seen.path] = Viewed(seen.sha, (*spans, (seen.start, seen.end)))


def looked_at(file: OpenedFile, viewed: Viewed | None) -> tuple[Place, ...]:
    """What was looked at of a file as it is now, newest first; a look at all of it says nothing."""
    if viewed is None or viewed.sha != file.sha:
        return ()
    near = ((a, b) for a, b in reversed(viewed.spans) if b - a < _LONGEST_SPAN)
    return tuple(Place(file.path, a, b) for a, b in near if b - a + 1 < len(file.lines))


def recalled(
    worth: Mapping[str, float], past: Sequence[QuestionAnswered]
) -> Sequence[tuple[Place, ContentHash]]:
    """What a model's answers to the most alike questions cite, with the version they saw.

    Answers without a model cite what the index ranks, which tells nothing new.
    """
    total = sum(worth.values())
    alike = [
        (share, at, each.answer)
        for at, each in enumerate(past)
        if each.answer.model is not None
        and (share := _shared(worth, each.question.text)) >= _ALIKE * total
    ]
    best = sorted(alike, key=lambda one: (-one[0], -one[1]))[:_MOST_ANSWERS]
    return tuple(pair for _, _, answer in best for pair in _places(answer))


def _shared(worth: Mapping[str, float], question: str) -> float:
    return sum(worth.get(word, 0.0) for word, _ in terms_of(question).weights)


def _places(answer: Answer) -> Iterator[tuple[Place, ContentHash]]:
    for cited in answer.citations:
        sha = answer.evidence.get(cited.path)
        is_place = cited.end - cited.start < _LONGEST_SPAN
        if sha and is_place and cited.status is CitationStatus.VERIFIED:
            first, last = max(1, cited.start - _AROUND), cited.end + _AROUND
            yield Place(cited.path, first, last), sha
