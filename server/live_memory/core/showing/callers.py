"""Who uses a name, as places to show: callers, whole where they are short, then what they call."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from live_memory.core.evidence.outline import head_end
from live_memory.core.evidence.places import Definition, OpenedFile
from live_memory.core.evidence.uses import Use
from live_memory.core.showing.packet import Excerpt, merged, rendered
from live_memory.core.values import RelPath

__all__ = ["WRAPPER", "callers", "in_order"]

# A caller of so many lines is shown whole, so many lines around the site of a longer one, and so
# many of the definition; the first sizes that fit are taken (answer-notes.md).
_SIZES = (
    (80, 20, 60),
    (60, 16, 45),
    (45, 14, 40),
    (32, 12, 30),
    (24, 8, 25),
    (14, 5, 16),
    (8, 3, 12),
)
_SMALLEST = (5, 2, 8)
# Who calls a definition of so few lines is asked for as well.
WRAPPER = 10


def in_order(uses: Sequence[Use], defined: Sequence[Definition]) -> list[Use]:
    """Calls of programs, those in the definition's own file first; of tests only where no other is;
    what is only brought in where nothing is called.
    """
    homes = {definition.place.path for definition in defined}
    calls = [use for use in uses if not use.is_import] or list(uses)
    calls = [use for use in calls if not use.is_test] or calls
    return sorted(calls, key=lambda use: use.place.path not in homes)


def callers(
    uses: Sequence[Use],
    defined: Sequence[Definition],
    files: Mapping[RelPath, OpenedFile],
    *,
    room: int,
) -> list[Excerpt]:
    """The uses, in their order, then the definitions, as large as there is room for all."""
    for sizes in (*_SIZES, _SMALLEST):
        found = _sized(uses, defined, files, sizes)
        if sum(len(rendered(each)) + 2 for each in found) <= room:
            break
    return found


def _sized(
    uses: Sequence[Use],
    defined: Sequence[Definition],
    files: Mapping[RelPath, OpenedFile],
    sizes: tuple[int, int, int],
) -> list[Excerpt]:
    whole, around, definition_lines = sizes
    found = []
    for (path, within), sites in groupby(uses, key=lambda use: (use.place.path, use.within)):
        lines = [use.place.start for use in sites]
        found.append(_caller(files[path], within, lines, whole=whole, around=around))
    for definition in defined:
        file, first = files[definition.place.path], definition.place.start
        last = min(definition.place.end, first + definition_lines - 1, len(file.lines))
        found.append(Excerpt(file, ((first, last),), (definition.name,), (first, last)))
    return found


def _caller(
    file: OpenedFile,
    within: Definition | None,
    sites: Sequence[int],
    *,
    whole: int,
    around: int,
) -> Excerpt:
    end = len(file.lines)
    near = [(max(1, n - around // 2), min(end, n + around // 2)) for n in sites]
    names = (within.name,) if within else ()
    if within is None:
        return Excerpt(file, merged(near), names, (sites[0], sites[0]))
    first, last = within.place.start, min(within.place.end, end)
    if last - first < whole:
        return Excerpt(file, ((first, last),), names, (sites[0], sites[0]))
    head = (first, min(head_end(file.lines, first - 1), last))
    inside = [(max(first, a), min(last, b)) for a, b in near]
    return Excerpt(file, merged([head, *inside]), names, (sites[0], sites[0]))
