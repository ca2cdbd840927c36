"""Pages of Markdown: what there is, in one order, and no text that is more than text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.errors import InvalidRequest
from live_memory.core.memory.ledger import Fact, FactId, Source
from live_memory.core.memory.notebook import (
    Handoff,
    HandoffId,
    Note,
    NoteCategory,
    Writer,
    note_id,
)
from live_memory.core.notes.foreign import EXPORTED, sections_of
from live_memory.core.notes.pages import page_of
from live_memory.core.notes.records import HEADER, header_problem, record_of
from live_memory.core.values import Author, ContentHash, Instant, RelPath

DAY = Instant(1_796_083_200.0)
WRITER = Writer(Author.AGENT, host="claude-code")
TEMPLATES = Path(__file__).parents[3] / "live_memory/cli/templates"


def note(text: str, *, path: str = "app/retry.py") -> Note:
    return Note(
        id=note_id(text),
        text=text,
        category=NoteCategory.DECISION,
        writer=WRITER,
        told_at=DAY,
        tags=("net",),
        is_pinned=True,
        sources=(Source(RelPath(path), ContentHash.of(b""), 3, 5),),
    )


def page(*texts: str) -> list[str]:
    records = [record_of(note(text)) for text in texts]
    return page_of("decisions.md", "# Decisions\n\n{{ notes decision }}\n", records).split("\n")


def test_a_note_is_an_item_with_who_told_it_and_its_places() -> None:
    assert page("We retry 7 times.\nNot more.\n\nSee `retry`.") == [
        EXPORTED,
        "# Decisions",
        "",
        "- We retry 7 times.\\",
        "  Not more.",
        "",
        "  See `retry`.",
        "  - decision by the agent (claude-code), 2026-12-01, pinned, tagged net",
        "  - at `app/retry.py:3-5`",
        "",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# Heading", "\\# Heading"),
        ("x\n===", "\\==="),
        ("x\n---", "\\---"),
        ("a | b\n:-- | --:", "\\:-- | --:"),
        ("```\n# not code", "\\# not code"),
        ("   > quoted", "\\> quoted"),
        ("1. one", "1\\. one"),
        ("+ plus", "\\+ plus"),
        ("<script>", "\\<script>"),
        ("![x](http://a.example/i.png)", "\\!\\[x\\] (http"),
        ("[x]: http://a.example", "\\[x\\]: http://a.example"),
        ("\\# twice", "\\\\# twice"),
        ("&#35; entity", "\\&#35; entity"),
        ("x\r\n---\r\ny", "\\---"),
        ("x\u2028# y", "x\\\\u2028# y"),
        ("\x1b[31mred", "\\\\x1b\\[31mred"),
    ],
)
def test_no_text_is_more_than_text(text: str, line: str) -> None:
    shown = [one.removeprefix("- ").removeprefix("  ").removesuffix("\\") for one in page(text)]
    assert any(line in one for one in shown), shown


MARKS = st.text(st.sampled_from("#-=+*>|`~<![]():1.\\ \n\t\rab{}_&\u2028\x0b"), max_size=40)


@given(st.lists(MARKS.filter(lambda text: bool(text.strip())), min_size=1, max_size=3))
def test_whatever_is_told_no_line_begins_a_block_of_its_own(texts: list[str]) -> None:
    kept = [Note(note_id(t), t, NoteCategory.DECISION, WRITER, DAY) for t in texts]
    lines = page_of("d.md", "# D\n{{ notes }}\n", [record_of(one) for one in kept])[:-1].split("\n")
    about = "  - decision by the agent (claude-code), 2026-12-01"
    assert lines[:2] == [EXPORTED, "# D"]
    assert lines.count(about) == len(texts)
    for line in lines[2:]:
        inner = line.removeprefix("- ").removeprefix("  ")
        assert line == about or not inner or inner[0] not in "#-=+*>|`~<!:_ \t", line
        assert line.startswith(("- ", "  ")) or not line
        assert not any(c in line for c in "\r\x0b\u2028")


def test_a_path_stays_one_name_whatever_it_is_made_of() -> None:
    odd = note("See.", path="a`b``c\n# x.md")
    text = page_of("d.md", "{{ notes }}\n", [record_of(odd)])
    assert "  - at ``` a`b``c # x.md:3-5 ```" in text.split("\n")


def test_handoffs_and_an_empty_page_are_shown() -> None:
    handoff = Handoff(
        *(HandoffId("h1"), "Half done.", WRITER, DAY, DAY),
        next_steps=("# Test it",),
        open_questions=("Why?",),
        files=("a.py:1",),
        to_agent="reviewer",
    )
    shown = page_of("open.md", "{{ handoffs }}\n{{ facts }}\n", [record_of(handoff)]).split("\n")
    assert shown[1:] == [
        "- Half done.",
        "  - left by the agent (claude-code) for reviewer, 2026-12-01",
        "  - next: \\# Test it",
        "  - open: Why?",
        "  - see: `a.py:1`",
        "Nothing yet.",
        "",
    ]


def test_a_fact_is_shown_with_its_places() -> None:
    source = Source(RelPath("a.py"), ContentHash.of(b""), 3, 3)
    fact = Fact(FactId("f"), "It is 7.", (source,), Author.SUBAGENT, DAY)
    shown = page_of("a.md", "{{ facts }}\n", [record_of(fact), record_of(FactId("g"))]).split("\n")
    assert shown[1:-1] == ["- It is 7.", "  - a sub-agent, 2026-12-01", "  - at `a.py:3`"]


@pytest.mark.parametrize("version", [2, None, "1"])
def test_a_file_of_a_later_version_is_told(version: object) -> None:
    assert header_problem(HEADER) is None
    assert "upgrade" in (header_problem({**HEADER, "version": version}) or "")


def test_a_directive_that_is_none_is_named() -> None:
    with pytest.raises(InvalidRequest, match=r"own\.md:2"):
        page_of("own.md", "# Own\n{{ notes poems }}\n", [])
    with pytest.raises(InvalidRequest, match="directive"):
        page_of("own.md", "{{ }}", [])


def test_the_six_templates_make_pages_and_each_category_has_its_place() -> None:
    texts = {file.name: file.read_text() for file in TEMPLATES.glob("*.md")}
    assert sorted(texts) == [
        *("architecture.md", "brief.md", "conventions.md", "decisions.md", "open.md"),
        "progress.md",
    ]
    told = [Note(note_id(c), f"On {c}.", c, WRITER, DAY) for c in NoteCategory]
    fact = Fact(FactId("f"), "It is 7.", (), Author.SUBAGENT, DAY)
    handoff = Handoff(HandoffId("h1"), "Half done.", WRITER, DAY, DAY)
    others = [record_of(handoff), record_of(fact), record_of(FactId("g"))]
    records = [*others, *map(record_of, told)]
    pages = [page_of(name, text, records) for name, text in texts.items()]
    whole = (*(f"On {c}." for c in NoteCategory), "Half done.", "It is 7.")
    assert all(sum(one in page for page in pages) == 1 for one in whole)


def test_a_page_that_was_exported_is_known_as_such() -> None:
    assert page("x")[0] == EXPORTED
    assert [*sections_of("decisions.md", EXPORTED, written_at=0.0)] == []
