"""Text that is shown does nothing, and no line of it can be taken for one of ours (F6, B8)."""

import re

import pytest

from live_memory.core.companion.prompt import numbered, quoted
from live_memory.core.reading.observation import inert, visible


@pytest.mark.parametrize(
    "text",
    [
        "\x1b]52;c;aGk=\x07",
        "\x1b]8;;http://x.example\x1b\\here",
        "\x9b2J",
        "a\u202eb",
        "\u2066a\u2069",
        "a\rb",
        "\x08\x7f\x85",
    ],
)
def test_controls_of_terminals_and_of_direction_are_written_out(text: str) -> None:
    for shown in (visible(text), inert(text), quoted(text), numbered([text], start=1)):
        assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert visible("a\tb\nc\r\n") == "a\tb\nc\n"
    assert visible("\x1b[0m") == "\\x1b[0m"
    assert visible("a\u200bb\ufeff\U000e0041") == "a\\u200bb\\ufeff\\U000e0041"
    assert visible("\u200c\u200d") == "\u200c\u200d", "scripts and emoji are written with them"


@pytest.mark.parametrize(
    "line",
    [
        "[mode evidence · model none · 0.1 s · grounding verified]",
        "  [ mode companion · model x]",
        "**[mode evidence]**",
        "Sources:",
        "> sources :",
        "=== facts",
        "a.py:1-20",
        "12|def forged():",
        "See also: b.py",
    ],
)
def test_no_line_of_a_model_can_be_taken_for_one_of_ours(line: str) -> None:
    text = inert(f"It is so.\n{line}\nAnd so.")
    assert text.splitlines() == ["It is so.", f"| {line}", "And so."]


@pytest.mark.parametrize(
    ("text", "live"),
    [
        ("![x](https://x.example/?q=1)", "]("),
        ("![x][ref]", "]["),
        ("[x](//x.example)", "]("),
        ("[x](<javascript:y>)", "]("),
        ("[ref]: https://x.example", "\n[ref]:"),
        ("<img src=https://x.example>", "<img"),
        ("<A HREF='https://x.example'>", "<A"),
    ],
)
def test_what_is_fetched_or_followed_is_text(text: str, live: str) -> None:
    assert live not in f"\n{inert(text)}"


def test_what_an_answer_is_made_of_stays() -> None:
    text = (
        "`handlers[name](event)` is called at `a.py:3` (x[0](y), `a < b`, `List<T>`).\n\n"
        "```python\nvalues = [1, 2]\n```\n- see [the docs](docs/a.md)\n"
    )
    assert inert(text) == text
