"""One entry put into a configuration text and taken out again, and no other byte touched.

What could not be undone exactly is refused. No well-kept library edits JSON with comments in place.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

__all__ = [
    "Edit",
    "JsonElement",
    "JsonForm",
    "JsonMember",
    "KeyPath",
    "MarkedBlock",
    "OwnText",
    "Standing",
    "TomlTable",
    "Unclear",
    "read_toml",
]

KeyPath = tuple[str, ...]
"""The keys from the root to a value."""

# Deeper than any configuration, and far from what a parser's stack holds.
_DEEPEST = 100
_BOM = "\ufeff"


class Unclear(ValueError):
    """A text that cannot be read, or not be edited with certainty; says why."""


class Standing(StrEnum):
    """How an entry of ours stands in a text."""

    ABSENT = "absent"
    THERE = "there"
    OLD = "old"
    """Ours, and not as it would be written now."""
    FOREIGN = "foreign"
    """Somebody else's, under our name."""


class Edit(Protocol):
    """One entry of ours in one text. What cannot be read raises `Unclear`."""

    def standing(self, text: str) -> Standing:
        """How it stands."""

    def put(self, text: str) -> tuple[str, frozenset[KeyPath]]:
        """The text with it, and the containers that had to be made for it."""

    def take(self, text: str, made: frozenset[KeyPath]) -> str:
        """The text without it, and without those of `made` that then hold nothing."""


@dataclass(frozen=True, slots=True)
class JsonForm:
    """What a host's parser takes beyond JSON."""

    comments: bool = False
    trailing_commas: bool = False


@dataclass(frozen=True, slots=True)
class _Node:
    start: int
    end: int
    value: object
    items: tuple["_Item", ...] = ()


@dataclass(frozen=True, slots=True)
class _Item:
    """A member or an element; a member begins with its key."""

    key: str | None
    start: int
    node: _Node
    comma: int | None


def _refused(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


_SCALAR = json.JSONDecoder(parse_constant=_refused)
_BLANK = " \t\r\n"
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_REST_OF_LINE = re.compile(r"(?:[ \t]*/\*[^\r\n]*?\*/)*(?:[ \t]*//[^\r\n]*)?")


class _Scan:
    """Reads JSON and keeps where everything stands."""

    def __init__(self, text: str, form: JsonForm) -> None:
        self._text = text
        self._form = form
        self._at = len(_BOM) if text.startswith(_BOM) else 0

    def document(self) -> _Node:
        self._skip()
        node = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._unclear("one value")
        return node

    def _skip(self) -> None:
        while self._at < len(self._text):
            comment = _COMMENT.match(self._text, self._at) if self._form.comments else None
            if comment:
                self._at = comment.end()
            elif self._text[self._at] in _BLANK:
                self._at += 1
            else:
                return

    def _value(self, depth: int) -> _Node:
        opening = self._text[self._at : self._at + 1]
        if depth > _DEEPEST:
            raise Unclear(f"nested deeper than {_DEEPEST}")
        if opening not in ("{", "["):
            return self._scalar()
        start, items = self._at, list(self._items("}" if opening == "{" else "]", depth + 1))
        values: object = [item.node.value for item in items]
        if opening == "{":
            values = {item.key: item.node.value for item in items}
        return _Node(start, self._at, values, tuple(items))

    def _items(self, closing: str, depth: int) -> Iterator[_Item]:
        """What a container holds; ends after its closing bracket."""
        is_open = True
        self._at += 1
        self._skip()
        while not self._text.startswith(closing, self._at):
            if not is_open:
                raise self._unclear(f"',' or '{closing}'")
            start, key = self._at, self._key() if closing == "}" else None
            node = self._value(depth)
            self._skip()
            is_open = self._text.startswith(",", self._at)
            comma = self._at if is_open else None
            if is_open:
                self._at += 1
                self._skip()
                if self._text.startswith(closing, self._at) and not self._form.trailing_commas:
                    raise self._unclear("no ',' before the end")
            yield _Item(key, start, node, comma)
        self._at += 1

    def _key(self) -> str:
        key = self._scalar("a name in quotes").value
        self._skip()
        if not isinstance(key, str) or not self._text.startswith(":", self._at):
            raise self._unclear("':' after a name")
        self._at += 1
        self._skip()
        return key

    def _scalar(self, expected: str = "a value") -> _Node:
        start = self._at
        try:
            value, self._at = _SCALAR.raw_decode(self._text, start)
        except ValueError as problem:
            raise self._unclear(expected) from problem
        return _Node(start, self._at, value)

    def _unclear(self, expected: str) -> Unclear:
        return Unclear(f"line {self._text.count(chr(10), 0, self._at) + 1}: expected {expected}")


def _chain(text: str, form: JsonForm, path: KeyPath) -> list[_Node]:
    """The root and the containers along the path, as far as there are any."""
    nodes = [_Scan(text, form).document()]
    if not isinstance(nodes[0].value, dict):
        raise Unclear("its outermost value is no object")
    for key in path:
        found = _item(nodes[-1], key)
        if found is None:
            break
        nodes.append(found.node)
    return nodes


def _item(container: _Node, key: str) -> _Item | None:
    """The member of that name; a parser takes the last of several."""
    return next((item for item in reversed(container.items) if item.key == key), None)


def _container(nodes: Sequence[_Node], path: KeyPath, kind: type) -> _Node | None:
    """What is at the path's end; nothing where the path is not there."""
    for depth, node in enumerate(nodes):
        wanted = kind if depth == len(path) else dict
        if not isinstance(node.value, wanted):
            shape = "list" if wanted is list else "object"
            raise Unclear(f"'{'.'.join(path[:depth])}' is no {shape}")
    return nodes[-1] if len(nodes) > len(path) else None


def _added(text: str, nodes: Sequence[_Node], key: str | None, value: object) -> str:
    """The text with one more item at the end of the last of the nodes."""
    root, container = nodes[0], nodes[-1]
    line_end = "\r\n" if "\r\n" in text else "\n"
    first = _blank_before(text, root, 0) if root.items else "\n  "
    unit = first.rpartition("\n")[2] if "\n" in first else "  "
    step = line_end + _indent_at(text, container.start) + (unit or "  ")
    if container.items:
        return _after_last(text, container, key, value, step=step, unit=unit or "  ")
    is_wide = not root.items or "\n" in text[root.start : root.end]
    lead, tail = (step, line_end + _indent_at(text, container.start)) if is_wide else ("", "")
    at = container.start + 1
    return text[:at] + lead + _written(key, value, lead, unit or "  ") + tail + text[at:]


def _after_last(
    text: str, container: _Node, key: str | None, value: object, *, step: str, unit: str
) -> str:
    last = container.items[-1]
    lead = _blank_before(text, container, len(container.items) - 1)
    if "\n" in lead:
        lead = step[: step.index("\n") + 1] + lead.rpartition("\n")[2]
    after = last.node.end if last.comma is None else last.comma + 1
    rest = _REST_OF_LINE.match(text, after)
    at = rest.end() if rest else after
    if "\n" not in lead and _ends_in_line_comment(text[after:at]):
        lead = step
    # A list that ends with a comma goes on ending with one.
    before, behind = (",", "") if last.comma is None else ("", ",")
    kept = text[last.node.end : at]
    entry = _written(key, value, lead, unit)
    return text[: last.node.end] + before + kept + lead + entry + behind + text[at:]


def _written(key: str | None, value: object, lead: str, unit: str) -> str:
    label = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if "\n" not in lead:
        return label + json.dumps(value, ensure_ascii=False)
    shown = json.dumps(value, ensure_ascii=False, indent=unit)
    return label + shown.replace("\n", lead)


def _blank_before(text: str, container: _Node, index: int) -> str:
    gap = _gap_before(text, container, index)
    return gap[len(gap.rstrip(_BLANK)) :]


def _gap_before(text: str, container: _Node, index: int) -> str:
    """What stands between an item and the comma or bracket before it."""
    before = container.items[index - 1].comma if index else container.start
    return text[(before or 0) + 1 : container.items[index].start]


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _ends_in_line_comment(gap: str) -> bool:
    comments = list(_COMMENT.finditer(gap))
    return bool(comments) and comments[-1].group().startswith("//")


def _cut(text: str, container: _Node, item: _Item) -> str:
    """The text without one item, its comma and the line break before it."""
    index = container.items.index(item)
    gap = _gap_before(text, container, index)
    blank = gap[len(gap.rstrip(_BLANK)) :]
    line = blank.rfind("\n")
    if line > 0 and blank[line - 1] == "\r":
        line -= 1
    lead = blank[max(line, 0) :]
    end = item.node.end
    after = text[end:]
    if item.comma is not None:
        after = text[end : item.comma] + text[item.comma + 1 :]
    if "\n" in lead and len(container.items) == 1 and item.comma is None:
        after = after.removeprefix(lead[: lead.index("\n") + 1] + _indent_at(text, container.start))
    if _ends_in_line_comment(gap) and not after.startswith(("\r", "\n")):
        lead = ""
    before = text[: item.start - len(lead)]
    comma = container.items[index - 1].comma if index and item.comma is None else None
    if comma is not None:
        before = before[:comma] + before[comma + 1 :]
    return before + after


def _taken(
    text: str,
    form: JsonForm,
    path: KeyPath,
    is_it: Callable[[_Item], bool],
    made: frozenset[KeyPath],
) -> str:
    """The text without the items of a container that are meant."""
    while True:
        nodes = _chain(text, form, path)
        found = [item for item in nodes[-1].items if is_it(item)] if len(nodes) > len(path) else []
        if not found:
            return text
        depth, item = len(path), found[-1]
        while path[:depth] in made and depth and _holds_only(text, nodes[depth], item):
            depth -= 1
            outer = _item(nodes[depth], path[depth])
            assert outer is not None  # it was found on the way
            item = outer
        text = _cut(text, nodes[depth], item)


def _holds_only(text: str, container: _Node, item: _Item) -> bool:
    around = text[container.start + 1 : item.start] + text[item.node.end : container.end - 1]
    return not around.strip(_BLANK + ",")


def _put(
    text: str, form: JsonForm, path: KeyPath, key: str | None, value: object
) -> tuple[str, frozenset[KeyPath]]:
    """The text with an item in the container at the path, which is made where it is not there."""
    nodes = _chain(text, form, path)
    _container(nodes, path, dict if key is not None else list)
    missing = path[len(nodes) - 1 :]
    if missing:
        value = [value] if key is None else {key: value}
        for name in reversed(missing[1:]):
            value = {name: value}
        key = missing[0]
    made = frozenset(path[:depth] for depth in range(len(nodes), len(path) + 1))
    return _added(text, nodes, key, value), made


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A value under a name; a person may have added to it."""

    path: KeyPath
    value: Mapping[str, object]
    is_ours: Callable[[object], bool]
    form: JsonForm = JsonForm()

    def standing(self, text: str) -> Standing:
        """How it stands."""
        holder = _container(_chain(text, self.form, self.path[:-1]), self.path[:-1], dict)
        found = None if holder is None else _item(holder, self.path[-1])
        return Standing.ABSENT if found is None else _compared(found.node.value, self)

    def put(self, text: str) -> tuple[str, frozenset[KeyPath]]:
        """The text with it."""
        return _put(text, self.form, self.path[:-1], self.path[-1], self.value)

    def take(self, text: str, made: frozenset[KeyPath]) -> str:
        """The text without it."""

        def is_it(item: _Item) -> bool:
            return item.key == self.path[-1]

        return _taken(text, self.form, self.path[:-1], is_it, made)


def _compared(found: object, wanted: "JsonMember | TomlTable") -> Standing:
    if isinstance(found, dict) and wanted.value.items() <= found.items():
        return Standing.THERE
    return Standing.OLD if wanted.is_ours(found) else Standing.FOREIGN


@dataclass(frozen=True, slots=True)
class JsonElement:
    """A value in a list, known by what it holds; the others and their order stay."""

    path: KeyPath
    value: object
    is_ours: Callable[[object], bool]
    form: JsonForm = JsonForm()

    def standing(self, text: str) -> Standing:
        """How it stands."""
        holder = _container(_chain(text, self.form, self.path), self.path, list)
        values = [item.node.value for item in holder.items] if holder else []
        ours = [value for value in values if self.is_ours(value)]
        if not ours:
            return Standing.ABSENT
        return Standing.THERE if ours == [self.value] else Standing.OLD

    def put(self, text: str) -> tuple[str, frozenset[KeyPath]]:
        """The text with it, after all others."""
        return _put(text, self.form, self.path, None, self.value)

    def take(self, text: str, made: frozenset[KeyPath]) -> str:
        """The text without it."""

        def is_it(item: _Item) -> bool:
            return self.is_ours(item.node.value)

        return _taken(text, self.form, self.path, is_it, made)


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A table of strings and lists of strings, at the end of the text."""

    outer: str
    name: str
    value: Mapping[str, object]
    is_ours: Callable[[object], bool]

    def standing(self, text: str) -> Standing:
        """How it stands."""
        outer = self._tables(text)[self.outer]
        return _compared(outer[self.name], self) if self.name in outer else Standing.ABSENT

    def put(self, text: str) -> tuple[str, frozenset[KeyPath]]:
        """The text with it."""
        # What json writes of these is TOML too.
        lines = [
            f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in self.value.items()
        ]
        added = _appended(text, [f"[{self.outer}.{self.name}]", *lines])
        expected = self._tables(text)
        expected[self.outer][self.name] = dict(self.value)
        if not _reads_as(added, expected):
            raise Unclear(f"'{self.outer}' is written in a form that takes no table after it")
        return added, frozenset()

    def take(self, text: str, made: frozenset[KeyPath]) -> str:
        """The text without it and the tables in it."""
        quoted = rf"(?:{re.escape(self.name)}|\"{re.escape(self.name)}\"|'{re.escape(self.name)}')"
        head = re.compile(rf"[ \t]*\[[ \t]*{self.outer}[ \t]*\.[ \t]*{quoted}[ \t]*[.\]]")
        expected = self._tables(text)
        expected[self.outer].pop(self.name)
        lines = text.splitlines(keepends=True)
        for start in reversed([i for i, line in enumerate(lines) if head.match(line)]):
            later = range(start + 1, len(lines))
            end = next((i for i in later if lines[i].lstrip(" \t").startswith("[")), len(lines))
            # What is said above the next table belongs to that.
            while end > start + 1 and not lines[end - 1].split("#")[0].strip():
                end -= 1
            lines = _without(lines, start, end)
        kept = "".join(lines)
        # The outer table may have come with ours.
        outer = expected[self.outer]
        bare = {key: value for key, value in expected.items() if key != self.outer or outer}
        if not _reads_as(kept, expected) and not _reads_as(kept, bare):
            raise Unclear(f"'{self.outer}.{self.name}' is in a form that has to be removed by hand")
        return kept

    def _tables(self, text: str) -> dict[str, dict[str, object]]:
        """All that the text says, where there is room for a table of ours."""
        found = read_toml(text)
        if not isinstance(found.setdefault(self.outer, {}), dict):
            raise Unclear(f"'{self.outer}' is no table")
        return found


def read_toml(text: str) -> dict[str, dict[str, object]]:
    """What a text says; raises `Unclear`."""
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise Unclear(str(problem)) from problem


def _reads_as(text: str, expected: Mapping[str, object]) -> bool:
    try:
        return read_toml(text) == expected
    except Unclear:
        return False


def _appended(text: str, lines: Sequence[str]) -> str:
    """The text with lines of ours at its end, after an empty one."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    lead = line_end if text.removeprefix(_BOM) else ""
    return text + lead + "".join(line + line_end for line in lines)


def _without(lines: Sequence[str], start: int, end: int) -> list[str]:
    """The lines without some that were appended, and without what `_appended` put before them."""
    before, after = list(lines[:start]), list(lines[end:])
    if before and not before[-1].strip(_BLANK):
        before.pop()
    elif before and not after:
        before[-1] = before[-1].rstrip("\r\n")
    return before + after


_BEGIN, _END = "<!-- live-memory: begin -->", "<!-- live-memory: end -->"


@dataclass(frozen=True, slots=True)
class MarkedBlock:
    """Lines for the agent between two marks, at the end of a text for people."""

    body: str

    def standing(self, text: str) -> Standing:
        """How it stands."""
        found = self._lines(text)
        if found is None:
            return Standing.ABSENT
        body = "".join(text.splitlines(keepends=True)[found[0] + 1 : found[1]])
        return Standing.THERE if body.split() == self.body.split() else Standing.OLD

    def put(self, text: str) -> tuple[str, frozenset[KeyPath]]:
        """The text with it."""
        return _appended(text, [_BEGIN, *self.body.splitlines(), _END]), frozenset()

    def take(self, text: str, made: frozenset[KeyPath]) -> str:
        """The text without it."""
        found = self._lines(text)
        if found is None:
            return text
        return "".join(_without(text.splitlines(keepends=True), found[0], found[1] + 1))

    def _lines(self, text: str) -> tuple[int, int] | None:
        """The lines of the two marks."""
        lines = [line.strip() for line in text.removeprefix(_BOM).splitlines()]
        marks = [index for index, line in enumerate(lines) if line in (_BEGIN, _END)]
        if not marks:
            return None
        if [lines[index] for index in marks] != [_BEGIN, _END]:
            raise Unclear("its live-memory marks are no pair")
        return marks[0], marks[1]


@dataclass(frozen=True, slots=True)
class OwnText:
    """A whole file of ours, known by its first line."""

    text: str

    def standing(self, text: str) -> Standing:
        """How it stands."""
        if not text:
            return Standing.ABSENT
        if text == self.text:
            return Standing.THERE
        is_ours = text.partition("\n")[0] == self.text.partition("\n")[0]
        return Standing.OLD if is_ours else Standing.FOREIGN

    def put(self, text: str) -> tuple[str, frozenset[KeyPath]]:
        """The file."""
        return self.text, frozenset()

    def take(self, text: str, made: frozenset[KeyPath]) -> str:
        """Nothing."""
        return ""
