"""Exports of other tools, and memory banks of Markdown, as records of ours."""

import pytest

from live_memory.core.errors import InvalidRequest
from live_memory.core.notes.foreign import memories_in, sections_of
from live_memory.core.notes.records import incoming_record
from live_memory.core.values import Instant

MEM0 = {
    "results": [
        {
            "id": "1",
            "memory": "Prefers short answers.",
            "user_id": "alex",
            "metadata": {"category": "preference"},
            "categories": ["style"],
            "created_at": "2026-01-02T03:04:05.5-07:00",
            "updated_at": None,
        },
        {"id": "2", "memory": "Uses uv.", "agent_id": "coder", "created_at": "nonsense"},
        {"id": "5", "memory": "Uses Go.", "created_at": "2026-01-02T03:04:05"},
        {"id": "3"},
        "text",
    ]
}
OPENMEMORY = {
    "user": {"user_id": "alex"},
    "memories": [
        {"id": "a", "content": "Use Go 1.24.", "state": "active", "created_at": 1_767_000_000},
        {"id": "c", "content": "Undated.", "created_at": None},
        {"id": "b", "content": "Old.", "state": "deleted"},
    ],
}


def test_memories_of_mem0_keep_their_dates_authors_and_categories() -> None:
    first, second, naive, third, fourth = memories_in(MEM0)
    assert first.form == {
        "kind": "note",
        "text": "Prefers short answers.",
        "category": "preference",
        "writer": {"author": "person", "name": "alex", "host": "mem0"},
        "tags": ["style"],
        "told_at": 1767348245.5,
    }
    assert second.form is not None
    assert second.form["writer"] == {"author": "agent", "name": "coder", "host": "mem0"}
    assert "told_at" not in second.form
    assert naive.form is not None
    assert naive.form["told_at"] == 1767323045.0
    assert (third.where, third.problem) == ("memory 4", "it has no text")
    assert fourth.form is None
    assert next(memories_in(MEM0["results"])) == first


def test_memories_of_openmemory_come_but_for_what_was_deleted() -> None:
    kept, undated, deleted = memories_in(OPENMEMORY)
    assert undated.form is not None
    assert "told_at" not in undated.form
    assert kept.form is not None
    assert kept.form["told_at"] == 1_767_000_000
    assert (deleted.form, deleted.problem) == (None, "it is deleted there")


@pytest.mark.parametrize("value", [{}, {"results": {}}, 3, "x", None])
def test_what_is_no_export_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest, match="OpenMemory"):
        [*memories_in(value)]


BANK = """---
title: Tech
---
# Tech Context

We build with uv.
And ruff.

<!-- a comment
over lines -->
## Databases ##

- Postgres 17
  with pgvector
* [ ] Move off SQLite
- [x] Dropped Redis
1. First
Closing words.

```sh
# no heading
- no bullet
```
"""


def test_a_memory_bank_gives_a_note_for_each_bullet_and_for_the_rest_of_a_section() -> None:
    found = [*sections_of("docs/techContext.md", BANK, written_at=5.0)]
    told = [(one.where, one.form["category"], one.form["text"]) for one in found if one.form]
    assert told == [
        ("docs/techContext.md:4", "insight", "Tech Context\n\nWe build with uv.\nAnd ruff."),
        ("docs/techContext.md:13", "insight", "Databases: Postgres 17\nwith pgvector"),
        ("docs/techContext.md:15", "todo", "Databases: Move off SQLite"),
        ("docs/techContext.md:16", "progress", "Databases: Dropped Redis"),
        ("docs/techContext.md:17", "insight", "Databases: First"),
        (
            "docs/techContext.md:18",
            "insight",
            "Databases\n\nClosing words.\n\n```sh\n# no heading\n- no bullet\n```",
        ),
    ]
    assert all(one.form["told_at"] == 5.0 for one in found if one.form)


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("projectbrief.md", "insight"),
        ("active-context.md", "progress"),
        ("decisionLog.md", "decision"),
        ("TODO.md", "todo"),
        ("meeting.md", "observation"),
    ],
)
def test_the_name_of_a_file_says_what_its_notes_are_about(name: str, category: str) -> None:
    (found,) = sections_of(name, "Words.", written_at=0.0)
    assert found.form is not None
    assert found.form["category"] == category


def test_what_comes_can_be_kept() -> None:
    records = [*memories_in(MEM0), *memories_in(OPENMEMORY)]
    records += sections_of("progress.md", BANK, written_at=5.0)
    for one in records:
        if one.form is not None:
            incoming_record(one.form, now=Instant(1.8e9), root="/w")
