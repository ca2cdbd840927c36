"""Names that are kept out of memory: never listed, read, searched or learned."""

import re
from collections.abc import Callable, Sequence

from live_memory.core.errors import InvalidRequest
from live_memory.core.reading.globs import compile_glob
from live_memory.core.reading.redaction import redact
from live_memory.core.values import RelPath

__all__ = ["Hiding", "is_version_control"]

# No secret is shorter, none has no digit, and nearly no name of a person's choice is like that.
_DIGIT = re.compile(r"\d")
_LONG_WORD = re.compile(r"(?<![\w+=-])(?=[\w+=-]{16})[\w+=-]*\d|[=:@]")
# Names whose outcome stays at hand: a listing asks for each folder once a file.
_MOST_KNOWN = 10_000
# Where version control keeps its data, and credentials among its settings.
_VERSION_CONTROL = frozenset({".git", ".jj", ".hg", ".sl", ".bzr", ".pijul", ".svn"})
# Longer chains of folders exist only to make us slow.
_DEEPEST = 128


class Hiding:
    """What of one workspace a person keeps out by globs, our own folder where it lies in it, and
    names that are secrets themselves: names are kept on disk and sent to models.

    A glob that names a folder is about everything in it, as in an ignore file.
    """

    def __init__(self, globs: Sequence[str] = (), *, private: Sequence[RelPath] = ()) -> None:
        """Take the globs, and the names of folders of ours.

        Raises:
            InvalidRequest: a glob is malformed.
        """
        self._globs = [*map(_compiled, globs)]
        # Systems that do not tell upper from lower case spell one folder in many ways.
        self._private = tuple(f"{folder.text}/".casefold() for folder in private)
        self._known: dict[str, bool] = {}

    def covers(self, path: RelPath) -> bool:
        """Whether this real name, or a folder on the way to it, is kept out."""
        if self._private and f"{path.text}/".casefold().startswith(self._private):
            return True
        if _LONG_WORD.search(path.text) and self._once(path.text, _is_secret):
            return True
        if not self._globs:
            return False
        parts = path.text.split("/")
        if len(parts) > _DEEPEST:
            return True
        folders = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        is_in_one = any(self._once(folder, self._is_named) for folder in folders)
        return is_in_one or self._is_named(path.text)

    def _once(self, name: str, judge: Callable[[str], bool]) -> bool:
        """What is found out of a name, from what is at hand if possible."""
        key = f"{judge.__name__}:{name}"
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[key] = judge(name)
        return known

    def _is_named(self, name: str) -> bool:
        path = RelPath(name)
        return any(is_match(path) for is_match in self._globs)


def is_version_control(name: str) -> bool:
    """Whether a name in lower case lies in a folder that version control keeps its data in."""
    return not _VERSION_CONTROL.isdisjoint(name.split("/"))


def _is_secret(name: str) -> bool:
    return _DIGIT.search(name) is not None and redact(name).count > 0


def _compiled(glob: str) -> Callable[[RelPath], bool]:
    try:
        return compile_glob(glob)
    except InvalidRequest as problem:
        raise InvalidRequest(f"{glob[:100]!r}: {problem}") from problem
