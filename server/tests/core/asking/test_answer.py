"""Questions and budgets take what the tool allows and explain what they refuse."""

import math
from dataclasses import replace

import pytest
from hypothesis import given

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
    render,
)
from live_memory.core.errors import InvalidRequest
from live_memory.core.values import ContentHash, Instant, RelPath
from tests.support import strategies as given_a

NOW = Instant(0.0)


@pytest.mark.parametrize("seconds", [-1, 0, 4.9, 1801, 1e308, math.nan, math.inf, -math.inf])
def test_no_number_outside_the_range_becomes_a_deadline(seconds: float) -> None:
    """S35: NaN does not become "no deadline"."""
    with pytest.raises(InvalidRequest, match="timeout"):
        Budget(timeout_s=seconds)


@pytest.mark.parametrize("tokens", [-1, 0, 255, 32_001, 10**12])
def test_no_number_outside_the_range_becomes_an_answer_length(tokens: int) -> None:
    with pytest.raises(InvalidRequest, match="max_answer_tokens"):
        Budget(answer_tokens=tokens)


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "x" * 1_000_000])
def test_an_empty_or_pasted_question_is_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(InvalidRequest, match="ask"):
        Question(text, NOW)


def test_a_question_is_cleaned_of_what_no_wire_takes() -> None:
    assert Question(" a\0b\ud800? ", NOW).text == "a\ufffdb\ufffd?"


@pytest.mark.parametrize(("start", "end"), [(0, 1), (2, 1), (-1, -1)])
def test_a_citation_cannot_run_backwards(start: int, end: int) -> None:
    with pytest.raises(InvalidRequest):
        Citation(RelPath("a.py"), start, end, CitationStatus.VERIFIED)


ANSWER = Answer(
    text="It is set in `save`.\n",
    mode=Mode.EVIDENCE,
    grounding=Grounding.PARTIAL,
    citations=(
        Citation(RelPath("a.py"), 3, 3, CitationStatus.VERIFIED),
        Citation(RelPath("b.py"), 4, 9, CitationStatus.CORRECTED),
        Citation(RelPath("c.py"), 1, 2, CitationStatus.UNSUPPORTED),
    ),
    elapsed_s=0.25,
    evidence={RelPath("a.py"): ContentHash.of(b"1"), RelPath("b.py"): ContentHash.of(b"2")},
)


@pytest.mark.promise("citations-checked")
def test_a_models_reply_is_the_answer_its_checked_sources_and_one_metadata_line() -> None:
    assert render(replace(ANSWER, mode=Mode.COMPANION)) == (
        "It is set in `save`.\n\n"
        "Sources:\n"
        "- a.py:3 (verified)\n"
        "- b.py:4-9 (line corrected)\n"
        "- c.py:1-2 (not found there)\n\n"
        "[mode companion · model none · 0.2 s · grounding partial · verified 1/3 · files 2"
        " · free]\n"
    )


def test_without_a_model_the_text_is_its_places_and_no_list_repeats_them() -> None:
    assert render(ANSWER) == (
        "It is set in `save`.\n\n"
        "[mode evidence · model none · 0.2 s · grounding partial · verified 1/3 · files 2 · free]\n"
    )


def test_a_partial_or_degraded_reply_says_so_first() -> None:
    partial = replace(
        ANSWER,
        stop=StopReason.DEADLINE,
        notice="Half the files are known",
        citations=(),
        usage=Usage(1000, 900, 50, 2, 3),
        model="m",
        cost_usd=0.00123,
        window_share=0.5,
    )
    first, second, *_, last = render(partial).splitlines()
    assert first == "(Half the files are known)"
    assert second == ""
    assert "(Partial: stopped by deadline.)" in render(partial)
    assert "tool calls 3 · tokens 1000 in (90 % cached) 50 out · $0.0012 · window 50 %" in last
    assert "price unknown" in render(replace(partial, cost_usd=None))
    assert "· subscription ·" in render(replace(partial, cost_usd=None, is_subscription=True))


@given(given_a.answers)
def test_every_answer_can_be_rendered_with_its_metadata_last(answer: Answer) -> None:
    assert render(answer).rstrip("\n").rsplit("\n", 1)[-1].startswith("[mode ")
