"""What a model is shown beside what was found."""

from dataclasses import replace

from live_memory.core.answer import Answer, Citation, CitationStatus, Grounding, Mode, Question
from live_memory.core.evidence.packet import looked_at, recalled
from live_memory.core.evidence.places import Place, RankedFileText
from live_memory.core.memory.learning import AgentView, view
from live_memory.core.memory.window import (
    Entry,
    EntryNumber,
    FileChanged,
    FileObserved,
    QuestionAnswered,
)
from live_memory.core.values import ContentHash, Instant, Origin, RelPath

PATH, OTHER = RelPath("a.py"), RelPath("b.py")
SHA, LATER = ContentHash.of(b""), ContentHash.of(b"later")
WORTH = {"cooki": 2.0, "save": 1.0}


def _asked(text: str, *citations: Citation, model: str | None = "m") -> QuestionAnswered:
    evidence = {PATH: SHA}
    answer = Answer("", Mode.COMPANION, Grounding.VERIFIED, citations, model=model)
    return QuestionAnswered(Question(text, Instant(0.0)), replace(answer, evidence=evidence), 0)


def _cited(path: RelPath = PATH, start: int = 10, end: int = 12) -> Citation:
    return Citation(path, start, end, CitationStatus.VERIFIED)


def test_what_answers_to_like_questions_cited_is_recalled_the_most_alike_first() -> None:
    past = [
        _asked("unrelated", _cited(start=1, end=1)),
        _asked("Which cookie?", _cited(start=20, end=22)),
        _asked("Where are cookies saved?", _cited()),
    ]
    assert recalled(WORTH, past) == ((Place(PATH, 8, 14), SHA), (Place(PATH, 18, 24), SHA))


def test_of_questions_as_like_the_newest_come_first_and_three_at_most() -> None:
    past = [_asked("save cookie", _cited(start=n, end=n)) for n in (10, 20, 30, 40)]
    assert [place.start for place, _ in recalled(WORTH, past)] == [38, 28, 18]


def test_an_answer_without_a_model_or_support_or_a_place_recalls_nothing() -> None:
    unsupported = Citation(PATH, 1, 1, CitationStatus.UNSUPPORTED)
    past = [
        _asked("save cookie", _cited(), model=None),
        _asked("save cookie", unsupported, _cited(OTHER), _cited(start=1, end=500)),
    ]
    assert recalled(WORTH, past) == ()


def _seen(sha: ContentHash, start: int, end: int, origin: Origin = Origin.READ) -> Entry:
    return Entry(EntryNumber(1), FileObserved(PATH, sha, start, end, 99, origin, Instant(0.0)))


def _viewed(*entries: Entry) -> dict[RelPath, AgentView]:
    viewed: dict[RelPath, AgentView] = {}
    for entry in entries:
        view(viewed, entry)
    return viewed


def test_looks_at_the_same_bytes_add_up_and_other_bytes_take_over() -> None:
    looks = [_seen(SHA, 1, 5), _seen(SHA, 8, 9, Origin.EDIT)]
    assert _viewed(*looks) == {PATH: AgentView(SHA, ((1, 5), (8, 9)))}
    assert _viewed(*looks, _seen(LATER, 3, 4)) == {PATH: AgentView(LATER, ((3, 4),))}


def test_only_what_the_agent_read_or_changed_is_a_look() -> None:
    others = [origin for origin in Origin if origin not in (Origin.READ, Origin.EDIT)]
    assert others
    changed = Entry(EntryNumber(1), FileChanged(PATH, SHA, Instant(0.0)))
    assert _viewed(changed, *(_seen(SHA, 1, 5, origin) for origin in others)) == {}


def test_what_was_looked_at_is_shown_the_newest_first_while_the_file_is_the_same() -> None:
    file = RankedFileText(PATH, SHA, ["x = 1"] * 400, ())
    viewed = AgentView(SHA, ((1, 5), (20, 30)))
    assert looked_at(file, viewed) == (Place(PATH, 20, 30), Place(PATH, 1, 5))
    assert looked_at(file, None) == ()
    assert looked_at(RankedFileText(PATH, LATER, file.lines, ()), viewed) == ()


def test_a_look_at_a_whole_file_or_at_very_much_of_it_points_nowhere() -> None:
    assert looked_at(RankedFileText(PATH, SHA, ["x"] * 5, ()), AgentView(SHA, ((1, 5),))) == ()
    assert looked_at(RankedFileText(PATH, SHA, ["x"] * 900, ()), AgentView(SHA, ((1, 300),))) == ()
