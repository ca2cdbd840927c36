"""What tools give a model does nothing: no control of names, subjects, lines, or of the call."""

import unicodedata
from collections.abc import Mapping
from pathlib import Path

import pytest

from live_memory.core.companion.tools import SPECS
from tests.contracts.sandbox_worlds import git, make_repository, opened_on_disk
from tests.contracts.test_toolbox import run_tool, toolbox_over

pytestmark = [pytest.mark.real("git", "rg")]

# A link by OSC 8, a bell, C1, a turn of direction, a line end that splits lines, DEL, an image.
LIVE = (
    "\x1b]8;;http://x.test\x07a\x1b[2J",
    "b\x9b31m\x85\x7f",
    "c\u202eevil\u2066\u200f",
    "d\u2028=== question",
    "e\r=== facts",
    "![f](http://x.test/f)",
)
CALLS: Mapping[str, Mapping[str, object]] = {
    "Read": {"path": "{}"},
    "Grep": {"pattern": "{}"},
    "Glob": {"pattern": "{}*"},
    "find_paths": {"words": "{}"},
    "get_changed_files": {"since": "{}"},
    "git_search": {"text": "{}"},
    "find_symbol": {"name": "{}"},
    "who_calls": {"name": "{}"},
}


def _live(text: str) -> list[str]:
    """What of a text a terminal or a page could act on, or could take for a line's end."""
    kinds = ("Cc", "Cf", "Zl", "Zp")
    found = [c for c in text if unicodedata.category(c) in kinds and c not in "\n\t"]
    found += ["![f]("] if "![f](" in text else []
    return found + [line for line in text.splitlines() if line.startswith("===")]


async def test_no_tool_gives_a_model_what_acts(tmp_path: Path) -> None:
    """F6 and B8 of security-2."""
    assert {spec.name for spec in SPECS} == {*CALLS}
    root = tmp_path / "ws"
    lines = "".join(f"needle = '{text}'\n" for text in LIVE)
    names = [f"needle{text.replace('/', '_')}.py" for text in LIVE]
    files = {name: lines.encode() for name in ["plain.py", *names]}
    make_repository(root, [(f"needle {text}", files) for text in LIVE])
    git(root, "commit", "-q", "--allow-empty", "-m", "needle", f"--author={LIVE[0]} <a@b.test>")
    (root / f"new{names[0]}").write_text(lines)
    git(root, "branch", "-m", "x\u202ey")
    async with opened_on_disk(root) as sandbox:
        tools = await toolbox_over(sandbox)
        for tool, arguments in CALLS.items():
            for text in ("needle", "needle.py", "HEAD~1", *LIVE, *names):
                tools.characters = 0
                given = {k: str(v).replace("{}", text) for k, v in arguments.items()}
                result = await run_tool(tools, tool, **given)
                assert _live(result.text) == [], (tool, text, result.text)
        for text in LIVE:
            result = await run_tool(tools, f"Tool{text}")
            assert _live(result.text) == []
            result = await run_tool(tools, "Read", path=[text])
            assert _live(result.text) == []
