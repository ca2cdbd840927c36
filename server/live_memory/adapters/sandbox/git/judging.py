"""Which of the commits that git found by a text are told: those whose redacted text holds it too.

Git matches text as it was committed. A commit that is found by a secret would confirm each guess
at it, so a hit counts only where the message, or how often a file holds the text, says the same
after the whole message or the whole file was redacted. Files of credentials decide nothing.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from anyio import to_thread

from live_memory.adapters.sandbox.git.names import names_in
from live_memory.adapters.sandbox.runner import Ran
from live_memory.core.errors import InvalidRequest, OutsideWorkspace
from live_memory.core.reading.names import refusal_of_name
from live_memory.core.reading.observation import SkipReason
from live_memory.core.reading.redaction import Redactor
from live_memory.core.reading.text import decode
from live_memory.core.values import RelPath

__all__ = ["DIFF", "LONGEST_TEXT", "changes_by_commit", "searched_text", "told"]

LONGEST_TEXT = 1_000
DIFF = ("--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all", "--no-color")
# To redact a megabyte takes some 0.1 s.
_LARGEST, _TOGETHER = 1024 * 1024, 8 * 1024 * 1024

_PLACEHOLDER = re.compile(r"<redacted(?::[\w-]{1,64}){0,2}>")
_HEAD = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (\w{1,16}) ([0-9]{1,18})")

Ask = Callable[..., Awaitable[Ran]]


@dataclass(frozen=True, slots=True)
class _Change:
    """The ids of a file's bytes before and after a commit; zeros where there is no such file."""

    name: str
    before: str
    after: str


def searched_text(text: str) -> str:
    """Check a text that commits are searched for.

    Raises:
        InvalidRequest: it is empty, too long, or holds what no argument can.
    """
    if not text.strip() or len(text) > LONGEST_TEXT or "\0" in text or "\n" in text:
        raise InvalidRequest(f"a searched text is one line of 1 to {LONGEST_TEXT:,} characters")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidRequest("the searched text is not valid text")
    return text


def changes_by_commit(out: bytes) -> Mapping[str, list[_Change]]:
    """What `diff-tree --stdin -z --raw` says of each commit."""
    found: dict[str, list[_Change]] = {}
    current: list[_Change] = []
    fields = iter(names_in(out))
    for field in fields:
        if not field.startswith(":"):
            current = found.setdefault(field.strip(), [])
            continue
        parts, name = field.split(" "), next(fields, None)
        if name is not None and len(parts) == 5:
            current.append(_Change(name, parts[2], parts[3]))
    return found


def _sizes_in(out: bytes) -> Mapping[str, int]:
    """The size of each object that `cat-file --batch-check` knows."""
    found = (_HEAD.fullmatch(line) for line in out.split(b"\n"))
    return {head[1].decode(): int(head[3]) for head in found if head}


def _within(sizes: Mapping[str, int], ids: Iterable[str]) -> list[str]:
    """The ids whose objects are small enough, in order, as long as all of them are together."""
    chosen: list[str] = []
    together = _TOGETHER
    for one in ids:
        size = sizes.get(one)
        if size is not None and size <= min(_LARGEST, together):
            together -= size
            chosen.append(one)
    return chosen


def _objects_in(out: bytes) -> Mapping[str, bytes]:
    """The bytes of each object that `cat-file --batch` gave whole."""
    found: dict[str, bytes] = {}
    at = 0
    while (end := out.find(b"\n", at)) >= 0:
        head = _HEAD.fullmatch(out[at:end])
        at = end + 1
        if head is None:  # an object that is missing
            continue
        data = out[at : at + int(head[3])]
        at += int(head[3]) + 1
        if at <= len(out):
            found[head[1].decode()] = data
    return found


async def told(
    ask: Ask,
    ids: Sequence[str],
    *,
    text: str,
    paths: Sequence[str],
    redactor: Redactor,
    hides: Callable[[RelPath], bool],
) -> frozenset[str]:
    """Those of some commits that a search for `text` below `paths` may tell.

    What is too large, or too much together, decides nothing: such a hit is left out, and nothing
    says so, as that would tell of it.
    """
    if not ids:
        return frozenset()
    options = ("--stdin", "--root", "-r", "-z", "--raw", "--no-abbrev", *DIFF, f"-S{text}")
    changes = changes_by_commit((await ask("diff-tree", *options, *paths, stdin=_lines(ids))).out)
    sides = (each for id_ in ids for each in changes.get(id_, ()))
    files = (id_ for each in sides for id_ in (each.before, each.after) if id_.strip("0"))
    # The messages first, and the files of the newest commits.
    names = [*dict.fromkeys((*ids, *files))]
    sizes = _sizes_in((await ask("cat-file", "--batch-check", stdin=_lines(names))).out)
    few = _lines(_within(sizes, names))
    read = await ask("cat-file", "--batch", stdin=few, max_output=2 * _TOGETHER)
    judged = partial(_held, text=text, redactor=redactor, hides=hides)
    return await to_thread.run_sync(judged, ids, changes, _objects_in(read.out))


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{id_}\n" for id_ in ids).encode()


def _held(
    ids: Sequence[str],
    changes: Mapping[str, Sequence[_Change]],
    objects: Mapping[str, bytes],
    *,
    text: str,
    redactor: Redactor,
    hides: Callable[[RelPath], bool],
) -> frozenset[str]:
    def count(data: bytes) -> int:
        decoded = decode(data)
        if decoded is None:
            return 0
        return _PLACEHOLDER.sub("\0", redactor.redact(decoded.text).text.text).count(text)

    def is_held(commit: str) -> bool:
        _, _, message = objects.get(commit, b"").partition(b"\n\n")
        return bool(count(message)) or any(
            count(before) != count(after)
            for before, after in _sides(changes.get(commit, ()), objects, hides)
        )

    return frozenset(commit for commit in ids if is_held(commit))


def _sides(
    changes: Sequence[_Change], objects: Mapping[str, bytes], hides: Callable[[RelPath], bool]
) -> Iterator[tuple[bytes, bytes]]:
    """The bytes before and after, of files that may be read and are known whole."""
    for change in changes:
        before, after = (_side(one, objects) for one in (change.before, change.after))
        if before is None or after is None or not _is_read(change.name, hides):
            continue
        yield before, after


def _side(id_: str, objects: Mapping[str, bytes]) -> bytes | None:
    return objects.get(id_) if id_.strip("0") else b""


def _is_read(name: str, hides: Callable[[RelPath], bool]) -> bool:
    try:
        path = RelPath(name)
    except OutsideWorkspace:
        return False
    return refusal_of_name(path) is not SkipReason.CREDENTIALS and not hides(path)
