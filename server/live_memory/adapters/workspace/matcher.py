"""The program that matches lines, run as a child so that no expression can hold the server.

Standard library only and no import of ours: it runs isolated (`python -I -S`). It reads one JSON
line (`pattern`, `ignore_case`, `limit`, `sizes`) and then texts of those sizes in bytes, whose
lines end in LF, and writes one JSON list of `[text, line, excerpt]`.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import islice

__all__ = ["LONGEST_EXCERPT", "matching_lines"]

LONGEST_EXCERPT = 500


def matching_lines(
    texts: Iterable[str], pattern: str, *, ignore_case: bool
) -> Iterator[tuple[int, int, str]]:
    """The number of the text, the number of the line from 1, and the line's beginning."""
    is_match = re.compile(pattern, re.IGNORECASE if ignore_case else 0).search
    for number, text in enumerate(texts):
        for line_number, line in enumerate(text.split("\n"), 1):
            if is_match(line):
                yield number, line_number, line[:LONGEST_EXCERPT]


def _main() -> None:
    asked = json.loads(sys.stdin.buffer.readline())
    texts = (sys.stdin.buffer.read(size).decode() for size in asked["sizes"])
    found = matching_lines(texts, asked["pattern"], ignore_case=asked["ignore_case"])
    json.dump(list(islice(found, asked["limit"])), sys.stdout)


if __name__ == "__main__":
    _main()
