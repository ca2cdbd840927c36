"""What was found out is stated only where its lines still stand, with the numbers they have now."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.places import RankedFileText
from live_memory.core.findings.relevance import RecalledFacts
from live_memory.core.findings.standing import StandingFact, established, standing_facts
from live_memory.core.memory.ledger import Fact
from live_memory.core.values import Author, Instant, RelPath
from tests.support.told import CLIENT, LIMITS, TOLD_AT, concluded, facts_of, files_of

ROOMS = "At most 7 rooms are open, by `MAX_ROOMS` (src/limits.py:2)."
USERS = "`check_users` raises `TooMany` beyond `MAX_USERS` (src/limits.py:5-7)."
BOTH = "`join` counts users (src/client.py:5) by `check_users` (src/limits.py:5-8)."
Files = dict[RelPath, RankedFileText]


def standing_fact(fact: Fact, files: Mapping[RelPath, RankedFileText]) -> StandingFact | None:
    return next(iter(standing_facts([fact], files)), None)


def _one(text: str) -> Fact:
    (fact,) = facts_of(text)
    return fact


def _now(text: str, **texts: str) -> StandingFact | None:
    return standing_fact(_one(text), files_of(**texts))


@pytest.mark.parametrize("text", [ROOMS, USERS, BOTH])
def test_what_did_not_change_stands_as_it_was_told(text: str) -> None:
    found = _now(text)
    assert found is not None
    assert found.text == text
    assert [str(place) for place in found.places] == re.findall(r"src/\w+\.py:[\d-]+", text)


@pytest.mark.parametrize(
    ("text", "now", "expected"),
    [
        (ROOMS, "\n" * 3 + LIMITS, "src/limits.py:5)"),
        (USERS, LIMITS.replace("MAX_ROOMS = 7\n", ""), "src/limits.py:4-6)"),
        (USERS, LIMITS.replace("# Limits", "import x\n# Limits"), "src/limits.py:6-8)"),
        (BOTH, "x = 1\n" + LIMITS, "src/limits.py:6-9)"),
    ],
)
def test_lines_that_moved_are_followed(text: str, now: str, expected: str) -> None:
    found = _now(text, limits=now)
    assert found is not None
    assert expected in found.text
    assert len(found.places) == text.count(".py:")


@pytest.mark.parametrize(
    ("text", "now"),
    [
        (ROOMS, LIMITS.replace("= 7", "= 9")),
        (USERS, LIMITS.replace("users > MAX", "users >= MAX")),
        (BOTH, LIMITS.replace("return users\n", "return None\n")),
    ],
)
@pytest.mark.promise("never-falsely-fresh")
def test_lines_that_changed_state_nothing(text: str, now: str) -> None:
    assert _now(text, limits=now) is None


@pytest.mark.promise("never-falsely-fresh")
@pytest.mark.parametrize(
    "now",
    ["", "# Limits of the service.\n", LIMITS.replace("MAX_ROOMS = 7\n", "\n")],
    ids=["empty", "shorter", "gone"],
)
def test_lines_that_went_state_nothing(now: str) -> None:
    assert _now(ROOMS, limits=now) is None


@pytest.mark.promise("never-falsely-fresh")
def test_a_file_that_is_gone_states_nothing() -> None:
    for text in (ROOMS, BOTH):
        files = {path: file for path, file in files_of().items() if path.text != "src/limits.py"}
        assert standing_fact(_one(text), files) is None


def test_lines_that_moved_and_are_there_twice_are_nowhere() -> None:
    assert _now(ROOMS, limits="MAX_ROOMS = 7\n" + LIMITS) is None
    assert _now(USERS, limits=LIMITS + "\n" + LIMITS) is None


def test_a_sentence_that_its_lines_no_longer_hold_is_not_stated_though_they_are_there() -> None:
    """As what was learned by an earlier rule, or written into a saved file."""
    fact = _one(ROOMS)
    for text in (
        "`MAX_ROOMS` is `8` (src/limits.py:2).",
        "`MAX_ROOMS` waits for `1.5` seconds (src/limits.py:2).",
        'It answers "all is open" (src/limits.py:2).',
    ):
        odd = Fact(fact.id, text, fact.sources)
        assert standing_fact(odd, files_of()) is None


def test_places_that_begin_alike_or_change_places_are_each_followed() -> None:
    was, now = _numbered(before=3, between=2)
    (fact,) = facts_of(
        "`VALUE_1` is set (src/v.py:1), `VALUE_4` too (src/v.py:4) and `VALUE_12` (src/v.py:12).",
        files_of(v=was),
    )
    found = standing_fact(fact, files_of(v=now))
    assert found is not None
    assert found.text == (
        "`VALUE_1` is set (src/v.py:4), `VALUE_4` too (src/v.py:7) and `VALUE_12` (src/v.py:17)."
    )


def _numbered(*, before: int, between: int) -> tuple[str, str]:
    """A file in which lines move by different distances, and a sentence about them."""
    lines = [f"VALUE_{n} = 'v{n}'" for n in range(1, 31)]
    moved = [*("pass",) * before, *lines[:9], *("pass",) * between, *lines[9:]]
    return "\n".join(lines), "\n".join(moved)


@pytest.mark.promise("never-falsely-fresh")
@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=4, unique=True),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_no_place_that_is_stated_has_another_line_than_when_it_was_told(
    cited: list[int], before: int, between: int
) -> None:
    """Places that begin alike, and places that move to where another one was."""
    text = " and ".join(f"`VALUE_{n}` is set (src/v.py:{n})" for n in cited) + "."
    was, now = _numbered(before=before, between=between)
    for fact in facts_of(text, files_of(v=was)):
        found = standing_fact(fact, files_of(v=now))
        if found is None:
            continue
        lines = now.splitlines()
        for name, at in re.findall(r"`VALUE_(\d+)` is set \(src/v\.py:(\d+)\)", found.text):
            assert lines[int(at) - 1] == f"VALUE_{name} = 'v{name}'"
        held = [was.splitlines()[s.start - 1] for s in fact.sources]
        assert [lines[p.start - 1] for p in found.places] == held


AGO = [(5, "a moment ago"), (60, "1 minute ago"), (7_200, "2 hours ago"), (86_400, "1 day ago")]


def _told(text: str, *, after: float = 60, room: int = 4_000, **texts: str) -> str:
    facts = concluded(text).facts
    files = files_of(**texts)
    standing = [each for each in (standing_fact(f, files) for f in facts) if each]
    recalled = RecalledFacts(facts, 1.0, tuple(0.5 for _ in facts))
    return established(recalled, standing, files, Instant(TOLD_AT + after), room=room)


@pytest.mark.parametrize(("after", "words"), [*AGO, (3 * 604_800, "3 weeks ago"), (-9, "a moment")])
def test_when_it_was_found_out_is_said_in_words_also_where_the_clock_went_back(
    after: float, words: str
) -> None:
    assert _told(ROOMS, after=after).startswith(f"Established {words}")


def test_who_found_it_out_and_for_what_is_said_with_the_lines_as_they_are() -> None:
    told = _told(ROOMS)
    assert 'by the agent, still true (asked: "How many rooms may be open?"):' in told
    assert f"- {ROOMS}" in told
    assert "src/limits.py:2\n2|MAX_ROOMS = 7" in told
    for author, name in ((Author.SUBAGENT, "a sub-agent"), (Author.COMPANION, "the companion")):
        facts = concluded(ROOMS, author=author, task="x" * 400).facts
        standing = [standing_fact(f, files_of()) for f in facts]
        words = established(
            RecalledFacts(facts, 1.0, (1.0,)),
            [each for each in standing if each],
            files_of(),
            TOLD_AT,
            room=4_000,
        )
        assert f"by {name}, still true" in words
        assert "x" * 91 not in words


@pytest.mark.promise("never-falsely-fresh")
def test_what_changed_is_named_with_what_stands_there_now_and_never_stated() -> None:
    told = _told(f"{ROOMS}\n{USERS}", limits=LIMITS.replace("= 7", "= 9"))
    assert "still true" in told
    assert USERS in told
    assert "7 rooms" not in told
    assert "2|MAX_ROOMS = 9" in told
    alone = _told(ROOMS, limits=LIMITS.replace("= 7", "= 9"))
    assert "still true" not in alone
    assert "7 rooms" not in alone
    assert "2|MAX_ROOMS = 9" in alone


def test_many_sentences_take_a_bounded_part_of_an_answer() -> None:
    values = "".join(f"VALUE_{n} = {n}\n" for n in range(40))
    text = "\n".join(
        f"- The service keeps in `VALUE_{n}` what it needs while it waits for somebody else to "
        f"answer (src/v.py:{n + 1})."
        for n in range(40)
    )
    files = files_of(v=values)
    facts = concluded(text, files).facts
    assert len(facts) == 40
    standing = [each for each in (standing_fact(f, files) for f in facts) if each]
    told = established(
        RecalledFacts(facts, 1.0, (0.5,) * 40), standing, files, TOLD_AT, room=100_000
    )
    sentences = [line for line in told.splitlines() if line.startswith("- ")]
    assert 5 <= len(sentences) < 40
    assert sum(map(len, sentences)) <= 1_900


_EDITS = st.lists(
    st.tuples(st.integers(0, 10), st.sampled_from(["drop", "add", "change", "double"])), max_size=4
)


@pytest.mark.promise("never-falsely-fresh")
@given(_EDITS)
def test_nothing_is_said_to_be_true_of_a_line_that_differs_from_when_it_was_told(
    edits: list[tuple[int, str]],
) -> None:
    lines = LIMITS.splitlines()
    for wanted, how in edits:
        at = min(wanted, len(lines) - 1)
        if at < 0:
            break
        match how:
            case "drop":
                del lines[at]
            case "add":
                lines.insert(at, "pass")
            case "change":
                lines[at] += "  # changed"
            case _:
                lines.insert(at, lines[at])
    facts = facts_of(f"{ROOMS}\n{USERS}\n{BOTH}")
    assert len(facts) == 3
    was = {"src/limits.py": LIMITS.splitlines(), "src/client.py": CLIENT.splitlines()}
    now = {**was, "src/limits.py": lines}
    files = files_of(limits="\n".join(lines))
    for fact in facts:
        found = standing_fact(fact, files)
        if found is None:
            continue
        cited = re.findall(r"(src/\w+\.py):(\d+)(?:-(\d+))?", found.text)
        assert len(cited) == len(fact.sources)
        for (path, start, end), source in zip(cited, fact.sources, strict=True):
            assert (
                now[path][int(start) - 1 : int(end or start)]
                == (was[path][source.start - 1 : source.end])
            )
