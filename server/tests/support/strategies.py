"""Hypothesis strategies for values, events and windows."""

from functools import reduce

from hypothesis import strategies as st

from live_memory.core.answer import (
    Answer,
    Budget,
    Citation,
    CitationStatus,
    Grounding,
    Mode,
    Question,
    StopReason,
    Usage,
)
from live_memory.core.hosts.commands import Grep
from live_memory.core.hosts.events import LineSlice
from live_memory.core.hosts.notices import (
    AnythingChanged,
    Conclusion,
    FileInterest,
    Interest,
    Search,
)
from live_memory.core.memory.ledger import Fact, FactId, Source
from live_memory.core.memory.window import (
    Compacted,
    Concluded,
    EntryNumber,
    FactPinned,
    FileChanged,
    FileGone,
    FileObserved,
    Forgotten,
    MemoryEvent,
    NoteWritten,
    QuestionAnswered,
    Window,
    apply,
)
from live_memory.core.values import Author, ContentHash, Instant, Origin, RelPath

# Few names and few hashes, so that events meet.
paths = st.sampled_from(["a.py", "src/b.py", "src/deep/c.ts", "d.md"]).map(RelPath)
hashes = st.sampled_from([b"1", b"2", b"3"]).map(ContentHash.of)
instants = st.integers(0, 2_000_000_000).map(lambda n: Instant(float(n)))
texts = st.text(max_size=40)
entry_numbers = st.integers(1, 30).map(EntryNumber)
fact_ids = st.sampled_from(["f1", "f2", "f3", "f4"]).map(FactId)


@st.composite
def line_ranges(draw: st.DrawFn) -> tuple[int, int]:
    start = draw(st.integers(1, 500))
    return start, start + draw(st.integers(0, 50))


@st.composite
def sources(draw: st.DrawFn) -> Source:
    return Source(draw(paths), draw(hashes), *draw(line_ranges()), draw(st.none() | hashes))


facts = st.builds(
    Fact,
    id=fact_ids,
    text=texts,
    sources=st.lists(sources(), min_size=1, max_size=3).map(tuple),
    author=st.sampled_from(Author),
    learned_at=instants,
    since=st.none() | texts,
    questions=st.lists(texts, max_size=2).map(tuple),
    is_pinned=st.booleans(),
    is_stale=st.just(value=False),
    session=texts,
    conclusion=texts,
    uses=st.integers(0, 9),
    novelty=st.floats(0, 1),
)


@st.composite
def citations(draw: st.DrawFn) -> Citation:
    return Citation(draw(paths), *draw(line_ranges()), draw(st.sampled_from(CitationStatus)))


counts = st.integers(0, 10**9)
answers = st.builds(
    Answer,
    text=texts,
    mode=st.sampled_from(Mode),
    grounding=st.sampled_from(Grounding),
    citations=st.lists(citations(), max_size=4).map(tuple),
    stop=st.sampled_from(StopReason),
    usage=st.builds(Usage, counts, counts, counts, counts, counts),
    model=st.none() | texts,
    elapsed_s=st.floats(0, 10_000),
    notice=st.none() | texts,
    evidence=st.dictionaries(paths, hashes, max_size=3),
    recipe=texts,
    cost_usd=st.none() | st.floats(0, 1e6),
    is_subscription=st.booleans(),
    window_share=st.floats(0, 1),
    facts=st.lists(fact_ids, max_size=2).map(tuple),
)
questions = st.builds(
    Question,
    text=st.text(min_size=1, max_size=40).filter(lambda text: bool(text.strip())),
    asked_at=instants,
    budget=st.builds(Budget, st.floats(5, 1800), st.integers(256, 32_000)),
)


@st.composite
def observations(draw: st.DrawFn) -> FileObserved:
    start = draw(st.integers(1, 50))
    count = draw(st.integers(0, 5))
    return FileObserved(
        path=draw(paths),
        sha=draw(hashes),
        start=start,
        end=start + count - 1,
        total=start + count + draw(st.integers(0, 9)),
        origin=draw(st.sampled_from(Origin)),
        at=draw(instants),
    )


observed = observations()
changed = st.builds(FileChanged, paths, hashes, instants)
gone = st.builds(FileGone, paths, instants)
answered = st.builds(QuestionAnswered, questions, answers, st.integers(0, 100))
notes = st.builds(NoteWritten, texts, instants)
pinned = st.builds(FactPinned, fact_ids)
compacted = st.builds(
    Compacted,
    st.frozensets(entry_numbers, max_size=8),
    st.lists(facts, max_size=3).map(tuple),
    st.integers(0, 9),
)
concluded = st.builds(Concluded, st.lists(facts, max_size=3).map(tuple), st.integers(0, 9))
forgotten = st.builds(
    Forgotten, st.frozensets(entry_numbers, max_size=4), st.frozensets(fact_ids, max_size=2)
)

appending: st.SearchStrategy[MemoryEvent] = st.one_of(observed, changed, gone, answered, notes)
removing: st.SearchStrategy[MemoryEvent] = st.one_of(compacted, forgotten)
events: st.SearchStrategy[MemoryEvent] = st.one_of(appending, pinned, concluded, removing)

cuts = st.builds(LineSlice, st.none() | st.integers(-9, 9), st.none() | st.integers(-9, 9))
subjects: st.SearchStrategy[Interest] = st.one_of(
    st.builds(
        FileInterest,
        texts,
        is_glob=st.booleans(),
        views=st.lists(st.lists(cuts, max_size=2).map(tuple), max_size=3).map(tuple),
        regions=st.lists(line_ranges(), max_size=3).map(tuple),
        is_edited=st.booleans(),
    ),
    st.builds(
        Search,
        texts,
        st.builds(
            Grep,
            texts,
            ignore_case=st.booleans(),
            glob=st.none() | texts,
            before=st.integers(0, 9),
            after=st.integers(0, 9),
            limit=st.none() | st.integers(0, 9),
        ),
        is_glob=st.booleans(),
    ),
    st.just(AnythingChanged()),
    st.builds(Conclusion, texts, st.sampled_from(Author), texts, texts),
)


def fold(happened: list[MemoryEvent]) -> Window:
    """The window after these events."""
    return reduce(apply, happened, Window())


windows = st.lists(events, max_size=25).map(fold)
