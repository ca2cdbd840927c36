"""What can be asked of a workspace's files and history, and what comes back."""

from dataclasses import dataclass
from enum import StrEnum

from live_memory.core.reading.observation import ListedFile
from live_memory.core.values import RelPath

__all__ = [
    "LARGEST_SEARCHED",
    "ChangedFiles",
    "Commit",
    "CommitSearch",
    "FirstCommit",
    "History",
    "HistoryQuery",
    "Listing",
    "ListingWay",
    "LogQuery",
    "Match",
    "Matches",
    "NamePattern",
    "Omission",
    "Omitted",
    "TextPattern",
]

# Larger files are generated: the largest hand-written source in the repositories we measure is
# 0.6 MB. Line by line they would only push useful matches out of the limit.
LARGEST_SEARCHED = 4 * 1024 * 1024


class ListingWay(StrEnum):
    """How a listing was made; the rules are the same."""

    GIT = "git"
    WALK = "walk"


@dataclass(frozen=True, slots=True)
class Listing:
    """The files worth knowing, in path order; `is_cut` when there were more than the cap.

    `problem` says what is odd about a repository: why git did not list it, or is not asked for its
    history. Where it is unsure which files are tracked, those that rules ignore are left out too.
    """

    files: tuple[ListedFile, ...]
    is_cut: bool = False
    way: ListingWay = ListingWay.GIT
    problem: str | None = None
    is_unsure: bool = False


class Omission(StrEnum):
    """Why a listing leaves a name out that somebody may ask for."""

    REPOSITORY = "a repository of its own"
    SUBMODULE = "a submodule"
    NOT_CHECKED_OUT = "a submodule that is not checked out"
    LINK = "a link"
    ABSENT = "tracked and not on disk"
    UNREADABLE = "cannot be read"


@dataclass(frozen=True, slots=True)
class Omitted:
    """A file or folder that a listing leaves out; `target` is what a link in the workspace means.

    What is `UNREADABLE` may be listed all the same.
    """

    path: RelPath
    why: Omission
    target: RelPath | None = None


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A regular expression over lines, below `under` (file or folder), for names like `glob`.

    Where `among` names files, these are searched and no others, generated ones too.

    What Python and ripgrep agree on: literals, `.`, sets, `\\d \\w \\s \\b` and their
    opposites, `^ $`, groups, alternatives, repetitions, `(?i)` in front. No look-around, no
    back-references, no `\\n`.
    """

    regex: str
    under: str = "."
    glob: str | None = None
    ignore_case: bool = False
    limit: int = 200
    among: tuple[RelPath, ...] | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A redacted line that matched; `text` is its first 500 characters."""

    path: RelPath
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches in path and line order; `is_cut` when there were more than the limit."""

    matches: tuple[Match, ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A glob over workspace names: `*` and `?` in a name, `**` across folders, `[ab]`, `{a,b}`.

    Without a `/` it is looked for in every folder; with one it starts at the root.
    """

    glob: str
    limit: int = 500


@dataclass(frozen=True, slots=True)
class LogQuery:
    """The newest commits that touched `path`, or any."""

    path: str | None = None
    limit: int = 20


@dataclass(frozen=True, slots=True)
class CommitSearch:
    """Commits whose message holds `text` literally, or that changed how often files hold it.

    Redacted text is meant: what a placeholder stands for is found by nothing. So a file over 1 MiB
    is left out, and what is beyond 8 MiB of hits, without a word.
    """

    text: str
    path: str | None = None
    limit: int = 20


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """Files that differ from revision `since`, in the work tree as it is now.

    Letters are git's: A, M, D, T, and `?` for a file that git does not track and no rule ignores.
    """

    since: str = "HEAD"
    limit: int = 500


@dataclass(frozen=True, slots=True)
class FirstCommit:
    """The `known` commit where it is here; else the one that the main line of HEAD began with.

    Neither is told where there is no commit, or where a shallow clone has not got so far.
    """

    known: str | None = None


HistoryQuery = LogQuery | CommitSearch | ChangedFiles | FirstCommit


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: full hexadecimal id, author time in seconds since 1970, and subject.

    `files` are the names it touched; a merge has none.
    """

    id: str
    at: float
    author: str
    subject: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """Commits, or changed names with git's status letter; `problem` says why there are none.

    Of a shallow clone, `is_shallow` and `ends` are the ids at which it was cut off: such a commit
    shows all that it holds as its own, however old that is.
    """

    commits: tuple[Commit, ...] = ()
    changed: tuple[tuple[str, str], ...] = ()
    is_cut: bool = False
    problem: str | None = None
    is_shallow: bool = False
    ends: frozenset[str] = frozenset()
