"""Git's configuration files, read as data: nothing that they name is started or followed here."""

from collections.abc import Iterator

__all__ = ["entries"]

_ESCAPED = {"n": "\n", "t": "\t", "b": "\b"}


def entries(text: str) -> Iterator[tuple[str, str]]:
    """The entries in order, as `core.excludesfile` or `includeif.gitdir:~/a/.path`, and values.

    Section and key are in lower case, a subsection as it is written. A key without a value is
    `true`. What is malformed is skipped, as is the rest of its line.
    """
    section = ""
    for line in _joined(text):
        rest = line.strip()
        if rest.startswith("["):
            head, is_closed, rest = _head(rest)
            section = head if is_closed else ""
            rest = rest.strip()
        if not section or not rest or rest[0] in "#;":
            continue
        key, equals, value = rest.partition("=")
        name = key.strip().lower()
        if name.replace("-", "").isalnum():
            yield f"{section}.{name}", _value(value) if equals else "true"


def _joined(text: str) -> Iterator[str]:
    """Lines, those that end in a backslash with the next one."""
    waiting: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if not waiting and line.lstrip().startswith(("#", ";")):
            continue
        # An even number of backslashes is that many halves of a character each.
        if (len(line) - len(line.rstrip("\\"))) % 2:
            waiting.append(line[:-1])
        else:
            yield "".join((*waiting, line))
            waiting.clear()
    if waiting:
        yield "".join(waiting)


def _head(line: str) -> tuple[str, bool, str]:
    """The section that a line begins, whether its bracket is closed, and the rest of the line."""
    name, quote, rest = line[1:].partition('"')
    if not quote or "]" in name:
        name, bracket, rest = line[1:].partition("]")
        return name.strip().lower(), bool(bracket), rest
    below: list[str] = []
    characters = iter(rest)
    for char in characters:
        if char == '"':
            break
        below.append(next(characters, "") if char == "\\" else char)
    between, bracket, rest = "".join(characters).partition("]")
    is_closed = bool(bracket) and not between.strip()
    return f"{name.strip().lower()}.{''.join(below)}", is_closed, rest


def _value(text: str) -> str:
    """A value without its quotes, its comment and the blanks around it."""
    shown: list[str] = []
    kept, is_quoted = 0, False  # how much of it no blank ends
    characters = iter(text.lstrip())
    for char in characters:
        if char == '"':
            is_quoted = not is_quoted
        elif char == "\\":
            escaped = next(characters, "")
            shown.append(_ESCAPED.get(escaped, escaped))
        elif char in "#;" and not is_quoted:
            break
        else:
            shown.append(char)
            if char in " \t" and not is_quoted:
                continue
        kept = len(shown)
    return "".join(shown[:kept])
