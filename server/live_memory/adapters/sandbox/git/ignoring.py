"""Git's ignore rules, matched by pathspec: which names of one tree of folders they leave out."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pathspec import GitIgnoreSpec, RegexPattern

from live_memory.adapters.sandbox.git.names import TOOL_FOLDERS

__all__ = ["IgnoreRules", "matches_path"]

_MOST_STARS, _LONGEST_RULE = 3, 500
_ANYTHING = re.compile(r".+")
_SET_OPERATION = re.compile(r"\[.*(?:\[|--|&&|~~|\|\|)")


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line: whether it ignores, and what of a folder's names it is about.

    Only the name itself counts: what lies in an ignored folder is never looked at, and a folder
    that is kept by a rule does not keep what is in it.
    """

    ignores: bool
    expression: re.Pattern[str]

    def matches(self, name: str) -> bool:
        """Whether the rule is about this name, which ends in a slash where it is a folder's."""
        return self.expression.fullmatch(name) is not None


class IgnoreRules:
    """The rules met so far; the deepest `.gitignore` that says something wins.

    What belongs to no folder is asked last: `info/exclude` of a repository, then what its user has
    for all repositories. Outside of repositories the folders that tools make are left out too.
    """

    def __init__(self, *, last: Iterable[str] = (), is_repository: bool = False) -> None:
        """`last` are the texts of rules for the whole tree, a later one before an earlier."""
        self._rules: dict[str, Sequence[_Rule]] = {}
        self._last = tuple(rule for text in reversed([*last]) for rule in _latest_first(text))
        self._made_by_tools = frozenset() if is_repository else TOOL_FOLDERS

    def add(self, folder: str, text: str) -> None:
        """Take in a folder's rules (`""` is the root); lines that are no pattern are skipped."""
        rules = _latest_first(text)
        if rules:
            self._rules[folder] = rules

    def covers(self, name: str, *, is_folder: bool) -> bool:
        """Whether a name is ignored, its folders being kept."""
        if is_folder and name.rpartition("/")[2].casefold() in self._made_by_tools:
            return True
        if not self._rules and not self._last:
            return False
        parts = name.split("/")
        for depth in range(len(parts) - 1, -1, -1):
            below = "/".join(parts[depth:]) + ("/" if is_folder else "")
            for rule in self._rules.get("/".join(parts[:depth]), ()):
                if rule.matches(below):
                    return rule.ignores
        whole = name + ("/" if is_folder else "")
        return next((rule.ignores for rule in self._last if rule.matches(whole)), False)


def matches_path(pattern: str, path: str, *, ignore_case: bool = False) -> bool:
    """Whether a pattern that begins at `/` is about an absolute path, as git's own globs are."""
    if ignore_case:
        pattern, path = pattern.lower(), path.lower()
    return any(rule.matches(path.lstrip("/")) for rule in _rules_of(pattern))


def _latest_first(text: str) -> Sequence[_Rule]:
    """The rules of a file; where several are about a name, the last of them counts."""
    lines = text.removeprefix("\ufeff").split("\n")
    return [rule for line in reversed(lines) for rule in _rules_of(line.removesuffix("\r"))]


def _rules_of(line: str) -> Sequence[_Rule]:
    # A stranger's ignore file must not stop us: `[z-a]` raises `re.error`, `!` alone a pattern
    # error that is a `ValueError`, sets within sets warn, and many stars in one rule take
    # pathspec's engine minutes on one long name.
    stars = line.replace("**/", "").replace("/**", "").count("*")
    if stars > _MOST_STARS or len(line) > _LONGEST_RULE or _SET_OPERATION.search(line):
        return ()
    try:
        # Git's `a/**` is all in `a`, and not `a` itself, which pathspec takes along as `a/`.
        rule = f"{line}/*" if line.endswith("/**") else line
        patterns = GitIgnoreSpec.from_lines([rule], backend="simple").patterns
    except (re.error, ValueError):
        return ()
    return [
        # A lone star is compiled to one character: pathspec looks for the start of a match.
        _Rule(one.include, _ANYTHING if one.regex.pattern == "." else one.regex)
        for one in patterns
        if isinstance(one, RegexPattern) and one.include is not None and one.regex is not None
    ]
