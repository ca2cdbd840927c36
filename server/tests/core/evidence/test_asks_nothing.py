"""What asks nothing is known at a glance, and whatever may ask something is asked."""

import pytest

from live_memory.core.evidence.question import asks_nothing


@pytest.mark.parametrize(
    "text", ["hi", "x", "Hello!", "?", "5", "ok, thanks", "why", "the", "`x`", "hey, you", "T"]
)
def test_a_letter_a_greeting_or_one_word_that_is_everywhere_asks_nothing(text: str) -> None:
    assert asks_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "cookies", "MAX", "what is this?", "how does it work", "型", "a.c", "`res.send`", "'no'",
        "hi, where is the port set?", "test", "what is `x`?",
    ],
)  # fmt: skip
def test_what_may_be_about_the_code_asks_something(text: str) -> None:
    assert not asks_nothing(text)
