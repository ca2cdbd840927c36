"""The saved forms of earlier versions, each brought to the next by one pure step."""

from collections.abc import Callable, Mapping

from live_memory.core.errors import SnapshotTooNew, SnapshotUnreadable
from live_memory.core.saving.forms import Form, form_of, get

__all__ = ["VERSION", "migrated", "version_of"]

VERSION = 2

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
    """Facts had no kind, nothing was archived, and there was no journal."""
    window = form_of(form.get("window"))
    new: Record = {"forgotten": [], "rejected": 0, "front": [], "archive": [], "settled": {}}
    changed: Record = {
        "facts": [_fact_1(form_of(one)) for one in get(window, "facts", list)],
        "entries": [_entry_1(form_of(one)) for one in get(window, "entries", list)],
    }
    return {"generation": 0, "heard": [], **form, "window": {**new, **window, **changed}}


def _fact_1(form: Form) -> Form:
    unknown = {"kind": "behaviour", "origin": "summary", "at": 0.0, "since": None, "questions": []}
    return {**unknown, **form}


def _entry_1(form: Form) -> Form:
    if form.get("kind") != "answered":
        return form
    return {**form, "answer": {"recipe": "", **form_of(form.get("answer"))}}


_STEPS: Mapping[int, Callable[[Record], Record]] = {1: _from_1}
