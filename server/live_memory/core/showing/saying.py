"""The sentences around the places: what leads, what is not there, what was covered."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from live_memory.core.asking.answer import Citation, Grounding
from live_memory.core.evidence.docs import doc_of, first_sentence
from live_memory.core.evidence.places import Definition, OpenedFile, Place, RankedUnit
from live_memory.core.evidence.shapes import is_code
from live_memory.core.evidence.support import Standing, Support
from live_memory.core.evidence.uses import Step, Use

__all__ = ["Composed", "ending", "leading", "nothing_found", "qualified", "uses_lead", "way_lead"]


@dataclass(frozen=True, slots=True)
class Composed:
    """What to say, and the places it rests on in order of importance."""

    text: str
    citations: tuple[Citation, ...]
    grounding: Grounding


# What is said to a tool, not to a reader.
_DIRECTIVE = re.compile(r"(?:pylint|noqa|type|mypy|eslint|nolint|pragma|ruff|rubocop|tslint)\b[-:]")
_APART = "Probably not here: no place that was found holds all that is asked for."
_MOST_WORDS, _NEAREST, _MOST_FURTHER = 8, 3, 6


def leading(place: Place, owner: Definition | None, file: OpenedFile) -> str:
    """The best place, and what its author says of it where that is a sentence."""
    name = f" `{owner.name}`" if owner else ""
    said = doc_of(file.lines, owner) if owner and is_code(file.path) else None
    said = None if said and _DIRECTIVE.match(said) else said
    about = f": {first_sentence(said)}" if said else "."
    return f"Best fit: {place}{name}{about}"


def qualified(lead: str, support: Support) -> str:
    """The lead, and what speaks against it: what it lacks, or that much else may be meant."""
    if support.standing is Standing.APART:
        closest = lead.replace("Best fit", "The nearest", 1)
        lacking = f" It holds nothing of {_listed(support.lacking)}." if support.lacking else ""
        return f"{_APART}\n{closest}{lacking}"
    if support.lacking:
        closest = lead.replace("Best fit", "Closest", 1)
        return f"{closest} It holds nothing of {_listed(support.lacking)}."
    if support.is_vague:
        return f"{lead} The question names only {_listed(support.sought)}: say what it is about."
    return lead


def uses_lead(name: str, uses: Sequence[Use], *, unopened: int, definitions: int = 1) -> str:
    """In how many places a name is used, and that each may mean any of several definitions."""
    if not uses:
        return f"No line of code that was looked at uses `{name}`."
    more = f" {unopened} more mentions were not opened." if unopened else ""
    if definitions > 1:
        more += f" {definitions} definitions have that name: a line may be about any of them."
    if all(use.is_import for use in uses):
        return (
            f"`{name}` is imported on {_lines(len(uses))} and called on none that was read.{more}"
        )
    calls = [use for use in uses if not use.is_import]
    tests = sum(use.is_test for use in calls)
    said = f"`{name}` is used on {_lines(len(calls) - tests)} of code"
    return f"{said}{f' and {tests} of tests' if tests else ''}.{more}"


def way_lead(way: Sequence[Step]) -> str:
    """How calls lead from one definition to another, step by step."""
    first, last = way[0].use.within, way[-1].called
    begin = f"`{first.name}`" if first else str(way[0].use.place)
    calls = "1 call" if len(way) == 1 else f"{len(way)} calls"
    rows = [f"From {begin} to `{last.name}` in {calls}:"]
    for at, step in enumerate(way, 1):
        within = f"`{step.use.within.name}` " if step.use.within else ""
        rows.append(f"{at}. {within}({step.use.place}) calls `{step.called.name}`{_among(step)}")
    return "\n".join(rows)


def nothing_found(support: Support, near: Sequence[RankedUnit]) -> str:
    """That it is not here, what stands nowhere, and what comes nearest."""
    what = f": {_denied(support)}" if support.unknown else ""
    rows = [f"Not found in this workspace{what}."]
    if near:
        named = "; ".join(f"{unit.place}{_owner(unit)}" for unit in near[:_NEAREST])
        rows.append(f"The nearest, and probably something else: {named}.")
    if support.sought:
        rows.append(f"Looked for: {', '.join(support.sought)}.")
    return "\n".join(rows)


def ending(
    places: int,
    support: Support,
    further: Sequence[RankedUnit],
    uses: Sequence[Place] = (),
    *,
    room: int,
) -> str:
    """How many places were checked, what of the question they hold, and what they do not; `uses`
    that are counted and not shown, and then others, are named as far as there is room.
    """
    count = "1 place" if places == 1 else f"{places} places"
    said = f"{count} checked just now."
    if support.unknown:
        said += f" Nowhere here: {_denied(support)}."
    missing = [word for word in support.missing if word not in support.unknown]
    if missing:
        said += f" Not in these places: {_listed(missing)}."
    elif support.is_scattered and not support.unknown:
        said += " None of them holds all that the question names."
    elif not support.unknown:
        said += " They hold all telling words of the question."
    used = _row("Also used", [*map(str, uses)], room - len(said))
    seen = [f"{unit.place.path}:{unit.place.start}{_owner(unit)}" for unit in further]
    also = _row("See also", seen[:_MOST_FURTHER], room - len(said) - len(used))
    return f"{used}{also}{said}"


def _row(head: str, named: Sequence[str], room: int) -> str:
    """A line of names, as many as there is room for."""
    room -= len(head) + len(": \n") - len("; ")
    fit = [name for name, end in zip(named, _ends(named), strict=True) if end <= room]
    return f"{head}: {'; '.join(fit)}\n" if fit else ""


def _ends(named: Sequence[str]) -> Iterator[int]:
    """How many characters the names take, up to each."""
    return accumulate(len(name) + len("; ") for name in named)


def _among(step: Step) -> str:
    """What is to be said of a call that names alone do not settle."""
    return "" if step.among == 1 else f" (may be, one of {step.among})"


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words[:_MOST_WORDS])


def _denied(support: Support) -> str:
    """The unknown names, each with what is called much like it."""
    names = support.unknown[:_MOST_WORDS]
    near = support.nearest
    return ", ".join(f"`{n}`" + (f" (nearest: {near[n]})" if n in near else "") for n in names)


def _owner(unit: RankedUnit) -> str:
    return f" `{unit.definition.name}`" if unit.definition else ""
