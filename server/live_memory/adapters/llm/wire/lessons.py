"""What a refusal teaches: which field to leave out or write differently at this endpoint."""

import re
from collections.abc import Mapping

from live_memory.adapters.llm.endpoint import Echo, Lessons
from live_memory.adapters.llm.wire import loose
from live_memory.adapters.llm.wire.complaints import Complaint

__all__ = ["learn", "refuses_tools"]

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


def refuses_tools(complaint: Complaint) -> bool:
    """Whether the endpoint says that this model takes no tools."""
    return complaint.status in _TEACHING and _NO_TOOLS.search(complaint.body) is not None


def learn(complaint: Complaint, payload: Mapping[str, object], lessons: Lessons) -> bool:
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


def _learn_echo(body: str, payload: Mapping[str, object], lessons: Lessons) -> bool:
    if "reasoning_content" not in body or lessons.was_echo_flipped:
        return False
    sent = any("reasoning_content" in loose.mapping(m) for m in loose.items(payload["messages"]))
    lessons.echo = Echo.NEVER if sent else Echo.ALWAYS
    lessons.was_echo_flipped = True
    return True


def _learn_output_limit(body: str, payload: Mapping[str, object], lessons: Lessons) -> bool:
    found = _OUTPUT_LIMIT.search(body)
    limit = int(next(filter(None, found.groups()))) if found else 0
    asked = max(loose.count(payload.get(name)) for name in _LIMIT_NAMES)
    if not 0 < limit < asked:
        return False
    lessons.output_limit = limit
    return True


def _learn_limit_name(body: str, payload: Mapping[str, object], lessons: Lessons) -> bool:
    sent = {name for name in _LIMIT_NAMES if name in payload} - lessons.refused_fields
    if not sent or not any(_names(body, name) for name in _LIMIT_NAMES):
        return False
    lessons.refused_fields |= sent
    return True


def _learn_fields(body: str, payload: Mapping[str, object], lessons: Lessons) -> bool:
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


def _learn_system_role(body: str, lessons: Lessons) -> bool:
    if not lessons.has_system_role or not _NO_SYSTEM.search(body):
        return False
    lessons.has_system_role = False
    return True


def _names(body: str, field: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(field)}(?!\w)", body) is not None
