"""The saved form of a whole memory: plain JSON values, versioned, with hashes and no file text.

Reading is strict: a snapshot with a wrong value is refused as a whole, so that half a memory is
never taken for all of it.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from live_memory.core.errors import SnapshotTooNew, SnapshotUnreadable
from live_memory.core.hosts.notices import Interest
from live_memory.core.memory.window import Window
from live_memory.core.saving.codec import Form, form_of, get, read, written

__all__ = [
    "VERSION",
    "Beginning",
    "Memory",
    "Restored",
    "Snapshot",
    "from_form",
    "root_of",
    "sealed",
    "to_form",
    "unsealed",
    "version_of",
]

VERSION = 4

Record = dict[str, object]


def version_of(form: Form) -> int:
    """The version that wrote it.

    Raises:
        SnapshotTooNew: a newer one than this server reads.
        SnapshotUnreadable: there never was such a version.
    """
    version = get(form, "version", int)
    if version > VERSION:
        raise SnapshotTooNew(
            f"the snapshot has version {version}, this server reads up to {VERSION}: "
            "upgrade, or move the file away"
        )
    if version < 1:
        raise SnapshotUnreadable(f"the snapshot has version {version}, which never existed")
    return version


def migrated(form: Form) -> Form:
    """The form as this version writes it.

    Raises:
        SnapshotTooNew: a newer version wrote it.
        SnapshotUnreadable: there never was such a version.
    """
    record: Record = {**form}
    for version in range(version_of(form), VERSION):
        record = {**_STEPS[version](record), "version": version + 1}
    return record


def _from_1(form: Record) -> Record:
    """Facts had no date, nothing was archived, and there was no journal."""
    window = form_of(form.get("window"))
    new: Record = {"forgotten": [], "rejected": 0, "front": [], "archive": [], "settled": {}}
    changed: Record = {
        "facts": [_fact_1(form_of(one)) for one in get(window, "facts", list)],
        "entries": [_entry_1(form_of(one)) for one in get(window, "entries", list)],
    }
    return {"generation": 0, "heard": [], **form, "window": {**new, **window, **changed}}


def _fact_1(form: Form) -> Form:
    unknown = {"origin": "summary", "at": 0.0, "since": None, "questions": []}
    return {**unknown, **form}


def _entry_1(form: Form) -> Form:
    if form.get("kind") != "answered":
        return form
    return {**form, "answer": {"recipe": "", **form_of(form.get("answer"))}}


# Versions 3 and 4 only added what a reader of the one before does not know.
_STEPS: Mapping[int, Callable[[Record], Record]] = {
    1: _from_1,
    2: lambda form: form,
    3: lambda form: form,
}


_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Beginning:
    """A repository's first commit: its id, and its author time in seconds since 1970.

    The time tells a history that was rewritten, which keeps it, from another repository's.
    """

    id: str
    at: float

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError("a commit's id is 40 or 64 hexadecimal digits")

    def is_of(self, other: "Beginning") -> bool:
        """Whether both are the same repository's."""
        return self.id == other.id or self.at == other.at


@dataclass(frozen=True, slots=True)
class Memory:
    """What a workspace keeps: its window, and what it heard and has not learned yet.

    `beginning` tells of which repository, where there is one and it is known.
    """

    window: Window = field(default_factory=Window)
    heard: tuple[Interest, ...] = ()
    beginning: Beginning | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """What was found of a memory, if anything, and what is wrong with it in words for a person.

    It `is_saved` where it is the snapshot as it stands, without anything from a journal. It
    `is_unread` where the system gave no bytes of it: it may be whole, and nothing is kept then.
    """

    memory: Memory | None = None
    problems: tuple[str, ...] = ()
    is_saved: bool = True
    is_unread: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A memory, whose it is, and its generation: it has everything of the journals before."""

    root: str
    generation: int
    memory: Memory


def to_form(snapshot: Snapshot) -> dict[str, object]:
    """The snapshot as JSON values; file text stays out."""
    form = {"version": VERSION, **written(snapshot)}
    form |= form.pop("memory")
    # Versions before this key read what has it, and it is not there where nothing is known.
    if snapshot.memory.beginning is None:
        del form["beginning"]
    return form


def from_form(form: object) -> Snapshot:
    """The snapshot that was saved, by this version or an earlier one.

    Raises:
        SnapshotTooNew: a newer version wrote it.
        SnapshotUnreadable: it is not what `to_form` writes.
    """
    record = migrated(form_of(form))
    try:
        if "beginning" in record:
            get(record, "beginning", dict)
        snapshot: Snapshot = read(Snapshot, {**record, "memory": record})
    except SnapshotUnreadable as problem:
        raise SnapshotUnreadable(f"the snapshot has a wrong value: {problem}") from problem
    return snapshot


def root_of(form: object) -> str:
    """The workspace root that a record belongs to.

    Raises:
        SnapshotUnreadable: it has none.
    """
    return get(form_of(form), "root", str)


# Version 1 had no checksum.
_FIRST_SEALED = 2
_SEAL = re.compile(rb'\{"checksum":"([0-9a-f]{64})",')
_VERSION = re.compile(rb'"version":[0-9]+,')
_COMPACT = json.JSONEncoder(separators=(",", ":")).encode


def sealed(form: Mapping[str, object]) -> bytes:
    """The form as bytes that tell when one is lost: they begin with the checksum of the rest."""
    # ASCII only: a name on disk may hold what UTF-8 cannot say.
    body = _encoded(form).encode("ascii")[1:]
    return b'{"checksum":"%b",%b' % (_checksum(body), body)


def unsealed(data: bytes) -> Form:
    """The form that these bytes hold, of this version or an earlier one.

    Raises:
        SnapshotTooNew: a newer version wrote it.
        SnapshotUnreadable: it is torn, damaged, or something else.
    """
    seal = _SEAL.match(data)
    body = data[seal.end() :] if seal else b""
    is_whole = seal is not None and seal[1] == _checksum(body)
    try:
        form = form_of(json.loads(data))
        version = version_of(form)
    except (ValueError, RecursionError) as problem:
        raise SnapshotUnreadable("it is torn or no JSON") from problem
    except SnapshotTooNew:
        # One flipped bit makes our own version another: then all but the version is as sealed.
        ours = _VERSION.sub(b'"version":%d,' % VERSION, body, count=1)
        if seal is not None and not is_whole and seal[1] == _checksum(ours):
            raise SnapshotUnreadable("its version is damaged") from None
        raise
    if (seal is not None or version >= _FIRST_SEALED) and not is_whole:
        raise SnapshotUnreadable("it has a wrong checksum")
    return form


def _encoded(value: object) -> str:
    """JSON in short calls: one for all of a large memory would hold every other thread up."""
    match value:
        case dict():
            fields = (f"{_COMPACT(name)}:{_encoded(one)}" for name, one in value.items())
            return f"{{{','.join(fields)}}}"
        case list():
            return f"[{','.join(map(_COMPACT, value))}]"
        case _:
            return _COMPACT(value)


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode("ascii")
