"""Knows a question that asks nothing, for which nothing is worth looking up."""

from live_memory.core.evidence.question import is_plain, terms_of
from live_memory.core.evidence.words import words_of

__all__ = ["HOW_TO_ASK", "asks_nothing"]

HOW_TO_ASK = (
    "This asks nothing about the code yet. Ask in a sentence and name what you know, as in "
    "`where is the port configured?`, `who calls save?` or `how is this project tested?`."
)
_GREETINGS = frozenset(
    ("bye", "hallo", "hello", "hey", "hi", "hola", "no", "ok", "okay", "please", "thanks", "yes")
)


def asks_nothing(question: str) -> bool:
    """Whether there is no more than a letter, a greeting or one word that is everywhere.

    Two such words may ask about the project: `what is this?`.
    """
    words = [word for word in words_of(question) if len(word) > 1 or not word.isascii()]
    telling = [word for word in words if word.lower() not in _GREETINGS]
    is_empty = not telling or (len(telling) == 1 and is_plain(telling[0]))
    return is_empty and not terms_of(question).names
