"""Names as git says them, and which of them may be told."""

import re
from dataclasses import dataclass

from live_memory.adapters.sandbox.opener import SafeRoot
from live_memory.core.errors import OutsideWorkspace
from live_memory.core.values import RelPath

__all__ = ["TOOL_FOLDERS", "Names", "citable", "names_in"]

# Folders that hold what tools made; in a git work tree its own rules say so instead.
TOOL_FOLDERS = frozenset(
    {
        "node_modules", "bower_components", "jspm_packages",
        "__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs",
        ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
        ".gradle", ".terraform", ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo",
    }
)  # fmt: skip
_UNCITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Names:
    """Names as git says them: each ends with NUL, and the last may be torn.

    With a `problem`, the index they are from may be another work tree's: a name that is not on disk
    is not to be told.
    """

    said: bytes
    problem: str | None = None


def names_in(out: bytes) -> list[str]:
    """Names that git ended with NUL, a torn last one dropped."""
    return [raw.decode("utf-8", "surrogateescape") for raw in out.split(b"\0")[:-1]]


def citable(root: SafeRoot, name: str) -> RelPath | None:
    """The path of a name that may be listed."""
    if _UNCITABLE.search(name):
        return None
    try:
        path = RelPath(name)
    except OutsideWorkspace:
        return None
    return None if root.hides(path) else path
