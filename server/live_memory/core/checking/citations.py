"""Checks each place that a text cites against the lines that are there now, and grades the whole.

Three verdicts. `verified`: the lines are there and hold something telling of the clause, and no
value or quotation of the sentence is missing from all its places. `corrected`: the lines hold
nothing of the clause, or do not exist, and its most telling piece stands at exactly one place of
that file. `unsupported`: neither. The definition in which the cited lines lie counts as shown.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain

from live_memory.core.answer import Citation, CitationStatus, Grounding
from live_memory.core.checking.claim_check import (
    LineRange,
    SourceFile,
    Statement,
    holds,
    is_text,
    missing_pieces,
    only_place,
)
from live_memory.core.checking.claims import (
    ClaimPiece,
    ClaimPieceKind,
    Clause,
    Endings,
    Sentence,
    WrittenPlace,
    all_sentences,
    mentions_in,
    places_in,
    sentences_of,
    without_fences,
)
from live_memory.core.errors import OutsideWorkspace
from live_memory.core.evidence.words import base_name
from live_memory.core.values import RelPath

__all__ = [
    "CheckedText",
    "Resolver",
    "check",
    "checked_sentences",
    "endings_of",
    "named_paths",
]

# Which file a written name means: as it is written, else one that was cited or opened.


# So many files named last may be meant by a place that names none.
_MOST_MEANT = 3


def named_paths(
    text: str, *, opened: Collection[RelPath], listed: Collection[RelPath]
) -> tuple[RelPath, ...]:
    """Every file that a text may cite, once, in order: those to open before it is checked.

    A name that is not `listed` as it is written means the `opened` files that end so, else the
    only listed one that does.
    """
    places = places_in(text, endings_of(chain(opened, listed)))
    names = [place.name for place in places if place.name is not None]
    names += [mention.name for mention in mentions_in(text) if "/" in mention.name]
    found: dict[RelPath, None] = {}
    for name in dict.fromkeys(names):
        path = _parsed(name)
        if path is None:
            continue
        near = [path, *_ending_in(name, opened)]
        if near == [path] and path not in listed:
            ending = _ending_in(name, listed)
            near += ending if len(ending) == 1 else []
        found.update(dict.fromkeys(near))
    return tuple(found)


def endings_of(paths: Iterable[RelPath]) -> Endings:
    """What the names of these files end in, without the full stop; found out when it is needed."""
    return cache(lambda: frozenset(path.suffix[1:] for path in paths))


class Resolver:
    """Looks up names within one text, of which `files` could be opened.

    A name of several opened files means the one that was named last.
    """

    def __init__(self, text: str, files: Collection[RelPath]) -> None:
        self._files = files
        # The files named before an offset, the last first: one more each time that order changes.
        self._offsets: list[int] = []
        self._orders: list[tuple[RelPath, ...]] = []
        mentions = [(m.offset, m.name) for m in mentions_in(text)]
        places = places_in(text, endings_of(files))
        mentions += [(p.offset, p.name) for p in places if p.name is not None]
        self._spelled_out = {name.removeprefix("./") for _, name in mentions}
        for offset, name in sorted(mentions):
            for path in self._of(name, offset)[:1]:
                before = self._orders[-1] if self._orders else ()
                if path in files and before[:1] != (path,):
                    self._offsets.append(offset)
                    self._orders.append((path, *(p for p in before if p != path)))

    def is_spelled_out(self, path: RelPath) -> bool:
        """Whether the text names this file in full, so that short forms of it can be followed."""
        return path.text in self._spelled_out

    def paths_of(self, place: WrittenPlace) -> Sequence[RelPath]:
        """The files that a place may mean, the likeliest first; only the first may be missing."""
        if place.name is None:
            return self._before(place.offset)[:_MOST_MEANT]
        return self._of(place.name, place.offset)

    def _of(self, name: str, offset: int) -> Sequence[RelPath]:
        path = _parsed(name)
        if path is None:
            return ()
        near = [p for p in self._before(offset) if p.text.endswith(f"/{name}")]
        found = dict.fromkeys([*near, *_ending_in(name, self._files)])
        return (path, *found) if path in self._files or not found else tuple(found)

    def _before(self, offset: int) -> tuple[RelPath, ...]:
        """Files named before, the last first."""
        at = bisect_left(self._offsets, offset)
        return self._orders[at - 1] if at else ()


def _parsed(name: str) -> RelPath | None:
    try:
        return RelPath.parse(name)
    except OutsideWorkspace:
        return None


def _ending_in(name: str, paths: Iterable[RelPath]) -> Sequence[RelPath]:
    ending = f"/{name.removeprefix('./')}"
    return [path for path in paths if path.text.endswith(ending)]


# The mark of the list item that comes next.
_NEXT_MARK = re.compile(r"\s(?:[-*+]|\d{1,2}\.)(?: ?\*\*)?$")
# So many of what is not at a place are named beside it.
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A text with lines corrected and unsupported places marked, and the result."""

    text: str
    citations: tuple[Citation, ...]
    grounding: Grounding


@dataclass(frozen=True, slots=True)
class _Judged:
    place: WrittenPlace
    citation: Citation
    missing: Sequence[ClaimPiece]


def check(text: str, files: Mapping[RelPath, SourceFile]) -> CheckedText:
    """Check every citation against `files`: those that could be opened, as they are now."""
    whole = _Text(text, files)
    sentences = sentences_of(text, endings_of(files))
    judged = [each for sentence in sentences for each in whole.judged(sentence)]
    for each in reversed(judged):
        text = _written(each, text, whole.resolver)
    citations = _distinct(each.citation for each in judged)
    return CheckedText(text, citations, _grade(citations))


def checked_sentences(text: str, files: Mapping[RelPath, SourceFile]) -> Sequence[CheckedText]:
    """Each sentence that a place stands behind, with all places as `path:start-end`.

    So it can stand alone; a place that is moved is written as it is found. A sentence that names
    none stands on the places of one beside it that hold all its names.
    """
    whole = _Text(text, files)
    found: list[CheckedText] = []
    bare: list[tuple[int, str, Sequence[ClaimPiece]]] = []
    prose = without_fences(text)
    for sentence in all_sentences(text, endings_of(files)):
        said = prose[sentence.offset : sentence.offset + len(sentence.text)]
        if not sentence.clauses:
            bare.append((len(found), said.strip(), sentence.pieces))
            continue
        judged = [*whole.judged(sentence)]
        for each in reversed(judged):
            first, last = (
                at - sentence.offset for at in (each.place.offset, each.place.end_offset)
            )
            said = f"{said[:first]}{_in_full(said, first, last, each.citation)}{said[last:]}"
        citations = _distinct(each.citation for each in judged)
        found.append(CheckedText(_NEXT_MARK.sub("", said.strip()), citations, _grade(citations)))
    for at, said, pieces in reversed(bare):
        beside = (*found[at : at + 1], *found[max(0, at - 1) : at])
        grounded = next(filter(None, (_beside(said, pieces, one, files) for one in beside)), None)
        if grounded is not None:
            found.insert(at, grounded)
    return found


def _in_full(said: str, first: int, last: int, citation: Citation) -> str:
    """A place as it stands alone, with the bracket and the mark of code that its words held."""
    words = said[first:last]
    opens = "(" if words.count("(") > words.count(")") else ""
    mark = "`" * (words.count("`") % 2)
    gap = "" if not first or said[first - 1] in " (`[/\n\t" else " "
    return f"{gap}{opens}{citation}{mark}"


def _beside(
    said: str,
    pieces: Sequence[ClaimPiece],
    other: CheckedText,
    files: Mapping[RelPath, SourceFile],
) -> CheckedText | None:
    """A sentence without a place on those of another one, if they hold it."""
    names = {base_name(piece.text) for piece in pieces if piece.kind is ClaimPieceKind.NAME}
    names = set() if any(mentions_in(said)) else names  # it is about another file
    said = _NEXT_MARK.sub("", said).rstrip(".: ")
    for each in other.citations if names else ():
        if each.status is not CitationStatus.UNSUPPORTED and each.path in files:
            lines = LineRange(files[each.path], each.start, each.end)
            checked = check(f"{said} ({each}).", files)
            if names <= lines.words and checked.grounding is Grounding.VERIFIED:
                return checked
    return None


class _Text:
    """A text and the files that it may cite."""

    def __init__(self, text: str, files: Mapping[RelPath, SourceFile]) -> None:
        self._files = files
        self.resolver = Resolver(text, files.keys())
        self._said = Statement.by(text)

    def judged(self, sentence: Sentence) -> Iterator[_Judged]:
        """The verdict on each place of a sentence."""
        whole = Statement.of(sentence)
        claims = []
        for clause in sentence.clauses:
            near = [Statement.of(sentence, span) for span in (clause.before, clause.after)]
            said = (*near, whole, self._said)
            claims += [self._claim(clause, place, said) for place in clause.places]
        meant = (lines for claim in claims for lines in claim.meant)
        shown = [*{(each.file.path, each.start, each.end): each for each in meant}.values()]
        moved = [claim.elsewhere(sentence.pieces, shown) for claim in claims]
        missing = self._missing(sentence, [*shown, *filter(None, moved)])
        for claim, found in zip(claims, moved, strict=True):
            citation = claim.verdict(claims, found, is_whole=not missing)
            if citation is not None:
                yield _Judged(claim.place, citation, missing)

    def _claim(self, clause: Clause, place: WrittenPlace, said: Sequence[Statement]) -> "_Claim":
        paths = self.resolver.paths_of(place)
        meant = [
            LineRange(self._files[path], place.start, place.end)
            for path in paths
            if path in self._files
        ]
        return _Claim(place, clause, said, paths, meant)

    def _missing(self, sentence: Sentence, shown: Sequence[LineRange]) -> Sequence[ClaimPiece]:
        """What stands at no place; what is added behind the last one may stand in any file.

        A message that is added there is no claim of any place.
        """
        last = sentence.clauses[-1]
        is_added = bool(Statement.of(sentence, last.before).tokens)
        end = last.after[0] if is_added else len(sentence.text)
        own = [p for p in sentence.pieces if p.offset < end]
        added = [p for p in sentence.pieces[len(own) :] if not is_text(p.text)]
        whole = [LineRange(f, 1, len(f.lines)) for f in self._files.values()] if added else []
        return [*missing_pieces(own, shown), *missing_pieces(added, whole)]


@dataclass(frozen=True)
class _Claim:
    """A place, what is said of it, the files it may mean, and the lines of those that are open."""

    place: WrittenPlace
    clause: Clause
    said: Sequence[Statement]
    paths: Sequence[RelPath]
    meant: Sequence[LineRange]

    @cached_property
    def held(self) -> LineRange | None:
        """The lines that hold what is said of them."""
        return next((m for m in self.meant if m.is_there and holds(m, self.said)), None)

    def verdict(
        self, others: Sequence["_Claim"], found: LineRange | None, *, is_whole: bool
    ) -> Citation | None:
        """What is written of the place; nothing of what is no place."""
        held = (self.held or self._beside(others)) if is_whole else None
        if held is not None:
            return _cited(held, CitationStatus.VERIFIED)
        if not self.place.is_certain:
            return None
        if found is not None and is_whole:
            return _cited(found, CitationStatus.CORRECTED)
        paths = [lines.file.path for lines in self.meant] or self.paths
        place, status = self.place, CitationStatus.UNSUPPORTED
        return Citation(paths[0], place.start, place.end, status) if paths else None

    def _beside(self, others: Sequence["_Claim"]) -> LineRange | None:
        """Lines within those that hold what is said, or further ones of their definition."""
        if not self.said[0].pieces:  # "especially line 12"
            wide = [o.held for o in others if o.held is not None]
            inner = next((m for m in self.meant if any(m.is_within(w) for w in wide)), None)
            if inner is not None:
                return inner
        if not self.place.is_further:
            return None
        near = [o.held for o in others if o.clause is self.clause and o.held is not None]
        return next((m for m in self.meant if any(m.is_beside(n) for n in near)), None)

    def elsewhere(
        self, pieces: Sequence[ClaimPiece], shown: Sequence[LineRange]
    ) -> LineRange | None:
        """Where the most telling piece of the clause stands, if the lines hold nothing of it."""
        if self.held is not None or not self.place.is_certain or not self.meant:
            return None
        clause, lines = self.said[0], self.meant[0]
        found = self._in_file(lines)
        if found is None:
            if lines.is_there and not clause.tokens.isdisjoint(lines.vocabulary):
                return None
            found = only_place(clause.pieces, lines.file)
        return found if found and not missing_pieces(pieces, (*shown, found)) else None

    def _in_file(self, lines: LineRange) -> LineRange | None:
        """The lines without those beyond the end of the file, if they hold what is said."""
        last = len(lines.file.lines)
        inside = LineRange(lines.file, lines.start, min(lines.end, last))
        is_cut = lines.start <= last < lines.end
        return inside if is_cut and inside.is_there and holds(inside, self.said) else None


def _cited(lines: LineRange, status: CitationStatus) -> Citation:
    return Citation(lines.file.path, lines.start, lines.end, status)


def _distinct(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Each place once; it holds only where all that is said of it does."""
    found: dict[tuple[RelPath, int, int], Citation] = {}
    for each in citations:
        place = each.path, each.start, each.end
        known = found.get(place, each)
        found[place] = each if known.status is CitationStatus.VERIFIED else known
    return tuple(found.values())


def _written(judged: _Judged, text: str, resolver: Resolver) -> str:
    """The text with lines that were moved, a mark where there is nothing, and the file's path.

    A path is written out where the text has it only in short: it may be an old one.
    """
    place, citation = judged.place, judged.citation
    if citation.status is CitationStatus.CORRECTED:
        lines = str(citation).rpartition(":")[2]
        text = f"{text[: place.lines_offset]}{lines}{text[place.end_offset :]}"
    elif citation.status is CitationStatus.UNSUPPORTED:
        end = place.end_offset + text.startswith("`", place.end_offset)
        named = [f"`{piece.text}`" for piece in judged.missing[:_MOST_NAMED]]
        more = len(judged.missing) - len(named)
        what = ", ".join([*named, f"{more} more"] if more else named)
        return f"{text[:end]} (not found there{': ' if what else ''}{what}){text[end:]}"
    at = place.name_offset
    if place.name is None or at is None or resolver.is_spelled_out(citation.path):
        return text
    return f"{text[:at]}{citation.path}{text[at + len(place.name) :]}"


def _grade(citations: Sequence[Citation]) -> Grounding:
    good = sum(citation.status is CitationStatus.VERIFIED for citation in citations)
    if good == len(citations) and good:
        return Grounding.VERIFIED
    held = any(citation.status is not CitationStatus.UNSUPPORTED for citation in citations)
    return Grounding.PARTIAL if held else Grounding.UNGROUNDED
