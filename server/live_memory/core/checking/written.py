"""The places that a text cites, in the forms that people and models write them.

Full: `a/b.py:12`, `a/b.py:12-20`, `b.py#L12-L20`, `b.py (lines 12-20)`, `lines 12-20 of b.py`.
Short, after a file was named: `:59-60`, `line 21`, further ranges behind a place (`a.py:3, 9-12`),
and bare numbers, `(831-835)`, which may mean something else.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

__all__ = ["Endings", "FileMention", "WrittenPlace", "cites", "mentions_in", "places_in"]

# What names of files end in, found out when it is needed.
Endings = Callable[[], Collection[str]]

# Brackets belong to a name in pairs: `app/(group)/[id]/page.tsx`, but not `[docs](a/b.md`.
_PART = r"(?:[\w@+.-]|\(\w+\)|\[[\w.]+\])*(?:\w|\(\w+\)|\[[\w.]+\])"
# None begins within another: each is read once, however long a run of its characters is.
_NAME = rf"(?<![\w/.:@$\\+)\]-])(?P<{{}}>{_PART}(?:/{_PART})*)"
_HEAD = re.compile(
    rf"{_NAME.format('before')}`?(?::|#)(?=L?\d)"
    rf"|{_NAME.format('worded')}`?,? \(?lines? (?=L?\d)"
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
_MENTION = re.compile(rf"{_NAME.format('name')}(?![\w/(])")
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
    """Every name of a file, with lines or without."""
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
