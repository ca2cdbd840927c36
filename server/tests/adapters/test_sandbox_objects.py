"""A verdict on an object store holds while each of its folders rests, and no longer."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from live_memory.adapters.workspace import git_history
from live_memory.adapters.workspace.git_history import ObjectStore

Looks = Callable[[], int]


@pytest.fixture
def common(tmp_path: Path) -> Path:
    folder = (tmp_path / "ws" / ".git").resolve()
    for name in ("objects/pack", "objects/info", "objects/a0"):
        (folder / name).mkdir(parents=True)
    (folder / "objects" / "a0" / ("1" * 38)).write_bytes(b"blob")
    return folder


@pytest.fixture
def store(common: Path) -> ObjectStore:
    return ObjectStore(str(common.parent))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    """How often folders were looked through; the tick is over at once."""
    seen: list[object] = []
    scandir = os.scandir

    def counted(folder: str) -> object:
        seen.append(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", counted)
    monkeypatch.setattr(git_history, "_TICK_NS", -(10**9))
    return lambda: len(seen)


def test_a_store_that_rests_is_looked_through_once(
    store: ObjectStore, common: Path, looks: Looks
) -> None:
    assert store.problem(str(common)) is None
    first = looks()
    assert first == 4
    assert store.problem(str(common)) is None
    assert looks() == first


def test_folders_that_changed_within_the_clocks_tick_are_looked_through_again(
    store: ObjectStore, common: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second change in the same tick leaves the same times."""
    monkeypatch.setattr(git_history, "_TICK_NS", 10**12)
    assert store.problem(str(common)) is None
    first = looks()
    assert store.problem(str(common)) is None
    assert looks() == 2 * first


def _link_to_an_object(folder: Path, outside: Path) -> None:
    (folder / "a0" / ("2" * 38)).symlink_to(outside)


def _link_in_the_place_of_an_object(folder: Path, outside: Path) -> None:
    there = folder / "a0" / ("1" * 38)
    there.unlink()
    there.symlink_to(outside)


def _link_to_a_pack(folder: Path, outside: Path) -> None:
    (folder / "pack" / "pack-1.pack").symlink_to(outside)


def _link_in_the_place_of_a_folder(folder: Path, outside: Path) -> None:
    shutil.rmtree(folder / "a0")
    (folder / "a0").symlink_to(outside)


def _borrowing(folder: Path, outside: Path) -> None:
    (folder / "info" / "alternates").write_text(f"{outside}\n")


@pytest.mark.promise("inside-the-workspace")
@pytest.mark.parametrize(
    "change",
    [
        _link_to_an_object,
        _link_in_the_place_of_an_object,
        _link_to_a_pack,
        _link_in_the_place_of_a_folder,
        _borrowing,
    ],
)
def test_what_leads_out_of_a_store_that_was_fine_is_refused(
    store: ObjectStore,
    common: Path,
    tmp_path: Path,
    looks: Looks,
    change: Callable[[Path, Path], None],
) -> None:
    assert store.problem(str(common)) is None
    assert store.problem(str(common)) is None
    outside = tmp_path / "outside"
    outside.mkdir()
    change(common / "objects", outside)
    times = (common / "objects" / "info").stat()
    os.utime(common / "objects" / "info", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert store.problem(str(common)) is not None
    assert looks() > 4


@pytest.mark.promise("inside-the-workspace")
def test_alternates_that_change_in_place_are_read_again(
    store: ObjectStore, common: Path, tmp_path: Path, looks: Looks
) -> None:
    """No folder's times move then."""
    other = common.parent / "other"
    (other / "pack").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    alternates = common / "objects" / "info" / "alternates"
    alternates.write_text(f"{other}\n")
    assert store.problem(str(common)) is None
    assert looks() > 0
    with alternates.open("r+") as file:
        file.write(f"{tmp_path / 'outside'}\n")
        file.truncate()
    assert store.problem(str(common)) == "git history is refused: it borrows objects from outside"


def test_a_store_that_was_refused_is_fine_once_it_is(
    store: ObjectStore, common: Path, tmp_path: Path
) -> None:
    link = common / "objects" / "pack" / "p.pack"
    link.symlink_to(tmp_path)
    assert store.problem(str(common)) is not None
    link.unlink()
    assert store.problem(str(common)) is None
