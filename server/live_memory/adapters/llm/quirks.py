"""What a refusal teaches: which field to leave out or write differently at this endpoint."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from email.utils import parsedate_to_datetime

from live_memory.adapters.llm.endpoint import EndpointQuirks, ReasoningEcho
from live_memory.core.errors import (
    ModelOverloaded,
    ModelRefused,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
    RequestRefused,
)
from live_memory.core.reading.observation import clean
from live_memory.core.reading.redaction import DEFAULT

__all__ = [
    "ProviderError",
    "SpokenText",
    "cleaned",
    "count",
    "error_of",
    "is_overflow_prose",
    "items",
    "learn",
    "mapping",
    "mapping_in",
    "parse",
    "refuses_tools",
    "string",
    "without_thoughts",
]

# A count beyond this is no count; it also keeps sums of hostile numbers small.
_LARGEST_COUNT = 10**12


def parse(text: str) -> object | None:
    """The JSON value in this text, or nothing where there is none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def mapping(value: object) -> Mapping[str, object]:
    """This object, or an empty one."""
    return value if isinstance(value, dict) else {}


def mapping_in(value: object, *keys: str) -> Mapping[str, object]:
    """The object that these keys lead to, or an empty one."""
    for key in keys:
        value = mapping(value).get(key)
    return mapping(value)


def items(value: object) -> Sequence[object]:
    """This array, or an empty one."""
    return value if isinstance(value, list) else ()


def string(value: object) -> str:
    """This string, or an empty one."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int:
    """This number of things, or none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _LARGEST_COUNT else 0


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


class ProviderError(Exception):
    """An endpoint's refusal: an HTTP error, or one inside a stream, which has no status (0)."""

    def __init__(self, status: int, body: str, headers: Mapping[str, str]) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.headers = headers


def error_of(complaint: ProviderError, *, secrets: Collection[str] = ()) -> ModelUnavailable:
    """Say what an endpoint's refusal means for us.

    Only status, headers and text are looked at; what to change in the request is in `lessons`.
    """
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
    value = parse(body)
    first = value[0] if isinstance(value, list) and value else value
    error = mapping(first).get("error", first)
    for key in ("message", "detail", "error", "msg"):
        if found := mapping(error).get(key):
            return found if isinstance(found, str) else str(found)
    if isinstance(error, str):
        return error
    return "no message" if body.lstrip().startswith("<") else body


def _status_in(body: str) -> int:
    """An error inside a stream may carry the status it would have had."""
    error = mapping_in(parse(body), "error")
    code = count(error.get("code")) or count(error.get("status"))
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
    return code if 300 <= code < 600 else kinds.get(string(error.get("type")), 0)


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


# Answering these differently is ours to do; 404 and 500 are how some servers put it.
_TEACHING = (400, 404, 405, 422, 500, 501, 0)
# Without these there is no request; every other field can be left out.
_ESSENTIAL = {"model", "messages", "system", "tools", "stream", "max_tokens"}
_LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
_NO_TOOLS = re.compile(
    r"(?:not|n't|never) (?:\w{1,30} )?support\w{0,4} (?:\w{1,30} ){0,4}"
    r"(?:tools?\b|functions?\b|tool[ _-]use)"
    r"|support tool use|enable-auto-tool-choice|requires --jinja"
    r"|(?:tools?|functions?|tool[ _-]use|(?:tool|function)[ _-]calling)\W{1,2}(?:\w{1,30} ){0,4}"
    r"(?:not|n't)\b"
    r"|(?:unknown|unsupported|unrecognized|extra|unexpected)[\w ]{0,80}\W{1,8}(?:tools|functions)\b"
    r"|\bbody\W{1,8}tools\b",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"\bsystem\b\W*(?:role|messages?|prompt|instruction)\b.{0,60}?\b(?:not|n't|unsupported|invalid)"
    r"|(?:not|n't|unsupported|invalid|unknown).{0,40}\bsystem\b\W*(?:role|messages?|prompt)"
    r"|(?:developer|system) instruction is not enabled"
    r"|\broles?\b.{0,40}\bmust (?:be|alternate)",
    re.IGNORECASE | re.DOTALL,
)
_OUTPUT_LIMIT = re.compile(
    r"supports at most (\d{2,7}) (?:completion|output)"
    r"|max_tokens: \d+ > (\d{2,7})"
    r"|max_(?:completion_)?tokens\W.{0,80}?"
    r"(?:less than or equal to|<=|at most|range of \[\d+, ?)\W*(\d{2,7})",
    re.IGNORECASE | re.DOTALL,
)


def refuses_tools(complaint: ProviderError) -> bool:
    """Whether the endpoint says that this model takes no tools."""
    return complaint.status in _TEACHING and _NO_TOOLS.search(complaint.body) is not None


def learn(complaint: ProviderError, payload: Mapping[str, object], lessons: EndpointQuirks) -> bool:
    """Remember what the endpoint objected to; whether asking again would be different."""
    if complaint.status not in _TEACHING:
        return False
    body = complaint.body
    return (
        _learn_echo(body, payload, lessons)
        or _learn_output_limit(body, payload, lessons)
        or _learn_limit_name(body, payload, lessons)
        or _learn_fields(body, payload, lessons)
        or _learn_system_role(body, lessons)
    )


def _learn_echo(body: str, payload: Mapping[str, object], lessons: EndpointQuirks) -> bool:
    if "reasoning_content" not in body or lessons.was_echo_flipped:
        return False
    sent = any("reasoning_content" in mapping(m) for m in items(payload["messages"]))
    lessons.echo = ReasoningEcho.NEVER if sent else ReasoningEcho.ALWAYS
    lessons.was_echo_flipped = True
    return True


def _learn_output_limit(body: str, payload: Mapping[str, object], lessons: EndpointQuirks) -> bool:
    found = _OUTPUT_LIMIT.search(body)
    limit = int(next(filter(None, found.groups()))) if found else 0
    asked = max(count(payload.get(name)) for name in _LIMIT_NAMES)
    if not 0 < limit < asked:
        return False
    lessons.output_limit = limit
    return True


def _learn_limit_name(body: str, payload: Mapping[str, object], lessons: EndpointQuirks) -> bool:
    sent = {name for name in _LIMIT_NAMES if name in payload} - lessons.refused_fields
    if not sent or not any(_names(body, name) for name in _LIMIT_NAMES):
        return False
    lessons.refused_fields |= sent
    return True


def _learn_fields(body: str, payload: Mapping[str, object], lessons: EndpointQuirks) -> bool:
    refused = {field for field in payload.keys() - _ESSENTIAL if _names(body, field)}
    if "json_schema" in body:
        refused |= {"response_format"} & payload.keys()
    if "cache_control" in body and isinstance(payload.get("system"), list):
        refused.add("cache_control")
    refused -= lessons.refused_fields
    lessons.refused_fields |= refused
    if refused & {"response_format", "output_config"}:
        lessons.enforces_schema = False
    return bool(refused)


def _learn_system_role(body: str, lessons: EndpointQuirks) -> bool:
    if not lessons.has_system_role or not _NO_SYSTEM.search(body):
        return False
    lessons.has_system_role = False
    return True


def _names(body: str, field: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(field)}(?!\w)", body) is not None


_HIGH_HALF = re.compile("[\ud800-\udbff]$")
_HALF = re.compile("[\ud800-\udfff]")
_THOUGHTS = re.compile(r"\A\s*<think>.*?(?:</think>\s*|\Z)", re.DOTALL)
_NOT_SPEECH = ("<think>", "<tool_call>", "```json", "```tool_call", "{", "[{")
_LONGEST_MARK = max(len(mark) for mark in (*_NOT_SPEECH, "</think>"))


def without_thoughts(text: str) -> str:
    """Leave out the thoughts that some models write before their answer."""
    return _THOUGHTS.sub("", text, count=1)


class SpokenText:
    """Collects a reply's text, and says what may be shown: no thought, call or half character."""

    def __init__(self, *, longest: int) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._longest = longest
        self._half = ""
        self._held: str | None = ""

    @property
    def text(self) -> str:
        """Everything so far."""
        return clean("".join(self._pieces) + self._half)[: self._longest]

    @property
    def is_full(self) -> bool:
        """Whether the model wrote more than it was asked for by far."""
        return self._length > self._longest

    def add(self, piece: str) -> str:
        """Take the next piece and give what may be shown of it."""
        piece = self._half + piece
        half = _HIGH_HALF.search(piece)
        self._half = half.group() if half else ""
        whole = _joined(piece.removesuffix(self._half))
        self._pieces.append(whole)
        self._length += len(whole)
        return self._shown(whole)

    def _shown(self, piece: str) -> str:
        if self._held is None:
            return piece
        start = (self._held + piece).lstrip()
        if start.startswith("<think>"):
            start = self._think(start)
        if any(start.startswith(mark) or mark.startswith(start) for mark in _NOT_SPEECH):
            # Enough to know what it is: a long JSON reply must not be copied once a piece.
            self._held = start if start.startswith("<think>") else start[:_LONGEST_MARK]
            return ""
        self._held = None
        return start

    def _think(self, start: str) -> str:
        thoughts, end, rest = start.partition("</think>")
        return rest.lstrip() if end else "<think>" + thoughts[7:][-_LONGEST_MARK:]


def _joined(text: str) -> str:
    """Both halves of a character may come in different pieces, each as an escape of its own."""
    if _HALF.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return clean(text)
