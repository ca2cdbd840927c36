"""A right citation stays right however it is written, and a wrong one is never verified."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.answer import CitationStatus
from live_memory.core.checking.citations import CheckedText, check
from live_memory.core.checking.claim_check import SourceFile
from live_memory.core.evidence.outline import outline
from live_memory.core.values import RelPath

# Names and values of which each stands in one place.
_VERBS = [
    "opens",
    "folds",
    "merges",
    "counts",
    "signs",
    "packs",
    "splits",
    "routes",
    "drains",
    "parses",
]
_NOUNS = [
    "ledger",
    "socket",
    "parcel",
    "window",
    "packet",
    "cursor",
    "beacon",
    "carton",
    "meadow",
    "lattice",
]
_CLAIMS = range(10)


def _path(n: int) -> str:
    return ("src/alpha/core.py", "src/beta/tools.py")[n % 2]


def _name(n: int) -> str:
    return f"{_VERBS[n]}_the_{_NOUNS[n]}"


def _value(n: int) -> int:
    return 4_100 + 17 * n


def _tree() -> dict[RelPath, SourceFile]:
    lines: dict[str, list[str]] = {"src/alpha/core.py": [], "src/beta/tools.py": []}
    for n in _CLAIMS:
        lines[_path(n)] += [
            f"def {_name(n)}({_VERBS[n]}_it):",
            f'    """Takes the {_NOUNS[n]} apart."""',
            f"    limit_of_{_NOUNS[n]} = {_value(n)}",
            f"    return {_VERBS[n]}_it % limit_of_{_NOUNS[n]}",
            "",
        ]
    found = {RelPath(path): rows for path, rows in lines.items()}
    return {path: SourceFile(path, rows, outline(path, rows)) for path, rows in found.items()}


_FILES = _tree()


def _lines(n: int) -> tuple[int, int]:
    return 5 * (n // 2) + 1, 5 * (n // 2) + 4


def _place(n: int, form: str) -> str:
    first, last = _lines(n)
    return {
        "bare": f"({_path(n)}:{first}-{last})",
        "marked": f"(`{_path(n)}:{first}-{last}`)",
        "anchor": f"({_path(n)}#L{first}-L{last})",
        "worded": f"({_path(n)}, lines {first}-{last})",
        "brackets": f"[{_path(n)}:{first}-{last}]",
        "ending": f"({_path(n).partition('/')[2]}:{first}-{last})",
    }[form]


def _said(n: int, saying: int) -> str:
    return [
        f"`{_name(n)}` stops at `{_value(n)}`",
        f"`limit_of_{_NOUNS[n]} = {_value(n)}` bounds it",
        f"the {_NOUNS[n]} is taken apart by `{_name(n)}({_VERBS[n]}_it)`",
        f"`{_name(n)}` returns `{_VERBS[n]}_it % limit_of_{_NOUNS[n]}`",
        f"`def {_name(n)}({_VERBS[n]}_it)` has a limit of its own",
    ][saying]


_FORMS = st.sampled_from(["bare", "marked", "anchor", "worded", "brackets", "ending"])
_ONE = st.tuples(st.sampled_from(_CLAIMS), st.integers(0, 4), _FORMS)
_MANY = st.lists(_ONE, min_size=1, max_size=5, unique_by=lambda claim: claim[0])
_JOINS = st.sampled_from([", and ", "; ", ", then ", ". ", "\n- ", " | ", ", which is why "])
_ASIDES = st.sampled_from(["", "as the README says, ", "in short, ", "so far as I read, "])
# What introduces the files, so that their endings can be used.
_LEAD = "The files are src/alpha/core.py and src/beta/tools.py.\n\n"


def _text(claims: Sequence[tuple[int, int, str]], join: str, aside: str) -> str:
    return _LEAD + join.join(f"{aside}{_said(n, s)} {_place(n, form)}" for n, s, form in claims)


def _check(text: str) -> CheckedText:
    return check(text, _FILES)


@pytest.mark.promise("citations-checked")
@given(_MANY, _JOINS, _ASIDES)
def test_a_right_citation_stays_right_in_whatever_company(
    claims: Sequence[tuple[int, int, str]], join: str, aside: str
) -> None:
    text = _text(claims, join, aside)
    checked = _check(text)
    assert checked.text == text
    assert {c.status for c in checked.citations} == {CitationStatus.VERIFIED}
    assert len(checked.citations) == len(claims)


@pytest.mark.promise("never-falsely-fresh", "citations-checked")
@given(_MANY, _JOINS, _ASIDES, st.integers(2, 9), st.data())
def test_a_value_that_stands_at_no_place_is_never_verified(
    claims: Sequence[tuple[int, int, str]], join: str, aside: str, wrong: int, data: st.DataObject
) -> None:
    n, _, form = data.draw(st.sampled_from(claims))
    spoiled = [(m, s % 2 if m == n else s, f) for m, s, f in claims]
    text = _text(spoiled, join, aside).replace(str(_value(n)), f"{wrong}{_value(n)}")
    first, last = _lines(n)
    cited = [c for c in _check(text).citations if (c.path.text, c.start) == (_path(n), first)]
    assert cited, (form, last)
    assert all(c.status is CitationStatus.UNSUPPORTED for c in cited)


@pytest.mark.promise("citations-checked")
@given(_ONE, st.sampled_from(_CLAIMS))
def test_lines_that_hold_nothing_of_a_claim_are_never_verified(
    claim: tuple[int, int, str], other: int
) -> None:
    n, saying, form = claim
    if _path(other) != _path(n) or other == n:
        return
    wrong = _place(other, form)
    (citation,) = _check(f"{_LEAD}{_said(n, saying)} {wrong}").citations
    assert citation.status is not CitationStatus.VERIFIED
    if citation.status is CitationStatus.CORRECTED:
        first, last = _lines(n)
        assert first <= citation.start <= citation.end <= last
