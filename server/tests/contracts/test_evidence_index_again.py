"""An index that is brought up to date says what one says that reads everything again."""

import gc
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from live_memory.adapters.index import database, sqlite
from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.core.evidence.question import terms_of
from live_memory.core.values import RelPath
from live_memory.ports import EvidenceIndex
from tests.contracts.test_evidence_index import INDEXES
from tests.support.observing import observed, signature_of

NAMES = ("a.py", "b.py", "src/c.py")
QUESTION = terms_of("Where is the session saved and the cookie read?")


def _text(name: str, version: int) -> str:
    said = ("session saved", "cookie read", "session cookie")[version % 3]
    return f"def {name[-4]}_{version}():\n    '''{said}.'''\n" * (1 + version)


@pytest.mark.parametrize("opened", list(INDEXES))
async def test_a_hash_is_told_for_the_very_signature_it_was_read_with(
    opened: str, tmp_path: Path
) -> None:
    index = await INDEXES[opened](tmp_path)
    old, new = observed("a.py", "x = 1\n"), observed("a.py", "x = 2\n", version=2)
    picture = RelPath("b.png")
    await index.update([old], textless={picture: signature_of(b"\x89PNG")}, gone=())
    path = old.path
    given = {path: old.signature, picture: signature_of(b"\x89PNG"), RelPath("c"): old.signature}
    assert await index.hashes(given) == {path: old.sha}
    assert await index.hashes({path: new.signature}) == {}
    await index.update([new], textless={}, gone=())
    assert await index.hashes({path: old.signature}) == {}
    assert await index.hashes({path: new.signature}) == {path: new.sha}
    await index.update((), textless={}, gone=[path])
    assert await index.hashes({path: new.signature}) == {}
    await index.aclose()


@pytest.mark.parametrize("opened", list(INDEXES))
async def test_what_is_known_is_the_very_mapping_while_nothing_changes(
    opened: str, tmp_path: Path
) -> None:
    index = await INDEXES[opened](tmp_path)
    await index.update([observed("a.py", "x = 1\n")], textless={}, gone=())
    first = await index.known()
    await index.search(QUESTION, limit=3)
    assert await index.known() is first
    await index.update([observed("b.py", "x = 1\n")], textless={}, gone=())
    second = await index.known()
    assert second is not first
    assert [path.text for path in first] == ["a.py"]
    assert (first.revision, second.revision) == (1, 2)
    await index.update((), textless={}, gone=())
    assert await index.known() is second
    await index.aclose()


async def test_many_files_are_not_looked_through_by_the_collector_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It stops everything else for as long as that takes."""
    monkeypatch.setattr(sqlite, "_MANY", 2)
    index = SqliteIndex.in_memory()
    gc.unfreeze()
    await index.update([observed("a.py", "x = 1\n")], textless={}, gone=())
    await index.known()
    assert gc.get_freeze_count() == 0
    await index.update([observed("b.py", "x = 1\n")], textless={}, gone=())
    await index.known()
    assert gc.get_freeze_count() > 0
    gc.unfreeze()
    await index.known()
    assert gc.get_freeze_count() == 0
    await index.aclose()


async def _said(index: EvidenceIndex) -> Sequence[object]:
    outlines = [await index.outline(RelPath(name)) for name in NAMES]
    found = [await index.search(QUESTION, limit=limit) for limit in (1, 5)]
    return [await index.known(), outlines, found, await index.definitions("y_1")]


steps = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(["text", "none", "gone"]), st.integers(0, 5)),
    min_size=1,
    max_size=8,
)


@pytest.mark.promise("never-falsely-fresh")
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=steps, fan=st.sampled_from([2, 16]), most_gone=st.sampled_from([-9, 0, 5_000]))
async def test_an_index_that_grew_says_what_a_new_reader_of_the_same_file_says(
    tmp_path_factory: pytest.TempPathFactory,
    steps: Sequence[tuple[str, str, int]],
    fan: int,
    most_gone: int,
) -> None:
    """Also where runs are merged in part, and the units numbered anew, on the way."""
    folder = tmp_path_factory.mktemp("index")
    index = await SqliteIndex.open(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(database, "_FAN", fan)
        patched.setattr(database, "_STRETCH", 3)
        patched.setattr(sqlite, "_MOST_GONE", most_gone)
        for name, kind, version in steps:
            path = RelPath(name)
            seen = [observed(name, _text(name, version), version=version)] if kind == "text" else []
            textless = {path: signature_of(b"", version=version)} if kind == "none" else {}
            gone = [path] if kind == "gone" else []
            await index.update(seen, textless=textless, gone=gone)
            if version % 2:
                await index.known()
            for _ in range(version % 4):
                await index.settle()
        fresh = await SqliteIndex.open(folder)
        assert await _said(index) == await _said(fresh)
        assert await _said(index) == await _said(fresh)
        await fresh.aclose()
    await index.aclose()
