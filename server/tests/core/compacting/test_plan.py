"""A compaction takes what was replaced, then the oldest, and never what is being worked on."""

from functools import reduce
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.answer import Answer, Grounding, Mode, Question
from live_memory.core.compaction.plan import (
    COMPACT_AT,
    COMPACT_TO,
    RECENT_QUESTIONS,
    ShownLines,
    plan,
    superseded,
)
from live_memory.core.memory.learning import missing
from live_memory.core.memory.window import (
    Compacted,
    EntryContent,
    EntryNumber,
    FileChanged,
    FileGone,
    FileObserved,
    MemoryEvent,
    NoteWritten,
    QuestionAnswered,
    Window,
    apply,
    current_hashes,
)
from live_memory.core.values import ContentHash, Instant, Origin, RelPath
from tests.support import strategies as given_a
from tests.support.shown_lines import in_view

A, B = RelPath("a.py"), RelPath("b.py")
ONE, TWO = ContentHash.of(b"1"), ContentHash.of(b"2")
NOW = Instant(1.0)
# Few marks can be met with whole numbers; these come close from both sides.
budgets = st.integers(1, 400)


def _seen(
    path: RelPath,
    sha: ContentHash,
    start: int,
    end: int,
    *,
    origin: Origin = Origin.TOOL,
) -> FileObserved:
    return FileObserved(path, sha, start, end, 99, origin, NOW)


def _asked(text: str) -> QuestionAnswered:
    answer = Answer(text, Mode.COMPANION, Grounding.VERIFIED, (), model="small")
    return QuestionAnswered(Question(text, NOW), answer, 0)


def _window(*events: MemoryEvent) -> Window:
    return reduce(apply, events, Window())


def _equal(window: Window, size: int = 10) -> dict[EntryNumber, int]:
    return {entry.number: size for entry in window.entries}


def _cost(content: EntryContent, size: int) -> int:
    if isinstance(content, FileObserved):
        return max(size, 15 * (content.end - content.start + 1))
    return size


@st.composite
def sized_windows(draw: st.DrawFn) -> tuple[Window, dict[EntryNumber, int]]:
    window = draw(given_a.windows)
    sizes = st.integers(0, 60)
    return window, {entry.number: draw(sizes) for entry in window.entries}


@given(given_a.windows)
def test_dropping_what_was_replaced_changes_nothing_that_is_known(window: Window) -> None:
    replaced = superseded(window)
    after = apply(window, Compacted(replaced, ()))
    assert current_hashes(after) == current_hashes(window)
    before, now = in_view(window), in_view(after)
    for path, shown in before.items():
        assert now[path].sha == shown.sha
        assert missing(shown.spans, now[path].spans) == ()
    kept = {entry.number for entry in window.entries} - replaced
    assert all(
        entry.number in kept
        for entry in window.entries
        if isinstance(entry.content, QuestionAnswered | NoteWritten)
    )


@given(given_a.windows)
def test_no_text_of_other_bytes_stays(window: Window) -> None:
    after = apply(window, Compacted(superseded(window), ()))
    newest = current_hashes(after)
    for entry in after.entries:
        if isinstance(entry.content, FileObserved):
            assert entry.content.sha == newest[entry.content.path]
    assert superseded(after) == frozenset()


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([_seen(A, ONE, 1, 5), _seen(A, TWO, 1, 5)], {1}),
        ([_seen(A, ONE, 1, 5), FileChanged(A, TWO, NOW)], {1}),
        ([_seen(A, ONE, 1, 5), FileGone(A, NOW)], {1}),
        ([FileChanged(A, ONE, NOW), FileGone(A, NOW), _seen(A, ONE, 1, 5)], {1, 2}),
        ([_seen(A, ONE, 1, 5), FileChanged(A, TWO, NOW), _seen(A, ONE, 6, 9)], {2}),
        ([_seen(A, ONE, 1, 5), _seen(A, ONE, 1, 5)], {1}),
        ([_seen(A, ONE, 1, 5), _seen(A, ONE, 1, 9, origin=Origin.READ)], {1}),
        ([_seen(A, ONE, 1, 5), _seen(A, ONE, 2, 9)], set()),
        ([_seen(A, ONE, 1, 0), _seen(A, ONE, 1, 0)], {1}),
        ([_seen(A, ONE, 1, 5), _seen(B, TWO, 1, 5), _asked("q"), NoteWritten("n", NOW)], set()),
    ],
)
def test_an_entry_is_replaced_when_a_later_one_says_all_it_says(
    events: list[MemoryEvent], expected: set[int]
) -> None:
    assert superseded(_window(*events)) == expected


@given(sized_windows(), budgets, st.integers(0, 200))
def test_a_plan_keeps_every_rule_whatever_the_window(
    sized: tuple[Window, dict[EntryNumber, int]], budget: int, most_input: int
) -> None:
    window, sizes = sized
    planned = plan(window, sizes, budget=budget, most_input=most_input)
    total = sum(sizes.values())
    if total < COMPACT_AT * budget:
        assert planned is None
        return
    replaced = superseded(window)
    asked = [e.number for e in window.entries if isinstance(e.content, QuestionAnswered)]
    recent = set(asked[-RECENT_QUESTIONS:])
    notes = {e.number for e in window.entries if isinstance(e.content, NoteWritten)}
    may_go = {entry.number for entry in window.entries} - recent - notes
    if planned is None:
        assert not replaced
        assert not may_go or total <= COMPACT_TO * budget
        return
    assert replaced <= planned.covers <= may_go
    summarised = sorted(planned.covers - replaced)
    oldest = sorted(may_go - replaced)
    assert summarised == oldest[: len(summarised)]
    stays = total - sum(sizes[number] for number in planned.covers)
    # No more goes than is needed, and only what is too much to read at once stays too long.
    if summarised:
        assert stays + sizes[summarised[-1]] > COMPACT_TO * budget
    if stays > COMPACT_TO * budget and summarised != oldest:
        next_one = oldest[len(summarised)]
        cost = {e.number: _cost(e.content, sizes[e.number]) for e in window.entries}
        assert sum(cost[n] for n in (*summarised, next_one)) > most_input
    assert {view.path for view in planned.views} <= {
        e.content.path for e in window.entries if isinstance(e.content, FileObserved)
    }
    assert all(view.spans for view in planned.views)  # an empty file needs no summary
    assert list(planned.answers) == [
        e.content
        for e in window.entries
        if e.number in planned.covers
        and isinstance(e.content, QuestionAnswered)
        and e.content.answer.model is not None
    ]


@pytest.mark.promise("nothing-lost")
@given(sized_windows(), budgets, st.integers(0, 200))
def test_every_current_line_that_goes_is_in_a_view(
    sized: tuple[Window, dict[EntryNumber, int]], budget: int, most_input: int
) -> None:
    window, sizes = sized
    planned = plan(window, sizes, budget=budget, most_input=most_input)
    if planned is None:
        return
    views = {view.path: view.spans for view in planned.views}
    newest = current_hashes(window)
    for entry in window.entries:
        gone = entry.content
        if entry.number in planned.covers - superseded(window) and isinstance(gone, FileObserved):
            assert newest[gone.path] == gone.sha
            assert missing([(gone.start, gone.end)], views.get(gone.path, ())) == ()


@given(sized_windows(), budgets, st.integers(0, 200))
def test_compacting_again_and_again_comes_to_an_end(
    sized: tuple[Window, dict[EntryNumber, int]], budget: int, most_input: int
) -> None:
    window, sizes = sized
    for _ in range(len(window.entries) + 1):
        left = {e.number: sizes[e.number] for e in window.entries}
        planned = plan(window, left, budget=budget, most_input=most_input)
        if planned is None:
            return
        assert planned.covers
        window = apply(window, Compacted(planned.covers, ()))
    raise AssertionError("a plan that covers nothing was made")


def test_nothing_is_planned_below_the_high_mark_and_something_at_it() -> None:
    window = _window(*(_seen(A, ONE, n, n) for n in range(1, 11)))
    assert plan(window, _equal(window, 17), budget=201, most_input=999) is None
    planned = plan(window, _equal(window, 17), budget=200, most_input=999)
    most = ceil((10 * 17 - COMPACT_TO * 200) / 17)
    assert planned
    assert planned.covers == set(range(1, most + 1))
    assert planned.views == (ShownLines(A, ((1, most),)),)
    assert plan(Window(), {}, budget=0, most_input=0) is None


def test_replaced_copies_alone_need_no_summary_when_that_reaches_the_low_mark() -> None:
    window = _window(*(_seen(A, ContentHash.of(b"%d" % n), 1, 9) for n in range(10)))
    planned = plan(window, _equal(window), budget=100, most_input=999)
    assert planned
    assert planned.covers == set(range(1, 10))
    assert (planned.views, planned.answers, planned.needs_summary) == ((), (), False)


def test_replaced_copies_that_reach_only_the_space_between_the_marks_go_with_the_oldest() -> None:
    """Else the next entry would be over the high mark again."""
    others = (_seen(RelPath(f"{n}.py"), ONE, 1, 9) for n in range(7))
    window = _window(_seen(A, ONE, 1, 9), *others, _seen(A, TWO, 1, 9))
    planned = plan(window, _equal(window), budget=100, most_input=999)
    assert planned
    others_that_go = ceil((80 - COMPACT_TO * 100) / 10)
    assert planned.covers == set(range(1, others_that_go + 2))
    assert planned.needs_summary


def test_the_last_questions_and_notes_stay() -> None:
    asked = [_asked(f"question {n}") for n in range(5)]
    window = _window(NoteWritten("keep", NOW), *asked)
    planned = plan(window, _equal(window), budget=10, most_input=999)
    assert planned
    assert planned.covers == {2, 3}
    assert planned.answers == tuple(asked[:2])


def test_an_answer_without_a_model_goes_without_a_fact_of_it() -> None:
    """What it shows is found again by the next question, from the index."""
    said = Answer("x", Mode.EVIDENCE, Grounding.VERIFIED, ())
    found = [QuestionAnswered(Question(f"question {n}", NOW), said, 0) for n in range(5)]
    window = _window(*found)
    planned = plan(window, _equal(window), budget=10, most_input=999)
    assert planned
    assert planned.answers == ()
    assert not planned.needs_summary
    after = apply(window, Compacted(planned.covers, ()))
    assert plan(after, _equal(after), budget=10, most_input=999) is None


def test_what_is_read_at_once_is_bounded_but_one_entry_always_goes() -> None:
    window = _window(*(_seen(A, ONE, n, n) for n in range(1, 11)))
    planned = plan(window, _equal(window), budget=20, most_input=45)
    assert planned
    assert planned.covers == {1, 2, 3}
    planned = plan(window, _equal(window), budget=20, most_input=1)
    assert planned
    assert planned.covers == {1}
    # What comes after one that is too much waits with it: the oldest go first.
    window = _window(*(_seen(A, ONE, n, n) for n in range(1, 4)))
    sizes = {EntryNumber(1): 10, EntryNumber(2): 100, EntryNumber(3): 10}
    planned = plan(window, sizes, budget=20, most_input=50)
    assert planned
    assert planned.covers == {1}
    assert plan(window, {}, budget=3, most_input=50) is None


def test_lines_that_a_prompt_only_names_count_as_they_are_read() -> None:
    unread = [_seen(RelPath(f"{n}.py"), ONE, 1, 100) for n in range(10)]
    window = _window(*unread)
    for most_input in (3_000, 4_499):
        planned = plan(window, _equal(window), budget=20, most_input=most_input)
        assert planned
        assert planned.covers == {1, 2}


def test_views_are_merged_in_the_order_of_first_appearance_without_what_is_gone() -> None:
    c = RelPath("c.py")
    window = _window(
        _seen(B, ONE, 5, 9),
        _seen(A, ONE, 1, 9),
        _seen(c, ONE, 1, 9),
        _seen(B, ONE, 1, 4),
        _seen(B, ONE, 20, 22),
        FileGone(c, NOW),
        _seen(A, TWO, 3, 4),
    )
    planned = plan(window, _equal(window), budget=10, most_input=999)
    assert planned
    assert planned.views == (ShownLines(B, ((1, 9), (20, 22))), ShownLines(A, ((3, 4),)))
