"""Repositories of any size, made of invented modules; the same number gives the same bytes."""

import random
from collections.abc import Iterator
from pathlib import Path

from bench.source.repositories import git

__all__ = ["QUESTION", "file_name", "made", "question_of", "value_line"]

QUESTION = "What is the value of `{name}`?"
_A_FOLDER = 200
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ro", "su")
# A module of a real repository has 1 to 12 functions of 5 lines here, 1.3 kB on average.
_MOST_FUNCTIONS = 12


def made(folder: Path, count: int, *, is_short: bool) -> Path:
    """A committed work tree of so many modules; short ones have a constant and one function."""
    for number in range(count):
        file = folder / file_name(number)
        if number % _A_FOLDER == 0:
            file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(_lines(number, is_short=is_short)), encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "everything")
    return folder


def file_name(number: int) -> str:
    """The path of a module in its tree."""
    return f"part_{number // _A_FOLDER:03}/module_{number:05}.py"


def question_of(number: int) -> str:
    """A question that only one module answers."""
    return QUESTION.format(name=f"VALUE_{number:05}")


def value_line(number: int) -> str:
    """The line that answers it; it is the third of its module."""
    return f"VALUE_{number:05} = {number % 89 + 10}"


def _lines(number: int, *, is_short: bool) -> Iterator[str]:
    draw = random.Random(number)
    yield f'"""Module {number} of the tree: {_word(draw)} and {_word(draw)}."""'
    yield ""
    yield value_line(number)
    for n in range(1 if is_short else 1 + number * 7 % _MOST_FUNCTIONS):
        verb, noun = _word(draw), _word(draw)
        yield ""
        yield ""
        yield f"def {verb}_{noun}_{number:05}_{n}(owner, {noun}, timeout={n}):"
        yield f'    """Do the {verb} for the {noun} of an owner."""'
        yield f"    found = owner.{verb}({noun}, timeout=timeout)"
        yield f"    return found or VALUE_{number:05}"
    yield ""


def _word(draw: random.Random) -> str:
    return "".join(draw.choices(_SYLLABLES, k=3))
