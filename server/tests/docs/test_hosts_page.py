"""The page about hosts claims nothing that no test shows."""

import re
from pathlib import Path

from live_memory.cli.host_files import HOSTS

_SERVER = Path(__file__).parents[2]
_PAGE = (_SERVER.parent / "docs/hosts.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", _PAGE)
    assert len(named) > 8
    for file, test in named:
        assert f"def {test}(" in (_SERVER / file).read_text(encoding="utf-8"), test


def test_every_note_of_the_page_is_used_and_explained() -> None:
    used = set(re.findall(r"\w\[\^(\w+)\]", _PAGE))
    assert used == set(re.findall(r"^\[\^(\w+)\]:", _PAGE, re.MULTILINE))


def test_the_page_has_a_row_for_every_host() -> None:
    assert set(HOSTS) <= set(re.findall(r"^\| `(\w+)` \|", _PAGE, re.MULTILINE))
    table = _PAGE.partition("## What works where")[2]
    rows = re.findall(r"^\| (\w[\w ]+) \|", table, re.MULTILINE)
    assert rows == ["host", *(host.title for host in HOSTS.values()), "any other client"]
