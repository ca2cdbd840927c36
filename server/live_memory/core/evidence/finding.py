"""The direct finding in words: what answers, what it does, who calls it, what it rests on."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import mul

from live_memory.core.evidence.docs import doc_of, first_sentence, spoken_lines, telling_sentence
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
from live_memory.core.evidence.snippets import (
    is_only_imports,
    is_text,
    key_lines,
    line_worth,
    quoted,
)
from live_memory.core.evidence.units import LONGEST_UNIT, stands_above
from live_memory.core.evidence.uses import Step, Use, is_definition_of, is_import
from live_memory.core.evidence.words import base_name, unique
from live_memory.core.values import RelPath

__all__ = [
    "Finding",
    "Saying",
    "attributed",
    "places_of_use",
    "say",
    "say_uses",
    "say_way",
    "subjects",
    "tables",
]

_MOST_SUBJECTS = 3
_LEAD_LINES, _OTHER_LINES = 3, 2
_LISTED_USES = 12
_LINES_AROUND = 3  # of a use
# As for files: the best unit, half of the second, a quarter of the third.
_UNIT_SHARES = (1.0, 0.5, 0.25)
# A name that stands on more lines is used there, not made.
_MOST_WRITTEN_OUT = 3
_HARDLY_LESS = 0.97
_ENOUGH_BESIDE_TEXT = 0.7
_WHOLE = (DefinitionKind.FUNCTION, DefinitionKind.METHOD)
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


def attributed(evidence: Evidence) -> Evidence:
    """With what is only written above a definition taken for the beginning of that definition."""
    units = tuple(_attributed(unit, evidence.files) for unit in evidence.candidates.units)
    return replace(evidence, candidates=replace(evidence.candidates, units=units))


def _attributed(unit: RankedUnit, files: Files) -> RankedUnit:
    place, file = unit.place, files.get(unit.place.path)
    below = file and stands_above(file.lines, file.outline, place.start, place.end)
    if not below or below.kind not in _WHOLE:  # the head of a class says less than the comment
        return unit
    begin = below.place.start
    there = Place(place.path, begin, min(below.place.end, begin + LONGEST_UNIT - 1))
    return RankedUnit(there, below, unit.score)


def subjects(
    evidence: Evidence, names: Collection[str] = (), settings: Collection[str] = ()
) -> tuple[Definition, ...]:
    """The definitions that an answer starts from: what the best file defines of the question's
    names, else where one of its `settings` is written out, else the best of its definitions, then
    the best programs; what only tells comes last.
    """
    files, worth = evidence.files, evidence.candidates.worth
    units = [u for u in evidence.units if not is_only_imports(files[u.place.path], u)]
    texts = [u for u in units if is_text(files[u.place.path], u, worth)]
    best = evidence.best[0] if evidence.best else None
    ranked = [u.definition for u in units if u.definition and u not in texts]
    programs = [d for d in ranked if is_code(d.place.path)]
    near = _as_good_as_best(evidence)
    own = [u for u in units if u.place.path in near]
    # Where what ranks is what a file tells, little else in it does not lead.
    least = own[0].score * _ENOUGH_BESIDE_TEXT if own and own[0] in texts else 0.0
    leading = _by_value([u for u in own if u not in texts and u.score >= least], files)[:1]
    if best:
        named = [d for d in best.outline if base_name(d.name) in names]
        leading = [*named[:1], *_written_out(settings, evidence), *leading][:1]
    chosen: list[Definition] = []
    for definition in unique([*leading, *programs, *ranked, *_by_value(texts, files)]):
        file = files[definition.place.path]
        is_there = definition in leading or is_definition_of(file, definition)
        if is_there and not _is_covered(definition, chosen):
            chosen.append(definition)
    return tuple(chosen[:_MOST_SUBJECTS])


def _written_out(settings: Collection[str], evidence: Evidence) -> list[Definition]:
    """The lines of programs that have such a name as a string, where these are few."""
    found = []
    literals = [f"{quote}{name}{quote}" for name in settings for quote in "\"'"]
    for file in evidence.best if literals else ():
        if is_code(file.path) and not is_test(file.path):
            for number, line in enumerate(file.lines, 1):
                if any(literal in line for literal in literals):
                    place = Place(file.path, number, number)
                    name = next(name for name in settings if name in line)
                    found.append(Definition(name, DefinitionKind.VALUE, place, line.strip()))
    return found if len(found) <= _MOST_WRITTEN_OUT else []


def _as_good_as_best(evidence: Evidence) -> Collection[RelPath]:
    """The best file; of programs whose scores hardly differ the best place decides."""
    ranked = [file for file in evidence.candidates.files if file.path in evidence.files]
    best = ranked[:1]
    near = [f for f in ranked if f.score >= _HARDLY_LESS * best[0].score and is_code(f.path)]
    return {file.path for file in (near if best and is_code(best[0].path) else best)}


def _by_value(units: Sequence[RankedUnit], files: Files) -> list[Definition]:
    """What units belong to, the best first: a long function is torn into several."""
    values: dict[Definition, list[float]] = {}
    for unit in units:
        subject = _subject(unit, files)
        # What is left of a class between its methods is no whole.
        if subject and (subject not in values or subject.kind in _WHOLE):
            values.setdefault(subject, []).append(unit.score)
    return sorted(values, key=lambda each: -sum(map(mul, values[each], _UNIT_SHARES)))


def say(
    finding: Finding, evidence: Evidence, *, besides: Collection[tuple[RelPath, int]] = ()
) -> Saying:
    """Say what was found, the most direct first, without quoting lines that stand beside it."""
    files, worth = evidence.files, evidence.candidates.worth
    rows: list[str] = []
    places: list[Place] = []
    said: set[tuple[RelPath, int]] = set()
    for at, subject in enumerate(finding.subjects):
        more = _more_of(subject, evidence)
        rows.append(f"{'' if at == 0 else '- '}{_introduced(subject, files)}{more}")
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
            used = "called from" if subject.kind in _WHOLE else "used in"
            rows += [f"  - {used} {_used(use, files)}" for use in finding.callers]
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
    calls = sorted((use for use in uses if not use.is_import), key=lambda use: use.is_test)
    imports = [use for use in uses if use.is_import][:_LISTED_USES]
    rows = [_counted(name, calls, unopened)]
    rows += [f"- {_used(use, files)}" for use in calls[:_LISTED_USES]]
    rows += [f"Defined: {_introduced(definition, files)}" for definition in heads]
    if imports:
        rows.append("Imported at " + ", ".join(str(use.place) for use in imports))
    places = [use.place for use in [*calls[:_LISTED_USES], *imports]]
    return Saying("\n".join(rows), (*places, *(definition.place for definition in heads)))


def places_of_use(defined: Sequence[Definition], uses: Sequence[Use]) -> list[RankedUnit]:
    """What to show of an answer on uses: the definitions, then around each use, tests last."""
    calls = sorted((use for use in uses if not use.is_import), key=lambda use: use.is_test)
    found = [RankedUnit(d.place, d, 0.0) for d in defined[:_MOST_SUBJECTS]]
    for use in calls[:_LISTED_USES]:
        at, path = use.place.start, use.place.path
        around = use.within.place if use.within else Place(path, 1, at + _LINES_AROUND)
        first, last = max(around.start, at - _LINES_AROUND), min(around.end, at + _LINES_AROUND)
        found.append(RankedUnit(Place(path, first, last), use.within, 0.0))
    return found


def tables(definitions: Sequence[Definition]) -> list[RankedUnit]:
    """What to show of values that are written over several lines."""
    values = [d for d in definitions if d.kind is DefinitionKind.VALUE]
    return [RankedUnit(d.place, d, 0.0) for d in values if d.place.start < d.place.end]


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
    tests = sum(use.is_test for use in calls)
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


def _more_of(subject: Definition, evidence: Evidence) -> str:
    """What its documentation says of the question further down."""
    worth, lines = evidence.candidates.worth, evidence.files[subject.place.path].lines
    more = telling_sentence(
        lines, subject, lambda said: line_worth(said, worth), all_worth=sum(worth.values())
    )
    return f" {more}" if more else ""


def _used(use: Use, files: Files) -> str:
    within = f"`{use.within.name}` " if use.within else ""
    kind = "test " if use.is_test else ""
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
