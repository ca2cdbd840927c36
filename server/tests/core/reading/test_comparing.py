"""What differs is the same, however much of the last comparison it builds on."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.reading.comparing import Comparison, compare
from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import ListedFile
from live_memory.core.values import RelPath, StatSignature

NAMES = ["a.py", "b.py", "pkg/c.py", "pkg/id_rsa", "x.png"]
UNREAD = {"pkg/id_rsa", "x.png"}
Known = Mapping[RelPath, StatSignature]


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


def _taken_in(found: Comparison) -> Known:
    """As an index knows after an update: untouched values are the very ones from before."""
    if found.is_settled:
        return found.known
    kept = {path: now for path, now in found.known.items() if path not in found.gone}
    return MappingProxyType(kept | {file.path: file.signature for file in found.changed})


worlds = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 3))


@pytest.mark.promise("never-falsely-fresh")
@given(st.lists(worlds, min_size=1, max_size=6))
def test_a_comparison_that_builds_on_the_last_finds_what_a_whole_one_finds(
    steps: Sequence[Mapping[str, int]],
) -> None:
    before, listing = Comparison(), Listing(())
    known: Known = MappingProxyType({})
    for world in steps:
        listing = _listed(world, listing)
        found = compare(listing, known, before=before)
        whole = compare(listing, known, before=Comparison())
        assert found == whole
        assert [*found.signatures.items()] == [*whole.signatures.items()]
        assert found.files == len(world.keys() - UNREAD)
        known = MappingProxyType(dict(_taken_in(found))) if found.changed else _taken_in(found)
        before = found if found.is_settled else found.settled(known)
        assert before.is_settled
        assert compare(listing, known, before=before).is_settled


def test_a_listing_and_a_knowledge_that_are_the_very_ones_need_no_look() -> None:
    listing = _listed({"a.py": 1}, Listing(()))
    found = compare(listing, {}, before=Comparison())
    assert [file.path.text for file in found.changed] == ["a.py"]
    settled = found.settled({RelPath("a.py"): _signature(1)})
    assert compare(listing, settled.known, before=settled) is settled


@pytest.mark.promise("never-falsely-fresh")
@pytest.mark.parametrize(
    "known",
    [
        {},
        {RelPath("a.py"): _signature(1), RelPath("b.py"): _signature(1)},
        {RelPath("a.py"): _signature(7)},
        {RelPath("b.py"): _signature(1)},
    ],
    ids=["started anew", "more than was taken in", "other bytes", "another file"],
)
def test_an_index_that_others_changed_meanwhile_is_compared_from_the_start(known: Known) -> None:
    listing = _listed({"a.py": 1}, Listing(()))
    found = compare(listing, {}, before=Comparison())
    assert found.settled(known) == Comparison()


@pytest.mark.promise("never-falsely-fresh")
def test_a_file_that_a_question_put_back_is_found_though_another_was_taken_in() -> None:
    """A question's older look at `b.py` reached the index while a pass took in `a.py`."""
    old = MappingProxyType({RelPath("a.py"): _signature(1), RelPath("b.py"): _signature(2)})
    listing = _listed({"a.py": 2, "b.py": 2}, Listing(()))
    found = compare(listing, old, before=Comparison())
    after = MappingProxyType({RelPath("a.py"): _signature(2), RelPath("b.py"): _signature(1)})
    again = compare(listing, after, before=found.settled(after))
    assert [file.path.text for file in again.changed] == ["b.py"]
