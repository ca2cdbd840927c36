"""What a walk must know of a work tree: its ignore rules, and the names they are not about."""

import os
from dataclasses import dataclass, field
from typing import Self

from live_memory.adapters.sandbox.git.excludes import UserExcludes, text_file
from live_memory.adapters.sandbox.git.finding import Refused, find_data, is_sha256
from live_memory.adapters.sandbox.git.ignoring import IgnoreRules
from live_memory.adapters.sandbox.git.tracked import tracked_names

__all__ = ["Tree"]


@dataclass(frozen=True, slots=True)
class Tree:
    """Folders under one set of rules; names are told from `below`, its prefix in the workspace."""

    below: str
    rules: IgnoreRules
    is_repository: bool = False
    is_unsure: bool = False  # which names are tracked
    tracked: frozenset[str] = frozenset()
    holding_tracked: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def plain(cls, root: str, excludes: UserExcludes) -> Self:
        """A folder that is no repository: what its user leaves out everywhere counts here too."""
        return cls("", IgnoreRules(last=(excludes.text(root),)))

    @classmethod
    def of(cls, root: str, folder: str, excludes: UserExcludes) -> Self | None:
        """The work tree in a folder of the workspace; nothing where there is none."""
        place = os.path.join(root, folder) if folder else root
        below = f"{folder}/" if folder else ""
        try:
            data = find_data(place)
        except Refused:
            store = _jujutsu_store(place)
            if store is None:
                return None
            return cls(below, _rules(place, None, store, excludes), is_repository=True)
        tracked = tracked_names(data.own, is_sha256=is_sha256(data.common))
        rules = _rules(place, data.own, data.common, excludes)
        names = tracked or frozenset()
        return cls(below, rules, True, tracked is None, names, _folders_above(names))

    def is_tracked(self, name: str, *, is_folder: bool) -> bool:
        """Whether rules say nothing of a name: it is tracked, or holds what is."""
        return name in (self.holding_tracked if is_folder else self.tracked)


def _rules(root: str, own: str | None, common: str, excludes: UserExcludes) -> IgnoreRules:
    last = excludes.text(root, own=own, common=common)
    own_last = text_file(os.path.join(common, "info", "exclude"))
    return IgnoreRules(last=(last, own_last), is_repository=True)


def _jujutsu_store(folder: str) -> str | None:
    """The git data behind a workspace of Jujutsu, or where they would be."""
    inside = os.path.join(folder, ".jj")
    if not os.path.isdir(inside):
        return None
    repository = os.path.join(inside, "repo")
    if os.path.isfile(repository):
        repository = os.path.join(inside, text_file(repository).strip())
    store = os.path.join(repository, "store")
    target = text_file(os.path.join(store, "git_target")).strip()
    return os.path.join(store, target or "git")


def _folders_above(names: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in names:
        while "/" in name and (name := name.rpartition("/")[0]) not in found:
            found.add(name)
    return frozenset(found)
