"""The direct finding in words: what answers, what it does, who calls it, what it rests on."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.evidence.docs import doc_of, first_sentence, spoken_lines
from live_memory.core.evidence.places import (
    Definition,
    DefinitionKind,
    Evidence,
    OpenedFile,
    Place,
    RankedUnit,
)
from live_memory.core.evidence.ranking import is_test
from live_memory.core.evidence.shapes import is_code
from live_memory.core.evidence.snippets import is_only_imports, key_lines, quoted
from live_memory.core.evidence.uses import Step, Use, is_definition_of, is_import
from live_memory.core.evidence.words import base_name
from live_memory.core.values import RelPath

__all__ = ["Finding", "Saying", "say", "say_uses", "say_way", "subjects"]

_MOST_SUBJECTS = 3
_LEAD_LINES, _OTHER_LINES = 3, 2
_LISTED_USES = 12
Files = Mapping[RelPath, OpenedFile]


@dataclass(frozen=True, slots=True)
class Finding:
    """What the answer is made of: the first subject leads, `related` is what its lines use."""

    subjects: Sequence[Definition]
    callers: Sequence[Use]
    related: Sequence[Definition]


@dataclass(frozen=True, slots=True)
class Saying:
    """Sentences and the places they point at."""

    text: str
    places: tuple[Place, ...]


def subjects(evidence: Evidence, names: Collection[str] = ()) -> tuple[Definition, ...]:
    """The definitions that an answer starts from: what the best file defines of the question's
    names, else its best place, then the best programs.
    """
    files = evidence.files
    units = [u for u in evidence.units if not is_only_imports(files[u.place.path], u)]
    best = evidence.best[0].path if evidence.best else None
    own = (_subject(unit, files) for unit in units if unit.place.path == best)
    leading = [subject for subject in own if subject][:1]
    if evidence.best:
        named = [d for d in evidence.best[0].outline if base_name(d.name) in names]
        leading = [*named[:1], *leading][:1]
    ranked = [unit.definition for unit in units if unit.definition]
    programs = [d for d in ranked if is_code(d.place.path)]
    chosen: list[Definition] = []
    for definition in dict.fromkeys([*leading, *programs, *ranked]):
        file = files[definition.place.path]
        is_there = definition in leading or is_definition_of(file, definition)
        if is_there and not _is_covered(definition, chosen):
            chosen.append(definition)
    return tuple(chosen[:_MOST_SUBJECTS])


def say(
    finding: Finding, evidence: Evidence, *, besides: Collection[tuple[RelPath, int]] = ()
) -> Saying:
    """Say what was found, the most direct first, without quoting lines that stand beside it."""
    files, worth = evidence.files, evidence.candidates.worth
    rows: list[str] = []
    places: list[Place] = []
    said: set[tuple[RelPath, int]] = set()
    for at, subject in enumerate(finding.subjects):
        rows.append(f"{'' if at == 0 else '- '}{_introduced(subject, files)}")
        places.append(subject.place)
        if at == 0 and f"`{subject.signature}`" not in rows[0] and is_code(subject.place.path):
            rows.append(f"  - `{subject.signature}`")
        most = _LEAD_LINES if at == 0 else _OTHER_LINES
        file = files[subject.place.path]
        before = {number for path, number in said if path == file.path}
        for number in key_lines(file, subject, worth, most=most, besides=before):
            said.add((file.path, number))
            if (file.path, number) not in besides:
                rows.append(f"  - line {number}: `{quoted(file, number)}`")
        if at == 0:
            rows += [f"  - called from {_used(use, files)}" for use in finding.callers]
            rows += [f"  - uses {_introduced(other, files)}" for other in finding.related]
            places += [use.place for use in finding.callers]
            places += [other.place for other in finding.related]
            said |= {(use.place.path, use.place.start) for use in finding.callers}
            rows += ["Also:"] if len(finding.subjects) > 1 else []
    return Saying("\n".join(rows), tuple(places))


def say_uses(
    name: str, defined: Sequence[Definition], uses: Sequence[Use], files: Files, *, unopened: int
) -> Saying:
    """Say who uses a name: programs first, then tests, then who imports it."""
    heads = defined[:_MOST_SUBJECTS]
    calls = [use for use in uses if not use.is_import]
    imports = [use for use in uses if use.is_import][:_LISTED_USES]
    rows = [_counted(name, calls, unopened)]
    rows += [f"- {_used(use, files)}" for use in calls[:_LISTED_USES]]
    rows += [f"Defined: {_introduced(definition, files)}" for definition in heads]
    if imports:
        rows.append("Imported at " + ", ".join(str(use.place) for use in imports))
    places = [use.place for use in [*calls[:_LISTED_USES], *imports]]
    return Saying("\n".join(rows), (*places, *(definition.place for definition in heads)))


def say_way(way: Sequence[Step], files: Files) -> Saying:
    """Say how calls lead from one definition to another, step by step."""
    first, last = way[0].use.within, way[-1].called
    begin = f"`{first.name}`" if first else str(way[0].use.place)
    calls = "1 call" if len(way) == 1 else f"{len(way)} calls"
    rows = [f"From {begin} to `{last.name}` in {calls}:"]
    rows += [f"{at}. {_used(step.use, files)}{_among(step)}" for at, step in enumerate(way, 1)]
    rows.append(f"{len(way) + 1}. {_introduced(last, files)}")
    return Saying("\n".join(rows), (*(step.use.place for step in way), last.place))


def _among(step: Step) -> str:
    """What is to be said of a call that names alone do not settle."""
    if step.among == 1:
        return ""
    return f" (may be `{step.called.name}`, one of {step.among})"


def _counted(name: str, calls: Sequence[Use], unopened: int) -> str:
    if not calls:
        return f"No line of code that was looked at uses `{name}`."
    tests = sum(is_test(use.place.path) for use in calls)
    others = len(calls) - tests
    said = f"`{name}` is used on {others} line{'' if others == 1 else 's'} of code"
    said += f" and {tests} of tests" if tests else ""
    said += f"; {unopened} more mentions were not opened" if unopened else ""
    return f"{said}{f' (the first {_LISTED_USES})' if len(calls) > _LISTED_USES else ''}:"


def _introduced(definition: Definition, files: Files) -> str:
    lines = files[definition.place.path].lines
    doc = doc_of(lines, definition)
    if doc:
        said = first_sentence(doc)
    elif definition.kind is DefinitionKind.SECTION:
        said = "a section of the text."
    else:
        said = f"`{definition.signature}`"
    return f"`{definition.name}` ({definition.place}): {said}"


def _used(use: Use, files: Files) -> str:
    within = f"`{use.within.name}` " if use.within else ""
    kind = "test " if is_test(use.place.path) else ""
    return f"{kind}{within}({use.place}): `{quoted(files[use.place.path], use.place.start)}`"


def _subject(unit: RankedUnit, files: Files) -> Definition | None:
    """The definition of a unit, or the unit itself from its first line that does something."""
    if unit.definition:
        return unit.definition
    place, lines = unit.place, files[unit.place.path].lines
    spoken = spoken_lines(lines, place.start, place.end)
    for number in range(place.start, place.end + 1):
        line = lines[number - 1].strip()
        if line and number not in spoken and not is_import(line):
            kind = DefinitionKind.VALUE if is_code(place.path) else DefinitionKind.SECTION
            return Definition(place.path.name, kind, Place(place.path, number, place.end), line)
    return None


def _is_covered(definition: Definition, chosen: Sequence[Definition]) -> bool:
    """Whether a part of it was chosen."""
    return any(
        other.name.startswith(f"{definition.name}.") and other.place.path == definition.place.path
        for other in chosen
    )
