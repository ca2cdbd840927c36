"""Files written down in tests, as the reading side would hand them over."""

from live_memory.core.reading.admission import observe
from live_memory.core.reading.observation import FileRead, Observation
from live_memory.core.values import ContentHash, RelPath, StatSignature

__all__ = ["observed", "signature_of"]


def signature_of(data: bytes, *, version: int = 1) -> StatSignature:
    """What a file system might say of these bytes; inode and device need all 64 bits."""
    return StatSignature(len(data), version, version, 2**64 - 1, 2**63 + 7)


def observed(name: str, content: str | bytes, *, version: int = 1) -> Observation:
    """An observation of a file with this content."""
    data = content.encode() if isinstance(content, str) else content
    sha = ContentHash.of(data)
    outcome = observe(FileRead(RelPath(name), signature_of(data, version=version), sha, data))
    assert isinstance(outcome, Observation)
    return outcome
