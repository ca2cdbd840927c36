"""Opens every place a draft cites, as the files are now, and makes an answer of what holds."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from live_memory.core.asking.answer import Grounding
from live_memory.core.asking.citations import CheckedText, check, cited_paths
from live_memory.core.reading.admission import observe
from live_memory.core.reading.observation import Observation, Skipped
from live_memory.core.reading.redaction import Redactor
from live_memory.core.values import RelPath
from live_memory.ports import Sandbox

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


async def verify(
    text: str, *, sandbox: Sandbox, redactor: Redactor, max_file_bytes: int
) -> Verified:
    """Check a draft against the bytes that are there now."""
    files = await _opened(cited_paths(text)[:_MOST_FILES], sandbox, redactor, max_file_bytes)
    return Verified(check(text, {path: seen.lines for path, seen in files.items()}), files)


async def _opened(
    paths: Sequence[RelPath], sandbox: Sandbox, redactor: Redactor, max_file_bytes: int
) -> dict[RelPath, Observation]:
    """The files that give text, by the name the draft used."""
    reads = await sandbox.read([path.text for path in paths], max_bytes=max_file_bytes)
    files: dict[RelPath, Observation] = {}
    for path, read in zip(paths, reads, strict=True):
        seen = read if isinstance(read, Skipped) else observe(read, redactor=redactor)
        if isinstance(seen, Observation):
            files[path] = seen
    return files
