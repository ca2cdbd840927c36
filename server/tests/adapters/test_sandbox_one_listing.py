"""One listing, one set of rules: with git, without it, and where git's data are odd."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from shutil import which

import pytest

from live_memory.adapters.workspace.disk import DiskSandbox
from live_memory.adapters.workspace.git_ignore import UserExcludes
from live_memory.adapters.workspace.git_state import tracked_names
from live_memory.adapters.workspace.ripgrep import Runner, find_programs
from live_memory.adapters.workspace.safe_open import Opening
from live_memory.core.reading.lookup import Listing, ListingWay, LogQuery, Omission
from tests.contracts.sandbox_worlds import git, make_repository, write

pytestmark = pytest.mark.real("git")

WAYS = [ListingWay.GIT, ListingWay.WALK]
FILES = {"a.py": b"A = 1\n", "private.txt": b"P\n", "notes/private.txt": b"P\n", "b/c.py": b"\n"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path.resolve() / "home"


@pytest.fixture
def root(home: Path) -> Path:
    """A repository with nothing committed."""
    (home / "work" / "ws").mkdir(parents=True)
    write(home / "work" / "ws", FILES)
    git(home / "work" / "ws", "init", "-q")
    return home / "work" / "ws"


@asynccontextmanager
async def opened(
    root: Path,
    home: Path,
    way: ListingWay = ListingWay.GIT,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[DiskSandbox]:
    programs = find_programs(os.environ["PATH"])
    sandbox = DiskSandbox(
        str(root),
        runner=Runner(),
        programs=programs if way is ListingWay.GIT else replace(programs, git=None),
        opening=Opening.best(),
        excludes=UserExcludes(str(home), {"GIT_CONFIG_NOSYSTEM": "1"} | dict(environ or {})),
    )
    try:
        yield sandbox
    finally:
        await sandbox.aclose()


async def listed(
    root: Path,
    home: Path,
    way: ListingWay = ListingWay.GIT,
    environ: Mapping[str, str] | None = None,
) -> Listing:
    async with opened(root, home, way, environ) as sandbox:
        return await sandbox.list()


def names(listing: Listing) -> list[str]:
    return [file.path.text for file in listing.files]


def by_plain_git(root: Path, home: Path, environ: Mapping[str, str]) -> list[str]:
    """What git lists for a person with this home."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    command = [which("git") or "git", "ls-files", "-coz", "--exclude-standard"]
    env |= environ
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, check=True)
    return sorted(done.stdout.decode().split("\0")[:-1])


# Files of a home by name, and the environment; each leaves out the two private files.
PLACES: list[tuple[Mapping[str, str], Mapping[str, str]]] = [
    ({".gitconfig": "[core]\n\texcludesFile = ~/.ignored\n", ".ignored": "private.txt\n"}, {}),
    ({".gitconfig": '[Core] excludesfile="{home}/my rules" ; mine\n', "my rules": "priv*\n"}, {}),
    ({".config/git/ignore": "/private.txt\nnotes/\n"}, {}),
    ({"x/git/ignore": "private.txt\n"}, {"XDG_CONFIG_HOME": "{home}/x"}),
    ({"x/git/config": "[core]\nexcludesFile = ~/e\n", "e": "*.txt\r\n"},
     {"XDG_CONFIG_HOME": "{home}/x"}),
    ({".gitconfig": "[include]\npath = more/c\n", "more/c": "[core]\nexcludesFile=~/e\n",
      "e": "# all\n**/private.txt\n"}, {}),
    ({".gitconfig": '[includeIf "gitdir:~/work/"]\n path = c\n', "c": "[core]\nexcludesFile=~/e\n",
      "e": "private.txt\n"}, {}),
    ({"other": "[core]\nexcludesFile = ~/e\n", "e": "private.txt\n"},
     {"GIT_CONFIG_GLOBAL": "{home}/other"}),
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("files", "environ"), PLACES)
async def test_what_a_person_excludes_everywhere_is_not_listed(
    root: Path, home: Path, way: ListingWay, files: Mapping[str, str], environ: Mapping[str, str]
) -> None:
    write(home, {name: text.replace("{home}", str(home)).encode() for name, text in files.items()})
    environ = {name: value.replace("{home}", str(home)) for name, value in environ.items()}
    found = await listed(root, home, way, environ)
    assert (names(found), found.way) == (["a.py", "b/c.py"], way)
    assert names(found) == by_plain_git(root, home, environ)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("config", "kept"),
    [
        ('[includeIf "gitdir:~/elsewhere/"]\n path = c\n', True),
        ("[core]\n excludesFile = ~/e\n excludesFile =\n", True),
        ("[core]\n excludesFile = ~/no such file\n", True),
        ("[core]\n# excludesFile = ~/e\n[other]\nexcludesFile = ~/e\n", True),
        ("[core]\n excludesFile = ~/no\n excludesFile = ~/e\n", False),
        ("[core]\n excludesFile = ~/\\\ne\n", False),
    ],
)
async def test_a_configuration_counts_as_git_reads_it(
    root: Path, home: Path, way: ListingWay, config: str, kept: bool
) -> None:
    write(home, {".gitconfig": config.encode(), "e": b"private.txt\n"})
    write(home, {"c": b"[core]\n excludesFile = ~/e\n", ".config/git/ignore": b"a.py\n"})
    found = names(await listed(root, home, way))
    assert ("private.txt" in found) == kept
    assert found == by_plain_git(root, home, {})


@pytest.mark.parametrize("way", WAYS)
async def test_the_nearer_rule_wins_over_what_a_person_excludes_everywhere(
    root: Path, home: Path, way: ListingWay
) -> None:
    write(home, {".config/git/ignore": b"*.txt\n*.py\n"})
    write(root, {"notes/.gitignore": b"!private.txt\n", ".git/info/exclude": b"!a.py\nb/\n"})
    found = names(await listed(root, home, way))
    assert found == ["a.py", "notes/.gitignore", "notes/private.txt"]
    assert found == by_plain_git(root, home, {})


@pytest.mark.parametrize("way", WAYS)
async def test_rules_are_for_names_that_are_not_tracked(
    root: Path, home: Path, way: ListingWay
) -> None:
    write(root, {"venv/lib/x.py": b"", "venv/new.py": b"", ".gitignore": b"venv/\n*.txt\n"})
    git(root, "add", "-f", "venv/lib/x.py", "private.txt")
    found = names(await listed(root, home, way))
    assert found == [".gitignore", "a.py", "b/c.py", "private.txt", "venv/lib/x.py"]


@pytest.mark.parametrize("way", WAYS)
async def test_what_tools_make_is_left_out_by_a_repository_s_own_rules_alone(
    root: Path, home: Path, way: ListingWay
) -> None:
    write(root, {"venv/x.py": b"", "node_modules/y.js": b"", ".gitignore": b"node_modules\n"})
    found = names(await listed(root, home, way))
    assert "venv/x.py" in found
    assert "node_modules/y.js" not in found


async def test_repositories_in_a_plain_folder_keep_their_own_rules(home: Path) -> None:
    """N09: `info/exclude` too, what is tracked, and nothing of one repository in another."""
    write(home, {".config/git/ignore": b"*.tmp\n"})
    for name in ("one", "deep/two"):
        (home / "all" / name).mkdir(parents=True)
        make_repository(home / "all" / name, [("start", {"a.py": b"", ".gitignore": b"*.log\n"})])
        write(home / "all" / name, {"secret.txt": b"", "x.log": b"", "y.tmp": b"", "f.log": b""})
        write(home / "all" / name, {".git/info/exclude": b"secret.txt\n"})
        git(home / "all" / name, "add", "-f", "f.log")
    write(
        home / "all", {"secret.txt": b"", "z.tmp": b"", "venv/v.py": b"", ".gitignore": b"a.py\n"}
    )
    found = await listed(home / "all", home)
    assert names(found) == sorted(
        [".gitignore", "secret.txt"]
        + [f"{r}/{n}" for r in ("one", "deep/two") for n in (".gitignore", "a.py", "f.log")]
    )
    assert (found.way, found.problem) == (ListingWay.WALK, None)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["separate", "link", "moved", "shared folders", "reftable"])
async def test_odd_git_data_give_the_same_names_and_no_history(
    root: Path, home: Path, way: ListingWay, kind: str
) -> None:
    """N11: the rules hold, tracked names are listed, and it is said what is odd."""
    write(root, {"venv/x.py": b"", "private.log": b"", ".git/info/exclude": b"private.*\n"})
    git(root, "add", "-f", "venv/x.py", "a.py")
    git(root, "commit", "-qm", "start")
    data = home / "data"
    match kind:
        case "separate":
            git(root, "init", "-q", "--separate-git-dir", str(data))
        case "link":
            (root / ".git").rename(data)
            (root / ".git").symlink_to(data)
        case "moved":
            git(root, "worktree", "add", "-q", "--detach", str(home / "tree"))
            write(home / "tree", FILES | {"private.log": b""})
            (home / "tree").rename(home / "moved")
            root = home / "moved"
        case "shared folders":
            for name in ("refs", "objects"):
                data.mkdir(exist_ok=True)
                (root / ".git" / name).rename(data / name)
                (root / ".git" / name).symlink_to(data / name)
        case "reftable":
            (root / ".git" / "reftable").mkdir()
            (root / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    async with opened(root, home, way) as sandbox:
        found = await sandbox.list()
        assert names(found) == ["a.py", "b/c.py", "venv/x.py"]
        assert (found.way, bool(found.problem)) == (way, True)
        if way is ListingWay.GIT:
            assert (await sandbox.history(LogQuery())).problem == found.problem


async def test_another_repository_s_index_tells_no_name_that_is_not_here(
    root: Path, home: Path
) -> None:
    make_repository(home / "theirs", [("start", {"a.py": b"", "their_secret_plan.md": b""})])
    shutil.rmtree(root / ".git")
    (root / ".git").write_text(f"gitdir: {home}/theirs/.git\n")
    async with opened(root, home) as sandbox:
        found = await sandbox.list()
        assert names(found) == sorted(FILES)
        left_out = await sandbox.omitted(found)
        assert not any(each.why is Omission.ABSENT for each in left_out)
        assert "their" not in str(left_out)


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_tracked_names_are_read_from_every_form_of_index(
    tmp_path: Path, version: int, hashes: str
) -> None:
    git(tmp_path, "init", "-q", f"--object-format={hashes}")
    write(tmp_path, {f"{'d' * n}/{'é' * n}{n}.py": b"" for n in range(1, 30)})
    write(tmp_path, {"/".join(["e" * 200] * 15) + "/long\n.py": b"", "later.py": b""})
    git(tmp_path, "add", "d*", "e*")
    git(tmp_path, "add", "--intent-to-add", "later.py")
    git(tmp_path, "update-index", "--index-version", str(version))
    expected = frozenset(git(tmp_path, "ls-files", "-z").split("\0")[:-1])
    data = tmp_path / ".git" / "index"
    assert tracked_names(str(tmp_path / ".git"), is_sha256=hashes == "sha256") == expected
    whole = data.read_bytes()
    for size in range(0, len(whole), 97):  # a torn index tells all, or that it cannot be read
        data.write_bytes(whole[:size])
        found = tracked_names(str(tmp_path / ".git"), is_sha256=hashes == "sha256")
        assert found in (None, expected)
    data.write_bytes(whole)
    git(tmp_path, "update-index", "--split-index")
    assert tracked_names(str(tmp_path / ".git"), is_sha256=hashes == "sha256") in (None, expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
async def test_git_data_are_known_by_shape(home: Path, way: ListingWay, hashes: str) -> None:
    """N13: a bare repository with work trees beside it, and copies under other names."""
    source = home / "source"
    make_repository(source, [("start", {"a.py": b""})], options=[f"--object-format={hashes}"])
    top = home / "top"
    git(home, "clone", "-q", "--bare", str(source), str(top / ".bare"))
    git(home, "clone", "-q", "--bare", str(source), str(top / "store" / "backup"))
    (top / ".git").write_text("gitdir: ./.bare\n")
    git(top / ".bare", "worktree", "add", "-q", str(top / "main"))
    (top / "README").write_text("text\n")
    assert names(await listed(top, home, way)) == ["README", "main/a.py"]
    shutil.copytree(top / "store" / "backup", source / "fixtures" / "repo.git")
    (source / "HEAD").write_text("of a chapter\n")
    assert names(await listed(source, home, way)) == ["HEAD", "a.py"]


@pytest.mark.parametrize("way", WAYS)
async def test_a_repository_in_a_work_tree_is_named_and_not_listed(
    root: Path, home: Path, way: ListingWay
) -> None:
    (root / "libs").mkdir()
    make_repository(root / "libs" / "pay", [("start", {"p.py": b""})])
    async with opened(root, home, way) as sandbox:
        found = await sandbox.list()
        assert not any(name.startswith("libs/") for name in names(found))
        assert [each.path.text for each in await sandbox.omitted(found)] == ["libs/pay"]


@pytest.mark.parametrize("way", WAYS)
async def test_a_link_in_the_workspace_is_a_name_of_its_target(
    root: Path, home: Path, way: ListingWay
) -> None:
    """N17, with both listings; one that rules ignore is not named."""
    write(root, {"README.txt": b"text\n", ".gitignore": b"ignored*\n"})
    (root / "CLAUDE.md").symlink_to("README.txt")
    (root / "pkg").symlink_to("b")
    (root / "ignored_link").symlink_to("README.txt")
    async with opened(root, home, way) as sandbox:
        found = await sandbox.omitted(await sandbox.list())
    assert {each.path.text: str(each.target) for each in found} == {
        "CLAUDE.md": "README.txt", "pkg": "b"
    }  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("named", "counts"), [(".rules", True), ("../outside", False), ("~/e", False), (".git/r", True)]
)
async def test_rules_that_a_repository_s_configuration_names_count_where_they_lie_in_it(
    root: Path, home: Path, way: ListingWay, named: str, counts: bool
) -> None:
    write(home, {"e": b"private.txt\n", "work/outside": b"private.txt\n"})
    write(root, {".rules": b"private.txt\n", ".git/r": b"private.txt\n"})
    git(root, "config", "core.excludesFile", named)
    assert ("private.txt" not in names(await listed(root, home, way))) == counts


@pytest.mark.parametrize("way", WAYS)
async def test_rules_that_are_no_regular_file_stop_nothing(
    root: Path, home: Path, way: ListingWay
) -> None:
    write(home, {".gitconfig": b"[core]\nexcludesFile = ~/pipe\n[include]\npath = .gitconfig\n"})
    os.mkfifo(home / "pipe")
    assert names(await listed(root, home, way)) == sorted(FILES)


async def test_a_workspace_of_jujutsu_has_the_rules_of_the_git_behind_it(home: Path) -> None:
    root = home / "jj"
    write(root, {"a.py": b"", "x.log": b"", "private.txt": b"", "venv/x.py": b""})
    write(root, {".gitignore": b"*.log\n", ".jj/repo/store/git/info/exclude": b"private.txt\n"})
    assert names(await listed(root, home)) == [".gitignore", "a.py", "venv/x.py"]
    other = home / "second"
    write(other, {"b.py": b"", "private.txt": b"", ".jj/repo": f"{root}/.jj/repo".encode()})
    assert names(await listed(other, home)) == ["b.py"]
