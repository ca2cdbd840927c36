"""Options and operands of a command, as most programs take them."""

from collections.abc import Sequence
from dataclasses import dataclass

from live_memory.core.hosts.words import Word

__all__ = ["Options", "as_number", "parsed"]


@dataclass(frozen=True, slots=True)
class Options:
    """Flags without value, values by option, and what is left."""

    flags: frozenset[str]
    given: tuple[tuple[str, str], ...]
    operands: tuple[Word, ...]

    def has(self, *names: str) -> bool:
        """Whether any of these flags is set."""
        return not self.flags.isdisjoint(names)

    def values(self, *names: str) -> tuple[str, ...]:
        """The values of an option, in order."""
        return tuple(value for name, value in self.given if name in names)

    def number(self, *names: str) -> int | None:
        """The last value of an option, where it is a whole number."""
        found = self.values(*names)
        return as_number(found[-1]) if found else None


def as_number(text: str) -> int | None:
    """A whole number of a reasonable length."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def parsed(
    arguments: Sequence[Word], *, with_value: str = "", long: frozenset[str] = frozenset()
) -> Options:
    """Sort out arguments; `-5` is the value of an option called `#`."""
    flags: set[str] = set()
    given: list[tuple[str, str]] = []
    operands: list[Word] = []
    rest = list(reversed(arguments))
    while rest:
        word = rest.pop()
        text = word.text
        if text == "--":
            operands += reversed(rest)
            break
        if text.startswith("--"):
            name, has_value, value = text[2:].partition("=")
            if has_value:
                given.append((name, value))
            elif name in long and rest:
                given.append((name, rest.pop().text))
            else:
                flags.add(name)
        elif text[:1] in "-+" and len(text) > 1 and text[1:].isdigit():
            given.append(("#", text))
        elif text.startswith("-") and len(text) > 1:
            _short(text[1:], with_value, flags, given, rest)
        else:
            operands.append(word)
    return Options(frozenset(flags), tuple(given), tuple(operands))


def _short(
    letters: str,
    with_value: str,
    flags: set[str],
    given: list[tuple[str, str]],
    rest: list[Word],
) -> None:
    """`-rn`, `-n5`, `-n 5`, `-ne SCRIPT`."""
    for n, letter in enumerate(letters):
        if letter in with_value:
            value = letters[n + 1 :]
            if value or rest:
                given.append((letter, value or rest.pop().text))
            return
        flags.add(letter)
