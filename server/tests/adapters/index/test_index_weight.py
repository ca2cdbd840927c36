"""What an index of many files takes in memory: 100,000 of them must fit beside all else."""

import gc
import tracemalloc
from pathlib import Path

import pytest

from live_memory.adapters.index import digest
from live_memory.adapters.index.database import open_memory
from live_memory.adapters.index.digest import Digest, IndexContents, Uses, by_word, holdings
from live_memory.adapters.index.sqlite import write
from live_memory.adapters.workspace.listing import Lister
from live_memory.adapters.workspace.safe_open import Opening, SafeRoot
from live_memory.core.evidence.file_kinds import nature_of
from live_memory.core.evidence.units import cut, weigh
from live_memory.core.values import RelPath
from tests.support.observing import observed

_FILES = 2_000
# Measured 306 and 463 bytes; an object for each file took 702 in the index.
_MOST_HELD, _MOST_LISTED = 450, 600


def _name(number: int) -> str:
    return f"packages/part_{number % 40:03}/source/module_{number:06}.py"


def _taken_apart(name: str, text: str, *, version: int = 1) -> Digest:
    seen = observed(name, text, version=version)
    units = cut(seen.path, seen.lines, ())
    words = [weigh(seen.path, seen.lines, unit) for unit in units]
    return Digest(seen, (), units, by_word(words), Uses())


def test_what_is_held_of_a_file_is_little() -> None:
    connection = open_memory()
    text = "owner = act(owner)\n" * 100
    with connection.transaction() as db:
        write(db, [_taken_apart(_name(n), text) for n in range(_FILES)], {}, ())
        for n in range(_FILES):  # kept for some files, however many there are
            nature_of(RelPath(_name(n)))
        gc.collect()
        tracemalloc.start()
        try:
            held = holdings(db, None)
            gc.collect()
            taken, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    connection.close()
    assert len(held.known) == _FILES
    assert held.collection.live == 3 * _FILES
    assert taken / _FILES < _MOST_HELD


def test_what_is_kept_of_a_listed_file_is_little(tmp_path: Path) -> None:
    for number in range(_FILES):
        file = tmp_path / _name(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
    said = b"".join(b"%s\0" % _name(number).encode() for number in range(_FILES))
    root = SafeRoot(str(tmp_path.resolve()), Opening.best())
    gc.collect()
    tracemalloc.start()
    try:
        lister = Lister(root)
        listing = lister.by_names(said)
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        root.close()
    assert len(listing.files) == _FILES
    assert taken / _FILES < _MOST_LISTED


def test_versions_that_are_gone_are_let_go_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "_MOST_GAPS", 5)
    connection = open_memory()
    held: IndexContents | None = None
    for version in range(30):
        with connection.transaction() as db:
            write(db, [_taken_apart("a.py", "x = 1\n", version=version)], {}, ())
            held = holdings(db, held)
        assert [*held.known] == [RelPath("a.py")]
        assert held.files.end <= 2 + 5 + 2
    connection.close()
