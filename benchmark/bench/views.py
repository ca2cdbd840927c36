"""Which lines of which files a recorded tool call showed; that is what memory could have kept.

A recorded shell command is run again only where every program in it just shows text, and nothing
in it can start or write anything.
"""

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SHOWING", "Lines", "View", "is_harmless", "placed", "shown_by_command", "shown_by_read"]

# What one Read shows without a limit.
_LINES = 2_000
_LONGEST_S = 20.0
SHOWING = frozenset({"cat", "head", "tail", "sed", "nl", "grep", "egrep", "rg"})
# Beside views these are harmless too, without the options that start or write something.
_OTHERS = frozenset({"cd", "echo", "find", "ls", "sort", "wc"})
_EFFECTS = ("/", "..", "--pre", "-f", "--file", "-exec", "-ok", "-delete", "--output", "--compress")
_SED = re.compile(r"\d+(,(\d+|\$))?p(;\d+(,(\d+|\$))?p)*")
_PLACED = re.compile(r"^(?P<path>[^\s:][^:]*?)[:-](?P<number>\d+)[:-](?P<text>.*)$")
_PATHED = re.compile(r"^(?P<path>[^\s:]+):(?P<text>.*)$")
_NUMBERED = re.compile(r"^\s*(?P<number>\d+)[:\t-]\s?(?P<text>.*)$")


@dataclass(frozen=True, slots=True)
class View:
    """Lines that were shown, by file, and the characters of output that belong to none."""

    lines: Mapping[str, frozenset[int]]
    unplaced: int = 0


class Lines:
    """The lines of a work tree's files, read once."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self._files: dict[str, list[str]] = {}
        self._numbers: dict[str, dict[str, list[int]]] = {}

    def of(self, name: str) -> list[str]:
        """A file's lines; none where there is no such file."""
        if name not in self._files:
            file = self.tree / name
            is_text = file.is_file() and not file.is_symlink()
            text = file.read_text(encoding="utf-8", errors="replace") if is_text else ""
            self._files[name] = text.splitlines()
        return self._files[name]

    def numbers(self, name: str, text: str) -> list[int]:
        """The numbers of the lines of a file that say this."""
        if name not in self._numbers:
            found: dict[str, list[int]] = {}
            for number, line in enumerate(self.of(name), 1):
                found.setdefault(line.strip(), []).append(number)
            self._numbers[name] = found
        return self._numbers[name].get(text.strip(), [])

    def size(self, name: str, numbers: frozenset[int]) -> int:
        """The characters of some lines."""
        lines = self.of(name)
        return sum(len(lines[number - 1]) + 1 for number in numbers if number <= len(lines))


def shown_by_read(lines: Lines, name: str, offset: int | None, limit: int | None) -> View:
    """What a Read showed of a file."""
    first, total = max(1, offset or 1), len(lines.of(name))
    last = min(total, first - 1 + (limit or _LINES))
    return View({name: frozenset(range(first, last + 1))} if last >= first else {})


def shown_by_command(lines: Lines, command: str) -> View | None:
    """What a command shows of files when it is run again; nothing where it is not run."""
    if not is_harmless(command):
        return None
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=lines.tree,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return placed(lines, done.stdout.decode("utf-8", errors="replace"), named_files(lines, command))


def is_harmless(command: str) -> bool:
    """Whether every program in a command only shows text, and it has no other effect."""
    bare = re.sub(r"\s2>(/dev/null|&1)(?=\s|$|;|\|)", " ", command)
    if any(mark in bare for mark in ("`", "$(", "${", "<", ">(", "\n", "~")):
        return False
    try:
        lexer = shlex.shlex(bare, posix=True, punctuation_chars="|&;()>")
        lexer.whitespace_split = True
        tokens = list(lexer)
    except ValueError:
        return False
    return all(_is_view(words) for words in _commands(tokens))


def _commands(tokens: Sequence[str]) -> list[list[str]]:
    """The words of each program that is started; an operator we do not know spoils its command."""
    found: list[list[str]] = [[]]
    for token in tokens:
        if token in {"|", "||", "&&", ";"}:
            found.append([])
        else:
            found[-1].append(token)
    return found


def _is_view(words: Sequence[str]) -> bool:
    if not words or words[0] not in SHOWING | _OTHERS:
        return False
    if any(set(word) <= set("|&;()>") for word in words):
        return False
    arguments = words[1:]
    if any(word.startswith(_EFFECTS) for word in arguments):
        return False
    if words[0] == "sort" and any(word.startswith("-") and "o" in word for word in arguments):
        return False
    if words[0] == "sed":
        return len(arguments) >= 2 and arguments[0] == "-n" and bool(_SED.fullmatch(arguments[1]))
    return True


def named_files(lines: Lines, command: str) -> list[str]:
    """The files that a command names."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    folder = ""
    found = []
    for before, word in zip(["", *words], words, strict=False):
        if before == "cd":
            folder = f"{word.rstrip('/')}/"
        name = f"{folder}{word.rstrip(';')}".removeprefix("./")
        if lines.of(name):
            found.append(name)
    return list(dict.fromkeys(found))


def placed(lines: Lines, output: str, named: Sequence[str]) -> View:
    """The lines of files that an output consists of."""
    found: dict[str, set[int]] = {}
    unplaced = 0
    for row in output.splitlines():
        place = _place(lines, row, named)
        if place is None:
            unplaced += len(row) + 1
        else:
            found.setdefault(place[0], set()).add(place[1])
    return View({name: frozenset(numbers) for name, numbers in found.items()}, unplaced)


def _place(lines: Lines, row: str, named: Sequence[str]) -> tuple[str, int] | None:
    if match := _PLACED.match(row):
        name, number = match["path"].removeprefix("./"), int(match["number"])
        if number in lines.numbers(name, match["text"]):
            return name, number
    if match := _PATHED.match(row):
        name = match["path"].removeprefix("./")
        for number in lines.numbers(name, match["text"])[:1]:
            return name, number
    return _in_named(lines, row, named) if row.strip() else None


def _in_named(lines: Lines, row: str, named: Sequence[str]) -> tuple[str, int] | None:
    """The line that a row without a path is, of the files that the command named."""
    match = _NUMBERED.match(row)
    for name in named if match else ():
        if match and int(match["number"]) in lines.numbers(name, match["text"]):
            return name, int(match["number"])
    for name in named:
        for number in lines.numbers(name, row)[:1]:
            return name, number
    return None
