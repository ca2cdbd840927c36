"""What is kept leaves and comes back whole, is purged from every file, and learning pauses."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from live_memory.adapters.store.snapshot_files import JsonFiles
from live_memory.core.errors import InvalidRequest, StoreUnavailable
from live_memory.core.memory.ledger import Fact, FactId, Source
from live_memory.core.memory.notebook import (
    MOST_OPEN_HANDOFFS,
    Claim,
    Handoff,
    HandoffId,
    Note,
    NoteCategory,
    Withdrawal,
    Writer,
    note_id,
)
from live_memory.core.memory.window import Brought, FileObserved, Purged, questions
from live_memory.core.notes.recollection import RecallQuery, question_id
from live_memory.core.saving.snapshot import Restored
from live_memory.core.values import Author, ContentHash, Instant, Origin, RelPath, WorkspaceKey
from live_memory.flow.notes import HandoffDraft, NoteDraft, Scope
from live_memory.flow.open_workspaces import Hub
from tests.support.doubles.in_memory_store import InMemory
from tests.support.memory import House, a_question, app_house

NOW = 1_800_000_000.0
AGENT = Writer(Author.AGENT, host="claude-code", session="s1")
CANARY = "canary-7c1d-in-a-note-of-ours"


async def nothing(message: str, *, done: int = 0, total: int = 0) -> None:
    del message, done, total


async def exported(
    hub: Hub, *, scope: Scope = Scope.WORKSPACE, is_current: bool = False
) -> list[str]:
    """The lines of an export."""
    records = await hub.keeping.exported("/app", scope=scope, is_current=is_current)
    return [json.dumps(record) for record in records]


async def bring(hub: Hub, lines: list[str], *, scope: Scope = Scope.WORKSPACE) -> dict[str, int]:
    """Take lines in; what came, as counts."""
    forms = [json.loads(line) for line in lines]
    came = await hub.keeping.bring("/app", forms, scope=scope, is_dry=False)
    assert came.refused == {}
    return {**came.new, "known": came.known, "withdrawn": came.withdrawn}


texts = st.text(min_size=1, max_size=60).filter(lambda text: bool(text.strip()))
words = st.text(st.characters(codec="utf-8"), max_size=12)
times = st.floats(0, NOW).map(Instant)
writers = st.builds(Writer, st.sampled_from(Author), words, words, words)
withdrawals = st.builds(Withdrawal, writers, times, words)
hashes = st.sampled_from([ContentHash.of(b"1"), ContentHash.of(b"2")])
sources = st.builds(
    Source,
    st.sampled_from([RelPath("app/config.py"), RelPath("gone/é.py")]),
    hashes,
    st.integers(1, 5),
    st.integers(5, 9),
    st.none() | hashes,
)
notes = st.builds(
    lambda text, **more: Note(id=note_id(text), text=text, **more),
    texts,
    category=st.sampled_from(NoteCategory),
    writer=writers,
    told_at=times,
    tags=st.lists(st.text("abcü", min_size=1, max_size=9), max_size=3, unique=True).map(tuple),
    is_pinned=st.booleans(),
    expires_at=st.none() | times,
    sources=st.lists(sources, max_size=2, unique=True).map(tuple),
    withdrawn=st.none() | withdrawals,
)
handoffs = st.builds(
    Handoff,
    id=st.integers(0, 16**12 - 1).map(lambda n: HandoffId(f"h{n:012x}")),
    summary=texts,
    writer=writers,
    left_at=times,
    expires_at=st.floats(0, NOW + 10**7).map(Instant),
    next_steps=st.lists(texts, max_size=2).map(tuple),
    files=st.lists(texts, max_size=2).map(tuple),
    to_agent=words,
    is_automatic=st.booleans(),
    claim=st.none() | st.builds(Claim, writers, times, words),
    cancelled=st.none() | withdrawals,
)
facts = st.builds(
    Fact,
    id=st.integers(0, 16**16 - 1).map(lambda n: FactId(f"{n:016x}")),
    text=texts,
    sources=st.lists(sources, min_size=1, max_size=2, unique=True).map(tuple),
    author=st.sampled_from(Author),
    learned_at=times,
    questions=st.lists(texts, max_size=1).map(tuple),
    is_pinned=st.booleans(),
    session=words,
    conclusion=words,
    uses=st.integers(0, 9),
    novelty=st.floats(0, 1),
)
lists = st.tuples(
    st.lists(notes, max_size=6, unique_by=lambda one: one.id),
    st.lists(handoffs, max_size=4, unique_by=lambda one: one.id),
    st.lists(facts, max_size=4, unique_by=lambda one: one.id),
    st.frozensets(st.sampled_from(["gone1", "gone2"]), max_size=2),
)


@settings(max_examples=40, deadline=None)
@given(lists)
def test_what_was_exported_and_purged_comes_back_as_the_same_bytes_and_only_once(
    kept: tuple[list[Note], list[Handoff], list[Fact], frozenset[str]],
) -> None:
    async def there_and_back() -> None:
        first = app_house()
        async with first.hub() as hub:
            memory = await hub.opened("/app")
            found, handed, understood, forgotten = kept
            await memory.record(
                Brought(tuple(found), tuple(handed), tuple(understood), forgotten)  # type: ignore[arg-type]
            )
            # What is told here is cleaned as it comes, so the second time it stays as it is.
            lines = await exported(hub)
            assert len(lines) == len(found) + len(handed) + len(understood) + len(forgotten)
            await hub.clear("/app")
            assert await exported(hub) == []
            await bring(hub, lines)
            cleaned = await exported(hub)
            assert len(cleaned) == len(lines)
        second = app_house()
        async with second.hub() as hub:
            new = await bring(hub, cleaned)
            assert await exported(hub) == cleaned
            again = await bring(hub, cleaned)
            assert await exported(hub) == cleaned
            assert again == dict.fromkeys(again, 0) | {"known": len(cleaned)}
            assert sum(new.values()) == len(cleaned)
        async with second.hub() as hub:
            assert await exported(hub) == cleaned

    anyio.run(there_and_back)


async def test_a_note_as_it_was_told_comes_back_to_the_byte() -> None:
    async with app_house().hub() as hub:
        await hub.notebook.remember(
            "/app",
            NoteDraft("We retry, see app/config.py:3.", NoteCategory.DECISION, ("net",)),
            AGENT,
        )
        await hub.notebook.leave("/app", HandoffDraft("Half done."), AGENT, call="c1")
        lines = await exported(hub)
        await hub.clear("/app")
        assert (await bring(hub, lines))["notes"] == 1
        assert await exported(hub) == lines


async def test_a_note_that_was_forgotten_elsewhere_is_forgotten_here_and_not_told_again() -> None:
    draft = NoteDraft("We retry seven times.", NoteCategory.DECISION)
    async with app_house().hub() as hub:
        note = (await hub.notebook.remember("/app", draft, AGENT)).note
        await hub.notebook.forget("/app", [note.id], "wrong", AGENT)
        lines = await exported(hub)
    async with app_house().hub() as hub:
        await hub.notebook.remember("/app", draft, AGENT)
        assert (await bring(hub, lines))["withdrawn"] == 1
        assert not (await hub.notebook.recall("/app", RecallQuery())).found
        with pytest.raises(InvalidRequest, match="wrong"):
            await hub.notebook.remember("/app", draft, AGENT)


async def test_what_comes_is_redacted_and_bounded_as_what_is_told() -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    forms: list[object] = [
        {"text": f"The token is {key}."},
        {"text": "x" * 20_000},
        {"text": "Later.", "told_at": NOW + 10**6},
        {"text": "Never.", "told_at": -1},
        {"kind": "note", "text": ""},
        {"kind": "song", "text": "la"},
        "no object",
        {"text": "Wrong.", "category": "poem"},
        {"kind": "handoff", "summary": f"Use {key}.", "writer": {"name": "n" * 2_000}},
        {"kind": "fact", "id": "f", "text": "No source.", "sources": []},
    ]
    async with app_house().hub() as hub:
        came = await hub.keeping.bring("/app", forms, scope=Scope.WORKSPACE, is_dry=False)
        assert came.new["notes"] == 1
        assert came.redacted == 1
        assert set(came.refused) == set(range(1, 10))
        assert key not in "".join(await exported(hub))


async def test_places_of_a_note_from_elsewhere_are_looked_for_here() -> None:
    async with app_house().hub() as hub:
        await hub.learn("/app", progress=nothing)
        await bring(hub, ['{"text": "See app/config.py:3."}'])
        (line,) = await exported(hub)
        (source,) = json.loads(line)["sources"]
        assert (source["path"], source["start"]) == ("app/config.py", 3)


async def test_a_dry_run_says_what_would_come_and_keeps_nothing() -> None:
    async with app_house().hub() as hub:
        came = await hub.keeping.bring(
            "/app", [{"text": "One."}, {"text": "One."}], scope=Scope.WORKSPACE, is_dry=True
        )
        assert (came.new["notes"], came.known) == (1, 1)
        assert await exported(hub) == []


async def test_no_more_handoffs_come_than_may_be_open() -> None:
    forms = [
        {"kind": "handoff", "summary": f"Part {n}.", "expires_at": NOW + 100}
        for n in range(MOST_OPEN_HANDOFFS + 3)
    ]
    async with app_house().hub() as hub:
        came = await hub.keeping.bring("/app", forms, scope=Scope.WORKSPACE, is_dry=False)
        assert came.new["handoffs"] == MOST_OPEN_HANDOFFS
        assert len(came.refused) == 3


async def test_only_notes_come_into_the_space_of_the_user_and_they_leave_from_there() -> None:
    forms = [{"text": "Short answers.", "category": "preference"}, {"kind": "handoff"}]
    async with app_house().hub() as hub:
        came = await hub.keeping.bring("/app", forms, scope=Scope.USER, is_dry=False)
        assert came.new["notes"] == 1
        assert list(came.refused) == [1]
        assert await exported(hub) == []
        assert len(await exported(hub, scope=Scope.USER)) == 1
        assert await hub.keeping.purge_user() == 1
        assert await exported(hub, scope=Scope.USER) == []


async def test_what_counts_now_leaves_out_what_does_not() -> None:
    house = app_house()
    async with house.hub() as hub:
        for text in ("Kept.", "Forgotten."):
            told = await hub.notebook.remember("/app", NoteDraft(text, NoteCategory.TODO), AGENT)
        await hub.notebook.forget("/app", [told.note.id], "", AGENT)
        left = await hub.notebook.leave("/app", HandoffDraft("Done."), AGENT, call="c")
        await hub.notebook.claim("/app", left.id, AGENT, call="d")
        memory = await hub.opened("/app")
        old = Source(RelPath("app/config.py"), ContentHash.of(b"old"), 1, 1)
        gone = Fact(FactId("f1"), "It was so.", (old,))
        here = Fact(FactId("f2"), "It is so.", (replace(old, path=RelPath("app/new.py")),))
        await memory.record(Brought(facts=(gone, here), forgotten=frozenset({FactId("f3")})))
        lines = [json.loads(line) for line in await exported(hub, is_current=True)]
        assert [one["text"] for one in lines] == ["Kept."]
        house.sandbox.put("app/new.py", b"old")
        lines = [json.loads(line) for line in await exported(hub, is_current=True)]
        assert [one["text"] for one in lines] == ["Kept.", "It is so."]


def holding(folder: Path, text: str) -> list[str]:
    """Names of the files in which a text is."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file.name for file in files if text.encode() in file.read_bytes()]


ON_DISK = pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)


def kept_house(folder: Path) -> House:
    """A house that keeps its memory on the disk."""
    house = app_house()
    house.store, house.user_store = JsonFiles(folder / "workspaces"), JsonFiles(folder / "user")
    return house


@ON_DISK
async def test_what_is_purged_is_in_no_file_nor_in_an_answer(tmp_path: Path) -> None:
    house = kept_house(tmp_path)
    async with house.hub() as hub:
        draft = NoteDraft(f"We keep the {CANARY} here.", NoteCategory.DECISION)
        note = (await hub.notebook.remember("/app", draft, AGENT)).note
        await hub.ask("/app", a_question(f"Is it true: {draft.text}"), progress=nothing)
        other = NoteDraft("Something else entirely.", NoteCategory.TODO)
        await hub.notebook.remember("/app", other, AGENT)
    async with house.hub() as hub:
        assert len(holding(tmp_path, CANARY)) >= 1
        purged = await hub.keeping.purge("/app", [note.id, "n404"], scope=Scope.WORKSPACE)
        assert (purged.purged, purged.unknown, purged.answers) == ((note.id,), ("n404",), 1)
        assert holding(tmp_path, CANARY) == []
        assert len(await exported(hub)) == 1
        # It may be told again: nothing of it is known.
        assert (await hub.notebook.remember("/app", draft, AGENT)).is_new
    async with house.hub() as hub:
        assert len(await exported(hub)) == 2


@ON_DISK
async def test_what_was_forgotten_is_purged_at_once(tmp_path: Path) -> None:
    house = kept_house(tmp_path)
    async with house.hub() as hub:
        for n, scope in enumerate(Scope):
            draft = NoteDraft(f"{CANARY} {n}", NoteCategory.PREFERENCE)
            told = await hub.notebook.remember("/app", draft, AGENT, scope=scope)
            await hub.notebook.forget("/app", [told.note.id], CANARY, AGENT)
        left = await hub.notebook.leave("/app", HandoffDraft(CANARY), AGENT, call="c")
        await hub.notebook.cancel("/app", left.id, CANARY, AGENT)
        question = a_question(f"What is {CANARY}?")
        await hub.ask("/app", question, progress=nothing)
        await hub.notebook.forget("/app", [question_id(question)], "", AGENT)
        for scope in Scope:
            await hub.keeping.purge("/app", [], scope=scope, is_forgotten=True)
        assert holding(tmp_path, CANARY) == []


@ON_DISK
async def test_a_purge_outlives_a_restart_and_leaves_the_rest(tmp_path: Path) -> None:
    house = kept_house(tmp_path)
    async with house.hub() as hub:
        gone, kept = [
            (await hub.notebook.remember("/app", NoteDraft(text, NoteCategory.TODO), AGENT)).note
            for text in (CANARY, "This one stays.")
        ]
        await hub.keeping.purge("/app", [gone.id], scope=Scope.WORKSPACE)
        await hub.notebook.remember("/app", NoteDraft("After.", NoteCategory.TODO), AGENT)
    async with house.hub() as hub:
        ids = [json.loads(line)["id"] for line in await exported(hub)]
        assert kept.id in ids
        assert len(ids) == 2


async def test_while_learning_is_paused_nothing_is_kept_and_questions_are_answered() -> None:
    house = app_house()
    async with house.hub() as hub:
        await hub.keeping.pause("/app")
        await hub.keeping.pause("/app")
        assert (await hub.stats("/app")).is_paused
        assert any("paused" in note for note in hub.notes)
    async with house.hub() as hub:
        for told in (
            hub.notebook.remember("/app", NoteDraft("No.", NoteCategory.TODO), AGENT),
            hub.notebook.remember(
                "/app", NoteDraft("No.", NoteCategory.TODO), AGENT, scope=Scope.USER
            ),
            hub.notebook.leave("/app", HandoffDraft("No."), AGENT, call="c"),
            hub.keeping.bring("/app", [{"text": "No."}], scope=Scope.WORKSPACE, is_dry=False),
        ):
            with pytest.raises(InvalidRequest, match="live-memory resume"):
                await told
        _, answer = await hub.ask("/app", a_question(), progress=nothing)
        assert "RETRY_LIMIT" in answer.text
        memory = await hub.opened("/app")
        seen = FileObserved(
            RelPath("app/config.py"), ContentHash.of(b""), 1, 1, 1, Origin.READ, Instant(1.0)
        )
        await memory.record(seen)
        assert not questions(memory.window)
        assert not memory.window.entries
        await hub.keeping.resume("/app")
        await hub.notebook.remember("/app", NoteDraft("Yes.", NoteCategory.TODO), AGENT)
        assert not hub.notes


async def test_a_note_that_meets_the_pause_on_its_way_is_refused() -> None:
    """Between the look and the record somebody else may pause."""
    async with app_house().hub() as hub:
        memory = await hub.opened("/app")
        await hub.keeping.pause("/app")
        with pytest.raises(InvalidRequest, match="paused"):
            await memory.record(Brought())
        await memory.record(Purged(frozenset()))


async def test_a_workspace_that_is_cleared_stays_paused_as_long_as_it_is_there() -> None:
    house = app_house()
    async with house.hub() as hub:
        await hub.keeping.pause("/app")
        await hub.clear("/app")
        assert (await hub.stats("/app")).is_paused
        assert await hub.clear_all() == 1
        assert (await hub.stats("/app")).is_paused
        del house.sandboxes["/app"]
        assert await hub.clear_all() == 1
        assert not await hub.roots()


async def test_what_cannot_be_kept_is_refused_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("live_memory.flow.keep_notes.MOST_NOTES", 1)
    source = {"path": "a.py", "sha": "0" * 64, "start": 1, "end": 2, "lines": None}
    fact = {
        "kind": "fact",
        "id": "f1",
        "text": "It is so (a.py:1-2).",
        "sources": [source],
        "author": "agent",
        "at": 1.0,
        "since": None,
        "questions": [],
        "pinned": False,
        "session": "",
        "conclusion": "",
        "uses": 0,
        "novelty": 1.0,
    }
    forms: dict[str, object] = {
        "no room": {"text": "Two."},
        "no file has": {"text": "x", "sources": [{**source, "start": 0}]},
        "more than 200 places": {"text": "x", "sources": [source] * 201},
        "no time that can be": {"text": "x", "expires_at": 1e15},
        "longer than 16000": {"text": "x", "withdrawn": {"reason": "r" * 16_001}},
        "no fact": {**fact, "sources": []},
        "its id": {**fact, "id": "no id"},
        "proper 'path'": {**fact, "sources": [{**source, "path": "/etc/passwd"}]},
        "kind must be": {"kind": "forgotten fact", "id": "no id"},
    }
    async with app_house().hub() as hub:
        await bring(hub, ['{"text": "One."}'])
        came = await hub.keeping.bring(
            "/app", [*forms.values()], scope=Scope.WORKSPACE, is_dry=False
        )
        assert sum(came.new.values()) == 0
        for place, why in enumerate(forms):
            assert why in came.refused[place]
        with pytest.raises(InvalidRequest, match="500"):
            await hub.keeping.bring("/app", [{}] * 501, scope=Scope.WORKSPACE, is_dry=False)
        # A fact that was forgotten does not come back.
        assert (await bring(hub, [json.dumps(fact)]))["facts"] == 1
        await hub.forget_fact("/app", FactId("f1"))
        assert (await bring(hub, [json.dumps(fact)]))["known"] == 1


async def test_a_handoff_without_an_id_gets_one_that_follows_from_what_it_says() -> None:
    form = json.dumps({"kind": "handoff", "summary": "Half.", "left_at": 1.0, "expires_at": 2.0})
    async with app_house().hub() as hub:
        assert (await bring(hub, [form, form]))["handoffs"] == 1
        assert (await bring(hub, [form]))["known"] == 1
        came = await hub.keeping.bring("/app", [json.loads(form)], scope=Scope.USER, is_dry=False)
        assert "only notes" in came.refused[0]


async def test_facts_and_answers_are_purged_by_their_ids() -> None:
    house = app_house()
    async with house.hub() as hub:
        question = a_question()
        await hub.ask("/app", question, progress=nothing)
        later = replace(a_question("Who fetches a page?"), asked_at=Instant(2.0))
        await hub.ask("/app", later, progress=nothing)
        memory = await hub.opened("/app")
        source = Source(RelPath("app/config.py"), ContentHash.of(b"1"), 1, 1)
        fact = Fact(FactId("f1"), "It is said that retries are three.", (source,))
        await memory.record(Brought(facts=(fact,)))
        ids = [question_id(question), "f1"]
        purged = await hub.keeping.purge("/app", ids[:1], scope=Scope.WORKSPACE)
        assert (purged.purged, purged.answers) == ((ids[0],), 1)
        purged = await hub.keeping.purge("/app", ids, scope=Scope.WORKSPACE)
        assert (purged.purged, purged.unknown) == (("f1",), (ids[0],))
        assert not memory.window.ledger.facts
        assert len(questions(memory.window)) == 1
        # It does not come back by itself.
        assert "f1" in memory.window.ledger.forgotten


async def test_a_note_for_all_projects_is_purged_from_an_answer_here_too() -> None:
    async with app_house().hub() as hub:
        draft = NoteDraft(f"Always say {CANARY} first.", NoteCategory.PREFERENCE)
        note = (await hub.notebook.remember("/app", draft, AGENT, scope=Scope.USER)).note
        await hub.ask("/app", a_question(), progress=nothing)
        asked = replace(a_question(draft.text), asked_at=Instant(2.0))
        await hub.ask("/app", asked, progress=nothing)
        purged = await hub.keeping.purge("/app", [note.id], scope=Scope.USER)
        assert (purged.purged, purged.answers) == ((note.id,), 1)
        assert await hub.keeping.purge_user() == 0
        await hub.keeping.resume("/app")


async def test_what_cannot_be_read_is_not_written_anew() -> None:
    house = app_house()
    house.store = house.user_store = Unreadable()
    async with house.hub() as hub:
        await hub.opened("/app")
        for scope in Scope:
            with pytest.raises(StoreUnavailable, match="cannot be read"):
                await hub.keeping.purge("/app", [], scope=scope)


class Unreadable(InMemory):
    """A store of which the system gives nothing."""

    async def load(self, key: WorkspaceKey) -> Restored:
        return Restored(problems=("it cannot be read",), is_unread=True)
