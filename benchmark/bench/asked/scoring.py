"""Does an answer show what has to be seen, so that nothing more has to be read?

A score is that of `asked_eval.py`, which comes with the data, to the last digit.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.scores import Place, mean
from bench.views import Lines

__all__ = ["ABSENT", "Reply", "Scores", "Wanted", "scored"]

Scores = dict[str, float | None]

ABSENT = "absent"
_BYTES_A_TOKEN = 3.6
# So many of the lines that have to be seen are enough, and a line this near to one is no noise.
_ENOUGH, _NEAR = 0.8, 15
# A shorter line stands in many places: it has to be a line of the answer.
_DISTINCT = 12
_NOT_FOUND = re.compile(
    r"\b(no place|not found|nothing (here|in)|does not (hold|have|exist)|no match)\b", re.IGNORECASE
)
_MARKS_ONLY = re.compile(r"^[\s)\]}>;,({\[]*$")
_NUMBERED = re.compile(r"^\s*\d+[:|\t]")
_NUMBER = re.compile(r"^\s*\d+[:|\t ]?\s*")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a question needs: places to be seen, places that help, and words of a right answer."""

    kind: str
    must: tuple[Place, ...]
    also: tuple[Place, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as far as it is scored."""

    text: str
    places: Sequence[Place]
    grounding: str | None = None

    @property
    def denies(self) -> bool:
        """Whether it says that there is no such thing."""
        first = next((line for line in self.text.splitlines() if line.strip()), "")
        return bool(_NOT_FOUND.search(first)) or self.grounding == "ungrounded"


def scored(reply: Reply, wanted: Wanted, lines: Lines, *, tokens: int) -> Scores:
    """The scores of an answer of which so many tokens are read."""
    size = {"tokens": len(reply.text.encode()) / _BYTES_A_TOKEN}
    if wanted.kind == ABSENT:
        return {**size, "owns": float(reply.denies)}
    view = reply.text.encode()[: int(tokens * _BYTES_A_TOKEN)].decode("utf-8", "ignore")
    shown = mean(_is_shown(wanted.must, view, lines)) or 0.0
    facts = mean(float(fact in view) for fact in wanted.facts) or 0.0
    return {
        **size,
        **_cited(reply.places, wanted.must),
        "shown": shown,
        "facts": facts,
        "complete": float(facts == 1 and shown >= _ENOUGH),
        "noise": mean(_is_noise(wanted, view, lines)),
        "false": float(reply.denies),
    }


def _cited(places: Sequence[Place], must: Sequence[Place]) -> Mapping[str, float | None]:
    first = places[:1]
    return {
        "lead": float(any(_touch(one, place) for one in must for place in first)),
        "file1": float(any(place.path == one.path for one in must for place in first)),
        "found": mean(float(any(_touch(one, place) for place in places)) for one in must),
    }


def _touch(one: Place, other: Place) -> bool:
    return one.path == other.path and one.start <= other.end and other.start <= one.end


def _is_shown(must: Sequence[Place], view: str, lines: Lines) -> Iterator[float]:
    """For each line that has to be seen and says something, whether it stands there."""
    shown = {_bare(line) for line in view.splitlines()}
    for place in must:
        for line in lines.of(place.path)[place.start - 1 : place.end]:
            if not _MARKS_ONLY.match(line):
                text = line.strip()
                yield float(text in shown or (len(text) > _DISTINCT and text in view))


def _is_noise(wanted: Wanted, view: str, lines: Lines) -> Iterator[float]:
    """For each line of a file that is shown, whether it is near nothing that is needed."""
    near = {
        line.strip()
        for place in (*wanted.must, *wanted.also)
        for line in lines.of(place.path)[max(0, place.start - 1 - _NEAR) : place.end + _NEAR]
    }
    return (float(line not in near) for line in _snippets(view))


def _snippets(view: str) -> Iterator[str]:
    """Lines within fences, or behind a number."""
    is_inside = False
    for line in view.splitlines():
        if line.lstrip().startswith("```"):
            is_inside = not is_inside
        elif (
            (is_inside or _NUMBERED.match(line))
            and not _MARKS_ONLY.match(line)
            and line.strip() != "…"
        ):
            yield _bare(line)


def _bare(line: str) -> str:
    return _NUMBER.sub("", line).strip() if _NUMBERED.match(line) else line.strip()
