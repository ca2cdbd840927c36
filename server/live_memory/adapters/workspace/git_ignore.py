"""Git's ignore rules, matched by pathspec: which names of one tree of folders they leave out."""

import os
import re
import stat
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from anyio import to_thread
from pathspec import GitIgnoreSpec, RegexPattern

from live_memory.adapters.workspace.git_repository import TOOL_FOLDERS, citable, entries, names_in
from live_memory.adapters.workspace.ripgrep import InvocationResult
from live_memory.adapters.workspace.safe_open import SafeRoot
from live_memory.core.errors import InvalidRequest, OutsideWorkspace, refuse_exhausted
from live_memory.core.hosts.events import inside
from live_memory.core.reading.lookup import Omission, Omitted
from live_memory.core.reading.observation import SkipReason, decode, refusal_of_name
from live_memory.core.reading.redaction import Redactor
from live_memory.core.values import RelPath

__all__ = [
    "DIFF",
    "LARGEST_RULES",
    "LONGEST_TEXT",
    "IgnoreRules",
    "UserExcludes",
    "changes_by_commit",
    "omitted",
    "searched_text",
    "text_file",
    "told",
]

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


LARGEST_RULES = 256 * 1024
_KEY = "core.excludesfile"
# Git itself stops at ten.
_DEEPEST_INCLUDE = 10
_MACHINE = "/etc/gitconfig"


@dataclass(frozen=True, slots=True)
class UserExcludes:
    """Where git looks for this user's configuration; without a home there is none.

    `environ` is the environment in which the server runs. The user's and the machine's
    configuration of git is read as data: no program is started for it. What a repository's own
    configuration names counts where it lies in the workspace or beside the configuration; elsewhere
    a repository would choose which of the user's files are opened.
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


LONGEST_TEXT = 1_000
DIFF = ("--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all", "--no-color")
# To redact a megabyte takes some 0.1 s.
_LARGEST, _TOGETHER = 1024 * 1024, 8 * 1024 * 1024

_PLACEHOLDER = re.compile(r"<redacted(?::[\w-]{1,64}){0,2}>")
_HEAD = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (\w{1,16}) ([0-9]{1,18})")

Ask = Callable[..., Awaitable[InvocationResult]]


@dataclass(frozen=True, slots=True)
class _Change:
    """The ids of a file's bytes before and after a commit; zeros where there is no such file."""

    name: str
    before: str
    after: str


def searched_text(text: str) -> str:
    """Check a text that commits are searched for.

    Raises:
        InvalidRequest: it is empty, too long, or holds what no argument can.
    """
    if not text.strip() or len(text) > LONGEST_TEXT or "\0" in text or "\n" in text:
        raise InvalidRequest(f"a searched text is one line of 1 to {LONGEST_TEXT:,} characters")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidRequest("the searched text is not valid text")
    return text


def changes_by_commit(out: bytes) -> Mapping[str, list[_Change]]:
    """What `diff-tree --stdin -z --raw` says of each commit."""
    found: dict[str, list[_Change]] = {}
    current: list[_Change] = []
    fields = iter(names_in(out))
    for each in fields:
        if not each.startswith(":"):
            current = found.setdefault(each.strip(), [])
            continue
        parts, name = each.split(" "), next(fields, None)
        if name is not None and len(parts) == 5:
            current.append(_Change(name, parts[2], parts[3]))
    return found


def _sizes_in(out: bytes) -> Mapping[str, int]:
    """The size of each object that `cat-file --batch-check` knows."""
    found = (_HEAD.fullmatch(line) for line in out.split(b"\n"))
    return {head[1].decode(): int(head[3]) for head in found if head}


def _within(sizes: Mapping[str, int], ids: Iterable[str]) -> list[str]:
    """The ids whose objects are small enough, in order, as long as all of them are together."""
    chosen: list[str] = []
    together = _TOGETHER
    for one in ids:
        size = sizes.get(one)
        if size is not None and size <= min(_LARGEST, together):
            together -= size
            chosen.append(one)
    return chosen


def _objects_in(out: bytes) -> Mapping[str, bytes]:
    """The bytes of each object that `cat-file --batch` gave whole."""
    found: dict[str, bytes] = {}
    at = 0
    while (end := out.find(b"\n", at)) >= 0:
        head = _HEAD.fullmatch(out[at:end])
        at = end + 1
        if head is None:  # an object that is missing
            continue
        data = out[at : at + int(head[3])]
        at += int(head[3]) + 1
        if at <= len(out):
            found[head[1].decode()] = data
    return found


async def told(
    ask: Ask,
    ids: Sequence[str],
    *,
    text: str,
    paths: Sequence[str],
    redactor: Redactor,
    hides: Callable[[RelPath], bool],
) -> frozenset[str]:
    """Those of some commits that a search for `text` below `paths` may tell.

    What is too large, or too much together, decides nothing: such a hit is left out, and nothing
    says so, as that would tell of it. Git matches text as it was committed. A commit that is found
    by a secret would confirm each guess at it, so a hit counts only where the message, or how often
    a file holds the text, says the same after the whole message or the whole file was redacted.
    Files of credentials decide nothing.
    """
    if not ids:
        return frozenset()
    options = ("--stdin", "--root", "-r", "-z", "--raw", "--no-abbrev", *DIFF, f"-S{text}")
    changes = changes_by_commit((await ask("diff-tree", *options, *paths, stdin=_lines(ids))).out)
    sides = (each for id_ in ids for each in changes.get(id_, ()))
    files = (id_ for each in sides for id_ in (each.before, each.after) if id_.strip("0"))
    # The messages first, and the files of the newest commits.
    names = [*dict.fromkeys((*ids, *files))]
    sizes = _sizes_in((await ask("cat-file", "--batch-check", stdin=_lines(names))).out)
    few = _lines(_within(sizes, names))
    read = await ask("cat-file", "--batch", stdin=few, max_output=2 * _TOGETHER)
    judged = partial(_held, text=text, redactor=redactor, hides=hides)
    return await to_thread.run_sync(judged, ids, changes, _objects_in(read.out))


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{id_}\n" for id_ in ids).encode()


def _held(
    ids: Sequence[str],
    changes: Mapping[str, Sequence[_Change]],
    objects: Mapping[str, bytes],
    *,
    text: str,
    redactor: Redactor,
    hides: Callable[[RelPath], bool],
) -> frozenset[str]:
    def count(data: bytes) -> int:
        decoded = decode(data)
        if decoded is None:
            return 0
        return _PLACEHOLDER.sub("\0", redactor.redact(decoded).text.text).count(text)

    def is_held(commit: str) -> bool:
        _, _, message = objects.get(commit, b"").partition(b"\n\n")
        return bool(count(message)) or any(
            count(before) != count(after)
            for before, after in _sides(changes.get(commit, ()), objects, hides)
        )

    return frozenset(commit for commit in ids if is_held(commit))


def _sides(
    changes: Sequence[_Change], objects: Mapping[str, bytes], hides: Callable[[RelPath], bool]
) -> Iterator[tuple[bytes, bytes]]:
    """The bytes before and after, of files that may be read and are known whole."""
    for change in changes:
        before, after = (_side(one, objects) for one in (change.before, change.after))
        if before is None or after is None:
            continue
        with suppress(OutsideWorkspace):
            path = RelPath(change.name)
            if refusal_of_name(path) is not SkipReason.CREDENTIALS and not hides(path):
                yield before, after


def _side(id_: str, objects: Mapping[str, bytes]) -> bytes | None:
    return objects.get(id_) if id_.strip("0") else b""


# Names of a sparse checkout may be many; more of them say no more.
MOST_OMITTED = 20_000
# Folders that may hold a repository are looked at from the top; 10,000 of them take 0.2 s.
_MOST_FOLDERS, _LONGEST_LOOK_S = 10_000, 0.5


def omitted(
    root: SafeRoot, unlisted: Iterable[str], *, listed: Collection[RelPath]
) -> list[Omitted]:
    """Say of each name why it is not `listed`, and name the repositories below the root.

    Nothing is opened here but folders of the workspace: it names what was not looked at.
    """
    found: dict[RelPath, Omitted] = {}
    folders = {above for path in listed for above in _above(path.text)}
    names = sorted({name.rstrip("/") for name in unlisted})
    for each in (*_of_names(root, names), *_repositories(root)):
        if each.path.text not in folders and len(found) < MOST_OMITTED:
            found.setdefault(each.path, each)
    for path in listed:
        if not os.access(f"{root.root}/{path}", os.R_OK) and len(found) < MOST_OMITTED:
            found[path] = Omitted(path, Omission.UNREADABLE)
    return list(found.values())


def _above(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _of_names(root: SafeRoot, names: Iterable[str]) -> Iterator[Omitted]:
    for folder, group in groupby(names, key=lambda name: name.rpartition("/")[0]):
        paths = [path for name in group if (path := citable(root, name)) is not None]
        try:
            descriptor = root.open_folder(RelPath(folder) if folder else None)
        except PermissionError:
            yield Omitted(RelPath(folder), Omission.UNREADABLE)
        except OSError:
            yield from (Omitted(path, Omission.ABSENT) for path in paths)
        else:
            try:
                for path in paths:
                    yield from _of_name(root, path, descriptor)
            finally:
                os.close(descriptor)


def _of_name(root: SafeRoot, path: RelPath, folder: int) -> Iterator[Omitted]:
    try:
        mode = os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode
    except PermissionError:
        yield Omitted(path, Omission.UNREADABLE)
    except OSError:
        yield Omitted(path, Omission.ABSENT)
    else:
        if stat.S_ISLNK(mode):
            yield Omitted(path, Omission.LINK, _target(root, path))
        elif stat.S_ISDIR(mode):
            yield from _of_folder(root, path)


def _of_folder(root: SafeRoot, path: RelPath) -> Iterator[Omitted]:
    """A folder that git names as one: a repository, or where a submodule would be."""
    try:
        names = _names_in(root, path)
    except OSError:
        yield Omitted(path, Omission.UNREADABLE)
        return
    if ".git" in names:
        is_file = os.path.isfile(f"{root.root}/{path}/.git")
        yield Omitted(path, Omission.SUBMODULE if is_file else Omission.REPOSITORY)
    elif not names:
        yield Omitted(path, Omission.NOT_CHECKED_OUT)


def _target(root: SafeRoot, path: RelPath) -> RelPath | None:
    """What a link leads to, where that may be told."""
    real = os.path.realpath(f"{root.root}/{path}")
    if not real.startswith(f"{root.root}/") or not os.path.exists(real):
        return None
    return citable(root, real[len(root.root) + 1 :])


def _repositories(root: SafeRoot) -> Iterator[Omitted]:
    """Repositories in folders that rules may ignore, and folders that cannot be read."""
    ends_at, waiting, seen = time.monotonic() + _LONGEST_LOOK_S, deque[RelPath | None]([None]), 0
    while waiting and seen < _MOST_FOLDERS and time.monotonic() < ends_at:
        folder, seen = waiting.popleft(), seen + 1
        try:
            names = _names_in(root, folder)
        except PermissionError:
            if folder is not None:
                yield Omitted(folder, Omission.UNREADABLE)
            continue
        except OSError:
            continue
        if folder is not None and ".git" in names:
            yield Omitted(folder, Omission.REPOSITORY)
            continue
        for name, is_folder in names.items():
            if is_folder and name.casefold() not in TOOL_FOLDERS:
                below = citable(root, f"{folder}/{name}" if folder else name)
                waiting.extend([below] if below else [])


def _names_in(root: SafeRoot, folder: RelPath | None) -> dict[str, bool]:
    """The names in a folder, and which of them are folders themselves."""
    descriptor = root.open_folder(folder)
    try:
        with os.scandir(descriptor) as entries:
            return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    finally:
        os.close(descriptor)
