"""What is told is kept as it was told, found again, withdrawn for good, and handed over once."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio
import pytest

from live_memory.core.errors import InvalidRequest, StoreUnavailable
from live_memory.core.memory.notebook import (
    LARGEST_NOTE,
    MOST_OPEN_HANDOFFS,
    HandoffState,
    NoteCategory,
    Writer,
)
from live_memory.core.notes.recollection import RecallQuery, RecordKind
from live_memory.core.saving.journal import JournalRecord
from live_memory.core.saving.snapshot import Memory
from live_memory.core.values import Author, Instant, WorkspaceKey
from live_memory.flow.notes import HandoffDraft, NoteDraft, Scope
from tests.support.doubles.in_memory_store import InMemory
from tests.support.memory import app_house

TOO_LONG = ["x" * (LARGEST_NOTE + 1), "é" * (LARGEST_NOTE // 2 + 1)]
AGENT = Writer(Author.AGENT, host="claude-code", session="s1")
DECISION = NoteDraft(
    "We retry 7 times, see app/config.py:1, because the gateway drops 3.", NoteCategory.DECISION
)
HANDOFF = HandoffDraft(
    "Retries are half done.", next_steps=("Test the limit.",), files=("app/config.py",)
)


async def test_a_note_is_kept_once_with_who_told_it_and_its_places() -> None:
    async with app_house().hub() as hub:
        first = await hub.notebook.remember("/app", DECISION, AGENT)
        assert first.is_new
        assert first.note.writer == AGENT
        assert [str(source.path) for source in first.note.sources] == ["app/config.py"]
        twin = await hub.notebook.remember("/app", DECISION, Writer(Author.PERSON))
        assert not twin.is_new
        assert twin.note == first.note


async def test_what_a_note_names_that_is_not_here_is_told() -> None:
    draft = NoteDraft("It is in app/nowhere.py:3 and /etc/passwd:1.", NoteCategory.INSIGHT)
    async with app_house().hub() as hub:
        told = await hub.notebook.remember("/app", draft, AGENT)
        assert not told.note.sources
        assert "app/nowhere.py:3" in told.not_found


async def test_a_secret_in_a_note_is_not_kept() -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    async with app_house().hub() as hub:
        told = await hub.notebook.remember(
            "/app", NoteDraft(f"The token is {key}.", NoteCategory.INSIGHT), AGENT
        )
        assert told.redacted == 1
        assert key not in told.note.text


class _Full(InMemory):
    """A disk that takes nothing while it is full."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False

    async def append(self, key: WorkspaceKey, root: str, told: Sequence[JournalRecord]) -> None:
        if self.is_full:
            raise StoreUnavailable("no space for a line")
        await super().append(key, root, told)

    async def save(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        if self.is_full:
            raise StoreUnavailable("no space for a snapshot")
        await super().save(key, root, taken)


@pytest.mark.promise("nothing-lost")
async def test_nobody_hears_that_something_is_kept_before_the_disk_has_it() -> None:
    """Also not who tells the same again, or asks again in the same call."""
    house, store = app_house(), _Full()
    house.store = store
    async with house.hub() as hub:
        notes = hub.notebook
        await notes.remember("/app", NoteDraft("First.", NoteCategory.TODO), AGENT)
        store.is_full = True
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="no space"):
                await notes.remember("/app", DECISION, AGENT)
            with pytest.raises(StoreUnavailable, match="no space"):
                await notes.leave("/app", HANDOFF, AGENT, call="c1")
        store.is_full = False
        with anyio.fail_after(10):
            while hub.problems:
                await anyio.sleep(0.05)
        told = await notes.remember("/app", DECISION, AGENT)
        assert not told.is_new
        left = await notes.leave("/app", HANDOFF, AGENT, call="c1")
    async with house.hub() as hub:
        kept = await hub.notebook.recall("/app", RecallQuery(ids=(told.note.id, left.id)))
        assert kept.total == 2


@pytest.mark.parametrize("text", ["", " \n", *TOO_LONG])
async def test_a_note_that_is_empty_or_too_long_is_refused(text: str) -> None:
    async with app_house().hub() as hub:
        with pytest.raises(InvalidRequest, match="text"):
            await hub.notebook.remember("/app", NoteDraft(text, NoteCategory.TODO), AGENT)


async def test_what_was_forgotten_is_told_to_nobody_and_stays_away() -> None:
    async with app_house().hub() as hub:
        note = (await hub.notebook.remember("/app", DECISION, AGENT)).note
        done = await hub.notebook.forget("/app", [note.id, "nonsense"], "it is wrong", AGENT)
        assert (done.forgotten, done.unknown) == ((note.id,), ("nonsense",))
        assert not (await hub.notebook.recall("/app", RecallQuery())).found
        with pytest.raises(InvalidRequest, match="it is wrong"):
            await hub.notebook.remember("/app", DECISION, AGENT)
        again = await hub.notebook.forget("/app", [note.id], "", AGENT)
        assert again.before == (note.id,)
        (whole,) = (await hub.notebook.recall("/app", RecallQuery(ids=(note.id,)))).found
        assert whole.item == replace(note, withdrawn=whole.item.withdrawn)  # type: ignore[union-attr]


async def test_notes_are_found_by_words_and_without_words_the_newest_first() -> None:
    async with app_house().hub() as hub:
        for text in ("Retries wait 2 s.", "Colours are blue.", "Retry limits are 7."):
            await hub.notebook.remember("/app", NoteDraft(text, NoteCategory.OBSERVATION), AGENT)
        found = (await hub.notebook.recall("/app", RecallQuery("how many retries?"))).found
        assert {one.text for one in found} <= {"Retries wait 2 s.", "Retry limits are 7."}
        assert found
        two = await hub.notebook.recall("/app", RecallQuery(limit=2))
        assert (len(two.found), two.total) == (2, 3)
        every = tuple(one.id for one in (await hub.notebook.recall("/app", RecallQuery())).found)
        named = await hub.notebook.recall("/app", RecallQuery(ids=every, limit=1))
        assert tuple(one.id for one in named.found) == every


async def test_a_place_of_a_note_that_changed_is_told() -> None:
    house = app_house()
    async with house.hub() as hub:
        note = (await hub.notebook.remember("/app", DECISION, AGENT)).note
        assert not (await hub.notebook.recall("/app", RecallQuery())).changed
        house.sandbox.put("app/config.py", b"RETRY_LIMIT = 9\n")
        recalled = await hub.notebook.recall("/app", RecallQuery())
        assert recalled.changed[note.id] == note.sources


async def test_workspaces_and_the_space_of_the_user_do_not_mix() -> None:
    house = app_house()
    house.sandboxes["/other"] = type(house.sandbox)({})
    async with house.hub() as hub:
        await hub.notebook.remember("/app", DECISION, AGENT)
        like = NoteDraft("Prefer retries in small steps.", NoteCategory.PREFERENCE)
        await hub.notebook.remember("/app", like, AGENT, scope=Scope.USER)
        other = await hub.notebook.recall("/other", RecallQuery())
        assert [one.text for one in other.found] == [like.text]
        alone = await hub.notebook.recall("/other", RecallQuery(), scope=Scope.WORKSPACE)
        assert not alone.found


async def test_notes_and_handoffs_outlive_the_server() -> None:
    house = app_house()
    async with house.hub() as hub:
        await hub.notebook.remember("/app", DECISION, AGENT)
        await hub.notebook.remember("/app", DECISION, AGENT, scope=Scope.USER)
        handoff = await hub.notebook.leave("/app", HANDOFF, AGENT, call="c1")
    async with house.hub() as hub:
        found = (await hub.notebook.recall("/app", RecallQuery())).found
        assert Counter(one.kind for one in found) == {RecordKind.NOTE: 2, RecordKind.HANDOFF: 1}
        assert (await hub.notebook.handoffs("/app"))[1] == (handoff,)


async def test_of_many_who_claim_a_handoff_one_has_it() -> None:
    claims = []
    async with app_house().hub() as hub:
        handoff = await hub.notebook.leave("/app", HANDOFF, AGENT, call="c1")
        assert await hub.notebook.leave("/app", HANDOFF, AGENT, call="c1") == handoff

        async def claim(call: str) -> None:
            who = Writer(Author.AGENT, session=call)
            claims.append(await hub.notebook.claim("/app", handoff.id, who, call=call))

        async with anyio.create_task_group() as tasks:
            for n in range(16):
                tasks.start_soon(claim, f"call {n}")
        (winner,) = [one for one in claims if one.is_ours]
        assert {one.handoff.claim for one in claims} == {winner.handoff.claim}
        assert winner.handoff.claim is not None
        again = await hub.notebook.claim("/app", handoff.id, AGENT, call=winner.handoff.claim.call)
        assert again.is_ours
        with pytest.raises(InvalidRequest, match="claimed already"):
            await hub.notebook.cancel("/app", handoff.id, "", AGENT)


async def test_reading_handoffs_consumes_none_and_cancelled_ones_are_gone() -> None:
    async with app_house().hub() as hub:
        meant = replace(HANDOFF, to_agent="codex")
        handoff = await hub.notebook.leave("/app", meant, AGENT, call="c1")
        for _ in range(2):
            assert (await hub.notebook.handoffs("/app", to_agent="codex"))[1] == (handoff,)
        assert not (await hub.notebook.handoffs("/app", to_agent="gemini"))[1]
        await hub.notebook.cancel("/app", handoff.id, "done", AGENT)
        assert not (await hub.notebook.handoffs("/app"))[1]
        with pytest.raises(InvalidRequest, match="cancelled"):
            await hub.notebook.claim("/app", handoff.id, AGENT, call="c2")


async def test_automatic_handoffs_make_room_and_those_left_by_hand_do_not() -> None:
    async with app_house().hub() as hub:
        for n in range(MOST_OPEN_HANDOFFS + 3):
            draft = HandoffDraft(f"Number {n}.", is_automatic=True)
            await hub.notebook.leave("/app", draft, AGENT, call=f"a{n}")
        _, found = await hub.notebook.handoffs("/app")
        assert len(found) == MOST_OPEN_HANDOFFS
        assert found[-1].summary == "Number 3."
        for n in range(MOST_OPEN_HANDOFFS):
            await hub.notebook.leave(
                "/app", replace(HANDOFF, summary=f"By hand {n}."), AGENT, call=f"h{n}"
            )
        with pytest.raises(InvalidRequest, match="claim or cancel"):
            await hub.notebook.leave("/app", HANDOFF, AGENT, call="one more")


async def test_a_handoff_ends_with_its_time() -> None:
    async with app_house().hub() as hub:
        early = replace(HANDOFF, expires_at=Instant(1.0))
        handoff = await hub.notebook.leave("/app", early, AGENT, call="c1")
        assert handoff.state_at(Instant(2.0)) is HandoffState.EXPIRED
        assert not (await hub.notebook.handoffs("/app"))[1]


async def test_figures_count_the_notes_that_count_and_the_handoffs_that_can_be_claimed() -> None:
    async with app_house().hub() as hub:
        for n in range(3):
            note = await hub.notebook.remember(
                "/app", NoteDraft(f"Note {n}.", NoteCategory.INSIGHT), AGENT
            )
            await hub.notebook.leave("/app", replace(HANDOFF, summary=f"{n}"), AGENT, call=f"{n}")
        past = NoteDraft("Over.", NoteCategory.PROGRESS, expires_at=Instant(0.5))
        await hub.notebook.remember("/app", past, AGENT)
        await hub.notebook.forget("/app", [note.note.id], "", AGENT)
        (first, *_) = (await hub.notebook.handoffs("/app"))[1]
        await hub.notebook.claim("/app", first.id, AGENT, call="c")
        stats = await hub.stats("/app")
        assert (stats.notes, stats.open_handoffs) == (2, 2)


async def test_no_more_is_kept_than_a_snapshot_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("live_memory.core.memory.notebook.MOST_CHARACTERS", 100)
    async with app_house().hub() as hub:
        await hub.notebook.remember("/app", replace(DECISION, text="é" * 99), AGENT)
        await hub.notebook.remember("/app", DECISION, AGENT)
        with pytest.raises(InvalidRequest, match="no room"):
            await hub.notebook.remember("/app", replace(DECISION, text="One more."), AGENT)
        twin = await hub.notebook.remember("/app", DECISION, AGENT)
        assert not twin.is_new
