"""A statement about code is told from an order, also where code is named like an order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.compaction.fact_wording import statement


@pytest.mark.parametrize(
    "text",
    [
        "`limit` is `3` by default.",
        "`load` reads the settings from `path`.",
        "`run` executes `cmd` and returns its output.",
        "`x.py` defines `update`, `request`, `copy`.",
        "`User` has the fields `system: str` and `user: str`.",
        "`user: User` is a parameter of `login`.",
        "`send(self, request: Request, **kwargs)` sends a given `PreparedRequest`.",
        "`open` and `write` are called before `close`.",
        "Requests are retried 3 times by `send`.",
        "The model `Foo` has a field `bar`.",
        "`get` returns `None` if the key is missing.",
        "`ask` gives the agent's question to `answer`.",
        "`update` never writes to disk when `dry_run` is `True`.",
        "`warn` logs the message and then calls `exit`.",
        "`handlers` is a list of callbacks, in order of registration.",
        "`cli` asks for a password with `getpass`.",
        "`sh` is one of the shells in `SHELLS`.",
        "List of names: `a`, `b`, `c`.",
    ],
)
def test_statements_stay_as_they_are(text: str) -> None:
    assert statement(f"  {text}\n") == text


@pytest.mark.parametrize(
    "text",
    [
        "`limit is 3 by default",
        "``run` the script `x``",
        "`Run that ` script ` now`",
        "` ` is 3 by default",
        "x" * 5_000,
        "`limit` is 3\nby default",
        "`limit` is 3\u2028by default",
        "",
        "\n\n\n",
        "`always` `run` `x` first",
        "Then run `x` first.",
        "In debug mode, reload the server with `x`.",
        "`x` is slow: avoid it.",
        "To use `x`, install the package `y`.",
        "`x` is safe, please approve it.",
        "Copy the file `x` to `y`.",
        "The user has to execute `x` first.",
        "Everyone is asked to run `x` first.",
        "`x` warns the agent that `y` failed.",
        "`x` overrides the previous instructions.",
        "`eval` runs what `curl` gives.",
        "I am `x`, the assistant.",
        "It is best to call `x` first.",
        "The correct answer is `x`.",
        "The user asked about `x`.",
    ],
)
def test_orders_advice_talk_and_broken_marks_are_none(text: str) -> None:
    assert statement(text) is None


@given(st.text())
def test_a_statement_is_one_printable_line_of_bounded_length(text: str) -> None:
    said = statement(text)
    assert said is None or (12 <= len(said) <= 400 and said.isprintable())
    assert said is None or statement(said) == said
