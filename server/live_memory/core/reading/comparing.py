"""What differs between the files of a workspace and what an index knows of them.

Every signature is compared. A value that is the very one of the last comparison is equal to it,
which makes the usual case, where little changed, cost little.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.names import refusal_of_name
from live_memory.core.reading.observation import ListedFile
from live_memory.core.values import RelPath, StatSignature

__all__ = ["Comparison", "Known", "compare"]


class Known(Mapping[RelPath, StatSignature]):
    """Every file that an index was offered, with its signature then."""

    @property
    @abstractmethod
    def revision(self) -> int:
        """How many updates led to this; an index that starts anew begins at none."""


class _Nothing(Known):
    """What an index knows before it was offered anything."""

    revision = 0

    def __getitem__(self, path: RelPath) -> StatSignature:
        raise KeyError(path)

    def __iter__(self) -> Iterator[RelPath]:
        return iter(())

    def __len__(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """A listing beside what is known: what is to be read again, and what is to be dropped.

    `files` are those whose names allow that they are read; `signatures` are of all.
    """

    listing: Listing = field(default_factory=lambda: Listing(()))
    known: Known = field(default_factory=_Nothing)
    signatures: Mapping[RelPath, StatSignature] = field(default_factory=dict)
    files: int = 0
    changed: Sequence[ListedFile] = ()
    gone: frozenset[RelPath] = frozenset()

    @property
    def is_settled(self) -> bool:
        """Whether what is known is what is there."""
        return not self.changed and not self.gone

    def settled(self, known: Known, *, updates: int) -> "Comparison":
        """After all that differed was taken in by so many updates, which left this known.

        Where anything else came of it, as by a question that took in newer bytes meanwhile, there
        is nothing that the next comparison may build on.
        """
        only_ours = known.revision - self.known.revision == updates and len(known) == self.files
        if only_ours and all(known.get(f.path) == f.signature for f in self.changed):
            return replace(self, known=known, changed=(), gone=frozenset())
        return Comparison()


def compare(listing: Listing, known: Known, *, before: Comparison) -> Comparison:
    """Compare a listing with what is known; `before` is the last comparison that was settled."""
    if known is not before.known:
        return _whole(listing, known)
    if listing is before.listing:
        return before
    old, fresh = before.signatures, _fresh(listing, before)
    new = [file for file in fresh if file.path not in old]
    is_complete = len(listing.files) - len(new) == len(old)
    if new or not is_complete:
        signatures = {file.path: file.signature for file in listing.files}
    else:
        signatures = {**old, **{file.path: file.signature for file in fresh}}
    left = [] if is_complete else [path for path in old if path not in signatures]
    gone = frozenset(path for path in left if path in known)
    readable = [file for file in fresh if refusal_of_name(file.path) is None]
    added = sum(file.path not in old for file in readable)
    removed = sum(refusal_of_name(path) is None for path in left)
    files = before.files + added - removed
    changed = [file for file in readable if known.get(file.path) != file.signature]
    return Comparison(listing, known, signatures, files, changed, gone)


def _fresh(listing: Listing, before: Comparison) -> Sequence[ListedFile]:
    """Every file that is not as it was, and maybe some that are."""
    if len(listing.files) == len(before.listing.files):
        places = zip(listing.files, before.listing.files, strict=True)
        return [file for file, then in places if file is not then]
    old = before.signatures
    return [file for file in listing.files if old.get(file.path) is not file.signature]


def _whole(listing: Listing, known: Known) -> Comparison:
    files = [file for file in listing.files if refusal_of_name(file.path) is None]
    signatures = {file.path: file.signature for file in listing.files}
    if not known:
        return Comparison(listing, known, signatures, len(files), files)
    changed = [file for file in files if known.get(file.path) != file.signature]
    gone = frozenset(known.keys() - {file.path for file in files})
    return Comparison(listing, known, signatures, len(files), changed, gone)
