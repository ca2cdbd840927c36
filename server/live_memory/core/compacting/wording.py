"""Whether a sentence is a statement about code, and not an order, advice, or talk.

What stands in a file is no excuse: a file can say anything, and what becomes a fact is later read
by other programs as known to be true. So a doubtful sentence is lost, and nothing else with it.
"""

import re
from functools import lru_cache

from live_memory.core.compacting.verbs import ANY_ORDER, ORDER
from live_memory.core.reading.text import clean

__all__ = ["statement"]

# Fewer characters state nothing; more are several facts.
_SHORTEST, _LONGEST = 12, 400
_LINE_ENDS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_MARKS = re.compile(r"[`*\"“”‘’]|(?<!\w)'|'(?!\w)")
_MARKED = re.compile(r"(?<!`)`[^`\s](?:[^`]*[^`\s])?`(?!`)")
_CODE_RUN = re.compile(r"`[^`]+`(?:\s+`[^`]+`)*")
_PROSE = re.compile(r"(?:\b[A-Za-z']+ +){2}[A-Za-z']+")
_BEGINNING = r"(?:^|[.!?;:,(–—]\s*|\s-+\s*)"
_PEOPLE = (
    r"(?:developer|programmer|engineer|maintainer|reviewer|human|person|people|everyone|anyone|"
    r"assistant|agent|companion|claude|chatgpt|gpt|llm|ai)s?"
)
_READERS = rf"(?:{_PEOPLE}|(?:user|reader|model|caller)s?)"
_OBLIGED = (
    r"(?:must|ha(?:s|ve) to|needs? to|to|(?:is|are) (?:to|(?:asked|told|expected|required|supposed"
    r"|advised|instructed) to))"
)

# Orders, read with names in code left out, so that a function called `run` is none.
_ORDERED = (
    rf"{_BEGINNING}{ORDER}",
    rf"\b(?:and|or|then|but|always|never)\s+{ORDER}",
    rf"{_BEGINNING}`\s+(?:a|an|the|this|that|these|those|any|all|every|each|it|them)\b",
    r"(?:^|[.!?;]\s*)(?:system|assistant|user|human|developer|tool)\s*:",
    rf"\b{_READERS}\s+(?:\w+ly\s+)?{_OBLIGED}\s+{ANY_ORDER}",
    r"\b(?:user|developer|caller|agent)s?\s+(?:asked|wanted|said|wondered)\b",
)
_ROLES = (
    r"(?-i:\b(?:SYSTEM|System|ASSISTANT|Assistant|USER|HUMAN|Human|DEVELOPER|Developer|TOOL"
    r"|INSTRUCTIONS?|Instructions?|IMPORTANT|ATTENTION|PROMPT)\s*[:>\]])"
)
_CHAT_MARKS = (
    r"<\|?/?\s*(?:system|assistant|user|human|instructions?|prompt|tool_\w+|function_\w+"
    r"|im_\w+|endoftext)\b[^>]*>|\|>|\[/?(?:INST|SYS)\]|<</?SYS>>|#{2,} ?\w|={3,} \w"
)
_PERSONS = r"\b(?:you|your|yours|yourself|you['’]\w+|as an ai|my instructions|i am|i['’]m)\b"
_ADVICE = (
    r"\b(?:please|kindly|make sure|be sure|don['’]t|remember to|beware|should|ought|shall"
    r"|recommend(?:ed|s)?|advis(?:e|ed|able)|had better|it is best)\b"
)
_TOLD = (
    r"\b(?:tell|ask|instruct|order|urge|advise|remind|inform|warn|convince)\w*\s+"
    r"(?:(?:the|a|an|any|every|each|all|other|coding|ai)\s+)*"
    rf"(?:{_PEOPLE}\b|{_READERS}\s+to\b)"
)
_FORGOTTEN = (
    r"\b(?:ignor|disregard|forget|overrid|bypass)\w*\b.{0,40}"
    r"\b(?:instruction|prompt|rule|above|previous|prior|guideline)s?\b"
)
_ANSWERS = (
    r"\b(?:correct|right|only|final) answer\b|\banswers?\s+(?:to|for)\s+(?:every|any|all|this)\b"
)
# A download into a shell, whoever wrote it.
_SHELL = (
    r"\bpip(?:e|es|ed|ing)\b.{0,40}\b(?:ba|z|da|k|fi|c)?sh(?:ell)?\b"
    r"|\|\s*(?:sudo\s+)?(?:\S*/)?(?:(?:ba|z|da|k|fi|c)?sh|python\d?|perl|ruby|node)\b"
    r"|\b(?:curl|wget|iwr|irm)\b.*(?:\||<\(|\$\()|\b(?:eval|iex)\b.*\b(?:curl|wget|iwr)\b"
)
_TALK = r"\b(?:this|our) (?:conversation|chat|talk|transcript)\b"
# Read as it stands, whatever is marked as code.
_NEVER = (_ROLES, _CHAT_MARKS, _PERSONS, _ADVICE, _TOLD, _FORGOTTEN, _ANSWERS, _SHELL, _TALK)
_IS_ORDERED = re.compile("|".join(_ORDERED), re.IGNORECASE)
_IS_REFUSED = re.compile("|".join(_NEVER), re.IGNORECASE)


@lru_cache(maxsize=4_096)  # each is looked at where it is proposed, where it is admitted, and again
def statement(text: str) -> str | None:
    """The sentence on one line, if it is one and states something; else nothing."""
    said = clean(text).strip()
    if len(said) > 2 * _LONGEST or _LINE_ENDS.search(said):
        return None
    said = " ".join(said.split())
    # What cannot be seen, as marks of direction and joiners, could hide a second meaning.
    if not _SHORTEST <= len(said) <= _LONGEST or not said.isprintable():
        return None
    # Marks that are nested or left open would hide which words are code.
    if "`" in _MARKED.sub("", said):
        return None
    masked = _MARKS.sub(lambda mark: mark.group() if mark.group() == "`" else "", _masked(said))
    if _IS_ORDERED.search(masked) or _IS_REFUSED.search(_MARKS.sub("", said)):
        return None
    return said


def _masked(text: str) -> str:
    """With a mark for each name in code; words that are marked only to look like code stay."""
    return _CODE_RUN.sub(_mask, text)


def _mask(run: re.Match[str]) -> str:
    bare = run.group().replace("`", "")
    is_name = run.group().count("`") == 2 and not _PROSE.search(bare)
    return "`" if is_name else bare
