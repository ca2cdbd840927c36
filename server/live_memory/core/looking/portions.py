"""Files in portions that are not too much to read at a time."""

from collections.abc import Iterator, Sequence

from live_memory.core.reading.observation import ListedFile

__all__ = ["portions"]


def portions(
    files: Sequence[ListedFile], *, most: int, most_bytes: int
) -> Iterator[Sequence[ListedFile]]:
    """So many files and bytes at a time, in order; one file at least."""
    portion: list[ListedFile] = []
    size = 0
    for file in files:
        if portion and (len(portion) == most or size + file.signature.size > most_bytes):
            yield portion
            portion, size = [], 0
        portion.append(file)
        size += file.signature.size
    if portion:
        yield portion
