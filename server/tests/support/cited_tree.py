"""Answers that models really wrote, and files in which their places hold what they speak of."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["ANSWERS", "CITATION", "WHOLE", "tree_of", "write_tree"]

_FILE = Path(__file__).parents[1] / "core/checking/answers.jsonl"
ANSWERS = tuple(str(json.loads(line)["answer"]) for line in _FILE.read_text("utf-8").splitlines())
# Those that write every place out in full, so that the files of `tree_of` hold all of them.
WHOLE = (ANSWERS[1], ANSWERS[3], ANSWERS[11], ANSWERS[14])

# As anyone would look for them, whatever the product takes for a place.
CITATION = re.compile(r"(?<![\w./-])((?:[\w.+-]+/)+[\w.+-]+\.[A-Za-z]\w{0,6}):(\d+)(?:[-–](\d+))?")
_FURTHER = re.compile(r"(?:, ?\d+(?:-\d+)?)+(?=[,;)])")
_RANGE = re.compile(r"(\d+)(?:[-–](\d+))?")
_CODE = re.compile(r"`([^`\n]+)`")


def tree_of(answer: str) -> Mapping[str, list[str]]:
    """The text of each file that is cited: at its places stands all code of their paragraph."""
    tree: dict[str, list[str]] = {}
    for paragraph in re.split(r"\n(?=\s*(?:[-*|]|\d+\.)\s)|\n\s*\n", answer):
        code = "  ".join(c for c in _CODE.findall(paragraph) if not CITATION.search(c))
        prose = CITATION.sub(" ", _CODE.sub(" ", paragraph)).replace("\n", " ")
        for place in CITATION.finditer(paragraph):
            lines = tree.setdefault(place[1], [])
            for first, last in _RANGE.findall(
                place[0].partition(":")[2] + _further(paragraph, place)
            ):
                lines += [""] * (int(last or first) - len(lines))
                lines[int(first) - 1] += f"{code}  # {prose}"
    return tree


def write_tree(answer: str, root: Path) -> None:
    """Write the files of an answer below a folder."""
    for name, lines in tree_of(answer).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _further(paragraph: str, place: re.Match[str]) -> str:
    found = _FURTHER.match(paragraph, place.end())
    return found[0] if found else ""
