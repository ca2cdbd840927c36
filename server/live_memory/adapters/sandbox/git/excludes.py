"""The ignore rules that a person has for all repositories, found as git finds them.

The user's and the machine's configuration of git is read as data: no program is started for it.
What a repository's own configuration names counts where it lies in the workspace or beside the
configuration; elsewhere a repository would choose which of the user's files are opened.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from live_memory.adapters.sandbox.git.configuration import entries
from live_memory.adapters.sandbox.git.ignoring import matches_path
from live_memory.core.errors import refuse_exhausted
from live_memory.core.hosts.paths import inside

__all__ = ["LARGEST_RULES", "UserExcludes", "text_file"]

LARGEST_RULES = 256 * 1024
_KEY = "core.excludesfile"
# Git itself stops at ten.
_DEEPEST_INCLUDE = 10
_MACHINE = "/etc/gitconfig"


@dataclass(frozen=True, slots=True)
class UserExcludes:
    """Where git looks for this user's configuration; without a home there is none.

    `environ` is the environment in which the server runs.
    """

    home: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)

    def text(self, root: str, *, own: str | None = None, common: str | None = None) -> str:
        """The rules for a tree of folders; empty where there are none.

        Of a work tree, `own` are its git data, and `common` holds the repository's configuration.
        """
        by_repository = self._of_repository(root, common)
        if by_repository is not None:
            return by_repository
        named: str | None = None
        for file in self._files():
            for name, value in self._entries(file, own):
                named = value if name == _KEY else named
        if named is None:
            return text_file(os.path.join(self._xdg, "ignore")) if self._xdg else ""
        return text_file(os.path.join(root, self._expanded(named))) if named else ""

    def _of_repository(self, root: str, common: str | None) -> str | None:
        """What the repository's configuration names, where that may be opened."""
        config = "" if common is None else text_file(os.path.join(common, "config"))
        # A thousand branches take 20 ms to parse, and hardly any configuration names a list.
        is_named = "excludesfile" in config.lower()
        named = [value for name, value in entries(config) if name == _KEY] if is_named else []
        if not named or not named[-1]:
            return "" if named else None
        real = os.path.realpath(os.path.join(root, self._expanded(named[-1])))
        is_near = any(inside(place, real) is not None for place in (root, common or root))
        return text_file(real) if is_near else None

    @property
    def _xdg(self) -> str:
        base = self.environ.get("XDG_CONFIG_HOME") or (self.home and f"{self.home}/.config")
        return os.path.join(base, "git") if base else ""

    def _files(self) -> Iterator[str]:
        """The configuration files, the one that counts most last."""
        if not self.home:
            return
        if self.environ.get("GIT_CONFIG_NOSYSTEM", "") in ("", "0", "false", "no", "off"):
            yield self.environ.get("GIT_CONFIG_SYSTEM") or _MACHINE
        if "GIT_CONFIG_GLOBAL" in self.environ:
            yield self.environ["GIT_CONFIG_GLOBAL"]
            return
        yield os.path.join(self._xdg, "config")
        yield os.path.join(self.home, ".gitconfig")

    def _entries(
        self, file: str, git_folder: str | None, *, depth: int = 0
    ) -> Iterator[tuple[str, str]]:
        """The entries of a file and of those it includes where they stand."""
        for name, value in entries(text_file(file)):
            yield name, value
            is_included = name == "include.path" or (
                name.startswith("includeif.")
                and name.endswith(".path")
                and self._is_met(name[len("includeif.") : -len(".path")], file, git_folder)
            )
            if is_included and depth < _DEEPEST_INCLUDE:
                included = os.path.join(os.path.dirname(file), self._expanded(value))
                yield from self._entries(included, git_folder, depth=depth + 1)

    def _is_met(self, condition: str, file: str, git_folder: str | None) -> bool:
        """Whether a condition on where the repository lies holds; others are never met."""
        kind, _, pattern = condition.partition(":")
        if git_folder is None or kind not in ("gitdir", "gitdir/i"):
            return False
        if pattern.startswith("~/"):
            pattern = os.path.realpath(self.home) + pattern[1:]
        elif pattern.startswith("./"):
            pattern = f"{os.path.realpath(os.path.dirname(file))}{pattern[1:]}"
        elif not pattern.startswith("/"):
            pattern = f"**/{pattern}"
        if pattern.endswith("/"):
            pattern += "**"
        return matches_path(pattern, git_folder, ignore_case=kind.endswith("i"))

    def _expanded(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            return self.home + path[1:]
        return os.path.expanduser(path)


def text_file(path: str) -> str:
    """The text of a regular file, links followed; nothing where there is none, or too much."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError) as problem:
        refuse_exhausted(problem)
        return ""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_RULES:
            return ""
        return os.read(descriptor, LARGEST_RULES).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
