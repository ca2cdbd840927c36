"""How a fact and lines of a file read to a model: headers in front, data behind a bar.

Every line of a file stands behind its number and a bar, other data behind a bar, and a header
begins with `===` or with a place. So no data can forge a header, an end of quotation, or a turn
of the talk.
"""

import re
from collections.abc import Iterable, Sequence

from live_memory.core.memory.ledger import Fact
from live_memory.core.reading.inert import visible
from live_memory.core.reading.text import clean, lines_of
from live_memory.core.values import RelPath

__all__ = [
    "excerpt",
    "heading",
    "name_of_file",
    "numbered",
    "one_line",
    "quoted",
    "render_fact",
]

# Longer lines are data; prose and changelogs have a paragraph on a line.
_LONGEST_LINE = 1_000
_LONGEST_ABOUT = 200
# Editors number lines by LF and CR alone; what a reader may take for a line end is more.
_LINE_END = re.compile("[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")


def render_fact(fact: Fact) -> str:
    """The fact with its sources and their versions, on one line."""
    sources = ", ".join(f"{s.path}:{s.start}-{s.end} {s.sha.hex[:8]}" for s in fact.sources)
    return f"- {' '.join(clean(fact.text).split())} [{one_line(sources)}]\n"


def one_line(text: str) -> str:
    """Without what could end the line: a file's name may hold a line end, and then is not cited."""
    if text.isascii() and text.isprintable():  # nearly all are: there are no controls
        return visible(text) if "![" in text else text
    return visible(_LINE_END.sub("\ufffd", clean(text)))


def name_of_file(path: RelPath) -> str:
    """A file's name at the start of a line, where it may not look like a header."""
    name = one_line(path.text)
    return f"./{name}" if name.startswith("=") else name


def heading(path: RelPath, first: int, last: int, about: str = "") -> str:
    """`path:first-last about`, which every place stands under."""
    span = f"{first}" if first == last else f"{first}-{last}"
    return f"{name_of_file(path)}:{span} {one_line(about)[:_LONGEST_ABOUT]}".rstrip()


def numbered(lines: Sequence[str], *, start: int) -> str:
    """File lines, each behind its number and a bar: a place is cited as it is read."""
    return "".join(f"{n}|{_clipped(line)}\n" for n, line in enumerate(lines, start))


def excerpt(
    path: RelPath,
    lines: Sequence[str],
    numbers: Iterable[int],
    *,
    about: str = "",
    until: int | None = None,
) -> str:
    """Lines of a file under `path:first-last about`; gaps, also up to `until`, are marked."""
    shown = sorted({number for number in numbers if 1 <= number <= len(lines)})
    if not shown:
        return ""
    text = f"{heading(path, shown[0], shown[-1], about)}\n"
    last = shown[0] - 1
    for number in shown:
        text += _gap(number - last - 1) + numbered([lines[number - 1]], start=number)
        last = number
    return text + _gap((until or last) - last)


def _gap(count: int) -> str:
    return f"\u2026 ({count} line{'s' if count > 1 else ''})\n" if count > 0 else ""


def _clipped(line: str) -> str:
    more = len(line) - _LONGEST_LINE
    shown = line if more <= 0 else f"{line[:_LONGEST_LINE]}\u2026 ({more} characters)"
    return visible(_LINE_END.sub("\ufffd", shown))


def quoted(text: str) -> str:
    """Other data, each line behind a bar."""
    return "".join(f"|{one_line(line)}\n" for line in lines_of(clean(text)))
