"""Whether a name stands somewhere as it is written, not only as a word of the same stem."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from live_memory.core.evidence.words import base_name, is_compound

__all__ = ["forms_of", "is_name", "is_spelled", "nearest"]

_RUN = re.compile(r"\w+(?:-\w+)*")
_WORD = re.compile(r"\w+")
# Names that share less are no slips of one another.
_LEAST_ALIKE = 0.7


def is_name(name: str) -> bool:
    """Whether it is written as only code writes an identifier, and no path."""
    base = base_name(name)
    return "/" not in name and base.isidentifier() and is_compound(base)


def forms_of(name: str) -> frozenset[str]:
    """A name in lower case, also without and with the ending of a plural."""
    base = base_name(name).strip("_").lower()
    one = {base, base.removesuffix("s"), base.removesuffix("es")}
    one |= {f"{base.removesuffix('ies')}y"} if base.endswith("ies") else set()
    return frozenset({*one, f"{base}s", f"{base}es"})


def is_spelled(name: str, lines: Iterable[str]) -> bool:
    """Whether a line holds the name: in any case, in the plural, or joined by hyphens."""
    forms = forms_of(name)
    for line in lines:
        said = line.lower()
        joined = said.replace("-", "_")
        if not any(form in joined for form in forms):  # most lines hold none, and this is quick
            continue
        runs = (run.replace("-", "_") for run in _RUN.findall(said))
        if not forms.isdisjoint(word.strip("_") for word in (*runs, *_WORD.findall(said))):
            return True
    return False


def nearest(name: str, defined: Iterable[str]) -> str | None:
    """The one of the names that are defined that is most like this one, if one is."""
    found = get_close_matches(base_name(name), sorted(set(defined)), n=1, cutoff=_LEAST_ALIKE)
    return found[0] if found else None
