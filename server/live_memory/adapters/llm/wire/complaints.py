"""What an endpoint says when it will not answer, turned into our errors.

Only status, headers and text are looked at; what to change in the request is in `lessons`.
"""

import re
from collections.abc import Collection, Mapping
from email.utils import parsedate_to_datetime

from live_memory.adapters.llm.wire import loose
from live_memory.core.errors import (
    ModelOverloaded,
    ModelRefused,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
    RequestRefused,
)
from live_memory.core.reading.redaction import DEFAULT
from live_memory.core.reading.text import clean

__all__ = ["Complaint", "cleaned", "error_of", "is_overflow_prose", "limit_in"]

_LONGEST_TEXT = 300
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")

# One for each provider and local server, from their documents and sources.
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|model_context_window_exceeded|request_too_large"
    r"|(?:prompt|input|request|message|conversation|context)s?(?: \w{1,30}){0,3} (?:is|are) too"
    r" (?:long|large)"
    r"|maximum (?:context|prompt|input)(?: token)? length|context length of only"
    r"|exceed\w{0,3} (?:\w{1,30} ){0,6}(?:context|maximum number of tokens)"
    r"|context (?:size|window|length) exceeded"
    r"|too many (?:input )?tokens|reduce the length of|request too large|prompt too long"
    r"|inputs? tokens \+ max_new_tokens",
    re.IGNORECASE,
)
_LIMITS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"tokens? > ([\d,]{3,12}) maximum",
        r"maximum (?:context |prompt |input )?(?:token )?length (?:is|of)[: ]*([\d,]{3,12})",
        r"(?:maximum|model) context length:? ([\d,]{3,12})",
        r"context length of only ([\d,]{3,12})",
        r"maximum number of tokens allowed \(([\d,]{3,12})\)",
        r"(?:context|window)[^.\d]{0,40}\(([\d,]{3,12}) tokens?\)",
        r"must be <= ([\d,]{3,12})",
        r"n_ctx\W+(\d{3,12})",
    )
)
_PROSE = re.compile(
    r"\W*(?:\w+ )?(?:error\W+)?(?:(?:your|the|this) )?"
    r"(?:prompt|input|request|message|conversation) (?:is|was) too (?:long|large)[^`/]{0,80}",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|credit balance|billing|exceeded your current quota|insufficient balance"
    r"|only authorized for use with|authentication is currently not supported",
    re.IGNORECASE,
)
_OVERLOADED = re.compile(
    r"overloaded|rate_limit|too many requests|loading model|insufficient_system_resource"
    r"|at capacity",
    re.IGNORECASE,
)
_KEY = "check setting 'api_key' (LIVE_MEMORY_API_KEY)"
_TIMEOUT_STATUSES = (408, 409, 425)


class Complaint(Exception):
    """An endpoint's refusal: an HTTP error, or one inside a stream, which has no status (0)."""

    def __init__(self, status: int, body: str, headers: Mapping[str, str]) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.headers = headers


def error_of(complaint: Complaint, *, secrets: Collection[str] = ()) -> ModelUnavailable:
    """Say what an endpoint's refusal means for us."""
    status = complaint.status or _status_in(complaint.body)
    said = cleaned(_message(complaint.body), secrets)
    if status in (400, 413, 422, 429, 500, 0) and _OVERFLOW.search(complaint.body):
        return PromptTooLong(
            f"The prompt is too long: {said}", limit_tokens=limit_in(complaint.body)
        )
    if status == 413:
        return PromptTooLong(f"The request is too large: {said}")
    if status < 500 and _QUOTA.search(complaint.body):
        return ModelRefused(f"The endpoint refuses to serve this account: {said}")
    if status in (429, 503, 529) or _OVERLOADED.search(complaint.body):
        wait_s = _retry_after_s(complaint.headers)
        return ModelOverloaded(
            f"The endpoint is busy (status {status}): {said}", retry_after_s=wait_s
        )
    if status in _TIMEOUT_STATUSES or status >= 500 or status == 0:
        return ModelUnreachable(f"The endpoint failed (status {status}): {said}")
    # What is said of a key, an account, a name or an address holds for every request.
    holds = status in (401, 402, 403, 404, 405) or 300 <= status < 400
    return (ModelRefused if holds else RequestRefused)(_refusal(status, said))


def is_overflow_prose(text: str) -> bool:
    """Whether a short reply is an error about length and no answer."""
    return _PROSE.fullmatch(text.strip()) is not None


def limit_in(text: str) -> int | None:
    """The window's size where a complaint names it."""
    for pattern in _LIMITS:
        if found := pattern.search(text):
            return int(found.group(1).replace(",", "")) or None
    return None


def cleaned(text: str, secrets: Collection[str] = ()) -> str:
    """Make a stranger's text safe to show: no credential, no control characters, bounded."""
    for secret in secrets:
        text = text.replace(secret, "[removed]")
    text = DEFAULT.redact_forms(text).text.text
    text = _UNPRINTABLE.sub(" ", clean(text)).strip()
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"


def _refusal(status: int, said: str) -> str:
    if status in (401, 403):
        return f"The endpoint refused the key (status {status}); {_KEY}: {said}"
    if status == 402:
        return f"The endpoint wants to be paid first (status 402): {said}"
    if status in (404, 405):
        return f"Nothing there (status {status}); check settings 'model' and 'base_url': {said}"
    if 300 <= status < 400:
        return f"The endpoint redirects (status {status}); set 'base_url' to where the API is"
    return f"The endpoint refused the request (status {status}): {said}"


def _message(body: str) -> str:
    value = loose.parse(body)
    first = value[0] if isinstance(value, list) and value else value
    error = loose.mapping(first).get("error", first)
    for key in ("message", "detail", "error", "msg"):
        if found := loose.mapping(error).get(key):
            return found if isinstance(found, str) else str(found)
    if isinstance(error, str):
        return error
    return "no message" if body.lstrip().startswith("<") else body


def _status_in(body: str) -> int:
    """An error inside a stream may carry the status it would have had."""
    error = loose.mapping_in(loose.parse(body), "error")
    code = loose.count(error.get("code")) or loose.count(error.get("status"))
    kinds = {
        "rate_limit_error": 429,
        "overloaded_error": 529,
        "authentication_error": 401,
        "permission_error": 403,
        "billing_error": 402,
        "not_found_error": 404,
        "invalid_request_error": 400,
        "request_too_large": 413,
    }
    return code if 300 <= code < 600 else kinds.get(loose.string(error.get("type")), 0)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait; a date is read against the response's own, so no clock is needed."""
    said = headers.get("retry-after", "").strip()
    try:
        seconds = float(said)
    except ValueError:
        try:
            until = parsedate_to_datetime(said)
            seconds = (until - parsedate_to_datetime(headers.get("date", ""))).total_seconds()
        except (ValueError, TypeError):
            return None
    return seconds if 0 < seconds < float("inf") else None
