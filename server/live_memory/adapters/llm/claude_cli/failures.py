"""What the client's own error messages mean for us, and what a person can do about them."""

import re

from live_memory.adapters.llm.wire.complaints import cleaned
from live_memory.core.errors import (
    ModelOverloaded,
    ModelRefused,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
)

__all__ = ["ended_early", "failure", "refuses_marks"]

_TOO_LONG = re.compile(r"(?:prompt|input|request) is too (?:long|large)", re.IGNORECASE)
_LIMIT = re.compile(r"limit (\d{4,9})|> (\d{4,9}) maximum")
_LOGIN = re.compile(
    r"not logged in|/login|invalid api key|only authorized for use with|disabled .{0,40} access"
    r"|authentication is currently not supported|oauth",
    re.IGNORECASE,
)
_LOGIN_KINDS = ("authentication_failed", "oauth_org_not_allowed")
_BUSY_KINDS, _BUSY = ("rate_limit", "overloaded"), (429, 503, 529)
_REFUSED_KINDS = ("billing_error", "model_not_found", "invalid_request")
_INSTEAD = "or set 'provider' to something else"


def failure(kind: str, status: int, text: str) -> ModelUnavailable:
    """Turn the client's word for a failure, its status and its text into our error."""
    said = cleaned(text) or kind or "no message"
    if _TOO_LONG.search(text):
        found = _LIMIT.search(text)
        limit = int(found.group(1) or found.group(2)) if found else None
        return PromptTooLong(f"The prompt is too long: {said}", limit_tokens=limit)
    if kind in _LOGIN_KINDS or status in (401, 403) or _LOGIN.search(text):
        return ModelRefused(
            f"Claude Code may not answer (auth): {said}. Run `claude` and log in, {_INSTEAD}"
        )
    if kind in _BUSY_KINDS or status in _BUSY:
        return ModelOverloaded(f"Claude is busy, or its plan's limit is reached (limit): {said}")
    if kind in _REFUSED_KINDS or 400 <= status < 500:
        return ModelRefused(f"Claude Code was refused: {said}. Check `claude`, {_INSTEAD}")
    return ModelUnreachable(f"Claude Code failed (provider): {said}")


def ended_early(code: int | None, last_words: str, *, has_spoken: bool) -> ModelUnavailable:
    """Say why a client that ended by itself gives no reply."""
    said = cleaned(last_words) or "it did not say why"
    if code and code > 0 and not has_spoken:
        return ModelRefused(
            f"Claude Code does not start (code {code}): {said}. Run `claude update`, {_INSTEAD}"
        )
    return ModelUnreachable(f"Claude Code ended before it answered (provider): {said}")


def refuses_marks(text: str) -> bool:
    """Whether our cache mark was one too many beside those that the client sets."""
    return "cache_control" in text
