"""Opens every place a draft cites, as the files are now, and makes an answer of what holds."""

from collections.abc import Mapping
from types import MappingProxyType

from live_memory.core.asking.answer import Grounding
from live_memory.core.asking.citations import CheckedText, check, cited_paths
from live_memory.core.reading.observation import Observation
from live_memory.core.values import RelPath
from live_memory.flow.evidence.desk import Shelf

__all__ = ["Verified", "verify"]

# A model that cites more files than this lists a folder; the rest are marked as unsupported.
_MOST_FILES = 40


class Verified:
    """A checked draft with the files it rests on."""

    def __init__(self, checked: CheckedText, files: Mapping[RelPath, Observation]) -> None:
        self.checked = checked
        good = {c.path for c in checked.citations if c.path in files}
        self.evidence = MappingProxyType({path: files[path].sha for path in files if path in good})

    @property
    def is_fact(self) -> bool:
        """Whether its first claim has something to stand on."""
        nothing = self.checked.grounding is Grounding.UNGROUNDED
        return not nothing and not self.checked.starts_unsupported


async def verify(text: str, *, shelf: Shelf) -> Verified:
    """Check a draft against the bytes that are there now."""
    files = {seen.path: seen for seen in await shelf.read(cited_paths(text)[:_MOST_FILES])}
    return Verified(check(text, {path: seen.lines for path, seen in files.items()}), files)
