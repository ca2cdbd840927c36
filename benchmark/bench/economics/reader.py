"""The honest reader: it answers from the text of its request, and asks for what is not there."""

import re
from collections.abc import Iterable, Mapping, Sequence

from bench.economics.gold import Quest, missing
from bench.economics.replies import Call, Spoken
from bench.economics.requests import Request, Tool
from bench.scores import Place

__all__ = ["answer", "quest_of", "reading_tool"]

# What is still missing after so many looks is not asked for again.
_MOST_ROUNDS, _MOST_CALLS = 3, 12
# Places of a file closer than this are read in one go.
_NEAR, _LONGEST_QUOTE = 40, 120
_PATH = re.compile(r"path|file(?:_?name)?|filename", re.IGNORECASE)
_START = re.compile(r"first|start|offset|from", re.IGNORECASE)
_END = re.compile(r"\b(?:last|end|to)(?:_|\b)", re.IGNORECASE)
_COUNT = re.compile(r"limit|count|lines|length", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_$][\w$]{2,}")


def quest_of(request: Request, quests: Mapping[str, Quest]) -> Quest | None:
    """The question that a request asks: the one that stands nearest to its end."""
    text = " ".join(re.sub(r"^\s*\|", " ", request.said("messages"), flags=re.MULTILINE).split())
    at = {one: text.rfind(" ".join(one.split())) for one in quests}
    found = max(at, key=lambda one: (at[one], len(one)), default=None)
    return quests[found] if found is not None and at[found] >= 0 else None


def answer(request: Request, quest: Quest | None) -> Spoken:
    """Calls for what is missing, all at once; else the answer, each place cited and quoted."""
    if quest is None or not quest.places:
        return Spoken("Nothing that is shown here answers this.")
    lacking = missing(quest, request.text)
    tool = reading_tool(request.tools)
    if lacking and tool is not None and request.rounds < _MOST_ROUNDS:
        return Spoken("", tuple(_calls(tool, lacking))[:_MOST_CALLS])
    there = [place for place in quest.places if place not in lacking]
    if not there:
        return Spoken("What answers this could not be found.")
    return Spoken("\n".join(_cited(quest, place) for place in there))


def reading_tool(tools: Sequence[Tool]) -> Tool | None:
    """The tool that wants a path and nothing else, best one that takes lines too."""
    fitting = [tool for tool in tools if (path := _named(tool, _PATH, "string")) and path]
    fitting = [tool for tool in fitting if set(tool.required) <= {_named(tool, _PATH, "string")}]
    by_worth = sorted(fitting, key=_worth, reverse=True)
    return by_worth[0] if by_worth else None


def _worth(tool: Tool) -> tuple[bool, bool]:
    return _named(tool, _START, "integer") is not None, bool(tool.required)


def _calls(tool: Tool, places: Iterable[Place]) -> Iterable[Call]:
    path, start = _named(tool, _PATH, "string"), _named(tool, _START, "integer")
    end = _named(tool, _END, "integer")
    count = next((n for n in _all(tool, _COUNT, "integer") if n not in {start, end}), None)
    for place in _joined(places):
        arguments: dict[str, object] = {str(path): place.path}
        arguments |= {start: place.start} if start else {}
        arguments |= {end: place.end} if end else {}
        arguments |= {count: place.end - place.start + 1} if count and not end else {}
        yield Call(tool.name, arguments)


def _joined(places: Iterable[Place]) -> list[Place]:
    found: list[Place] = []
    for place in sorted(places, key=lambda one: (one.path, one.start)):
        last = found[-1] if found else None
        if last and last.path == place.path and place.start - last.end <= _NEAR:
            found[-1] = Place(last.path, last.start, max(last.end, place.end))
        else:
            found.append(place)
    return found


def _named(tool: Tool, pattern: re.Pattern[str], kind: str) -> str | None:
    return next(iter(_all(tool, pattern, kind)), None)


def _all(tool: Tool, pattern: re.Pattern[str], kind: str) -> list[str]:
    fitting = (name for name, schema in tool.properties.items() if _is(schema.get("type"), kind))
    return [name for name in fitting if pattern.search(name)]


def _is(given: object, kind: str) -> bool:
    kinds = given if isinstance(given, list) else [given]
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _cited(quest: Quest, place: Place) -> str:
    lines = f"{place.start}" if place.start == place.end else f"{place.start}-{place.end}"
    told = next((text for text in quest.texts[place] if _NAME.search(text)), "")
    told = told.replace("`", "'")[:_LONGEST_QUOTE].rstrip()
    name = _NAME.search(told)
    what = f"`{name[0]}` stands at" if name else "See"
    return f"{what} {place.path}:{lines}" + (f", which reads `{told}`." if told else ".")
