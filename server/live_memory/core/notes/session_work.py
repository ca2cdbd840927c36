"""What one session did, as far as its host tells it, and what of that is left at its end.

All text in here is redacted, on one line and bounded. A helper's task is no part of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from live_memory.core.hosts.events import shortened
from live_memory.core.memory.learning import merged
from live_memory.core.memory.ledger import Fact
from live_memory.core.memory.notebook import LARGEST_HANDOFF
from live_memory.core.values import Instant, RelPath

__all__ = ["LONGEST_COMMAND", "LONGEST_PROMPT", "EditedFile", "SessionRecord", "SessionWork"]

# Characters.
LONGEST_PROMPT, LONGEST_COMMAND, _LONGEST_FINDING = 300, 200, 300
# Of these the latest are kept, and a session that edits more rewrites the project.
_MOST_EDITED, _MOST_REGIONS, _MOST_FAILED = 60, 16, 16
# A session that did less leaves nothing that the next one could not see for itself.
_LEAST_PROMPTS = 3
# What of it is told: the rest of a handoff's bytes are those of its files.
_MOST_FAILED_TOLD, _MOST_FINDINGS, _MOST_PLACES = 8, 5, 4
_BYTES_OF_FAILED, _BYTES_OF_FINDINGS = 1_500, 2_000
_BYTES_OF_ALL = LARGEST_HANDOFF - 512


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file that was edited, at these lines as they were then; without any, nobody knows where."""

    path: RelPath
    regions: tuple[tuple[int, int], ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """As they are written: `path`, or `path:first-last`."""
        if not 0 < len(self.regions) <= _MOST_PLACES:
            return (self.path.text,)
        return tuple(f"{self.path}:{first}-{last}" for first, last in self.regions)


@dataclass(frozen=True, slots=True)
class SessionWork:
    """Prompts by number with the last one, files that were edited, commands that failed last.

    Files and commands stand in the order in which they came, the latest last.
    """

    prompts: int = 0
    last_prompt: str = ""
    edited: tuple[EditedFile, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def is_worth_leaving(self) -> bool:
        """Whether the next one is told of it where nobody said anything."""
        return bool(self.edited) or self.prompts >= _LEAST_PROMPTS

    def with_prompt(self, text: str) -> Self:
        """The session was asked this."""
        return replace(self, prompts=self.prompts + 1, last_prompt=text)

    def with_edit(self, path: RelPath, regions: Iterable[tuple[int, int]]) -> Self:
        """A file was edited; without regions nobody knows where, or everywhere."""
        before = next((one for one in self.edited if one.path == path), None)
        lines = merged(regions)
        if before is not None:
            lines = merged((*before.regions, *lines)) if before.regions and lines else ()
        one = EditedFile(path, lines if len(lines) <= _MOST_REGIONS else ())
        others = (other for other in self.edited if other.path != path)
        return replace(self, edited=(*others, one)[-_MOST_EDITED:])

    def with_failure(self, command: str) -> Self:
        """A command failed."""
        others = (other for other in self.failed if other != command)
        return replace(self, failed=(*others, command)[-_MOST_FAILED:])

    def with_success(self, command: str) -> Self:
        """A command succeeded: if it failed before, that is over."""
        return replace(self, failed=tuple(one for one in self.failed if one != command))

    def with_later(self, later: Self) -> Self:
        """Both, one after the other."""
        both = replace(
            self,
            prompts=self.prompts + later.prompts,
            last_prompt=later.last_prompt or self.last_prompt,
        )
        for file in later.edited:
            both = both.with_edit(file.path, file.regions)
        for command in later.failed:
            both = both.with_failure(command)
        return both

    def told(self, found: Sequence[Fact]) -> tuple[str, tuple[str, ...]]:
        """Summary and files of the handoff that this comes to, with what the session found."""
        summary = "\n".join(self._lines(found))
        left = _BYTES_OF_ALL - _size(summary)
        newest_first = (place for file in reversed(self.edited) for place in file.places)
        return summary, tuple(_within(newest_first, left))

    def _lines(self, found: Sequence[Fact]) -> Iterator[str]:
        yield "A session ended and left nothing by hand; this was put together by rule."
        if self.last_prompt:
            yield f'Its last prompt: "{self.last_prompt}"'
        if self.edited:
            yield f"Files it edited: {len(self.edited)}"
        failed = (f'- "{command}"' for command in self.failed[-_MOST_FAILED_TOLD:])
        yield from _listed(
            "Commands that failed and did not succeed later:", failed, _BYTES_OF_FAILED
        )
        newest = sorted(found, key=lambda fact: fact.learned_at)[-_MOST_FINDINGS:]
        sentences = (f"- {_on_one_line(fact.text, _LONGEST_FINDING)}" for fact in newest)
        yield from _listed("What it found:", sentences, _BYTES_OF_FINDINGS)


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One session of a host in one workspace.

    `work` was handed over by nobody yet. `before` is what the automatic handoff `left` tells.
    A session that ended may go on; one that is `is_due` ended, and nothing was left of that yet.
    """

    host: str
    session: str
    began_at: Instant
    work: SessionWork = SessionWork()
    before: SessionWork = SessionWork()
    left: str = ""
    left_at: Instant | None = None
    ended_at: Instant | None = None
    is_due: bool = False


def _listed(head: str, lines: Iterable[str], most: int) -> Iterator[str]:
    kept = list(_within(lines, most))
    if kept:
        yield head
        yield from kept


def _within(lines: Iterable[str], most: int) -> Iterator[str]:
    """The first ones, of so many bytes at most."""
    for line in lines:
        most -= _size(line) + 1
        if most < 0:
            return
        yield line


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _on_one_line(text: str, most: int) -> str:
    return shortened(" ".join(text.split()), most)
