"""Listing by git and by our own walk: the same rules, bounded, whatever a stranger writes there."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from live_memory.adapters.workspace import listing
from live_memory.adapters.workspace.git_ignore import IgnoreRules
from live_memory.adapters.workspace.listing import Lister
from live_memory.adapters.workspace.safe_open import Opening, SafeRoot
from tests.contracts.sandbox_worlds import Way, git, opened_on_disk

_RULES = st.lists(
    st.sampled_from(
        [
         "a", "*.x", "!a.x", "/b", "b/", "a/b", "**/c", "a/**", "!/a/b/", "c*", "[ab].x", "a/*/c",
         "# no",
         "", " ", "\\", "!", "[z-a]", "[[", "[", "***", "\\#a", "a\\ ", "!*.x", "/*", "!/a"]
    ),
    max_size=5,
)  # fmt: skip
_NAMES = ["a.x", "b", "c1", "a/a.x", "a/b/c", "a/b/a.x", "a/c/b.x", "d/b/x", "d/a", "d/c/c.x"]


@pytest.mark.real("git")
@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(top=_RULES, deeper=_RULES)
@example(top=["b/", "!/a"], deeper=[])
@example(top=["a/**"], deeper=["!a.x"])
@example(top=["a/**", "!a/b/"], deeper=[])
def test_the_walk_ignores_what_git_ignores(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], deeper: list[str]
) -> None:
    root = tmp_path_factory.mktemp("ws")
    for name in _NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")
    (root / ".gitignore").write_text("\n".join(top))
    (root / "a" / ".gitignore").write_text("\n".join(deeper))
    safe = SafeRoot(str(root.resolve()), Opening.best())
    try:
        walked = [each.path.text for each in Lister(safe).by_walk().files]
    finally:
        safe.close()
    git(root, "init", "-q")
    names = git(root, "ls-files", "-o", "--exclude-standard", "-z").split("\0")[:-1]
    assert walked == sorted(names)


def test_a_rule_made_to_be_slow_is_skipped() -> None:
    rules = IgnoreRules()
    rules.add("", "\n".join(["*a*a*a*a*a*a*a*a*b", "?" * 10_000, "kept"]))
    assert not rules.covers("a" * 250, is_folder=False)
    assert rules.covers("kept", is_folder=False)


@pytest.mark.parametrize("opening", [*Opening])
def test_a_listing_stops_at_its_cap_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opening: Opening
) -> None:
    names = [f"{number}.py" for number in range(10)]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    safe = SafeRoot(str(tmp_path.resolve()), opening)
    try:
        assert (len(Lister(safe).by_walk().files), Lister(safe).by_walk().is_cut) == (10, False)
        monkeypatch.setattr(listing, "MOST_ENTRIES", 5)
        assert Lister(safe).by_walk().is_cut
        assert len(Lister(safe).by_walk().files) <= 5
        cut = Lister(safe).by_names(b"".join(b"%s\0" % name.encode() for name in names))
        assert (len(cut.files), cut.is_cut) == (5, True)
    finally:
        safe.close()


@pytest.mark.real("git")
async def test_names_that_git_knows_but_the_disk_does_not_are_left_out(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for name in ("kept.py", "gone.py", "now_a_folder.py", "now_a_link.py", "ignored.log"):
        (tmp_path / name).write_bytes(b"")
    git(tmp_path, "add", "-A")
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("gone.py", "now_a_folder.py", "now_a_link.py"):
        (tmp_path / name).unlink()
    (tmp_path / "now_a_folder.py").mkdir()
    (tmp_path / "now_a_link.py").symlink_to("kept.py")
    async with opened_on_disk(tmp_path) as sandbox:
        names = [each.path.text for each in (await sandbox.list()).files]
    # Tracked although ignored: git's rules are for untracked files.
    assert names == [".gitignore", "ignored.log", "kept.py"]


@pytest.mark.real("git")
@pytest.mark.parametrize("way", [Way.KERNEL, Way.WALK])
async def test_a_deep_tree_is_listed_and_read(tmp_path: Path, way: Way) -> None:
    deep = tmp_path / "/".join(["d" * 100] * 15)
    deep.mkdir(parents=True)
    (deep / "a.py").write_bytes(b"1")
    async with opened_on_disk(tmp_path, way) as sandbox:
        (listed,) = (await sandbox.list()).files
        (read,) = await sandbox.read([listed.path.text], max_bytes=1)
        assert read.signature == listed.signature  # type: ignore[union-attr]  # else it fails


def test_a_file_changed_in_the_same_tick_as_it_was_read_has_another_signature(
    tmp_path: Path,
) -> None:
    """Cases C27: same size, same moment, modification time put back."""
    path = tmp_path / "a.py"
    safe = SafeRoot(str(tmp_path.resolve()), Opening.best())
    try:
        for number in range(20):
            path.write_bytes(b"%04d" % number)
            first = safe.read("a.py", max_bytes=10)
            stamp = time.clock_gettime_ns(time.CLOCK_REALTIME)
            path.write_bytes(b"%04d" % (number + 1000))
            os.utime(path, ns=(stamp, first.signature.modified_ns))  # type: ignore[union-attr]
            second = safe.read("a.py", max_bytes=10)
            assert first.signature != second.signature  # type: ignore[union-attr]
    finally:
        safe.close()
