"""Whether a name stands somewhere as it is written."""

import pytest

from live_memory.core.evidence.absence import is_name, is_spelled, nearest


@pytest.mark.parametrize(
    ("name", "line", "is_there"),
    [
        ("requestWithRoute", "x = requestWithRouter()", False),
        ("requestWithRoute", "x = requestWithRouteAndVars()", False),
        ("requestWithRoute", "# RequestWithRoute(", True),
        ("save_session", "the save_sessions are", True),
        ("OrderPolicies", "class OrderPolicy:", True),
        ("a.max_size", "--max-size=3", True),
        ("save_session", "self._save_session()", True),
        ("save_session", "saved_session", False),
    ],
)
def test_a_name_is_spelled_by_whole_words(name: str, line: str, is_there: bool) -> None:
    assert is_spelled(name, ["", line]) is is_there


def test_paths_and_words_are_no_names() -> None:
    assert all(map(is_name, ("saveAll", "a.save_all", "HTTPError")))
    assert not any(map(is_name, ("save", "URL", "src/save_all", "test_a.py", "two words")))


def test_what_is_much_like_a_name_is_nearest_to_it() -> None:
    defined = ["requestWithRouteAndVars", "setVars", "route"]
    assert nearest("Mux.requestWithRoute", defined) == "requestWithRouteAndVars"
    assert nearest("zorpify_all", defined) is None
