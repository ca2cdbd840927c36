"""A second look at a workspace: what is as it was is given again, and nothing else."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from live_memory.adapters.sandbox.listing import Lister
from live_memory.adapters.sandbox.opener import Opening, SafeRoot, signature_of
from live_memory.core.reading.lookup import Listing

NAMES = ["a.py", "pkg/b.py", "pkg/deep/c.py"]
Look = Callable[[], Listing]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = (tmp_path / "ws").resolve()
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"one\n")
    return folder


@pytest.fixture(params=["git's names", "walk"])
def look(request: pytest.FixtureRequest, root: Path) -> Iterator[Look]:
    safe = SafeRoot(str(root), Opening.best())
    lister = Lister(safe)

    def by_names() -> Listing:
        found = (path for path in root.rglob("*") if not path.is_dir() or path.is_symlink())
        return lister.by_names([path.relative_to(root).as_posix() for path in found])

    yield by_names if request.param == "git's names" else lister.by_walk
    safe.close()


def _as_on_disk(listing: Listing, root: Path) -> bool:
    return all(
        file.signature == signature_of((root / file.path.text).lstat()) for file in listing.files
    )


def _names(listing: Listing) -> list[str]:
    return [file.path.text for file in listing.files]


def test_where_nothing_changed_the_very_listing_is_given_again(look: Look, root: Path) -> None:
    first = look()
    assert _names(first) == NAMES
    assert _as_on_disk(first, root)
    assert look() is first


def _written(file: Path) -> None:
    file.write_bytes(b"two\n")


def _renamed_over(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(b"two\n")
    other.replace(file)


@pytest.mark.promise("never-falsely-fresh")
@pytest.mark.parametrize("change", [_written, _renamed_over])
def test_other_bytes_of_equal_size_and_times_are_seen(
    look: Look, root: Path, change: Callable[[Path], None]
) -> None:
    """Also where the folder's own time is put back: it says nothing that is relied on."""
    first, file = look(), root / "pkg" / "b.py"
    kept, around = file.stat(), file.parent.stat()
    change(file)
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    os.utime(file.parent, ns=(around.st_atime_ns, around.st_mtime_ns))
    second = look()
    assert second is not first
    assert _names(second) == NAMES
    assert _as_on_disk(second, root)
    same = [one is other for one, other in zip(first.files, second.files, strict=True)]
    assert same == [True, False, True]
    assert look() is second


@pytest.mark.promise("never-falsely-fresh")
def test_files_that_come_and_go_are_seen_among_those_that_stay(look: Look, root: Path) -> None:
    first = look()
    (root / "pkg" / "a.py").write_bytes(b"new\n")
    (root / "empty").mkdir()
    (root / "a.py").unlink()
    second = look()
    assert _names(second) == ["pkg/a.py", "pkg/b.py", "pkg/deep/c.py"]
    assert all(one is other for one, other in zip(first.files[1:], second.files[1:], strict=True))
    (root / "empty" / "late.py").write_bytes(b"new\n")
    assert _names(look()) == ["empty/late.py", *_names(second)]


def test_a_name_that_is_no_file_any_more_is_left_out(look: Look, root: Path) -> None:
    look()
    (root / "a.py").unlink()
    (root / "a.py").symlink_to("pkg/b.py")
    (root / "pkg" / "b.py").unlink()
    os.mkfifo(root / "pkg" / "b.py")
    assert _names(look()) == ["pkg/deep/c.py"]
    (root / "a.py").unlink()
    (root / "a.py").write_bytes(b"back\n")
    assert _names(look()) == ["a.py", "pkg/deep/c.py"]
