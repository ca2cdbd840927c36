"""Opens every place a draft cites, as the files are now, and makes an answer of what holds."""

from collections.abc import Collection, Mapping
from functools import partial
from types import MappingProxyType

import anyio.to_thread

from live_memory.core.asking.answer import CitationStatus
from live_memory.core.checking.citations import CheckedText, check
from live_memory.core.checking.resolving import named_paths
from live_memory.core.checking.shown import SourceFile
from live_memory.core.evidence.places import OpenedFile
from live_memory.core.values import RelPath
from live_memory.flow.evidence.desk import Desk

__all__ = ["Verified", "verify"]

# A model that cites more files than this lists a folder; the rest are marked as unsupported.
_MOST_FILES = 40
# So many, for a text of so many characters, are looked through in some milliseconds, faster than
# a busy pool gives a thread.
_FEW_LINES, _SHORT = 500, 4_000
# So many places are named where an answer is not given for them.
_MOST_NAMED = 3


class Verified:
    """A checked draft with the files it rests on."""

    def __init__(self, checked: CheckedText, files: Mapping[RelPath, OpenedFile]) -> None:
        self.checked = checked
        cited = {c.path for c in checked.citations if c.path in files}
        self.evidence = MappingProxyType({path: files[path].sha for path in files if path in cited})

    @property
    def problem(self) -> str | None:
        """Why the draft may not be given, if so: most of the places it names do not hold."""
        citations = self.checked.citations
        if not citations:
            return None  # nothing to hold it to: it is given as ungrounded, and that is said
        bad = [c for c in citations if c.status is CitationStatus.UNSUPPORTED]
        if 2 * len(bad) <= len(citations):
            return None
        named = ", ".join(f"{c.path} line {c.start}" for c in bad[:_MOST_NAMED])
        more = f" and {len(bad) - _MOST_NAMED} more" if len(bad) > _MOST_NAMED else ""
        return f"most places it named do not hold what it said of them ({named}{more})"


async def verify(
    text: str, *, desk: Desk, opened: Collection[RelPath], listed: Collection[RelPath]
) -> Verified:
    """Check a draft against the bytes that are there now.

    A file may be named in short where it was `opened` for the question, or is the only one
    `listed` with that name.
    """
    named = partial(named_paths, text, opened=opened, listed=listed)
    is_short = len(text) <= _SHORT
    paths = named() if is_short else await anyio.to_thread.run_sync(named)
    files = await desk.current(paths[:_MOST_FILES])
    sources = {path: SourceFile(path, f.lines, f.outline) for path, f in files.items()}
    if is_short and sum(len(source.lines) for source in sources.values()) <= _FEW_LINES:
        return Verified(check(text, sources), files)
    return Verified(await anyio.to_thread.run_sync(check, text, sources), files)
