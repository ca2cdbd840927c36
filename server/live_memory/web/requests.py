"""Requests of our own JSON routes: parsed once, strictly, with a short reason when refused."""

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from anyio import to_thread
from starlette.requests import Request

from live_memory.core.asking.answer import Budget, Question
from live_memory.core.errors import InvalidRequest
from live_memory.core.memory.ledger import FactId
from live_memory.core.reading.text import clean
from live_memory.core.values import Instant

__all__ = [
    "MAX_DEPTH",
    "MAX_VALUES",
    "MOST_EVENTS",
    "check_shape",
    "fact_of",
    "folder",
    "json_object",
    "parse_events",
    "parse_question",
    "project_of",
    "workspace_of",
]

# A hook event nests about ten deep; a batch of a thousand has some ten thousand values.
MAX_DEPTH = 64
MAX_VALUES = 200_000
# Hook events a request.
MOST_EVENTS = 1_000

_PROJECT_HEADER = "x-live-memory-project"
# One alternative always matches from a quote on, so the pattern never starts over: linear.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_STRUCTURE = re.compile(rb"[^\[\]{},]+")


async def json_object(request: Request) -> Mapping[str, object]:
    """The body as a JSON object.

    Raises:
        InvalidRequest: it is anything else, or not strictly JSON.
    """
    body = await request.body()
    if not body.strip():
        raise InvalidRequest("the body is empty: send a JSON object")
    check_shape(body)
    try:
        value: object = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=_finite,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError:
        raise InvalidRequest("the body is not UTF-8") from None
    except json.JSONDecodeError as problem:
        raise InvalidRequest(f"the body is not JSON: {problem.msg}") from None
    except (ValueError, RecursionError):  # an integer of thousands of digits
        raise InvalidRequest("the body holds a number that is too long") from None
    if not isinstance(value, dict):
        raise InvalidRequest("the body must be a JSON object")
    return value


async def workspace_of(fields: Mapping[str, object], request: Request) -> str:
    """The folder a request is about: `cwd`, else what the project header names.

    Raises:
        InvalidRequest: neither is there, or it is no text that can be a path.
    """
    return await folder(fields.get("cwd"), project_of(request.headers))


def project_of(headers: Mapping[str, str] | None) -> str | None:
    """The project that the caller's client names in a header, if it does."""
    named = (headers or {}).get(_PROJECT_HEADER)
    if not named:
        return None
    try:  # header bytes come as Latin-1, whatever the client meant
        return named.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return named


async def folder(cwd: object, project: str | None) -> str:
    """The one folder that is meant: the project that the host names, or what `cwd` narrows it to.

    Raises:
        InvalidRequest: there is none, it is no text that can be a path, or `cwd`, which a model
            chooses, lies outside the project.
    """
    chosen = project if cwd is None else cwd
    if chosen is None:
        raise InvalidRequest("cwd is missing: send the absolute path of the project's folder")
    if not isinstance(chosen, str):
        raise InvalidRequest("cwd must be text: the absolute path of the project's folder")
    if "\0" in chosen or any("\ud800" <= c <= "\udfff" for c in chosen):
        raise InvalidRequest("cwd is not a path")
    if not chosen.startswith("/"):
        raise InvalidRequest("cwd must be an absolute path: send the project's folder from '/' on")
    # A name that is no absolute path is a variable that the host did not fill in: it names nothing.
    bound = project if cwd is not None and (project or "").startswith("/") else None
    if bound not in (None, chosen) and not await to_thread.run_sync(_narrows, chosen, bound):
        raise InvalidRequest("cwd lies outside the project that the client names: leave cwd out")
    return chosen


def _narrows(cwd: str, project: str | None) -> bool:
    """Whether a folder is the project's own or lies below it, by their real paths."""
    if project is None or "\0" in project:
        return True
    return Path(os.path.realpath(cwd)).is_relative_to(os.path.realpath(project))


def fact_of(fields: Mapping[str, object]) -> FactId:
    """The fact that a request names.

    Raises:
        InvalidRequest: it names none.
    """
    named = fields.get("id")
    if not isinstance(named, str) or not named:
        raise InvalidRequest("id is missing: send the id of a fact, as /v1/facts gives it")
    return FactId(clean(named))


def parse_events(fields: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    """The payloads of `{"events": [...]}`, or the one payload that a hook's client sends.

    Raises:
        InvalidRequest: it is neither.
    """
    events = fields.get("events") if "hook_event_name" not in fields else [fields]
    if not isinstance(events, list):
        raise InvalidRequest('send one hook payload, or {"events": [payload, ...]}')
    for event in events:
        if not isinstance(event, dict) or not isinstance(event.get("hook_event_name"), str):
            raise InvalidRequest("an event must be a hook payload: an object with its event's name")
    return events


def parse_question(
    text: object,
    *,
    timeout: object,
    max_answer_tokens: object,
    asked_at: Instant,
    wants_why: object = None,
) -> Question:
    """A question as callers send it; `None` stands for the default.

    Raises:
        InvalidRequest: an argument is of the wrong type or out of range.
    """
    if not isinstance(text, str):
        raise InvalidRequest("question must be text: ask about this codebase in a sentence")
    usual = Budget()
    seconds = usual.timeout_s if timeout is None else timeout
    tokens = usual.answer_tokens if max_answer_tokens is None else max_answer_tokens
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidRequest("timeout must be a number of seconds from 5 to 1800")
    if isinstance(tokens, bool) or not isinstance(tokens, int):
        raise InvalidRequest("max_answer_tokens must be a whole number from 256 to 32000")
    if wants_why is not None and not isinstance(wants_why, bool):
        raise InvalidRequest("why must be true or false")
    return Question(text, asked_at, Budget(seconds, tokens), bool(wants_why))


def check_shape(body: bytes) -> None:
    """Bound what parsing can cost before it begins.

    Raises:
        InvalidRequest: it nests too deep, or holds too many values.
    """
    structure = _NOT_STRUCTURE.sub(b"", _STRING.sub(b"", body))
    if len(structure) > MAX_VALUES:
        raise InvalidRequest(f"the body holds more than {MAX_VALUES} values")
    depth = 0
    for mark in structure:
        depth += (mark in b"[{") - (mark in b"]}")
        if depth > MAX_DEPTH:
            raise InvalidRequest(f"the body nests deeper than {MAX_DEPTH}")


def _object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidRequest("the body names a field twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidRequest("the body holds a number that is too large")
    return number


def _refuse_constant(text: str) -> object:
    raise InvalidRequest(f"the body is not JSON: {text} is no JSON value")
