"""A line holds a name where the index would say so, had it read the line."""

import pytest

from live_memory.core.evidence.absence import sought_in
from live_memory.core.evidence.words import tokens
from live_memory.core.values import RelPath


@pytest.mark.parametrize(
    ("name", "line", "is_there"),
    [
        ("kafka", "import KafkaClient", True),
        ("URL", "curl it", False),
        ("policies", "a POLICY holds", True),
        ("saveSession", "self.save_session()", False),
        ("save_session", "x.save_sessions()", True),
        ("Cart.total", "grandTotal = 1", True),
        ("CLAUDE.md", "see claude.md", True),
        ("zorp", "zorpify", False),
        ("zorp", "zorpify and zorp", True),
        ("café", "le Café", True),
    ],
)
def test_words_count_as_in_the_index(name: str, line: str, is_there: bool) -> None:
    (sought,) = sought_in([name])
    at = sought.at(line)
    assert (at is not None) is is_there
    if at is not None:
        assert line[at:].lower().startswith(sought.text)
    if sought.word is not None:
        assert is_there is (sought.word in tokens(line))


def test_single_letters_and_repetitions_are_not_looked_for() -> None:
    assert [each.name for each in sought_in(["x", "abc", "abc"])] == ["abc"]


@pytest.mark.parametrize(
    ("name", "path", "is_named"),
    [
        ("CLAUDE.md", "docs/claude.md", True),
        ("docs/CLAUDE.md", "other/claude.md", False),
        ("pay", "libs/pay", True),
        ("pay", "libs/payments", False),
        ("py", "a.py", False),
        ("max_size", "src/max-size.py", True),
        ("retries", "lib/Retry.py", True),
    ],
)
def test_a_path_is_named_by_its_words_or_its_end(name: str, path: str, is_named: bool) -> None:
    (sought,) = sought_in([name])
    assert sought.is_named_by(RelPath(path)) is is_named
