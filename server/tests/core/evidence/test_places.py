"""What a search gives, with the files that were opened for it."""

from live_memory.core.evidence.places import (
    Candidates,
    Evidence,
    Place,
    RankedFile,
    RankedFileText,
    RankedUnit,
)
from live_memory.core.values import ContentHash, RelPath

A, B, SHA = RelPath("a.py"), RelPath("b.py"), ContentHash.of(b"")


def test_only_what_is_open_can_be_shown_and_stays_in_its_order() -> None:
    """A file may be gone since it was indexed."""
    files = tuple(RankedFile(path, SHA, 1.0, frozenset()) for path in (B, A))
    units = tuple(RankedUnit(Place(path, 1, 2), None, 1.0) for path in (A, B, A))
    opened = RankedFileText(A, SHA, ["x", "y"], ())
    evidence = Evidence(Candidates(files, units), {A: opened})
    assert evidence.best == [opened]
    assert evidence.units == [units[0], units[2]]


def test_a_place_of_one_line_is_written_with_one_number() -> None:
    assert str(Place(A, 3, 3)) == "a.py:3"
    assert str(Place(A, 3, 5)) == "a.py:3-5"
