"""What the sentences of a text state, and the places that each clause cites.

A clause is what stands between two groups of citations: `a` does this (`x.py:3`), `b` does that
(`x.py:9`, `y.py:1`). A code block is a quotation and states nothing.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from keyword import kwlist

__all__ = [
    "LITERAL",
    "ClaimPiece",
    "ClaimPieceKind",
    "Clause",
    "Endings",
    "Sentence",
    "WrittenPlace",
    "all_sentences",
    "cites",
    "mentions_in",
    "pieces_of",
    "places_in",
    "sentences_of",
    "without_fences",
]

# What names of files end in, found out when it is needed.
Endings = Callable[[], Collection[str]]

# Brackets belong to a name in pairs: `app/(group)/[id]/page.tsx`, but not `[docs](a/b.md`.
_PART = r"(?:[\w@+.-]|\(\w+\)|\[[\w.]+\])*(?:\w|\(\w+\)|\[[\w.]+\])"
# None begins within another: each is read once, however long a run of its characters is.
_FILE_NAME = rf"(?<![\w/.:@$\\+)\]-])(?P<{{}}>{_PART}(?:/{_PART})*)"
_HEAD = re.compile(
    rf"{_FILE_NAME.format('before')}`?(?::|#)(?=L?\d)"
    rf"|{_FILE_NAME.format('worded')}`?,? \(?lines? (?=L?\d)"
    r"|(?P<short>(?<=[\s(`,;/|]):(?=\d))"
    r"|(?P<lines>\b[Ll]ines? (?=L?\d)|(?<![\w.])(?=L\d+[-–]L?\d)|(?<=\()(?=L\d))"
    r"|(?P<number>(?<=\(|;)\s?(?=\d)|(?<=\bat )(?=\d)|(?<=\s)(?=\d+[-–]\d))"
)
_RANGE = re.compile(r"L?(\d{1,7})(?:(?:[-–—]| to )L?(\d{1,7}))?(?::\d{1,4})?(?![\w%]|[.:]\d|-\w)")
_CLOSES = re.compile(r"\)|[,;]")
_FURTHER = re.compile(r"`?(?:[,;/]| and|, and)\s*`?:?(?=L?\d)")
# A further number is a line where nothing follows that it could count.
_ENDS = re.compile(r"`?\s*(?:[,;.)\]|]|and \d|$)", re.MULTILINE)
_OF = re.compile(rf"\)? (?:of|in) `?(?P<name>{_PART}(?:/{_PART})*)")
_MENTION = re.compile(rf"{_FILE_NAME.format('name')}(?![\w/(])")
# A file is recognised by a folder before it or an ending that starts with a letter: hosts with
# ports and times of day are no places.
_FILE = re.compile(r"/|\.[A-Za-z]\w{0,9}$")
# A file without an ending has a name like `Makefile`, and may be no file at all.
_MAY_BE_FILE = re.compile(rf"{_FILE.pattern}|^[A-Z][A-Za-z]+$")
_OBJECT = re.compile(r"(?:self|this|cls|super)\.")
# What a file may end in, though none here does; any other dotted name without a folder is code.
# fmt: off
_ENDINGS = frozenset({
    "bash", "c", "cc", "cfg", "clj", "cpp", "cs", "css", "dart", "erl", "ex", "exs", "go",
    "gradle", "h", "hpp", "hs", "htm", "html", "ini", "java", "js", "json", "jsx", "kt",
    "lock", "lua", "m", "md", "mjs", "ml", "mm", "php", "pl", "ps1", "py", "pyi", "r", "rb",
    "rs", "rst", "scala", "scss", "sh", "sql", "swift", "tf", "toml", "ts", "tsx", "txt",
    "vue", "xml", "yaml", "yml", "zig",
})
# fmt: on
_ADDRESS = re.compile(r"www\.|\w{1,20}://")
# Numbers below are enumerations and counts more often than lines.
_LEAST_BARE = 10
# An answer with more places lists a folder.
_MOST_PLACES = 500


@dataclass(frozen=True, slots=True)
class FileMention:
    """A file's name as it was written at `offset`."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class WrittenPlace:
    """Lines of the file `name`, or of one named before where it is `None`.

    It was written from `offset` to `end_offset`, its numbers from `lines_offset`, its name from
    `name_offset` where it is the first place behind it. What is not
    `is_certain` may be no place at all; what `is_further` adds lines to the place before it.
    """

    name: str | None
    start: int
    end: int
    offset: int
    lines_offset: int
    end_offset: int
    is_certain: bool = True
    is_further: bool = False
    name_offset: int | None = None


def mentions_in(text: str) -> Iterator[FileMention]:
    """Every name of a file, with lines or without.

    Full: `a/b.py:12`, `a/b.py:12-20`, `b.py#L12-L20`, `b.py (lines 12-20)`, `lines 12-20 of b.py`.
    Short, after a file was named: `:59-60`, `line 21`, further ranges behind a place (`a.py:3,
    9-12`), and bare numbers, `(831-835)`, which may mean something else.
    """
    for found in _MENTION.finditer(text):
        if _FILE.search(found["name"]):
            yield FileMention(found["name"], found.start("name"))


def places_in(text: str, endings: Endings | None = None) -> list[WrittenPlace]:
    """Every place in order, so many at most; names are not looked up.

    With the `endings` that files here have, a name without a folder and with none of them is code
    (`limits.max` on line 12), and its lines are those of a file before.
    """
    found: list[WrittenPlace] = []
    at = 0
    while len(found) < _MOST_PLACES and (head := _HEAD.search(text, at)):
        ranges = list(_ranges(text, head.end()))
        found += _written(text, head, ranges, endings) if ranges else []
        at = ranges[-1].end() if ranges else max(head.end(), head.start() + 1)
    return found


def cites(text: str) -> bool:
    """Whether a text names lines of a file."""
    return any(place.is_certain and place.name is not None for place in places_in(text))


def _written(
    text: str,
    head: re.Match[str],
    ranges: list[re.Match[str]],
    endings: Endings | None,
) -> list[WrittenPlace]:
    name, start = head["before"] or head["worded"], head.start()
    at = start if name else None
    if name is not None and _is_code(name, endings):  # "`self.verify`:681"
        name, start, at = None, head.end() - 1, None
    if head["worded"] and (name is None or not _FILE.search(name)):  # "it is line 89"
        name, start, at = None, head.end("worded") + 1, None
    is_bare = head["number"] is not None
    if name is not None and (_ADDRESS.match(name) or not _MAY_BE_FILE.search(name)):
        return []
    of = _OF.match(text, ranges[-1].end()) if name is None else None
    if of and _FILE.search(of["name"]) and not _is_code(of["name"], endings):
        name, at = of["name"], of.start("name")
    if is_bare and not _may_be_lines(text, ranges):
        return []
    places = []
    for number, each in enumerate(ranges):
        first, last = int(each[1]), int(each[2] or each[1])
        places.append(
            WrittenPlace(
                name,
                max(1, min(first, last)),
                max(1, first, last),
                each.start() if number else start,
                each.start(),
                each.end(),
                is_certain=not is_bare and (name is None or bool(_FILE.search(name))),
                is_further=number > 0,
                name_offset=None if number else at,
            )
        )
    return places


def _is_code(name: str, endings: Endings | None) -> bool:
    if _OBJECT.match(name):
        return True
    ending = name.rpartition(".")[2]
    if endings is None or "/" in name or "." not in name or ending.lower() in _ENDINGS:
        return False
    return ending not in endings()


def _ranges(text: str, at: int) -> Iterator[re.Match[str]]:
    """The lines that are named from `at` on, and the further ones behind them."""
    lines = _RANGE.match(text, at)
    while lines is not None:
        yield lines
        mark = _FURTHER.match(text, lines.end())
        lines = _RANGE.match(text, mark.end()) if mark else None
        if lines is not None and not _ENDS.match(text, lines.end()):
            return


def _may_be_lines(text: str, ranges: list[re.Match[str]]) -> bool:
    return all(int(each[2] or each[1]) >= _LEAST_BARE for each in ranges) and (
        ranges[0][2] is not None or bool(_CLOSES.match(text, ranges[-1].end()))
    )


# A sentence ends at a full stop and blank space, at the end of a heading or a row of a table, at a
# list item, or at an empty line.
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[)\"'*_]{0,3}\s+(?=[A-Z`*_\"'(\[-])|\n\s*+(?=(?:[-*#+]|\d{1,9}[.)])\s)|\n(?:[^\S\n]*+\n)++|\n\s*+(?=\|)"
)
_HEADING = re.compile(r"^#{1,6} [^\n]*\n", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`{1,3})([^`\n]+)\1")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
# Outside code marks a word is a name when only names are written so: a capital inside, an
# underscore, brackets or an equals sign behind.
_BARE_NAME = re.compile(
    r"\b(?:[a-z]+[A-Z]\w*|[A-Z]+[a-z0-9]+[A-Z]\w*|\w+_\w*|_\w+|[A-Za-z]\w*(?=\(\)| = ))"
)
_NUMBER = r"(?:0[xXbBoO][0-9A-Fa-f_]+|-?\d[\d_]*(?:\.\d[\d_]*)?)"
LITERAL = rf"\"[^\"\n]{{1,80}}\"|'[^'\n]{{1,80}}'|{_NUMBER}"
_WHOLE_LITERAL = re.compile(LITERAL)
_IN_CODE = re.compile(rf"(?<![\w.])(?:{LITERAL})(?![\w]|\.\w)")
# Code with a blank or with arguments is quoted from the file; a name with its value may be written
# otherwise there (`"name": value,`, `name: int = value`).
_QUOTE = re.compile(r"\S\s+\S|\([^)\s]")
_SETTING = re.compile(r"[\"']?(?:\w+\.)*(\w+)[\"']?\s*(?:==?|:=|:(?=\s))\s*(\S.*)")
_PATH = re.compile(r"(?:[\w.@+-]++/)++[\w.@+-]+\.\w+")
# An argument and an environment variable have no blanks around the sign, a constant has.
_ARGUMENT = re.compile(r"[A-Za-z_]\w*=\S")
# A word in quotation marks in prose is prose, unless a name is said to be it.
_STATED = re.compile(
    r"(?:(?<!\d )=|\b(?:is|are|equals|was|value|(?:set|equal|defaults?|limited|fixed) to"
    r"|(?:limit|default|value|maximum|minimum|timeout|size|length|number|count) of)) +"
    rf"(?P<number>{_NUMBER})(?![\w%-]|\.\d)"
    rf"|` (?P<beside>{_NUMBER})(?=[,;)]|\.(?:\s|$)| and | \()"
    r"|`\s+(?:is|equals|=)\s+(?P<string>\"[^\"\n]{1,80}\"|'[^'\n]{1,80}')"
)
# What is said not to be there need not be there; so far back a sentence is searched for it.
_DENIED_WITHIN = 60
_DENIED = re.compile(
    r"(?:\b(?:no|not|never|without|neither|nor|cannot|nothing|instead of|rather than)\b|n't\b)"
    r"(?:[^,;:.]|[.:](?=\S)){0,40}$"
)
_WORDS = re.compile(r"[^\W\d_]{2}")
_BETWEEN = re.compile(r"(?:[\s,;/|`()\[\]*+&]|\b(?:and|or|also|then|see|in|at|to)\b)*")


class ClaimPieceKind(StrEnum):
    """How a piece of a claim must stand in the file: as a word, a value, a setting, or as it is."""

    NAME = "name"
    VALUE = "value"
    SETTING = "setting"
    QUOTE = "quote"


@dataclass(frozen=True, slots=True)
class ClaimPiece:
    """Something that a text states at `offset`; a setting has a `value` too.

    A setting that is an argument (`copy=True`) may be given for the sake of example; what
    `is_denied` is said not to be there.
    """

    kind: ClaimPieceKind
    text: str
    offset: int
    value: str = ""
    is_argument: bool = False
    is_denied: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """Places cited together; `before` and `after` them stands what they are said to show."""

    places: tuple[WrittenPlace, ...]
    before: tuple[int, int]
    after: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, its places blanked out; offsets count from its beginning.

    It stands at `offset` in its text.
    """

    text: str
    offset: int
    clauses: tuple[Clause, ...]
    pieces: tuple[ClaimPiece, ...]


def sentences_of(text: str, endings: Endings | None = None) -> tuple[Sentence, ...]:
    """The sentences that cite a place, in order; `endings` as in `places_in`."""
    return tuple(sentence for sentence in all_sentences(text, endings) if sentence.clauses)


def all_sentences(text: str, endings: Endings | None = None) -> Iterator[Sentence]:
    """The sentences of a text, those without a place as well."""
    prose = without_fences(text)
    places = places_in(prose, endings)
    bare = list(prose)
    for place in places:
        # One mark of code without the other would pair with the next one.
        written = prose[place.offset : place.end_offset]
        bare[place.offset : place.end_offset] = re.sub("[^`]", " ", written)
    plain = "".join(bare)
    bounds = _bounds(prose, places)
    # What is nothing but places belongs to the sentence before it.
    bounds = [
        b
        for b, end in zip(bounds, [*bounds[1:], None], strict=True)
        if _WORDS.search(plain[b:end]) or not b
    ]
    at = [place.offset for place in places]
    for span in pairwise([*bounds, len(prose)]):
        its = places[bisect_left(at, span[0]) : bisect_left(at, span[1])]
        yield _sentence(prose, plain, span, its)


def without_fences(text: str) -> str:
    """The text with blanks for what stands in a fence of code, every offset as it was."""
    return _FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence.group()), text)


def pieces_of(text: str) -> tuple[ClaimPiece, ...]:
    """What a text states, in order."""
    found = sorted(_pieces(text), key=lambda piece: piece.offset)
    return tuple(replace(each, is_denied=_is_denied(text, each.offset)) for each in found)


def _is_denied(text: str, offset: int) -> bool:
    return _DENIED.search(text, max(0, offset - _DENIED_WITHIN), offset) is not None


def _bounds(prose: str, places: Sequence[WrittenPlace]) -> list[int]:
    """Where sentences begin; none ends within code or a place, whatever stops they hold."""
    plain = list(_CODE.sub(lambda code: f"`{'x' * (len(code.group()) - 2)}`", prose))
    for place in places:
        plain[place.offset : place.end_offset] = "x" * (place.end_offset - place.offset)
    line = "".join(plain)
    ends = {end.end() for end in _SENTENCE_END.finditer(line)}
    ends |= {heading.end() for heading in _HEADING.finditer(line)}
    return [0, *sorted(end for end in ends if 0 < end < len(prose))]


def _sentence(
    prose: str, plain: str, span: tuple[int, int], places: Sequence[WrittenPlace]
) -> Sentence:
    text = plain[slice(*span)]
    return Sentence(text, span[0], tuple(_clauses(prose, span, places)), pieces_of(text))


def _clauses(prose: str, span: tuple[int, int], places: Sequence[WrittenPlace]) -> Iterator[Clause]:
    groups: list[list[WrittenPlace]] = []
    for place in places:
        if groups and _BETWEEN.fullmatch(prose, groups[-1][-1].end_offset, place.offset):
            groups[-1].append(place)
        else:
            groups.append([place])
    starts = [group[0].offset for group in groups]
    ends = [group[-1].end_offset for group in groups]
    for number, group in enumerate(groups):
        before = (ends[number - 1] if number else span[0], starts[number])
        after = (ends[number], starts[number + 1] if number + 1 < len(groups) else span[1])
        yield Clause(
            tuple(group),
            (before[0] - span[0], before[1] - span[0]),
            (after[0] - span[0], after[1] - span[0]),
        )


def _pieces(text: str) -> Iterator[ClaimPiece]:
    for code in _CODE.finditer(text):
        yield from _of_code(code[2].strip(), code.start(2))
    plain = _CODE.sub(lambda code: " " * len(code.group()), text)
    for name in _BARE_NAME.finditer(plain):
        yield ClaimPiece(ClaimPieceKind.NAME, name.group(), name.start())
    marked = _CODE.sub(lambda code: "`" + " " * (len(code.group()) - 2) + "`", text)
    for said in _STATED.finditer(marked):
        value = said["number"] or said["string"] or said["beside"]
        yield ClaimPiece(ClaimPieceKind.VALUE, value, said.end() - len(value))


def _of_code(code: str, offset: int) -> Iterator[ClaimPiece]:
    if _PATH.fullmatch(code):
        return
    if _WHOLE_LITERAL.fullmatch(code):
        yield ClaimPiece(ClaimPieceKind.VALUE, code, offset)
        return
    setting = _SETTING.fullmatch(code)
    if setting and setting[1] not in kwlist:
        is_argument = _ARGUMENT.match(code) is not None
        yield ClaimPiece(ClaimPieceKind.SETTING, setting[1], offset, setting[2], is_argument)
    elif _QUOTE.search(code):
        yield ClaimPiece(ClaimPieceKind.QUOTE, code, offset)
    elif _WORDS.search(code):
        for literal in _IN_CODE.finditer(code):
            yield ClaimPiece(ClaimPieceKind.VALUE, literal.group(), offset + literal.start())
        code = _IN_CODE.sub(lambda m: " " * len(m.group()), code)
    for name in _NAME.finditer(code):
        yield ClaimPiece(ClaimPieceKind.NAME, name.group(), offset + name.start())
