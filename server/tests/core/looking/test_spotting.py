"""Which files are read first where nothing is known but who holds which words."""

from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.text_matches import (
    Mentions,
    best_first,
    leading,
    likely_first,
    nearly_as_good,
    portions,
    telling,
    texts_of,
)
from live_memory.core.reading.observation import ListedFile
from live_memory.core.values import RelPath, StatSignature


def listed(name: str, size: int = 1_000) -> ListedFile:
    return ListedFile(RelPath(name), StatSignature(size, 1, 1, 1, 1))


def mentions(**counts: dict[str, int]) -> Mentions:
    return Mentions({RelPath(f"{name}.py"): each for name, each in counts.items()})


def test_names_are_looked_for_as_they_are_written_and_words_by_what_their_forms_share() -> None:
    assert texts_of("Why does `save_session` in http.Client retry the requests?") == [
        "save_session",
        "http",
        "client",
        "retr",
        "request",
    ]
    assert texts_of("Where is max-size read?")[:2] == ["max_siz", "maxsiz"]
    assert texts_of("Wo steht die Größe?")[-1] == "größe"
    assert not texts_of("What is it?")


def test_a_pasted_log_is_looked_for_by_its_first_names() -> None:
    assert len(texts_of(" ".join(f"name_{n:03}" for n in range(200)))) == 24


def test_words_that_stand_everywhere_are_left_out_unless_there_are_no_others() -> None:
    everywhere = mentions(a={"value": 3, "x_1": 1}, b={"value": 1}, c={"value": 2})
    assert telling(["value", "x_1", "y_2"], everywhere, size=4) == ["x_1", "y_2"]
    assert telling(["value"], everywhere, size=4) == ["value"]
    assert telling([], everywhere, size=4) == []


def test_a_short_file_of_code_that_says_a_rare_word_often_comes_first() -> None:
    files = [listed(name) for name in ("a.py", "b.py", "c.py", "d.md", "e.py", "f.py", "none.py")]
    files.append(listed("long.py", 20_000))
    common = {name: {"common": 1} for name in "bef"}
    found = mentions(a={"common": 5}, c={"rare": 4}, long={"rare": 4}, **common)
    counts = {**found.counts, RelPath("d.md"): {"rare": 4}}
    scores = best_first(files, ["common", "rare"], Mentions(counts))
    order = [file.path.text for file in scores]
    assert order[0] == "c.py"
    assert order.index("a.py") < order.index("b.py")
    assert order.index("d.md") > 0
    assert order.index("long.py") > 0
    assert "none.py" not in order
    assert files[2] in nearly_as_good(scores)
    assert files[7] not in nearly_as_good(scores)


def test_a_name_in_the_path_counts_where_the_text_does_not_hold_it() -> None:
    files = [listed("app/retry.py"), listed("app/other.py", 0)]
    assert list(best_first(files, ["retr"], Mentions({}))) == files[:1]


def test_nothing_is_as_good_as_nothing() -> None:
    assert not best_first([], ["x_1"], Mentions({}))
    assert nearly_as_good({}) == frozenset()


def test_every_text_that_stands_somewhere_leads_to_a_file() -> None:
    """However much better others are: what is read first decides what is denied."""
    files = [listed("a.py"), listed("b.py"), listed("c.py")]
    found = mentions(a={"one": 1}, b={"one": 9, "two": 1}, c={"three": 1})
    assert leading(files, ["three", "two", "one", "none"], found) == (files[2], files[1], files[0])


@given(st.lists(st.integers(0, 50)), st.integers(1, 5), st.integers(1, 100))
def test_portions_hold_every_file_once_in_order_and_are_bounded(
    sizes: list[int], most: int, most_bytes: int
) -> None:
    files = [listed(f"f{n}.py", size) for n, size in enumerate(sizes)]
    found = list(portions(files, most=most, most_bytes=most_bytes))
    assert [file for portion in found for file in portion] == files
    for portion in found:
        assert 1 <= len(portion) <= most
        assert len(portion) == 1 or sum(f.signature.size for f in portion) <= most_bytes


def test_where_there_may_be_no_time_for_all_what_is_called_so_and_programs_come_first() -> None:
    names = ["a.md", "b.py", "docs/cookie.md", "src/Cookie.py", "z.py"]
    order = likely_first([*map(listed, names)], ["cookie", "samesite"])
    assert [file.path.text for file in order] == [
        "src/Cookie.py", "docs/cookie.md", "b.py", "z.py", "a.md"
    ]  # fmt: skip
