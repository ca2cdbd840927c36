"""A note is told where it speaks of what is asked, and nowhere else."""

from dataclasses import replace

from live_memory.core.evidence.places import Candidates, Place, RankedFileText
from live_memory.core.evidence.question import terms_of
from live_memory.core.memory.ledger import Source
from live_memory.core.memory.notebook import (
    Note,
    Notebook,
    NoteCategory,
    Withdrawal,
    Writer,
    note_id,
)
from live_memory.core.memory.window import Window
from live_memory.core.notes.note_relevance import ShownPlaces, notes_about, relevant_notes
from live_memory.core.notes.recollection import NoteWords, Space
from live_memory.core.values import Author, ContentHash, Instant, RelPath

AGENT, NOW = Writer(Author.AGENT), Instant(1_000.0)
CONFIG, CLIENT = RelPath("app/config.py"), RelPath("app/client.py")
SHA = ContentHash.of(b"1")


def _note(
    text: str, category: NoteCategory = NoteCategory.INSIGHT, *, at: Place | None = None
) -> Note:
    sources = (Source(at.path, SHA, at.start, at.end),) if at else ()
    return Note(note_id(text), text, category, AGENT, Instant(1.0), sources=sources)


def _told(
    question: str, *notes: Note, places: tuple[Place, ...] = (), leading: tuple[Source, ...] = ()
) -> list[str]:
    terms = terms_of(question)
    lines = ["", "", "RETRY_LIMIT = 3"]
    files = {CONFIG: RankedFileText(CONFIG, SHA, lines, ())}
    shown = ShownPlaces(terms.names, places, leading, files)
    space = Space(Window(notebook=Notebook(notes)), NoteWords().of(notes))
    return [note.text for note in relevant_notes([space], terms, Candidates(), shown, NOW)]


AT = Place(CONFIG, 3, 3)
GATEWAY = _note("More than that and the gateway bans us.", at=AT)


def test_a_note_on_lines_that_are_shown_is_told_by_what_these_are_called() -> None:
    asked = "How often do we retry?"
    assert _told(asked, GATEWAY, places=(Place(CONFIG, 1, 3),)) == [GATEWAY.text]
    assert not _told(asked, GATEWAY, places=(Place(CONFIG, 1, 2),))
    assert not _told(asked, GATEWAY, places=(Place(CLIENT, 1, 9),))
    assert not _told("How is a page drawn?", GATEWAY, places=(Place(CONFIG, 1, 3),))


def test_a_note_on_lines_beyond_the_best_files_has_to_say_more_itself() -> None:
    others = tuple(Place(RelPath(f"a{n}.py"), 1, 9) for n in range(5))
    assert not _told("How often do we retry?", GATEWAY, places=(*others, AT))
    own = _note("Retry twice.", at=AT)
    assert _told("How often do we retry?", own, places=(*others, AT)) == ["Retry twice."]


def test_a_note_on_lines_of_a_finding_that_leads_is_told_in_whatever_words() -> None:
    led = (Source(CONFIG, SHA, 3, 3),)
    assert _told("Why are pages slow?", GATEWAY, leading=led) == [GATEWAY.text]


def test_a_whole_file_counts_less_than_lines_and_more_than_words_alone() -> None:
    words = "Where does a fetch end?"
    bare = _note("A fetch may hang.")
    named = _note("A fetch may hang (app/client.py).")
    assert not _told(words, bare, places=(Place(CLIENT, 1, 9),))
    assert _told(words, named, places=(Place(CLIENT, 1, 9),)) == [named.text]
    assert not _told(words, named, places=(Place(CONFIG, 1, 9),))
    assert _told("What does app/client.py fetch first?", named) == [named.text]


def test_words_alone_have_to_be_most_of_the_question_and_stand_first() -> None:
    assert _told("How do we deploy?", _note("We deploy on Tuesdays.")) == ["We deploy on Tuesdays."]
    assert not _told("How do we deploy the billing service?", _note("We deploy on Tuesdays."))
    late = _note(f"{'Lunch is at noon in the hall by the river. ' * 4}We deploy on Tuesdays.")
    assert not _told("How do we deploy?", late)
    tagged = replace(_note("Tuesdays only."), tags=("deploy",))
    assert _told("How do we deploy?", tagged) == ["Tuesdays only."]


def test_what_many_notes_say_singles_none_out() -> None:
    notes = [_note(f"The order of part {n} is fixed.") for n in range(20)]
    assert not _told("What is an order?", *notes)
    assert len(_told("What is an order?", *notes[:3])) == 3


def test_decisions_and_what_is_to_do_come_first_and_three_are_told() -> None:
    kinds = (
        NoteCategory.INSIGHT,
        NoteCategory.TODO,
        NoteCategory.ISSUE,
        NoteCategory.DECISION,
        NoteCategory.QUESTION,
    )
    notes = [_note(f"Retry by {kind}.", kind, at=AT) for kind in kinds]
    told = _told("How often do we retry?", *notes, places=(AT,))
    assert set(told[:2]) == {"Retry by todo.", "Retry by decision."}
    assert len(told) == 3


def test_what_expired_or_was_withdrawn_is_never_told() -> None:
    note = _note("We deploy on Tuesdays.")
    assert not _told("How do we deploy?", replace(note, expires_at=NOW))
    gone = Withdrawal(AGENT, Instant(2.0))
    assert not _told("How do we deploy?", replace(note, withdrawn=gone))
    assert not notes_about([replace(note, withdrawn=gone)], [CONFIG], NOW)


def test_a_question_without_words_of_its_own_is_told_nothing() -> None:
    assert not _told("What is this?", _note("We deploy on Tuesdays."), places=(AT,))


def test_notes_about_files_name_them_or_lines_of_them() -> None:
    named = _note("See app/client.py for the pauses.")
    assert notes_about([GATEWAY, named], [CONFIG], NOW) == [GATEWAY]
    assert notes_about([GATEWAY, named], [CLIENT], NOW) == [named]
    assert not notes_about([GATEWAY, named], [RelPath("app/client.pyi")], NOW)
