"""Whether an answer leads with the right finding, and states none that no longer holds."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.conclusions.claims import Claim, Told, at, places_named
from bench.scores import Place
from bench.views import Lines

__all__ = [
    "Block",
    "blocks",
    "facts_in",
    "is_flagged",
    "is_led",
    "leader",
    "lines_are_right",
    "stale",
    "stems",
]

# How a server heads a finding, and what in such a head says that it no longer holds.
_WITHIN = 200
_HEAD = re.compile(r"^\W*(?:What was e|E)stablished\b(?:.*:[*_ ]*$|.*?(?::(?=\s)|$))", re.MULTILINE)
_FLAGGED = re.compile(r"\bchanged?\b|\bno longer\b|\bgone\b|\bdeleted\b|\bremoved\b|\bdiffer")
_SINCE = re.compile(r"\bchanged since\b|\bno longer\b|\bfile is gone\b")
_ASIDE, _ITEM = re.compile(r"\(.*\)"), re.compile(r"^\s*[-*]\s")
_CODE = re.compile(r"^\s*\d*\s*[|│]|^\s*\d+[:\t]|^```")
_PLACE = re.compile(r"[\w./+-]+\.[A-Za-z]\w{0,6}:\d+(?:[-–]\d+)?")
_WORD = re.compile(r"\w+")
_RUN = 4
# A sentence is stated when so many of its runs of words are, or so many of a line are its.
_STATED = 0.6
_DISTINCT = 12
_FIRST_TOKENS, _CHARACTERS = 600, 3.6

Runs = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Block:
    """A head with what stands below it, without lines of code."""

    head: str
    prose: str

    @property
    def is_current(self) -> bool:
        """Whether it is stated as something that holds."""
        return _FLAGGED.search(_ASIDE.sub("", self.head)) is None

    @property
    def sentence(self) -> str:
        """The first line of prose that says something."""
        lines = (line.strip() for line in self.prose.splitlines())
        return next((line for line in lines if len(_WORD.findall(line)) >= _RUN), "")


def is_led(text: str) -> bool:
    """Whether an answer begins with a finding."""
    return "Established" in text[:_WITHIN]


def blocks(text: str) -> list[Block]:
    """The findings of an answer in order; what follows the last one belongs to it."""
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [
        Block(head[0], _prose(text[head.end() : end]))
        for head, end in zip(heads, ends, strict=False)
    ]


def leader(text: str, conclusions: Sequence[str]) -> int | None:
    """Which conclusion the first finding of an answer stems from, if it leads with any."""
    found = blocks(text) if is_led(text) else []
    return stems(found[0].sentence, conclusions) if found else None


def stems(sentence: str, conclusions: Sequence[str]) -> int | None:
    """The conclusion that has the largest share of a sentence's runs of four words."""
    runs = runs_of(sentence)
    shares = [share(runs, runs_of(each)) for each in conclusions]
    best = max(shares, default=0.0)
    return shares.index(best) if best > 0 else None


def is_flagged(text: str) -> bool:
    """Whether an answer says, not in a finding itself, that one is no longer so."""
    said = (line for line in _prose(text).splitlines() if not _ITEM.match(line))
    return any(_SINCE.search(line) for line in said)


def facts_in(text: str, facts: Iterable[str]) -> list[str]:
    """Those that do not stand in the first 600 tokens of an answer."""
    shown = text[: int(_FIRST_TOKENS * _CHARACTERS)]
    return [fact for fact in facts if fact not in shown]


def stale(text: str, claims: Iterable[Claim], lines: Lines) -> str | None:
    """A sentence that is stated as still true, though the lines that it cites have changed."""
    current = [block.prose for block in blocks(text) if block.is_current]
    said = [runs_of(prose) for prose in current]
    said_lines = [runs_of(line) for prose in current for line in prose.splitlines()]
    for claim in claims:
        if claim.places and claim.has_changed(lines):
            runs = runs_of(claim.text)
            is_whole = any(share(runs, each) >= _STATED for each in said)
            # A part of a sentence is stated too.
            parts = (one for one in said_lines if len(one) >= _RUN)
            if is_whole or any(share(part, runs) >= _STATED for part in parts):
                return claim.text
    return None


def lines_are_right(text: str, about: Told, names: Sequence[str], lines: Lines) -> bool:
    """Whether the places that the first finding names show what its conclusion cited.

    Each of its sentence does, or the first one below a sentence without places.
    """
    found = blocks(text)
    if not found:
        return False
    sentence, prose = found[0].sentence, found[0].prose
    named = _named(sentence, about, names, lines) or _named(prose, about, names, lines)[:1]
    return bool(named) and all(_shows(at(lines, place), place.path, about) for place in named)


def runs_of(text: str) -> Runs:
    """Every four words that follow each other, places left out; a shorter text is one run."""
    words = [word.lower() for word in _WORD.findall(_PLACE.sub(" ", text))]
    return frozenset(_runs(words)) or (frozenset({tuple(words)}) if words else frozenset())


def share(of: Runs, among: Runs) -> float:
    """The share of some runs that is among others."""
    return len(of & among) / len(of) if of else 0.0


def _named(text: str, about: Told, names: Sequence[str], lines: Lines) -> list[Place]:
    # A later sentence may name a file by its end alone.
    before = f"{about.conclusion}\n\n"
    said = places_named(before + text, names, lines)
    return [place for offset, place in said if offset >= len(before)]


def _shows(text: str, path: str, about: Told) -> bool:
    stood = about.stood.get(path, frozenset())
    # As a good part of what is shown; a line of a mark or two stands in many places.
    whole = (old for old in stood if old in text and 2 * len(old) >= len(text))
    return bool(text) and (text in stood or any(len(old.strip()) >= _DISTINCT for old in whole))


def _runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[n:] for n in range(_RUN)), strict=False)


def _prose(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not _CODE.match(line))
