"""Hostile names, links and special files, over every way the real sandbox can work."""

import os
import socket
import stat
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from anyio import fail_after

from live_memory.adapters.workspace.disk import DiskSandbox
from live_memory.adapters.workspace.safe_open import BENEATH, NO_LINKS, Opening, openat2
from live_memory.core.errors import InvalidRequest, OutsideWorkspace, Rejected
from live_memory.core.reading.lookup import (
    ChangedFiles,
    CommitSearch,
    LogQuery,
    NamePattern,
    TextPattern,
)
from live_memory.core.reading.observation import FileRead, Skipped, SkipReason
from tests.contracts.sandbox_worlds import DISK_WAYS, Way, git, make_repository, opened_on_disk

pytestmark = [pytest.mark.real("git", "rg"), pytest.mark.promise("inside-the-workspace")]

CANARY = b"CANARY-5f2c\n"


@pytest.fixture(params=DISK_WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return Way(request.param)


@pytest.fixture(params=["git", "no git"])
def ws(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A workspace beside a folder and a sibling whose files nobody may see."""
    root = tmp_path / "ws"
    for outside in ("out", "ws_sib"):
        (tmp_path / outside).mkdir()
        (tmp_path / outside / "c").write_bytes(CANARY)
    if request.param == "git":
        make_repository(root, [("start", {"a.py": b"inside\n", "d/b.py": b"inside\n"})])
    else:
        (root / "d").mkdir(parents=True)
        (root / "a.py").write_bytes(b"inside\n")
        (root / "d" / "b.py").write_bytes(b"inside\n")
    return root


@pytest.fixture
async def sandbox(ws: Path, way: Way) -> AsyncIterator[DiskSandbox]:
    async with opened_on_disk(ws, way) as opened:
        yield opened


def bad_names(ws: Path) -> Iterator[str]:
    out = f"{ws.parent}/out"
    yield from ("../out/c", f"{out}/c", "d/../../out/c", "../ws_sib/c", "~/c", "$HOME/c")
    yield from (f"file://{out}/c", "./../out/c", "d//..//..//out/c", "..%2fout%2fc", r"..\out\c")
    yield from ("a.py\0", "x" * 5000, "d/" * 3000 + "c", "", "   ", "../out/.", "../out/c/.")
    yield from (
        "--output=M",
        "-oM",
        "--pre=X",
        "-f/etc/passwd",
        "--file=/etc/passwd",
        "-c core.pager=X",
    )
    yield from (
        ":(top)../x",
        ":(attr:x)",
        ":!*",
        "HEAD:../../x",
        ";touch M",
        "$(touch M)",
        "`touch M`",
    )
    yield from ("a\n--output=M", "--open-files-in-pager=X", "--no-index", "--git-dir=../out")


async def everything_said(sandbox: DiskSandbox, text: str) -> str:
    """What every method says when this stands in every string it takes."""
    said = [repr(await sandbox.read([text], max_bytes=1000))]
    for ask in (
        lambda: sandbox.search(TextPattern("CANARY|inside", under=text)),
        lambda: sandbox.search(TextPattern(text)),
        lambda: sandbox.search(TextPattern("CANARY|inside", glob=text)),
        lambda: sandbox.find(NamePattern(text)),
        lambda: sandbox.history(LogQuery(text)),
        lambda: sandbox.history(CommitSearch(text)),
        lambda: sandbox.history(CommitSearch("start", path=text)),
        lambda: sandbox.history(ChangedFiles(text)),
    ):
        try:
            said.append(repr(await ask()))
        except Rejected as refusal:
            said.append(f"{type(refusal).__name__}: {refusal}")
    return "\n".join(said)


async def test_hostile_text_in_every_parameter_is_only_data(sandbox: DiskSandbox, ws: Path) -> None:
    """S09, S21: nothing of outside comes in, and no file appears."""
    for name in bad_names(ws):
        said = await everything_said(sandbox, name)
        assert "CANARY-" not in said
        outcome = (await sandbox.read([name], max_bytes=10))[0]
        assert outcome == Skipped(name, SkipReason.OUTSIDE)
    names = {path.name for folder in (ws, ws.parent) for path in folder.iterdir()} - {".git"}
    assert names == {"a.py", "d", "out", "ws", "ws_sib"}


async def test_a_refusal_does_not_say_whether_the_outside_file_exists(
    sandbox: DiskSandbox, ws: Path
) -> None:
    """S09: the same words for existing and missing."""
    (ws / "here").symlink_to("../out/c")
    (ws / "gone").symlink_to("../out/nothing")
    pairs = [
        ("../out/c", "../out/n"),
        ("here", "gone"),
        (f"{ws.parent}/out/c", f"{ws.parent}/out/n"),
    ]
    for existing, missing in pairs:
        for first, second in zip(
            (await everything_said(sandbox, existing)).splitlines(),
            (await everything_said(sandbox, missing)).splitlines(),
            strict=True,
        ):
            assert first.replace(existing, "NAME") == second.replace(missing, "NAME")


LINKS = {
    "absolute": "{out}/c", "relative": "../out/c", "chain1": "chain2", "chain2": "chain3",
    "chain3": "../out/c",
    "folder": "../out", "loop": "loop", "ping": "pong", "pong": "ping", "dangling": "nowhere",
    "environ": "/proc/self/environ", "procroot": "/proc/self/root", "fd": "/dev/fd/0",
    "proccwd": "/proc/self/cwd/../out", "sibling": "../ws_sib", "slash": "/", "d/up": "..",
    "d/loop": ".",
}  # fmt: skip


async def test_a_link_that_leads_out_gives_nothing(sandbox: DiskSandbox, ws: Path) -> None:
    """S10: by reading, searching, finding and listing, also in the middle of a path."""
    for name, target in LINKS.items():
        (ws / name).symlink_to(target.format(out=ws.parent / "out"))
    with fail_after(5):
        for name in [*LINKS, "folder/c", "sibling/c", "slash/etc/passwd", "procroot/etc/passwd"]:
            said = await everything_said(sandbox, name)
            assert "CANARY-" not in said
            assert "root:" not in said
        listed = [each.path.text for each in (await sandbox.list()).files]
    assert listed == ["a.py", "d/b.py"]
    found = await sandbox.search(TextPattern("CANARY|inside"))
    assert [match.path.text for match in found.matches] == ["a.py", "d/b.py"]
    assert [path.text for path in await sandbox.find(NamePattern("**"))] == ["a.py", "d/b.py"]


async def test_a_link_within_is_followed_by_all_tools_or_refused_by_all(
    sandbox: DiskSandbox, ws: Path, way: Way
) -> None:
    """S10: and the answer carries the real name, by which credential files are known."""
    (ws / "d" / "link.py").symlink_to("b.py")
    (ws / "to_d").symlink_to("d")
    (ws / "config").symlink_to(".git/config")
    reads = await sandbox.read(["d/link.py", "to_d/b.py"], max_bytes=100)
    if way is Way.WALK:
        assert [read.reason for read in reads if isinstance(read, Skipped)] == [
            SkipReason.OUTSIDE
        ] * 2
        for under in ("d/link.py", "to_d", "to_d/b.py"):
            with pytest.raises(OutsideWorkspace):
                await sandbox.search(TextPattern("inside", under=under))
        return
    assert [read.path.text for read in reads if isinstance(read, FileRead)] == ["d/b.py", "d/b.py"]
    for under in ("d/link.py", "to_d", "to_d/b.py"):
        found = await sandbox.search(TextPattern("inside", under=under))
        assert [match.path.text for match in found.matches] == ["d/b.py"]
    assert isinstance((await sandbox.read(["config"], max_bytes=10))[0], Skipped)


async def test_links_between_packages_do_not_make_a_listing_grow(
    sandbox: DiskSandbox, ws: Path
) -> None:
    """The cycles that package managers make, and a loop to the folder itself."""
    for one, other in (("a", "b"), ("b", "a")):
        modules = ws / "vendor" / one / "modules"
        modules.mkdir(parents=True)
        (modules.parent / "i.js").write_bytes(b"inside\n")
        (modules / other).symlink_to(f"../../{other}")
    (ws / "d" / "again").symlink_to(".")
    with fail_after(2):
        listed = [each.path.text for each in (await sandbox.list()).files]
    assert listed == ["a.py", "d/b.py", "vendor/a/i.js", "vendor/b/i.js"]


async def test_special_files_are_refused_at_once(sandbox: DiskSandbox, ws: Path) -> None:
    """S11, S24: FIFO, socket, device and a folder named like a file."""
    os.mkfifo(ws / "fifo.py")
    (ws / "x.py").mkdir()
    names = ["fifo.py", "x.py"]
    # A relative name, because a socket's address is at most 108 bytes long.
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(ws)
        try:
            server.bind("socket.py")
        finally:
            os.chdir(here)
        names.append("socket.py")
        if os.geteuid() == 0:
            os.mknod(ws / "null.py", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
            names.append("null.py")
        with fail_after(2):
            outcomes = await sandbox.read(names, max_bytes=10)
            assert outcomes == [Skipped(name, SkipReason.NOT_REGULAR) for name in names]
            for name in set(names) - {"x.py"}:
                with pytest.raises(InvalidRequest):
                    await sandbox.search(TextPattern("a", under=name))
            assert len((await sandbox.search(TextPattern("inside"))).matches) == 2
            assert [each.path.text for each in (await sandbox.list()).files] == ["a.py", "d/b.py"]


@pytest.mark.promise("never-falsely-fresh")
async def test_a_file_replaced_by_a_fifo_or_a_link_is_gone(sandbox: DiskSandbox, ws: Path) -> None:
    """S11: also when its folder becomes a link to a folder outside that holds the same name."""
    (ws.parent / "out" / "b.py").write_bytes(CANARY)
    assert len((await sandbox.list()).files) == 2
    (ws / "a.py").unlink()
    os.mkfifo(ws / "a.py")
    (ws / "d").rename(ws / "e")
    (ws / "d").symlink_to("../out")
    outcomes = await sandbox.read(["a.py", "d/b.py"], max_bytes=10)
    assert outcomes == [
        Skipped("a.py", SkipReason.NOT_REGULAR),
        Skipped("d/b.py", SkipReason.OUTSIDE),
    ]
    assert [each.path.text for each in (await sandbox.list()).files] == ["e/b.py"]
    assert not (await sandbox.search(TextPattern("CANARY"))).matches


async def test_a_folder_that_keeps_changing_into_a_link_never_lets_a_read_out(
    sandbox: DiskSandbox, ws: Path
) -> None:
    """The check and the use are one step: a flipper can only make reads fail."""
    (ws.parent / "out" / "b.py").write_bytes(CANARY)
    (ws / "trap").symlink_to("../out")
    done = threading.Event()

    def flip() -> None:
        for _ in range(3000):
            if done.is_set():
                return
            (ws / "d").rename(ws / "away")
            (ws / "trap").rename(ws / "d")
            (ws / "d").rename(ws / "trap")
            (ws / "away").rename(ws / "d")

    flipper = threading.Thread(target=flip)
    flipper.start()
    try:
        for _ in range(60):
            outcomes = await sandbox.read(["d/b.py"] * 20, max_bytes=100)
            assert {o.data for o in outcomes if isinstance(o, FileRead)} <= {b"inside\n"}
            listing = await sandbox.list()
            assert all(each.signature.size == len(b"inside\n") for each in listing.files)
        assert not (await sandbox.search(TextPattern("CANARY"))).matches
    finally:
        done.set()
        flipper.join(timeout=5)


@pytest.mark.skipif(Opening.best() is not Opening.KERNEL, reason="needs openat2")
def test_the_kernel_itself_keeps_a_name_beneath(tmp_path: Path) -> None:
    """Checking the real name afterwards is the second line: nothing outside is opened at all."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "in").write_bytes(b"inside\n")
    (tmp_path / "out").write_bytes(CANARY)
    for name, target in {"a": "../out", "b": str(tmp_path / "out"), "c": "/proc/self/fd/0"}.items():
        (tmp_path / "ws" / name).symlink_to(target)
    (tmp_path / "ws" / "d").symlink_to("in")
    folder = os.open(tmp_path / "ws", os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in ("a", "b", "c", "../out", "../ws/in", str(tmp_path / "out")):
            with pytest.raises(OSError, match="Errno"):
                openat2(folder, name, flags=os.O_RDONLY, resolve=BENEATH)
        os.close(openat2(folder, "d", flags=os.O_RDONLY, resolve=BENEATH))
        with pytest.raises(OSError, match="Errno"):
            openat2(folder, "d", flags=os.O_RDONLY, resolve=NO_LINKS)
    finally:
        os.close(folder)


async def test_a_root_that_was_replaced_is_noticed(sandbox: DiskSandbox, ws: Path) -> None:
    assert await sandbox.is_same_root()
    ws.rename(ws.parent / "moved")
    assert not await sandbox.is_same_root()
    ws.symlink_to("out")
    assert not await sandbox.is_same_root()
    ws.unlink()
    ws.mkdir()
    assert not await sandbox.is_same_root()


async def test_names_that_no_citation_can_carry_are_left_out(
    sandbox: DiskSandbox, ws: Path
) -> None:
    """A line end would break `path:line`, and bytes that are no UTF-8 every reply (C18)."""
    (ws / "new\nline.py").write_bytes(b"inside\n")
    Path(os.fsdecode(os.fsencode(ws) + b"/bad\xff.py")).write_bytes(b"inside\n")
    (ws / "-x").write_bytes(b"inside\n")
    assert [each.path.text for each in (await sandbox.list()).files] == ["-x", "a.py", "d/b.py"]
    found = await sandbox.search(TextPattern("inside", under="-x"))
    assert [match.path.text for match in found.matches] == ["-x"]


async def test_odd_branches_and_files_can_be_queried(ws: Path, way: Way) -> None:
    """S21: a branch really named `-x` and a file really named `--output=M`."""
    if not (ws / ".git").exists():
        return
    (ws / "--output=M").write_bytes(b"m\n")
    git(ws, "add", "-A")
    git(ws, "commit", "-q", "-m", "odd")
    git(ws, "update-ref", "refs/heads/-x", "HEAD~1")
    async with opened_on_disk(ws, way) as sandbox:
        changed = await sandbox.history(ChangedFiles("-x"))
        assert changed.changed == (("A", "--output=M"),)
        log = await sandbox.history(LogQuery("--output=M"))
        assert [commit.subject for commit in log.commits] == ["odd"]
