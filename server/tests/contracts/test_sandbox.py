"""The `Sandbox` contract, over every implementation and every way the real one can work."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from live_memory.core.errors import InvalidRequest, OutsideWorkspace
from live_memory.core.reading.lookup import (
    ChangedFiles,
    CommitSearch,
    LogQuery,
    NamePattern,
    TextPattern,
)
from live_memory.core.reading.observation import (
    FileRead,
    Skipped,
    SkipReason,
    decode,
    lines_of,
    refusal_of_name,
)
from live_memory.core.values import RelPath
from live_memory.ports import Sandbox
from tests.contracts.sandbox_worlds import Past, Way, opened_world

OpenWorld = Callable[..., Awaitable[Sandbox]]

pytestmark = pytest.mark.real("git", "rg")


# Every way on one event loop; both loops for what starts programs and threads.
WAYS = ((Way.KERNEL, "asyncio"), (Way.WALK, "trio"), (Way.NO_RG, "asyncio"), (Way.MEMORY, "trio"))


@pytest.fixture(params=WAYS, ids=lambda each: each[0])
def way(request: pytest.FixtureRequest) -> Way:
    return Way(request.param[0])


@pytest.fixture
def anyio_backend(way: Way) -> str:
    return dict(WAYS)[way]


@pytest.fixture
async def open_world(way: Way, tmp_path: Path) -> AsyncIterator[OpenWorld]:
    async with AsyncExitStack() as stack:

        async def build(
            files: Mapping[str, bytes], commits: Sequence[Past] | None = None
        ) -> Sandbox:
            return await stack.enter_async_context(opened_world(way, tmp_path, files, commits))

        yield build


async def names_of(sandbox: Sandbox) -> list[str]:
    return [listed.path.text for listed in (await sandbox.list()).files]


# Listing and reading


async def test_a_listing_is_in_path_order_and_says_what_reading_says(
    open_world: OpenWorld,
) -> None:
    files = {"b.py": b"2\n", "a/z.py": b"1\n", "a.py": b"", ".hidden": b"h", "a/b/c d.py": b"3"}
    sandbox = await open_world(files)
    listing = await sandbox.list()
    assert [each.path.text for each in listing.files] == sorted(files)
    assert not listing.is_cut
    reads = await sandbox.read([each.path.text for each in listing.files], max_bytes=100)
    assert [each.path for each in listing.files] == [
        r.path for r in reads if isinstance(r, FileRead)
    ]
    for listed, read in zip(listing.files, reads, strict=True):
        assert isinstance(read, FileRead)
        assert read.signature == listed.signature
        assert read.data == files[listed.path.text]
    assert await sandbox.is_same_root()


@pytest.mark.parametrize("commits", [None, [("start", {"kept.py": b"1"})]])
async def test_what_ignore_rules_name_is_not_listed(
    open_world: OpenWorld, commits: Sequence[Past] | None
) -> None:
    """Nested rules, negations, anchors and an ignored parent, as git reads them."""
    files = {
        ".gitignore": b"*.log\n!keep.log\n/build/\ndeep/**/x\n[z-a]\n\\\n!\n[[bad\n",
        "kept.py": b"1",
        "a.log": b"",
        "keep.log": b"",
        "build/out.py": b"",
        "src/build/in.py": b"",
        "deep/1/2/x": b"",
        "deep/1/2/y": b"",
        "pkg/.gitignore": b"!*.log\nprivate/\n",
        "pkg/b.log": b"",
        "pkg/private/c.py": b"",
    }
    assert await names_of(await open_world(files, commits)) == [
        ".gitignore", "deep/1/2/y", "keep.log", "kept.py", "pkg/.gitignore", "pkg/b.log",
        "src/build/in.py",
    ]  # fmt: skip


async def test_folders_that_tools_make_are_left_out_without_git(open_world: OpenWorld) -> None:
    files = {"a.py": b"", "node_modules/x/i.js": b"", "b/.venv/c.py": b"", "__pycache__/a.pyc": b""}
    assert await names_of(await open_world(files)) == ["a.py"]


async def test_a_clipped_read_hashes_the_whole_file(open_world: OpenWorld) -> None:
    data = bytes(range(256)) * 9000
    sandbox = await open_world({"big.bin": data})
    (read,) = await sandbox.read(["big.bin"], max_bytes=10)
    assert isinstance(read, FileRead)
    assert (read.data, read.is_clipped) == (data[:10], True)
    assert read.sha.hex == sha256(data).hexdigest()
    assert read.signature.size == len(data)


@pytest.mark.promise("inside-the-workspace")
async def test_each_name_has_its_outcome_in_order_and_missing_looks_like_outside(
    open_world: OpenWorld,
) -> None:
    """S09: the answer does not reveal whether a file outside exists."""
    sandbox = await open_world({"a.py": b"a", "d/b.py": b"b"})
    names = ["missing", "./a.py", "../ws/a.py", "d", "d//b.py", "/etc/passwd", "d/../a.py", ""]
    outcomes = await sandbox.read(names, max_bytes=10)
    got = [each.path.text if isinstance(each, FileRead) else each for each in outcomes]
    assert got == [
        Skipped("missing", SkipReason.OUTSIDE),
        "a.py",
        Skipped("../ws/a.py", SkipReason.OUTSIDE),
        Skipped("d", SkipReason.NOT_REGULAR),
        "d/b.py",
        Skipped("/etc/passwd", SkipReason.OUTSIDE),
        "a.py",
        Skipped("", SkipReason.OUTSIDE),
    ]


async def test_git_data_is_never_listed_read_or_searched(open_world: OpenWorld) -> None:
    """`.git/config` holds remote addresses, at times with tokens."""
    sandbox = await open_world({"a.py": b"repositoryformatversion\n"}, [("start", {"a.py": b"1"})])
    assert await names_of(sandbox) == ["a.py"]
    (read,) = await sandbox.read([".git/config"], max_bytes=10)
    assert read == Skipped(".git/config", SkipReason.IGNORED)
    found = await sandbox.search(TextPattern("repositoryformatversion", ignore_case=True))
    assert [match.path.text for match in found.matches] == ["a.py"]
    with pytest.raises(OutsideWorkspace):
        await sandbox.search(TextPattern("x", under=".git/config"))


# Searching

CORPUS = {
    "plain.py": b"import os\n\n\ndef retry(limit=3):\n    return 'a+b' if limit else [1]\n",
    "crlf.txt": b"one\r\ntwo end\r\nEND\r\n",
    "cr.txt": b"one\rtwo end\rthree",
    "mixed.txt": b"a\r\n\r\rb\n\n\nc",
    "empty.txt": b"",
    "newline.txt": b"\n",
    "no-newline.txt": b"last line without end",
    "bom.py": b"\xef\xbb\xbfimport bom\n",
    "utf16.txt": "import sixteen\nZürich \U0001f600\n".encode("utf-16"),
    "utf16be.txt": b"\xfe\xff" + "import big\n".encode("utf-16-be"),
    "utf32.txt": "import thirtytwo\n".encode("utf-32"),
    "latin.txt": "caf\xe9 end\nZ\xfcrich\n".encode("latin-1"),
    "sjis.txt": "ソース表示 import ポー\n".encode("cp932"),
    "utf16-unmarked.txt": "import unmarked\n".encode("utf-16-le") * 4,
    "late-nul.txt": (b"x" * 99 + b"\n") * 90 + b"import \0 late\n",
    "binary.bin": b"import \0\0binary\n",
    "unicode.txt": "Zürich ÜBER straße\nKelvin \u212a ſ İ ı\n日本語 import\n１２３\n".encode(),
    "ends.txt": "\u2028x\x85y\x0bz\n".encode(),
    "long.txt": b"a" * 700 + b"needle\n" + b"needle" + b"b" * 700 + b"\n",
    "wide.txt": ("ü" * 600 + "needle\n").encode(),
    ".hidden/x.py": b"import hidden\n",
    "--output=M": b"import option\n",
    "a b/[c] {d}*.py": b"import odd\n",
    "sub/deep/one.py": b"import os\nclass One: pass\n",
    "sub/two.js": b"import two from 'x' // $1 (ok) ^caret\n",
}

EXPRESSIONS = [
    "import", "^import", "import os$", r"\bend\b", r"\Bnd", "^$", "^", "$", "a+b", r"a\+b", "x{3}",
    r"[a-c]+\+?b", "[^a-z ]", r"[\w.]+\(", r"\d", r"\w+ \w+ \w+", r"\W{2}", r"\s", r"\S+\s\S+", ".",
    "...", ".*", "(?:one|two)", "(one|THREE)", "a|b|", "(?i)END", "Z.rich", "Zürich", "[ü-ÿ]",
    "caf.", "\ufffd", "日本", r"\$1", r"\(ok\)", r"\^caret", "{", "}", "]", "function() {", "1]",
    "{a,2}",
    "needle", "a{30}", "(ab?)*c", "(?P<name>two) end", r"[]x]", "[a^]", r"[\]\-]", "[&&|~-]",
    "[[a]",
    r"\t", "(ab|a)*c", "(?:b|a)+?b", "ıx?", "\u2028", "()", "(|x)end", "x*?y??", r"[^\W\d]+ing",
    r"[\s\S]late", "-e", "--pre=x",
]  # fmt: skip


@cache
def expected(regex: str, *, ignore_case: bool) -> list[tuple[str, int, str]]:
    """What a reader with Python would find, file by file and line by line."""
    ignore_case = ignore_case or regex.startswith("(?i)")
    compiled = re.compile(regex.removeprefix("(?i)"), re.IGNORECASE if ignore_case else 0)
    found = []
    for name, data in sorted(CORPUS.items()):
        decoded = decode(data)
        for number, line in enumerate(lines_of(decoded) if decoded else (), 1):
            if compiled.search(line):
                found.append((name, number, line[:500]))
    return found


@pytest.mark.parametrize("ignore_case", [False, True])
async def test_every_engine_finds_exactly_what_python_finds(
    open_world: OpenWorld, ignore_case: bool
) -> None:
    """Line ends, encodings, case folding, binary files, long lines and odd names, for all ways."""
    sandbox = await open_world(CORPUS)
    for regex in EXPRESSIONS:
        found = await sandbox.search(TextPattern(regex, ignore_case=ignore_case, limit=1000))
        rows = [(match.path.text, match.line, match.text) for match in found.matches]
        with_warning = regex.replace("[[a]", r"[\[a]").replace("[&&|~-]", r"[&|~\-]")
        assert rows == expected(with_warning, ignore_case=ignore_case), regex
        assert not found.is_cut


BAD_EXPRESSIONS = [
    "", "(", ")", "a)", "[", "[a", "[]", "*a", "+", "?", "{2}", "a**", "a*+", "a{3}{2}", "a{3,1}",
    "a{,2}", "\\", r"\1",
    r"(a)\1", r"\pL{1000}", r"\p{L}", "(?=a)", "(?<!a)b", "(?s)a", "a(?i)b", "(?#c)", r"\Aa", r"\Z",
    r"\<a\>",
    r"a\nb", r"\r", "[[:alpha:]]", "[z-a]", r"[\d-z]", r"[\b]", "^*", r"\b+",
    "((a{100}){100}){100}", "a{9999}",
    "a" * 100_000, "(" * 400 + ")" * 400, "\ud83d",
]  # fmt: skip


async def test_an_expression_outside_the_dialect_is_refused_by_all(open_world: OpenWorld) -> None:
    """S24: the same expressions are refused whichever engine is there."""
    sandbox = await open_world({"a.py": b"a\n"})
    for regex in BAD_EXPRESSIONS:
        with pytest.raises(InvalidRequest):
            await sandbox.search(TextPattern(regex))


@pytest.mark.parametrize(
    ("under", "glob", "names"),
    [
        (".", None, ["a.py", "d/b.py", "d/c.js", "d/e/f.py"]),
        ("d", None, ["d/b.py", "d/c.js", "d/e/f.py"]),
        ("./d/", "*.py", ["d/b.py", "d/e/f.py"]),
        (".", "d/*.py", ["d/b.py"]),
        (".", "**/*.{js,py}", ["a.py", "d/b.py", "d/c.js", "d/e/f.py"]),
        ("d/c.js", None, ["d/c.js"]),
        ("d/e", "d/e/*", ["d/e/f.py"]),
        (".", "nothing", []),
    ],
)
async def test_a_search_is_narrowed_by_folder_file_and_glob(
    open_world: OpenWorld, under: str, glob: str | None, names: list[str]
) -> None:
    files = dict.fromkeys(("a.py", "d/b.py", "d/c.js", "d/e/f.py"), b"needle\n")
    sandbox = await open_world(files)
    found = await sandbox.search(TextPattern("needle", under=under, glob=glob))
    assert [match.path.text for match in found.matches] == names


async def test_a_file_named_outright_is_searched_although_it_is_ignored(
    open_world: OpenWorld,
) -> None:
    sandbox = await open_world({".gitignore": b"*.log\n", "a.log": b"needle\n"})
    assert not (await sandbox.search(TextPattern("needle"))).matches
    assert len((await sandbox.search(TextPattern("needle", under="a.log"))).matches) == 1


@pytest.mark.parametrize("under", ["missing", "../ws", "/etc", "~", "", "a\0b", "x" * 5000])
async def test_a_search_outside_is_refused_in_the_words_of_a_missing_name(
    open_world: OpenWorld, under: str
) -> None:
    sandbox = await open_world({"a.py": b"a\n"})
    with pytest.raises(OutsideWorkspace, match=r"^not a path in this workspace$"):
        await sandbox.search(TextPattern("a", under=under))


async def test_a_search_says_when_there_was_more(open_world: OpenWorld) -> None:
    sandbox = await open_world({f"{n:03}.txt": b"hit\n" * 100 for n in range(20)})
    exact = await sandbox.search(TextPattern("hit", under="000.txt", limit=100))
    assert (len(exact.matches), exact.is_cut) == (100, False)
    cut = await sandbox.search(TextPattern("hit", limit=150))
    assert (len(cut.matches), cut.is_cut) == (150, True)
    assert (cut.matches[-1].path.text, cut.matches[-1].line) == ("001.txt", 50)


@pytest.mark.promise("no-secrets")
async def test_a_credential_file_gives_no_line(open_world: OpenWorld) -> None:
    names = [".env", "id_rsa", "server.pem", ".npmrc", ".netrc"]
    sandbox = await open_world(dict.fromkeys([*names, "a.py"], b"needle\n"))
    refused = [name for name in names if refusal_of_name(RelPath(name))]
    for under in (".", *refused):
        found = await sandbox.search(TextPattern("needle", under=under))
        assert not [m for m in found.matches if m.path.text in refused]


# Finding names


@pytest.mark.parametrize(
    ("glob", "names"),
    [
        ("*.py", ["a.py", "src/b.py", "src/x/c.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**", ["src/b.py", "src/x/[q].js", "src/x/c.py"]),
        ("src/", ["src/b.py", "src/x/[q].js", "src/x/c.py"]),
        ("**/x/**/*.py", ["src/x/c.py"]),
        ("**/[a-b].py", ["a.py", "src/b.py"]),
        ("[!a].py", ["src/b.py", "src/x/c.py"]),
        ("?.{py,js}", ["a.py", "src/b.py", "src/x/c.py"]),
        ("[[]q].js", ["src/x/[q].js"]),
        ("./a.py", ["a.py"]),
        (".", ["a.py", "src/b.py", "src/x/[q].js", "src/x/c.py"]),
        ("s*c/*", ["src/b.py"]),
        ("{a,src/{b,x/c}}.py", ["a.py", "src/b.py", "src/x/c.py"]),
        ("*a*", ["a.py"]),
        ("**/" * 200 + "c.py", ["src/x/c.py"]),
        ("*" * 200 + "z", []),
        ("src", []),
        ("[.][.]/*", []),
        ("$HOME/*", []),
    ],
)
async def test_globs_name_files_the_same_way_everywhere(
    open_world: OpenWorld, glob: str, names: list[str]
) -> None:
    sandbox = await open_world(
        dict.fromkeys(("a.py", "src/b.py", "src/x/c.py", "src/x/[q].js"), b"")
    )
    assert [path.text for path in await sandbox.find(NamePattern(glob))] == names
    assert [path.text for path in await sandbox.find(NamePattern(glob, limit=1))] == names[:1]


BAD_GLOBS = [
    "", "  ", "../**", "/etc/*", "**/../../*", "{..,d}/*", "d/**/..", "*/../../out/*", "~root/*",
    "!*.py", "[",
    "[a", "[]", "{a", "a}", "[z-a]", "[" * 10_000, "{a,b}" * 10, "a\0b", "{a,[}",
]  # fmt: skip


@pytest.mark.promise("inside-the-workspace")
async def test_a_malformed_glob_or_one_that_points_out_is_refused(
    open_world: OpenWorld,
) -> None:
    """S13."""
    sandbox = await open_world({"a.py": b"a\n"})
    for glob in BAD_GLOBS:
        with pytest.raises(InvalidRequest):
            await sandbox.find(NamePattern(glob))
        with pytest.raises(InvalidRequest):
            await sandbox.search(TextPattern("a", glob=glob))


# History

PAST: Sequence[Past] = [
    ("start", {"a.py": b"limit = 3\n", "gone.py": b"1\n"}),
    ("raise the limit", {"a.py": b"limit = 7\n", "gone.py": b"1\n", "d/b.py": b"x\n"}),
    ("drop gone [x] --all", {"a.py": b"limit = 7\n", "d/b.py": b"x\n", "--output=M": b"m\n"}),
]
NOW = {"a.py": b"limit = 9\n", "--output=M": b"m\n", "new.py": b"n\n"}


@pytest.mark.parametrize(
    ("query", "subjects"),
    [
        (LogQuery(), ["drop gone [x] --all", "raise the limit", "start"]),
        (LogQuery("a.py"), ["raise the limit", "start"]),
        (LogQuery("./d"), ["raise the limit"]),
        (LogQuery("--output=M"), ["drop gone [x] --all"]),
        (LogQuery("*.py"), []),
        (LogQuery(":(top)a.py"), []),
        (LogQuery("missing"), []),
        (CommitSearch("limit = 3"), ["raise the limit", "start"]),
        (CommitSearch("[x]"), ["drop gone [x] --all"]),
        (CommitSearch("--all"), ["drop gone [x] --all"]),
        (CommitSearch("limit"), ["raise the limit", "start"]),
        (CommitSearch("limit", path="d"), ["raise the limit"]),
        (CommitSearch("--output=N"), []),
        (CommitSearch("^limit"), []),
    ],
)
async def test_history_finds_commits(
    open_world: OpenWorld, query: LogQuery | CommitSearch, subjects: list[str]
) -> None:
    sandbox = await open_world(NOW, PAST)
    history = await sandbox.history(query)
    assert [commit.subject for commit in history.commits] == subjects
    assert (history.problem, history.is_cut) == (None, False)


async def test_a_commit_carries_id_author_time_and_the_names_it_touched(
    open_world: OpenWorld,
) -> None:
    sandbox = await open_world(NOW, PAST)
    history = await sandbox.history(LogQuery(limit=2))
    newest, before = history.commits
    assert history.is_cut
    assert (newest.author, newest.at) == ("Ada", 1_700_000_120.0)
    assert re.fullmatch("[0-9a-f]{40}", newest.id)
    assert newest.files == ("--output=M", "gone.py")
    assert before.files == ("a.py", "d/b.py")


async def test_changed_files_compare_the_work_tree_with_a_revision(open_world: OpenWorld) -> None:
    sandbox = await open_world(NOW, PAST)
    oldest = (await sandbox.history(LogQuery())).commits[-1].id
    assert (await sandbox.history(ChangedFiles())).changed == (
        ("M", "a.py"),
        ("D", "d/b.py"),
        ("?", "new.py"),
    )
    since_start = await sandbox.history(ChangedFiles(oldest))
    assert since_start.changed == (
        ("A", "--output=M"),
        ("M", "a.py"),
        ("D", "gone.py"),
        ("?", "new.py"),
    )
    cut = await sandbox.history(ChangedFiles(oldest, limit=1))
    assert (cut.changed, cut.is_cut) == ((("A", "--output=M"),), True)


BAD_REVISIONS = [
     "", "nosuch", "^HEAD", "HEAD...", "HEAD:a.py", "@{upstream}", "-x", "--output=M", "--all",
     "HEAD --output=M", ";touch M", "$(touch M)", "HEAD\n--output=M", "a\0b", "x" * 5000, "\ud83d",
]  # fmt: skip


async def test_what_is_no_revision_is_refused(open_world: OpenWorld) -> None:
    """S21."""
    sandbox = await open_world(NOW, PAST)
    for since in BAD_REVISIONS:
        with pytest.raises(InvalidRequest):
            await sandbox.history(ChangedFiles(since))


@pytest.mark.parametrize("path", ["../ws/a.py", "/etc/passwd", "..", "~/a", "a\0b", ""])
async def test_history_of_a_path_outside_is_refused(open_world: OpenWorld, path: str) -> None:
    sandbox = await open_world(NOW, PAST)
    for query in (LogQuery(path), CommitSearch("x", path=path)):
        with pytest.raises(OutsideWorkspace):
            await sandbox.history(query)


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\0b", "x" * 2000, "\ud83d"])
async def test_a_text_that_no_commit_can_be_searched_for_is_refused(
    open_world: OpenWorld, text: str
) -> None:
    sandbox = await open_world(NOW, PAST)
    with pytest.raises(InvalidRequest):
        await sandbox.history(CommitSearch(text))


async def test_without_git_there_is_a_reason_instead_of_history(open_world: OpenWorld) -> None:
    sandbox = await open_world(NOW)
    for query in (LogQuery(), CommitSearch("x"), ChangedFiles()):
        history = await sandbox.history(query)
        assert history.problem == "not a git work tree"
        assert not history.commits
        assert not history.changed


async def test_a_repository_without_commits_has_an_empty_history(open_world: OpenWorld) -> None:
    sandbox = await open_world({"a.py": b"1"}, [])
    assert (await sandbox.history(LogQuery())).commits == ()
    assert (await sandbox.history(ChangedFiles())).changed == (("?", "a.py"),)


async def test_mentions_tell_which_files_hold_which_texts_how_often(
    open_world: OpenWorld, way: Way
) -> None:
    sandbox = await open_world(
        {
            "a.py": b"Retry = retry_limit(RETRY)\n",
            "b space.py": b"nothing\n",
            "d/c.py": b"limit\n\n\nlimit\n",
            "left.py": b"retry\n",
        }
    )
    among = [file for file in (await sandbox.list()).files if file.path.text != "left.py"]
    found = await sandbox.mentions(["retry", "retry_limit", "limit"], among=among)
    if way is Way.NO_RG:
        assert found.is_cut
        return
    assert not found.is_cut
    assert found.counts == {
        RelPath("a.py"): {"retry": 3, "retry_limit": 1, "limit": 1},
        RelPath("d/c.py"): {"limit": 2},
    }
    assert await sandbox.mentions([], among=among) == await sandbox.mentions(["no"], among=[])
