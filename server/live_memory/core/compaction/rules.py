"""Facts without a model: what the outline of a file says of the lines that were seen.

They go the way of all proposals, through `admission`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from live_memory.core.compaction.fact_check import Proposal, SourceText, standing
from live_memory.core.compaction.fact_wording import as_statement, statement
from live_memory.core.evidence.docs import doc_of, first_sentence, spoken_lines
from live_memory.core.evidence.file_kinds import is_test
from live_memory.core.evidence.outline import head_end
from live_memory.core.evidence.places import Definition, DefinitionKind, Place
from live_memory.core.evidence.words import base_name
from live_memory.core.memory.ledger import FactKind
from live_memory.core.values import RelPath

__all__ = ["facts_by_rule"]

# What one file may put into the ledger: more would push out what was asked about.
_MOST_NAMED, _MOST_DEFINED, _MOST_VALUES, _MOST_CALLS = 10, 6, 3, 3
_FEWEST_NAMED = 2
_BODIES = (DefinitionKind.FUNCTION, DefinitionKind.METHOD)
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*")
_HEAD = re.compile(
    r"^(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|static|async)\s+)*"
    r"(?:def|class|function\*?|func|fn|fun|sub|struct|enum|trait|interface)\s+"
)
_REMARK = re.compile(r"(?<!\s)\s*+:?\s+(?:#|//).*$")
_LITERAL = re.compile(
    r"[^=:]*+(?::[^=]{1,40})?[=:]\s*+(?P<value>\"[^\"`]{0,60}\"|'[^'`]{0,60}'|-?\d[\w.]{0,20}|"
    r"True|False|true|false|None|null|nil)\s*+[,;]?\s*+(?:(?:#|//).*)?"
)
_CALL = re.compile(r"(?<![\w$.])((?:self|this|cls)\.)?([A-Za-z_$][\w$]*)\s?\(")
_STRING = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|#.*|//.*")
_LONGEST_SIGNATURE, _LONGEST_DOC = 160, 12


def facts_by_rule(
    sources: Sequence[SourceText], outlines: Mapping[RelPath, Sequence[Definition]]
) -> Sequence[Proposal]:
    """What there is, with its signature and first sentence, values, and who calls whom."""
    found: list[Proposal] = []
    for source in sources:
        defined = [d for d in outlines.get(source.path, ()) if d.place.start in source.lines]
        if not defined:
            continue
        file = _File(source, defined)
        found += file.structure()
        if not is_test(source.path):
            found += islice(file.definitions(), _MOST_DEFINED)
            found += islice(file.values(), _MOST_VALUES)
            found += islice(file.calls(), _MOST_CALLS)
    return tuple(found)


class _File:
    """What is shown of one file, and what it defines there."""

    def __init__(self, source: SourceText, defined: Sequence[Definition]) -> None:
        self._path = source.path
        self._page = source
        last = max(source.lines)
        self._lines = [source.lines.get(n, "") for n in range(1, last + 1)]
        # What is said first is kept: public before private, outer before inner.
        self._defined = sorted(defined, key=lambda d: (_is_private(d), d.name.count(".")))

    def structure(self) -> Iterator[Proposal]:
        """One sentence that says what is in the file."""
        kept = self._named_first()
        verb = "has the sections" if kept[0].kind is DefinitionKind.SECTION else "defines"
        subject = f"`{self._path.name}` {verb}"
        heads = {
            self._name(d): Place(self._path, d.place.start, d.place.start) for d in reversed(kept)
        }
        # A title may order something, as titles of tutorials do.
        names = [name for name in reversed(heads) if statement(f"{subject} `x`, `{name}`.")]
        names = names[:_MOST_NAMED]
        if len(names) >= _FEWEST_NAMED:
            text = f"{subject} {', '.join(f'`{name}`' for name in names)}."
            yield Proposal(text, FactKind.STRUCTURE, tuple(heads[name] for name in names))

    def _named_first(self) -> Sequence[Definition]:
        """Sections, else what has a body and stands by itself, else what has one, else values."""
        sections = [d for d in self._defined if d.kind is DefinitionKind.SECTION]
        bodies = [d for d in self._defined if d.kind in (*_BODIES, DefinitionKind.CLASS)]
        outer = [d for d in bodies if "." not in d.name]
        return sections or outer or bodies or self._defined

    def definitions(self) -> Iterator[Proposal]:
        """Each function, method and class with its signature and what its author says of it."""
        for definition in self._defined:
            if definition.kind in (*_BODIES, DefinitionKind.CLASS):
                yield from self._definition(definition)

    def values(self) -> Iterator[Proposal]:
        """Each name that a line gives a plain value."""
        for definition in self._defined:
            start = definition.place.start
            found = _LITERAL.fullmatch(self._lines[start - 1].strip())
            if definition.kind is DefinitionKind.VALUE and found:
                text = f"`{self._name(definition)}` is `{found['value']}`."
                yield Proposal(text, FactKind.VALUE, (Place(self._path, start, start),))

    def calls(self) -> Iterator[Proposal]:
        """Who calls whom within the file."""
        owned = {d.name: d for d in self._defined if d.kind is not DefinitionKind.VALUE}
        for caller in self._defined:
            if caller.kind not in _BODIES:
                continue
            owner = caller.name.rpartition(".")[0]
            # Once each, from where it is called first.
            called = {(name, own): n for name, n, own in reversed([*self._called(caller)])}
            for (name, is_own), number in reversed(called.items()):
                callee = owned.get(f"{owner}.{name}" if is_own else name)
                if callee and callee is not caller and number != callee.place.start:
                    text = f"`{self._name(caller)}` calls `{self._name(callee)}`."
                    places = (self._head(caller), Place(self._path, number, number))
                    yield Proposal(text, FactKind.USE, places)

    def _definition(self, definition: Definition) -> Iterator[Proposal]:
        kind = definition.kind.value
        said = f"`{self._name(definition)}` is a {kind}"
        signature = _REMARK.sub("", _HEAD.sub("", definition.signature))
        if len(signature) <= _LONGEST_SIGNATURE and "`" not in signature and "(" in signature:
            said += f" with the signature `{signature}`"
        spoken = f"{said}: {self._sentence(definition)}" if self._sentence(definition) else ""
        place = self._with_doc(definition) if spoken else self._head(definition)
        plain = f"{said}." if "signature" in said else ""
        # What an author says may be no statement, or say what stands elsewhere.
        for text, where in ((spoken, place), (plain, self._head(definition))):
            if text and statement(text) and standing(text, (where,), {self._path: self._page}):
                yield Proposal(text, FactKind.DEFINITION, (where,))
                return

    def _name(self, definition: Definition) -> str:
        """With what it belongs to, where that is shown; a title whole, even where it is no name."""
        name = definition.name
        if definition.kind is DefinitionKind.SECTION:
            return name
        is_shown = all(part in self._page.where for part in re.findall(r"[\w$]+", name))
        return name if is_shown and _NAME.fullmatch(name) else base_name(name)

    def _sentence(self, definition: Definition) -> str:
        """What its author says it does."""
        said = first_sentence(doc_of(self._lines, definition) or "")
        name = base_name(definition.name)
        # Go has it begin with the name.
        return f"`{name}`{said[len(name) :]}" if said.startswith(f"{name} ") else as_statement(said)

    def _head(self, definition: Definition) -> Place:
        start = definition.place.start
        return self._around(definition, start, head_end(self._lines, start - 1))

    def _with_doc(self, definition: Definition) -> Place:
        """The head with the comment above it and the docstring below."""
        first, last = definition.place.start, head_end(self._lines, definition.place.start - 1)
        below = spoken_lines(self._lines, last + 1, last + _LONGEST_DOC)
        above = spoken_lines(self._lines, max(1, first - _LONGEST_DOC), first - 1)
        while last + 1 in below:
            last += 1
        while first - 1 in above:
            first -= 1
        return self._around(definition, first, last)

    def _around(self, definition: Definition, first: int, last: int) -> Place:
        """These lines, as far as they are shown together with the first of the definition."""
        at = definition.place.start
        start, end = next(span for span in self._page.spans if span[0] <= at <= span[1])
        return Place(self._path, max(first, start), min(last, end))

    def _called(self, caller: Definition) -> Iterator[tuple[str, int, bool]]:
        """Names that are called, with the line, and whether on the object itself."""
        first, last = caller.place.start, min(caller.place.end, len(self._lines))
        spoken = spoken_lines(self._lines, first, last)
        for number in range(first, last + 1):
            if number in self._page.lines and number not in spoken:
                for own, name in _CALL.findall(_STRING.sub("", self._lines[number - 1])):
                    yield name, number, bool(own)


def _is_private(definition: Definition) -> bool:
    return base_name(definition.name).startswith("_")
