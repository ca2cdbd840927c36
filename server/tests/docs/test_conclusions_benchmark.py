"""What the benchmark of conclusions holds an answer to, and what it does to a tree."""

import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.harness import part, run

NAMES = ["app/box.py", "app/lid.py", "other/lid.py"]
BOX = ["LIMIT = 500", "", "def open_box(owner, timeout=30):", "    return owner, timeout, LIMIT"]
LID = ["def shut(box):", "    box.is_open = False", "    return box"]
CONCLUDED = (
    "A box holds at most `LIMIT` things, which is 500 of them (app/box.py:1). "
    "`open_box` hands back the owner, the timeout and the limit (box.py:3-4, 1). "
    "It is `shut` that closes a box again (app/lid.py:1-3); it returns the box (3). "
    "Nothing else is known about boxes (99)."
)


def concluded() -> ModuleType:
    return part("conclusions.claims")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, lines in zip(NAMES, (BOX, LID, LID), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


def lines_of(tree: Path) -> Any:
    return part("views").Lines(tree)


def told(tree: Path, conclusion: str = CONCLUDED) -> Any:
    row = {
        "question": "How large is a box?",
        "conclusion": conclusion,
        "later": {"question": "Is there a bound on boxes?", "facts": ["LIMIT", "500"]},
    }
    return concluded().told(row, NAMES, lines_of(tree))


def test_places_are_read_as_agents_write_them(tree: Path) -> None:
    """By the end of a path, several at once, and as numbers behind a file; not what is nowhere."""
    claims = told(tree).claims
    assert [[(p.path, p.start, p.end) for p in claim.places] for claim in claims] == [
        [("app/box.py", 1, 1)],
        [("app/box.py", 3, 4), ("app/box.py", 1, 1)],
        [("app/lid.py", 1, 3), ("app/lid.py", 3, 3)],
        [],
    ]
    more = "In app/box.py it is 1-2, then (3, 4), at 1 and line 2; not `f(3-4)`, 9-9, 2-1 or 1-2-3."
    found = [(p.start, p.end) for _, p in concluded().places_named(more, NAMES, lines_of(tree))]
    assert found == [(1, 2), (3, 3), (4, 4), (1, 1), (2, 2)]
    assert claims[0].stood == ("LIMIT = 500",)
    assert list(concluded().places_named("in lid.py:1", NAMES, lines_of(tree))) == []


TRUE = "Established 2 days ago by the agent, still true: "
CHANGED = "Established 2 days ago by the agent, changed since: "
FIRST = "A box holds at most `LIMIT` things, which is 500 of them (app/box.py:1).\n"
CODE = "app/box.py:1\n1|LIMIT = 500\n"


def test_an_answer_leads_with_the_finding_that_it_begins_with() -> None:
    judging = part("conclusions.judging")
    others = ["A lid is closed by `shut` and by nothing else.", CONCLUDED]
    assert judging.leader(TRUE + FIRST + CODE, others) == 1
    assert judging.leader(f"**{TRUE.strip()}**\n\n- {FIRST}{CODE}", others) == 1
    assert judging.leader(TRUE + "A lid is closed by `shut` alone.\n" + TRUE + FIRST, others) == 0
    assert judging.leader(TRUE + "Words that nobody ever wrote anywhere.", others) is None
    assert judging.leader(CODE + "\n" * 200 + TRUE + FIRST, others) is None
    assert judging.leader(CODE + FIRST, others) is None


def test_a_head_may_say_what_was_asked_and_that_it_is_no_longer_so() -> None:
    judging = part("conclusions.judging")
    head = 'Established today by the agent, still true (asked: "What changed in a box: and why?"):'
    (one,) = judging.blocks(f"{head}\n- {FIRST}{CODE}")
    assert (one.head, one.is_current, one.sentence) == (head, True, f"- {FIRST.strip()}")
    gone = 'What was established today (asked: "Why?") rests on lines that changed since. Now:'
    assert not judging.is_led(f"{gone}\n{CODE}")
    assert [block.is_current for block in judging.blocks(f"{gone}\n{CODE}")] == [False]
    assert judging.is_flagged(f"{gone}\n{CODE}")
    assert not judging.is_flagged(f"{head}\n- It is no longer {FIRST}1|changed since\n")


def test_facts_stand_in_what_is_read_first() -> None:
    judging = part("conclusions.judging")
    assert judging.facts_in(TRUE + FIRST, ["LIMIT", "500", "limit"]) == ["limit"]
    assert judging.facts_in("-" * 2_160 + "LIMIT", ["LIMIT"]) == ["LIMIT"]


def test_a_sentence_is_stale_when_it_is_stated_as_true_and_its_lines_are_others(tree: Path) -> None:
    judging = part("conclusions.judging")
    claims = told(tree).claims
    assert judging.stale(TRUE + FIRST, claims, lines_of(tree)) is None
    (tree / "app/box.py").write_text("\n".join(["LIMIT = 900", *BOX[1:]]))
    now = lines_of(tree)
    assert "LIMIT" in judging.stale(TRUE + FIRST, claims, now)
    assert judging.stale(CHANGED + FIRST, claims, now) is None
    assert judging.stale(CODE, claims, now) is None
    mixed = f"{CHANGED}{FIRST}{TRUE}It is `shut` that closes a box again (app/lid.py:1-3)\n{CODE}"
    assert judging.stale(mixed, claims, now) is None
    (tree / "app/lid.py").unlink()
    assert "shut" in judging.stale(mixed, claims, lines_of(tree))


def test_lines_are_right_where_they_show_what_was_cited(tree: Path) -> None:
    judging, changing = part("conclusions.judging"), part("conclusions.changing")
    row = told(tree)
    changing.moved(tree, [row])
    now = lines_of(tree)
    assert now.of("app/box.py")[20:] == BOX
    assert now.of("other/lid.py") == LID
    text = TRUE + FIRST + CODE
    assert not judging.lines_are_right(text, row, NAMES, now)
    assert judging.lines_are_right(text.replace("py:1", "py:21"), row, NAMES, now)
    assert judging.lines_are_right(text.replace("app/box.py:1", "box.py:21"), row, NAMES, now)
    assert not judging.lines_are_right(
        text.replace("py:1)", "py:21; app/lid.py:1)"), row, NAMES, now
    )
    below = text.replace(" (app/box.py:1).", ".")
    assert judging.lines_are_right(below.replace("py:1\n", "py:21\n"), row, NAMES, now)
    assert not judging.lines_are_right(below, row, NAMES, now)
    assert not judging.lines_are_right(CODE, row, NAMES, now)


def test_an_edit_changes_what_is_cited_and_nothing_else(tree: Path) -> None:
    """Of one row every word, of the next one word a place: a value that the sentence names."""
    changing = part("conclusions.changing")
    row = told(tree)
    other = part("conclusions.claims").Told("", "", "", ())
    changing.edited(tree, [row])
    text = (tree / "app/box.py").read_text().splitlines()
    assert len(text) == 4
    assert text[1] == ""
    assert not any(old and old == new for old, new in zip(BOX, text, strict=True))
    assert "return" in text[3]
    assert "timeout" not in text[3]
    for name, lines in zip(NAMES, (BOX, LID, LID), strict=True):
        (tree / name).write_text("\n".join(lines) + "\n")
    changing.edited(tree, [other, row])
    text = (tree / "app/box.py").read_text().splitlines()
    assert text[0] in {"YVZVG = 500", "LIMIT = 611"}
    assert all(claim.has_changed(lines_of(tree)) for claim in row.claims if claim.places)
    words = [re.findall(r"\w+", one) for one in ("\n".join(BOX), "\n".join(text))]
    assert sum(old != new for old, new in zip(*words, strict=True)) <= 3
    assert (tree / "other/lid.py").read_text().splitlines() == LID
    changing.edited(tree, [other, told(tree, "A lid turns `is_open` off (app/lid.py:1-3).")])
    assert "box.vf_bcra = False" in (tree / "app/lid.py").read_text()
    changing.deleted(tree, [row])
    assert not (tree / "app/lid.py").exists()


def test_other_findings_are_what_is_written_and_never_touch_what_is_asked(tree: Path) -> None:
    (tree / "app/more.py").write_text(
        'def weigh(box):\n    """Say how heavy a box is. Slowly."""\n\n\ndef paint(box):\n    ...\n'
    )
    (tree / "app/more.go").write_text("// Count tells how many boxes there are.\nfunc Count() {}\n")
    names = [*NAMES, "app/more.py", "app/more.go"]
    made = part("conclusions.crowd").crowd(tree, names, taken=told(tree).places, most=9, seed=1)
    said = {line for _, text in made for line in text.splitlines()}
    assert said == {
        "- `shut` is defined in other/lid.py (other/lid.py:1).",
        "- `weigh`: Say how heavy a box is (app/more.py:1-2).",
        "- `paint` is defined in app/more.py (app/more.py:5).",
        "- `Count`: Count tells how many boxes there are (app/more.go:1-2).",
    }


@pytest.mark.real("git")
def test_a_dry_run_tells_changes_and_asks_again(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    ways = ("told", "edited", "companion")
    only = [part_ for way in ways for part_ in ("--only", way)]
    done = run("conclusions", "--dry-run", *only, "--json", str(file), "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert [row["variant"] for row in found["rows"]] == [way for way in ways for _ in range(2)]
    assert all("leads" in row and row["model_calls"] is not None for row in found["rows"])
    assert all(row["stale"] is False for row in found["rows"] if row["variant"] == "edited")
    assert not found["skipped"]
