"""What differs is the same, however much of the last comparison it builds on."""

from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import ListedFile
from live_memory.core.reading.redaction import Comparison, KnownSignatures, compare
from live_memory.core.values import RelPath, StatSignature

NAMES = ["a.py", "b.py", "pkg/c.py", "pkg/id_rsa", "x.png"]
UNREAD = {"pkg/id_rsa", "x.png"}


class _Known(KnownSignatures):
    """What an index knows after so many updates."""

    def __init__(self, versions: Mapping[str, int], *, revision: int = 0) -> None:
        self.versions, self._revision = versions, revision

    @property
    def revision(self) -> int:
        return self._revision

    def __getitem__(self, path: RelPath) -> StatSignature:
        return _signature(self.versions[path.text])

    def __iter__(self) -> Iterator[RelPath]:
        return map(RelPath, self.versions)

    def __len__(self) -> int:
        return len(self.versions)


def _signature(version: int) -> StatSignature:
    return StatSignature(1, version, version, 1, 1)


def _listed(world: Mapping[str, int], before: Listing) -> Listing:
    """As a sandbox lists: what is as it was is the very value from before."""
    old = {file.path.text: file for file in before.files}
    files = []
    for name, version in sorted(world.items()):
        known = old.get(name)
        is_same = known is not None and known.signature == _signature(version)
        new = ListedFile(RelPath(name), _signature(version))
        files.append(known if known is not None and is_same else new)
    return Listing(tuple(files))


def _taken_in(found: Comparison) -> KnownSignatures:
    """As an index knows after one update."""
    if found.is_settled:
        return found.known
    versions = {path.text: now.modified_ns for path, now in found.known.items()}
    kept = {name: version for name, version in versions.items() if RelPath(name) not in found.gone}
    taken = {file.path.text: file.signature.modified_ns for file in found.changed}
    return _Known(kept | taken, revision=found.known.revision + 1)


worlds = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 3))


@pytest.mark.promise("never-falsely-fresh")
@given(st.lists(worlds, min_size=1, max_size=6))
def test_a_comparison_that_builds_on_the_last_finds_what_a_whole_one_finds(
    steps: Sequence[Mapping[str, int]],
) -> None:
    before, listing = Comparison(), Listing(())
    known: KnownSignatures = _Known({})
    for world in steps:
        listing = _listed(world, listing)
        found = compare(listing, known, before=before)
        whole = compare(listing, known, before=Comparison())
        assert found == whole
        assert [*found.signatures.items()] == [*whole.signatures.items()]
        assert found.files == len(world.keys() - UNREAD)
        known = _taken_in(found)
        before = found if found.is_settled else found.settled(known, updates=1)
        assert before.is_settled
        assert before.known is known
        assert compare(listing, known, before=before).is_settled


def test_a_listing_and_a_knowledge_that_are_the_very_ones_need_no_look() -> None:
    listing = _listed({"a.py": 1}, Listing(()))
    found = compare(listing, _Known({}), before=Comparison())
    assert [file.path.text for file in found.changed] == ["a.py"]
    settled = found.settled(_Known({"a.py": 1}, revision=1), updates=1)
    assert compare(listing, settled.known, before=settled) is settled


@pytest.mark.promise("never-falsely-fresh")
@pytest.mark.parametrize(
    "known",
    [
        _Known({}, revision=1),
        _Known({"a.py": 1, "b.py": 1}, revision=2),
        _Known({"a.py": 1}, revision=2),
        _Known({"a.py": 1}, revision=0),
        _Known({"a.py": 7}, revision=1),
        _Known({"b.py": 1}, revision=1),
    ],
    ids=[
        "started anew",
        "more than was taken in",
        "an update of others",
        "an update that was lost",
        "other bytes",
        "another file",
    ],
)
def test_an_index_that_others_changed_meanwhile_is_compared_from_the_start(
    known: KnownSignatures,
) -> None:
    listing = _listed({"a.py": 1}, Listing(()))
    found = compare(listing, _Known({}), before=Comparison())
    assert found.settled(known, updates=1) == Comparison()


@pytest.mark.promise("never-falsely-fresh")
def test_a_file_that_a_question_put_back_is_found_though_another_was_taken_in() -> None:
    """A question's older look at `b.py` reached the index while a pass took in `a.py`."""
    old = _Known({"a.py": 1, "b.py": 2})
    listing = _listed({"a.py": 2, "b.py": 2}, Listing(()))
    found = compare(listing, old, before=Comparison())
    after = _Known({"a.py": 2, "b.py": 1}, revision=2)
    again = compare(listing, after, before=found.settled(after, updates=1))
    assert [file.path.text for file in again.changed] == ["b.py"]


def test_before_anything_was_offered_nothing_is_known() -> None:
    nothing = Comparison().known
    assert (len(nothing), [*nothing], nothing.revision) == (0, [], 0)
    assert nothing.get(RelPath("a.py")) is None
