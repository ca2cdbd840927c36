"""The saved form of what was heard and is still to be learned: names, ranges and searches."""

from functools import lru_cache
from typing import assert_never

from live_memory.core.errors import SnapshotUnreadable
from live_memory.core.hosts.events import Cut, Cuts
from live_memory.core.hosts.grep import Grep
from live_memory.core.hosts.notices import AnythingChanged, Notice, Subject
from live_memory.core.hosts.shell import Search
from live_memory.core.reading.redaction import Redactor
from live_memory.core.saving.fields import Form, get, text_or_none

__all__ = ["holds_secret", "subject", "subject_form"]


def holds_secret(subject: Subject, redactor: Redactor) -> bool:
    """Whether a name or an expression in it is a secret, which must not be written down."""
    match subject:
        case Notice():
            words = [subject.path]
        case Search():
            words = [subject.path, subject.grep.regex, subject.grep.glob or ""]
        case AnythingChanged():
            words = []
        case _:
            assert_never(subject)
    return any(_is_secret(word, redactor) for word in words)


# Agents come back to the same files: looking at a name takes 0.1 ms.
@lru_cache(maxsize=4_096)
def _is_secret(word: str, redactor: Redactor) -> bool:
    return redactor.redact(word).count > 0


def subject_form(subject: Subject) -> dict[str, object]:
    """A subject as JSON values."""
    match subject:
        case Notice():
            return {
                "kind": "file",
                "path": subject.path,
                "glob": subject.is_glob,
                "views": [[[cut.start, cut.stop] for cut in cuts] for cuts in subject.views],
                "regions": [list(region) for region in subject.regions],
                "edited": subject.is_edited,
            }
        case Search():
            grep = subject.grep
            return {
                "kind": "search",
                "path": subject.path,
                "glob": subject.is_glob,
                "regex": grep.regex,
                "ignore_case": grep.ignore_case,
                "names": grep.glob,
                "before": grep.before,
                "after": grep.after,
                "limit": grep.limit,
            }
        case AnythingChanged():
            return {"kind": "anything"}
        case _:
            assert_never(subject)


def subject(form: Form) -> Subject:
    """A subject from its form.

    Raises:
        SnapshotUnreadable: it is not what `subject_form` writes.
    """
    match get(form, "kind", str):
        case "anything":
            return AnythingChanged()
        case "file":
            regions = (_whole(one) for one in _lists(get(form, "regions", list)))
            return Notice(
                get(form, "path", str),
                is_glob=get(form, "glob", bool),
                views=tuple(_cuts(cuts) for cuts in _lists(get(form, "views", list))),
                regions=tuple(regions),
                is_edited=get(form, "edited", bool),
            )
        case "search":
            limit = None if form.get("limit") is None else get(form, "limit", int)
            grep = Grep(
                get(form, "regex", str),
                ignore_case=get(form, "ignore_case", bool),
                glob=text_or_none(form, "names"),
                before=get(form, "before", int),
                after=get(form, "after", int),
                limit=limit,
            )
            return Search(get(form, "path", str), grep, get(form, "glob", bool))
        case kind:
            raise SnapshotUnreadable(f"unknown kind of subject {kind!r}")


def _lists(values: list[object]) -> list[list[object]]:
    found = [value for value in values if isinstance(value, list)]
    if len(found) != len(values):
        raise SnapshotUnreadable("there is something else where a list belongs")
    return found


def _cuts(values: list[object]) -> Cuts:
    return tuple(Cut(*_ends(pair)) for pair in _lists(values))


def _ends(pair: list[object]) -> tuple[int | None, int | None]:
    ends = [end for end in pair if end is None or type(end) is int]
    if len(pair) != 2 or len(ends) != 2:
        raise SnapshotUnreadable("there are no proper ends of a cut")
    return ends[0], ends[1]


def _whole(pair: list[object]) -> tuple[int, int]:
    first, last = _ends(pair)
    if first is None or last is None:
        raise SnapshotUnreadable("there are no proper ends of a region")
    return first, last
