"""Who uses a name, as places to show: callers, whole where they are short, then what they call."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from live_memory.core.evidence.natures import Nature, nature_of
from live_memory.core.evidence.outline import head_end
from live_memory.core.evidence.places import Definition, OpenedFile
from live_memory.core.evidence.uses import Use
from live_memory.core.showing.packet import Excerpt, merged, rendered
from live_memory.core.values import RelPath

__all__ = ["WRAPPER", "callers", "in_order"]

# A caller of so many lines is shown whole, so many lines around the site of a longer one, and so
# many of the definition; the first sizes that fit are taken, as
# measured on everyday questions (ADR 17).
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
_COPIES = (Nature.GENERATED, Nature.VENDORED, Nature.TRANSLATED)
# Who calls a definition of so few lines is asked for as well.
WRAPPER = 10


def in_order(uses: Sequence[Use], defined: Sequence[Definition]) -> list[Use]:
    """Calls of programs, those in the definition's own file first; of tests, of examples and of
    what is built or copied only where there is no other; imports only where nothing is called.
    """
    homes = {definition.place.path for definition in defined}
    calls = [use for use in uses if not use.is_import] or list(uses)
    calls = [use for use in calls if nature_of(use.place.path) not in _COPIES] or calls
    calls = [use for use in calls if not _is_beside(use)] or calls
    return sorted(calls, key=lambda use: use.place.path not in homes)


def callers(
    uses: Sequence[Use],
    defined: Sequence[Definition],
    files: Mapping[RelPath, OpenedFile],
    *,
    room: int,
) -> list[Excerpt]:
    """The uses, in their order, then the definitions, as large as there is room for all; what is
    left goes to the first.
    """
    groups = [
        (files[path], within, [use.place.start for use in sites])
        for (path, within), sites in groupby(uses, key=lambda use: (use.place.path, use.within))
    ]
    sizes = (*_SIZES, _SMALLEST)
    for whole, around, definition_lines in sizes:
        found = [_caller(*group, whole=whole, around=around) for group in groups]
        heads = [_head(definition, files, lines=definition_lines) for definition in defined]
        left = room - sum(len(rendered(each)) + 2 for each in (*found, *heads))
        if left >= 0:
            break
    for at, group in enumerate(groups):
        most = len(rendered(found[at])) + max(0, left)
        larger = (_caller(*group, whole=whole, around=around) for whole, around, _ in sizes)
        found[at] = next(each for each in larger if len(rendered(each)) <= most)
        left = most - len(rendered(found[at]))
    return [*found, *heads]


def _is_beside(use: Use) -> bool:
    return use.is_test or nature_of(use.place.path) is not Nature.CODE


def _head(definition: Definition, files: Mapping[RelPath, OpenedFile], *, lines: int) -> Excerpt:
    file, first = files[definition.place.path], definition.place.start
    last = min(definition.place.end, first + lines - 1, len(file.lines))
    return Excerpt(file, ((first, last),), (definition.name,), (first, last))


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
