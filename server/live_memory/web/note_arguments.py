"""What callers send to remember, recall, forget and hand over, by route or by tool: strictly read.

Whatever is refused is refused with a sentence that says what to send. An argument that is null,
empty or false was not given.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from live_memory.core.errors import InvalidRequest
from live_memory.core.memory.notebook import LARGEST_HANDOFF, LARGEST_NOTE, NoteCategory
from live_memory.core.notes.recollection import CURATED, RecallQuery, RecordKind
from live_memory.core.values import Instant
from live_memory.flow.notes import HandoffDraft, NoteDraft, Scope

__all__ = [
    "MOST_RECORDS",
    "HandoffAction",
    "flag_of",
    "handoff_action_of",
    "handoff_draft_of",
    "handoff_id_of",
    "ids_of",
    "note_draft_of",
    "recall_query_of",
    "scope_of",
    "text_of",
]

# Records a reply, and ids a request.
MOST_RECORDS = 100
# Longer than any query, reason or name that somebody wrote.
_LONGEST_TEXT = 2_000
_MOST_TEXTS = 100
_MOST_OFFSET = 1_000_000
_SPAN = re.compile(r"(\d{1,5})([mhd])", re.ASCII)
_SECONDS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0}
# Where it is, which every request may say.
_WHERE = frozenset({"cwd", "workspace"})
_REMEMBER = ("text", "category", "tags", "pin", "expires", "scope")
_RECALL = (*("text", "kinds", "category", "author", "since", "limit", "offset", "ids", "scope"),)
_FORGET = ("ids", "reason")
Fields = Mapping[str, object]
Choice = TypeVar("Choice", bound=StrEnum)


class HandoffAction(StrEnum):
    """What is done with handoffs."""

    LEAVE = "leave"
    LIST = "list"
    CLAIM = "claim"
    CANCEL = "cancel"


_HANDOFF: Mapping[HandoffAction, Sequence[str]] = {
    HandoffAction.LEAVE: (
        *("summary", "next_steps", "open_questions", "files", "to_agent", "expires"),
    ),
    HandoffAction.LIST: ("to_agent", "all"),
    HandoffAction.CLAIM: ("id",),
    HandoffAction.CANCEL: ("id", "reason"),
}


def note_draft_of(fields: Fields, *, now: Instant) -> NoteDraft:
    """A note as `remember` takes it.

    Raises:
        InvalidRequest: an argument is missing, unknown, of the wrong type or out of range.
    """
    _only(fields, _REMEMBER, what="remember")
    category = _choice_of(fields, "category", NoteCategory)
    if category is None:
        raise InvalidRequest(f"category is missing: send one of {', '.join(NoteCategory)}")
    text = text_of(fields, "text", most=LARGEST_NOTE)
    if not text.strip():
        raise InvalidRequest("text is missing: send what is to be remembered, in whole sentences")
    return NoteDraft(
        text,
        category,
        tags=_texts(fields, "tags"),
        is_pinned=flag_of(fields, "pin"),
        expires_at=_expiry(fields, now=now),
    )


def recall_query_of(fields: Fields, *, now: Instant) -> RecallQuery:
    """A query as `recall` takes it.

    Raises:
        InvalidRequest: an argument is unknown, of the wrong type or out of range.
    """
    _only(fields, _RECALL, what="recall")
    kinds = [_chosen("kinds", kind, RecordKind) for kind in _texts(fields, "kinds")]
    ids = _texts(fields, "ids")
    return RecallQuery(
        text=text_of(fields, "text"),
        kinds=frozenset(kinds) or CURATED,
        category=_choice_of(fields, "category", NoteCategory),
        author=text_of(fields, "author"),
        since=_moment(fields, "since", now=now, sign=-1),
        ids=ids,
        limit=_number(
            fields, "limit", least=1, most=MOST_RECORDS, usual=MOST_RECORDS if ids else 10
        ),
        offset=_number(fields, "offset", least=0, most=_MOST_OFFSET, usual=0),
    )


def ids_of(fields: Fields) -> Sequence[str]:
    """What `forget` is to forget.

    Raises:
        InvalidRequest: an argument is missing, unknown or of the wrong type.
    """
    _only(fields, _FORGET, what="forget")
    ids = _texts(fields, "ids")
    if not ids:
        raise InvalidRequest("ids are missing: send a list of ids, as recall gives them")
    return ids


def handoff_action_of(fields: Fields) -> HandoffAction:
    """What is to be done with handoffs.

    Raises:
        InvalidRequest: it is not said, or it has no use for an argument that is given.
    """
    action = _choice_of(fields, "action", HandoffAction)
    if action is None:
        raise InvalidRequest(f"action is missing: send one of {', '.join(HandoffAction)}")
    known = {name for names in _HANDOFF.values() for name in names}
    idle = {name for name in fields.keys() & known if not _is_given(fields[name])}
    given = {name: value for name, value in fields.items() if name not in idle}
    _only(given, ("action", *_HANDOFF[action]), what=f"handoff with action {action.value!r}")
    return action


def handoff_draft_of(fields: Fields, *, now: Instant) -> HandoffDraft:
    """A handoff as it is left.

    Raises:
        InvalidRequest: an argument is missing, of the wrong type or out of range.
    """
    summary = text_of(fields, "summary", most=LARGEST_HANDOFF)
    if not summary.strip():
        raise InvalidRequest("summary is missing: send what was done and what is left")
    return HandoffDraft(
        summary,
        next_steps=_texts(fields, "next_steps", longest=LARGEST_HANDOFF),
        open_questions=_texts(fields, "open_questions", longest=LARGEST_HANDOFF),
        files=_texts(fields, "files"),
        to_agent=text_of(fields, "to_agent"),
        expires_at=_expiry(fields, now=now),
    )


def handoff_id_of(fields: Fields) -> str:
    """The handoff that is meant.

    Raises:
        InvalidRequest: it is not said.
    """
    named = text_of(fields, "id").strip()
    if not named:
        raise InvalidRequest("id is missing: send the id of a handoff, as action 'list' gives it")
    return named


def scope_of(fields: Fields) -> Scope | None:
    """For whom something is or was kept, where it is said.

    Raises:
        InvalidRequest: it is no scope.
    """
    return _choice_of(fields, "scope", Scope)


def text_of(fields: Fields, name: str, *, most: int = _LONGEST_TEXT) -> str:
    """A text, or nothing.

    Raises:
        InvalidRequest: it is something else, or longer than `most` characters.
    """
    value = fields.get(name)
    if not _is_given(value):
        return ""
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} must be text")
    if len(value) > most:
        raise InvalidRequest(
            f"{name} has {len(value)} characters, at most {most} are taken: say it shorter"
        )
    return value


def flag_of(fields: Fields, name: str) -> bool:
    """Whether something is wanted.

    Raises:
        InvalidRequest: it is neither true nor false.
    """
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise InvalidRequest(f"{name} must be true or false")
    return value is True


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value not in ("", [])


def _only(fields: Fields, names: Sequence[str], *, what: str) -> None:
    """Refuse what would be ignored."""
    unknown = sorted(fields.keys() - _WHERE - set(names))
    if unknown:
        raise InvalidRequest(f"{what} takes no {unknown[0][:60]!r}, but {', '.join(names)}")


def _choice_of(fields: Fields, name: str, choices: type[Choice]) -> Choice | None:
    value = fields.get(name)
    return _chosen(name, value, choices) if _is_given(value) else None


def _chosen(name: str, value: object, choices: type[Choice]) -> Choice:
    found = next((one for one in choices if one.value == value), None)
    if found is None:
        raise InvalidRequest(f"{name} must be one of {', '.join(choices)}")
    return found


def _texts(fields: Fields, name: str, *, longest: int = _LONGEST_TEXT) -> tuple[str, ...]:
    value = fields.get(name)
    if not _is_given(value):
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InvalidRequest(f'{name} must be a list of texts: ["...", "..."]')
    if len(value) > _MOST_TEXTS or any(len(one) > longest for one in value):
        raise InvalidRequest(
            f"{name} must be at most {_MOST_TEXTS} texts of at most {longest} characters"
        )
    return tuple(one for one in value if one.strip())


def _number(fields: Fields, name: str, *, least: int, most: int, usual: int) -> int:
    value = fields.get(name)
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidRequest(f"{name} must be a whole number from {least} to {most}")
    return value


def _expiry(fields: Fields, *, now: Instant) -> Instant | None:
    found = _moment(fields, "expires", now=now, sign=1)
    if found is not None and found <= now:
        raise InvalidRequest("expires is over already: send a time that is still to come")
    return found


def _moment(fields: Fields, name: str, *, now: Instant, sign: int) -> Instant | None:
    """A time, or a span from now on (`sign` 1) or until now (-1); without a zone it is ours."""
    text = text_of(fields, name).strip()
    if not text:
        return None
    if span := _SPAN.fullmatch(text):
        return Instant(now + sign * int(span[1]) * _SECONDS[span[2]])
    try:
        return Instant(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError, OSError):
        raise InvalidRequest(
            f"{name} must be a span as 30m, 12h or 7d, or a date or time as 2030-12-31 or "
            "2030-12-31T18:00"
        ) from None
