"""Checks each place an answer cites against the lines that are there now, and grades the whole.

A place holds when half of its claim's names stand on its lines, and every value that the claim
states and every piece of code that it quotes does. These are strict because a stale answer differs
from a true one in a value or a signature. In the
right file but on the wrong lines a place is corrected; else its claim is marked as unsupported.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from live_memory.core.asking.answer import Citation, CitationStatus, Grounding
from live_memory.core.asking.claims import CitedPlace, Claim, claims_of
from live_memory.core.values import RelPath

__all__ = ["CheckedText", "check", "cited_paths"]

# A range is looked for again with its own length, but at least a statement's and at most a
# function's worth of lines (style.md section 2 allows 60 a function).
_LEAST_LINES, _MOST_LINES = 3, 60
_BLANKS, _LAST_COMMA = re.compile(r"\s+"), re.compile(r",(?=[)\]}])")
_ELISION = re.compile(r"\.\.\.|…")
_WORD = re.compile(r"0[xXbBoO]\w+|[A-Za-z_$][\w$]*|\d[\d_.]*\d|\d")


@dataclass(frozen=True, slots=True)
class CheckedText:
    """An answer's text with lines corrected and unsupported places marked, and the result.

    `starts_unsupported` is whether the first claim that cites anything has nothing to stand on.
    """

    text: str
    citations: tuple[Citation, ...]
    grounding: Grounding
    starts_unsupported: bool


def cited_paths(text: str) -> tuple[RelPath, ...]:
    """Every file the text cites, once, in order."""
    return tuple(dict.fromkeys(p.path for claim in claims_of(text) for p in claim.places))


def check(text: str, files: Mapping[RelPath, Sequence[str]]) -> CheckedText:
    """Check every citation against `files`: the current lines of those that could be opened."""
    claims = claims_of(text)
    judged = [
        (place, _judge(claim, place, files.get(place.path)))
        for claim in claims
        for place in claim.places
    ]
    for place, citation in reversed(judged):
        text = text[: place.offset] + _written(place, citation, text) + text[place.end_offset :]
    citations = _distinct([citation for _, citation in judged])
    first = len(claims[0].places) if claims else 0
    return CheckedText(text, citations, _grade(citations), not any(map(_holds, judged[:first])))


def _holds(judged: tuple[CitedPlace, Citation]) -> bool:
    return judged[1].status is not CitationStatus.UNSUPPORTED


def _judge(claim: Claim, place: CitedPlace, lines: Sequence[str] | None) -> Citation:
    cited = Citation(place.path, place.start, place.end, CitationStatus.UNSUPPORTED)
    if lines is None:
        return cited
    here = range(place.start - 1, min(place.end, len(lines)))
    if not claim.states:
        holds = any(lines[n].strip() for n in here)
    else:
        holds = bool(here) and _supports(claim, [lines[n] for n in here])
    if holds and place.end == here.stop:
        return replace(cited, status=CitationStatus.VERIFIED)
    if holds:
        return replace(cited, status=CitationStatus.CORRECTED, end=here.stop)
    if not claim.states:
        return cited
    found = _nearest(claim, lines, place)
    if found is None:
        return cited
    return Citation(place.path, found.start + 1, found.stop, CitationStatus.CORRECTED)


def _nearest(claim: Claim, lines: Sequence[str], place: CitedPlace) -> range | None:
    """The lines that support the claim and lie nearest to where it says."""
    size = min(max(place.end - place.start + 1, _LEAST_LINES), _MOST_LINES)
    wanted = claim.names | {value.strip("\"'") for value in claim.values}
    wanted |= {name for name, _ in claim.settings}
    wanted |= {word for quote in claim.quotes for word in _WORD.findall(quote)[:2]}
    hits = [n for n, line in enumerate(lines) if any(word in line for word in wanted)]
    spans = [range(n, min(n + size, len(lines))) for n in hits]
    good = [span for span in spans if _supports(claim, [lines[n] for n in span])]
    if not good:
        return None
    best = min(good, key=lambda span: abs(span.start + 1 - place.start))
    last = max(n for n in hits if n in best)
    return range(best.start, last + 1)


def _supports(claim: Claim, lines: Sequence[str]) -> bool:
    words = {word for line in lines for word in _WORD.findall(line)}
    for value in claim.values:
        bare = value.strip("\"'")
        if bare.lstrip("-") not in words and not (
            bare != value and any(bare in line for line in lines)
        ):
            return False
    if not all(any(_sets(line, *setting) for line in lines) for setting in claim.settings):
        return False
    if claim.quotes:
        text = _squeezed(" ".join(lines))
        pieces = (piece for quote in claim.quotes for piece in _ELISION.split(quote))
        if any(_squeezed(piece) not in text for piece in pieces):
            return False
    return 2 * len(claim.names & words) >= len(claim.names)


def _sets(line: str, name: str, value: str) -> bool:
    """Whether the line gives the name this value, and not one that only begins or ends so."""
    if name not in _WORD.findall(line):
        return False
    wanted, text = _squeezed(value), _squeezed(line)
    # `u"x"` is another value than `"x"`, and 0xff than 0xf.
    before = r"(?<![\w.])" if wanted[:1].isalnum() or wanted[:1] == '"' else ""
    after = r"(?![\w.])" if wanted[-1:].isalnum() else ""
    return re.search(f"{before}{re.escape(wanted)}{after}", text) is not None


def _squeezed(text: str) -> str:
    """Code without what formatting changes: blanks, quote marks' kind, a last comma or colon."""
    text = _BLANKS.sub("", text).replace("'", '"')
    return _LAST_COMMA.sub("", text).rstrip(":;,")


def _written(place: CitedPlace, citation: Citation, text: str) -> str:
    if citation.status is CitationStatus.VERIFIED:
        return text[place.offset : place.end_offset]
    if citation.status is CitationStatus.CORRECTED:
        return str(citation)
    return f"{text[place.offset : place.end_offset]} (not found there)"


def _grade(citations: Sequence[Citation]) -> Grounding:
    good = sum(citation.status is not CitationStatus.UNSUPPORTED for citation in citations)
    if not good:
        return Grounding.UNGROUNDED
    return Grounding.VERIFIED if good == len(citations) else Grounding.PARTIAL


def _distinct(citations: Sequence[Citation]) -> tuple[Citation, ...]:
    return tuple(dict.fromkeys(citations))
