"""A second look at a workspace: what is as it was is given again, and nothing else."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from live_memory.adapters.workspace.listing import Lister
from live_memory.adapters.workspace.safe_open import Opening, SafeRoot, signature_of
from live_memory.core.reading.lookup import Listing, ListingWay
from tests.contracts.sandbox_worlds import git, opened_on_disk

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
        return lister.by_names(b"".join(b"%s\0" % os.fsencode(p.relative_to(root)) for p in found))

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


@pytest.mark.real("git")
@pytest.mark.promise("never-falsely-fresh")
async def test_what_git_says_anew_is_listed_though_names_were_looked_at_meanwhile(
    root: Path,
) -> None:
    """Names of the last time are looked at while git says those of now."""
    async with opened_on_disk(root) as sandbox:
        walked = await sandbox.list()
        assert _names(walked) == NAMES
        git(root, "init", "-q")
        named = await sandbox.list()
        assert (named.files, walked.way, named.way) == (
            walked.files,
            ListingWay.WALK,
            ListingWay.GIT,
        )
        assert await sandbox.list() is named
        (root / "new.py").write_bytes(b"new\n")
        assert _names(await sandbox.list()) == ["a.py", "new.py", *NAMES[1:]]
        (root / ".gitignore").write_bytes(b"pkg/\n")
        assert _names(await sandbox.list()) == [".gitignore", "a.py", "new.py"]
        (root / ".gitignore").unlink()
        again = await sandbox.list()
        assert _names(again) == ["a.py", "new.py", *NAMES[1:]]
        assert await sandbox.list() is again


@pytest.mark.real("git")
async def test_a_repository_of_which_all_is_ignored_has_no_files(root: Path) -> None:
    async with opened_on_disk(root) as sandbox:
        assert _names(await sandbox.list()) == NAMES
        git(root, "init", "-q")
        (root / ".git" / "info" / "exclude").write_bytes(b"*\n")
        assert _names(await sandbox.list()) == []
        assert _names(await sandbox.list()) == []


@pytest.mark.real("git")
async def test_a_folder_without_git_keeps_its_listing_from_look_to_look(root: Path) -> None:
    async with opened_on_disk(root) as sandbox:
        first = await sandbox.list()
        assert await sandbox.list() is first
