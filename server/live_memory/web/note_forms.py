"""Notes, handoffs and what is recalled, as JSON values; times are seconds since 1970."""

from collections.abc import Sequence

from live_memory.core.memory.ledger import Fact
from live_memory.core.memory.notebook import Handoff, Note
from live_memory.core.memory.window import QuestionAnswered
from live_memory.core.notes.quoting import place_of
from live_memory.core.notes.recollection import Kept, RecallQuery
from live_memory.core.values import Instant
from live_memory.flow.notes import Claimed, Forgot, Recalled, Remembered, Scope
from live_memory.ports import WorkspaceIdentity
from live_memory.web.schemas import answered_form, fact_form, record_form

__all__ = [
    "claimed_form",
    "forgot_form",
    "handoff_form",
    "handoffs_form",
    "note_form",
    "recalled_form",
    "remembered_form",
]

Form = dict[str, object]
_PLACE = ("path", "start", "end", "sha")


def note_form(note: Note) -> Form:
    """A note with all that is known of it."""
    return {
        **record_form(note, "id"),
        "kind": "note",
        **record_form(note, "text", "category", "writer", "told_at", "tags"),
        "pinned": note.is_pinned,
        "expires_at": note.expires_at,
        "sources": [record_form(source, *_PLACE) for source in note.sources],
        **record_form(note, "withdrawn"),
    }


def handoff_form(handoff: Handoff, *, now: Instant) -> Form:
    """A handoff with all that is known of it, and what became of it by now."""
    claim = handoff.claim
    return {
        **record_form(handoff, "id"),
        "kind": "handoff",
        **record_form(handoff, "summary", "next_steps", "open_questions", "files", "writer"),
        **record_form(handoff, "left_at", "expires_at", "to_agent"),
        "automatic": handoff.is_automatic,
        "state": handoff.state_at(now).value,
        # What tells calls apart is for the caller alone.
        "claim": None if claim is None else record_form(claim, "by", "at"),
        **record_form(handoff, "cancelled"),
    }


def remembered_form(done: Remembered) -> Form:
    """What became of a note that was told."""
    return {"note": note_form(done.note), "new": done.is_new} | record_form(
        done, "redacted", "not_found"
    )


def recalled_form(recalled: Recalled, query: RecallQuery, *, now: Instant) -> Form:
    """What was found; each in full where it was asked for by its id."""
    found = [
        _record_form(recalled, one, is_whole=bool(query.ids), now=now) for one in recalled.found
    ]
    workspace = record_form(recalled.workspace)
    return {"workspace": workspace, "total": recalled.total, "found": found}


def forgot_form(forgot: Forgot) -> Form:
    """What is gone now, what was before, and what is not known."""
    return record_form(forgot)


def claimed_form(claimed: Claimed, *, now: Instant) -> Form:
    """A handoff, and whether the caller has it."""
    return {"handoff": handoff_form(claimed.handoff, now=now), "claimed": claimed.is_ours}


def handoffs_form(
    workspace: WorkspaceIdentity, handoffs: Sequence[Handoff], *, now: Instant
) -> Form:
    """Handoffs of a workspace."""
    forms = [handoff_form(one, now=now) for one in handoffs]
    return {"workspace": record_form(workspace), "handoffs": forms}


def _record_form(recalled: Recalled, one: Kept, *, is_whole: bool, now: Instant) -> Form:
    changed = [place_of(source) for source in recalled.changed.get(one.id, ())]
    form: Form = {
        **record_form(one, "kind", "id", "text", "at", "writer"),
        "pinned": one.is_pinned,
        "scope": (Scope.USER if one.is_users else Scope.WORKSPACE).value,
        "changed": changed,
    }
    match one.item:
        case Note() as note:
            whole = note_form(note)
            form |= record_form(note, "text", "category")
        case Handoff() as handoff:
            whole = handoff_form(handoff, now=now)
            form |= {"text": whole["summary"], "state": whole["state"]}
        case Fact() as fact:
            whole = fact_form(fact)
        case QuestionAnswered() as asked:
            whole = answered_form(recalled.workspace, asked)
    return form | {"record": whole} if is_whole else form
