"""What a model is shown before it begins."""

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.asking.answer import (
    Answer,
    Citation,
    CitationStatus,
    Grounding,
    Mode,
    Question,
)
from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import OpenedFile, Place, RankedUnit
from live_memory.core.memory.events import QuestionAnswered
from live_memory.core.showing.head_start import compose, recalled, whole, whole_definition
from live_memory.core.tokens import estimate
from live_memory.core.values import ContentHash, Instant, RelPath

PATH, OTHER = RelPath("a.py"), RelPath("b.py")
SHA = ContentHash.of(b"")
WORTH = {"cooki": 2.0, "save": 1.0}


def _opened(text: str, path: RelPath = PATH) -> OpenedFile:
    lines = text.splitlines()
    return OpenedFile(path, SHA, lines, outline(path, lines))


def _unit(file: OpenedFile, start: int, end: int) -> RankedUnit:
    return RankedUnit(Place(file.path, start, end), file.outline[0], 1.0)


SHORT = _opened("# A comment.\ndef save(\n    cookie,\n):\n    return cookie\n")
LONG = _opened("def save(\n    cookie,\n):\n" + "    x()\n" * 100)


def test_a_unit_is_widened_to_its_definition_and_what_stands_above_it() -> None:
    assert whole(_unit(SHORT, 1, 3), SHORT) == (Place(PATH, 1, 5),)
    assert whole(RankedUnit(Place(PATH, 1, 3), None, 1.0), SHORT) == (Place(PATH, 1, 3),)
    assert whole_definition(SHORT.outline[0]) == (Place(PATH, 2, 5),)


def test_of_a_long_definition_its_head_is_shown_beside_the_unit() -> None:
    assert whole(_unit(LONG, 60, 80), LONG) == (Place(PATH, 1, 3), Place(PATH, 60, 80))
    assert whole_definition(LONG.outline[0]) == ()


def test_places_are_shown_file_by_file_each_line_once_with_its_number() -> None:
    other = _opened("x = 1\ny = 2\n", OTHER)
    files = {PATH: SHORT, OTHER: other}
    places = [Place(PATH, 4, 5), Place(OTHER, 1, 1), Place(PATH, 1, 2), Place(PATH, 2, 4)]
    shown = compose(places, files, budget_tokens=1_000)
    assert shown.places == (Place(PATH, 1, 5), Place(OTHER, 1, 1))
    assert shown.text.splitlines() == [
        f"=== file a.py (version {SHA.hex[:8]}), lines 1-5 of 5",
        "1|# A comment.",
        "2|def save(",
        "3|    cookie,",
        "4|):",
        "5|    return cookie",
        f"=== file b.py (version {SHA.hex[:8]}), lines 1-1 of 2",
        "1|x = 1",
    ]


def test_a_place_that_does_not_fit_makes_room_for_a_smaller_one() -> None:
    places = [Place(PATH, 1, 103), Place(PATH, 2, 2), Place(PATH, 50, 51)]
    shown = compose(places, {PATH: LONG}, budget_tokens=70)
    assert shown.places == (Place(PATH, 2, 2), Place(PATH, 50, 51))
    assert compose(places, {PATH: LONG}, budget_tokens=3).text == ""


any_line = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=30)
spans = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12)), max_size=6)


@given(st.lists(any_line | st.just("=== question"), min_size=1, max_size=12), spans)
def test_no_line_of_a_file_can_pass_for_a_header(
    lines: list[str], wanted: list[tuple[int, int]]
) -> None:
    """C21: a file may hold what looks like the end of the evidence."""
    file = OpenedFile(PATH, SHA, lines, ())
    places = [Place(PATH, start, start + more) for start, more in wanted]
    text = compose(places, {PATH: file}, budget_tokens=150).text
    rows = text.split("\n")[:-1]
    assert all(re.match(r"\d*\|", row) for row in rows[1:])
    assert estimate(text) <= 150 + 10 * len(wanted)


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
