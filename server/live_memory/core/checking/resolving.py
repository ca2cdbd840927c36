"""Which file a written name means: as it is written, else one that was cited or opened."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from itertools import chain

from live_memory.core.checking.written import Endings, WrittenPlace, mentions_in, places_in
from live_memory.core.errors import OutsideWorkspace
from live_memory.core.values import RelPath

__all__ = ["Resolver", "endings_of", "named_paths"]

# So many files named last may be meant by a place that names none.
_MOST_MEANT = 3


def named_paths(
    text: str, *, opened: Collection[RelPath], listed: Collection[RelPath]
) -> tuple[RelPath, ...]:
    """Every file that a text may cite, once, in order: those to open before it is checked.

    A name that is not `listed` as it is written means the `opened` files that end so, else the
    only listed one that does.
    """
    places = places_in(text, endings_of(chain(opened, listed)))
    names = [place.name for place in places if place.name is not None]
    names += [mention.name for mention in mentions_in(text) if "/" in mention.name]
    found: dict[RelPath, None] = {}
    for name in dict.fromkeys(names):
        path = _parsed(name)
        if path is None:
            continue
        near = [path, *_ending_in(name, opened)]
        if near == [path] and path not in listed:
            ending = _ending_in(name, listed)
            near += ending if len(ending) == 1 else []
        found.update(dict.fromkeys(near))
    return tuple(found)


def endings_of(paths: Iterable[RelPath]) -> Endings:
    """What the names of these files end in, without the full stop; found out when it is needed."""
    return cache(lambda: frozenset(path.suffix[1:] for path in paths))


class Resolver:
    """Looks up names within one text, of which `files` could be opened.

    A name of several opened files means the one that was named last.
    """

    def __init__(self, text: str, files: Collection[RelPath]) -> None:
        self._files = files
        # The files named before an offset, the last first: one more each time that order changes.
        self._offsets: list[int] = []
        self._orders: list[tuple[RelPath, ...]] = []
        mentions = [(m.offset, m.name) for m in mentions_in(text)]
        places = places_in(text, endings_of(files))
        mentions += [(p.offset, p.name) for p in places if p.name is not None]
        self._spelled_out = {name.removeprefix("./") for _, name in mentions}
        for offset, name in sorted(mentions):
            for path in self._of(name, offset)[:1]:
                before = self._orders[-1] if self._orders else ()
                if path in files and before[:1] != (path,):
                    self._offsets.append(offset)
                    self._orders.append((path, *(p for p in before if p != path)))

    def is_spelled_out(self, path: RelPath) -> bool:
        """Whether the text names this file in full, so that short forms of it can be followed."""
        return path.text in self._spelled_out

    def paths_of(self, place: WrittenPlace) -> Sequence[RelPath]:
        """The files that a place may mean, the likeliest first; only the first may be missing."""
        if place.name is None:
            return self._before(place.offset)[:_MOST_MEANT]
        return self._of(place.name, place.offset)

    def _of(self, name: str, offset: int) -> Sequence[RelPath]:
        path = _parsed(name)
        if path is None:
            return ()
        near = [p for p in self._before(offset) if p.text.endswith(f"/{name}")]
        found = dict.fromkeys([*near, *_ending_in(name, self._files)])
        return (path, *found) if path in self._files or not found else tuple(found)

    def _before(self, offset: int) -> tuple[RelPath, ...]:
        """Files named before, the last first."""
        at = bisect_left(self._offsets, offset)
        return self._orders[at - 1] if at else ()


def _parsed(name: str) -> RelPath | None:
    try:
        return RelPath.parse(name)
    except OutsideWorkspace:
        return None


def _ending_in(name: str, paths: Iterable[RelPath]) -> Sequence[RelPath]:
    ending = f"/{name.removeprefix('./')}"
    return [path for path in paths if path.text.endswith(ending)]
