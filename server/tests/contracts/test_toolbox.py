"""The companion's eight tools on a real repository: what they give, and that nothing else comes."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.adapters.workspace.disk import DiskSandbox
from live_memory.core.companion.chat import ToolCall, ToolResult
from live_memory.core.companion.tools import SPECS
from live_memory.core.memory.window import EntryNumber
from live_memory.core.reading.redaction import Redactor
from live_memory.core.values import Instant, WorkspaceKey
from live_memory.flow.indexing import Indexer
from live_memory.flow.reader import Reader
from live_memory.flow.toolbox import Toolbox
from tests.contracts.sandbox_worlds import git, make_repository, opened_on_disk
from tests.contracts.test_sandbox_escapes import bad_names
from tests.support.memory import House

pytestmark = [pytest.mark.real("git", "rg")]

KEY = "sk-" + "ant-api03-" + "Zq9" * 30 + "AA"
FIRST = {
    "app/config.py": b"LIMIT = 3\n",
    "app/client.py": b"from app.config import LIMIT\n\n\ndef fetch(url):\n    return LIMIT\n",
}
SECOND = {
    **FIRST,
    "app/main.py": b"from app.client import fetch\n\n\ndef main():\n    fetch('x')\n",
    "app/keys.py": f'KEY = "{KEY}"\n'.encode(),
    ".env": b"CANARY-5f2c-env\n",
}
CANARY = "CANARY-5f2c"
MOST = 256 * 1024


@pytest.fixture
async def ws(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    for outside in ("out", "ws_sib"):
        (tmp_path / outside).mkdir()
        (tmp_path / outside / "c").write_text(CANARY)
    make_repository(root, [("start with a limit", FIRST), ("call it", SECOND)])
    return root


@pytest.fixture
async def tools(ws: Path) -> AsyncIterator[Toolbox]:
    async with opened_on_disk(ws) as sandbox:
        yield await toolbox_over(sandbox)


async def toolbox_over(sandbox: DiskSandbox) -> Toolbox:
    index, house = SqliteIndex.in_memory(), House()
    reader = Reader(sandbox, Redactor(), MOST)
    indexer = Indexer(
        WorkspaceKey.of_root("/ws"),
        reader=reader,
        index=index,
        spare=SqliteIndex.in_memory,
        signals=house,
    )
    await indexer.once()
    return Toolbox(indexer.shelf, index, house, lambda: EntryNumber(1))


async def run_tool(tools: Toolbox, tool: str, /, **arguments: object) -> ToolResult:
    (result,) = await tools.run([ToolCall("1", tool, json.dumps(arguments))])
    return result


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("Read", {"path": "app/client.py", "first_line": 4, "lines": 1}, "4|def fetch(url):"),
        ("Read", {"path": "./app//config.py"}, "app/config.py:1\n1|LIMIT = 3\n"),
        ("Grep", {"pattern": "L[I]MIT = "}, "app/config.py:1\n1|LIMIT = 3\n(1 lines)"),
        ("Grep", {"pattern": "limit =", "ignore_case": True, "path": "app"}, "app/config.py:1"),
        ("Grep", {"pattern": "fetch", "glob": "**/main.py"}, "(2 lines)"),
        ("Grep", {"pattern": "fetch", "limit": 1}, "(1 lines, more exist)"),
        ("Glob", {"pattern": "app/c*.py"}, "app/client.py\napp/config.py\n(2 files)"),
        ("Glob", {"pattern": "**", "limit": 1}, "(1 files, more exist)"),
        ("find_paths", {"words": "APP main"}, "app/main.py\n(1 files)"),
        ("get_changed_files", {"since": "HEAD~1"}, "A app/main.py"),
        ("git_search", {"text": "fetch('x')"}, "call it"),
        ("git_search", {"path": "app/config.py"}, "start with a limit"),
        (
            "find_symbol",
            {"name": "fetch"},
            "app/client.py:4-5 fetch\n4|def fetch(url):\n5|    return LIMIT\n",
        ),
        (
            "who_calls",
            {"name": "fetch"},
            "app/main.py:4-5 main -> fetch\n4|def main():\n5|    fetch('x')\n",
        ),
    ],
)
async def test_a_tool_gives_what_it_says(
    tools: Toolbox, name: str, arguments: dict[str, object], expected: str
) -> None:
    result = await run_tool(tools, name, **arguments)
    assert not result.is_error
    assert expected in result.text


async def test_what_is_read_is_noted_with_its_lines(tools: Toolbox) -> None:
    await run_tool(tools, "Read", path="app/client.py", first_line=4, lines=2)
    (seen,) = tools.seen
    event = seen.event
    assert (event.path.text, event.start, event.end, event.total) == ("app/client.py", 4, 5, 5)
    assert event.at == Instant(1_800_000_000.0)


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Read", {"path": "app/keys.py"}),
        ("Read", {"path": ".env"}),
        ("Grep", {"pattern": "KEY|CANARY"}),
        ("git_search", {"text": "KEY"}),
    ],
)
async def test_no_tool_gives_a_secret(
    tools: Toolbox, name: str, arguments: dict[str, object]
) -> None:
    result = await run_tool(tools, name, **arguments)
    assert KEY not in result.text
    assert f"{CANARY}-env" not in result.text


_PEM = "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n"
_BODY = "MIIEowIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiZ1BjP5CE/Wm/Rr500P\nRK+Lh9x5eJPo5CAZ3/ANBE0sTK0Z"


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize(
    ("files", "message", "guesses"),
    [
        ({"app/keys.py": f'KEY = "{KEY}"\n'}, "m", (KEY, KEY[:20], KEY[10:30], "api03-Zq")),
        ({"a.pem.txt": _PEM.format(_BODY)}, "m", ("MIIEowIB", "RK+Lh9x5eJP")),
        ({"c.yml": "db:\n  password: hunter2-and-more\n"}, "m", ("hunter2", "hunter2-and-more")),
        ({"a.py": "A = 1\n"}, f"rotate\n\nthe old key was {KEY}", (KEY, KEY[:16])),
        ({".env": "NAME=plain-words\n"}, "m", ("plain-words", "plain")),
        ({"a.py": f"T = '{KEY}'\nplain = 1\n" * 3}, "m", ("Zq9Zq9", "redacted", "<redacted:")),
    ],
)
@pytest.mark.parametrize("limit", [1, 10])
async def test_history_confirms_no_guess_at_a_secret(
    tmp_path: Path, files: dict[str, str], message: str, guesses: tuple[str, ...], limit: int
) -> None:
    """Security 2, F2: whoever may ask whether a text was ever there can ask letter by letter."""
    held = {name: text.encode() for name, text in files.items()}
    other = {"README.md": b"here\n"}
    commits = [("start", other), (message, {**other, **held}), ("gone", other)]
    make_repository(tmp_path / "ws", commits)
    async with opened_on_disk(tmp_path / "ws") as sandbox:
        tools = await toolbox_over(sandbox)
        said = [(await run_tool(tools, "git_search", text=g, limit=limit)).text for g in guesses]
        nothing = await run_tool(tools, "git_search", text="never written", limit=limit)
        assert set(said) == {nothing.text}
        # What stands beside it is found all the same.
        assert "start" in (await run_tool(tools, "git_search", text="here")).text


async def test_a_search_of_the_past_goes_on_behind_what_may_not_be_told(tmp_path: Path) -> None:
    """Older commits are found although the newest hits are in a secret only."""
    text = KEY[20:26]
    newest = [
        (f"key {n}", {"a.py": f'KEY = "{KEY}"\n'.encode() * (n % 2), "b.py": f"{text}\n".encode()})
        for n in range(1, 8)
    ]
    make_repository(tmp_path / "ws", [("the origin", {"b.py": f"{text}\n".encode()}), *newest])
    async with opened_on_disk(tmp_path / "ws") as sandbox:
        tools = await toolbox_over(sandbox)
        result = await run_tool(tools, "git_search", text=text, limit=1)
    assert result.text.splitlines()[0].endswith("the origin")
    assert result.text.endswith("(1 commits)\n")


def _parameters() -> Iterator[tuple[str, str, dict[str, object]]]:
    """Every tool with every text parameter, and what its other parameters need."""
    needed = {"path": "app", "pattern": "CANARY|LIMIT", "words": "a", "name": "fetch"}
    for spec in SPECS:
        properties = spec.schema["properties"]
        required = spec.schema["required"]
        assert isinstance(properties, dict)
        assert isinstance(required, list)
        for key, about in properties.items():
            if about["type"] == "string":
                yield spec.name, key, {k: needed[k] for k in required if k != key}


@pytest.mark.promise("inside-the-workspace", "read-only")
@pytest.mark.parametrize(("name", "key", "others"), list(_parameters()))
async def test_hostile_text_in_every_parameter_of_every_tool_is_only_data(
    tools: Toolbox, ws: Path, name: str, key: str, others: dict[str, object]
) -> None:
    """S09, S21."""
    for text in bad_names(ws):
        result = await run_tool(tools, name, **others, **{key: text})
        assert CANARY not in result.text
        assert len(result.text) <= 31_000
    names = {path.name for folder in (ws, ws.parent) for path in folder.iterdir()}
    assert names == {".env", ".git", "app", "out", "ws", "ws_sib"}


async def test_one_result_and_all_results_are_bounded(ws: Path) -> None:
    (ws / "long.txt").write_text("word " * 20 + "\n" + ("x" * 90 + "\n") * 2_000)
    async with opened_on_disk(ws) as sandbox:
        tools = await toolbox_over(sandbox)
        results = [
            await run_tool(tools, "Read", path="long.txt", lines=1_000, first_line=n + 1)
            for n in range(10)
        ]
    assert all(len(r.text) < 31_000 for r in results)
    assert "cut here" in results[0].text
    assert results[-1].is_error
    assert "conclude" in results[-1].text


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("arguments", [{"text": "LIMIT = 3"}, {"text": "no such text"}, {}])
async def test_the_history_of_a_shallow_clone_names_no_origin(
    ws: Path, tmp_path: Path, depth: int, arguments: dict[str, str]
) -> None:
    """N19: the commit at which it was cut off holds everything older as if it were its own."""
    make_repository(ws, [("third", {**SECOND, "new.py": b"N = 1\n"})])
    git(tmp_path, "clone", "-q", f"--depth={depth}", f"file://{ws}", "clone")
    async with opened_on_disk(tmp_path / "clone") as sandbox:
        result = await run_tool(await toolbox_over(sandbox), "git_search", **arguments)
    assert "a shallow clone: older commits are not here" in result.text
    assert "start with a limit" not in result.text
    assert "app/config.py" not in result.text
    if arguments.get("text") != "no such text":
        assert "the shallow history ends here" in result.text


async def test_a_whole_history_is_not_called_shallow(tools: Toolbox) -> None:
    assert "shallow" not in (await run_tool(tools, "git_search")).text
