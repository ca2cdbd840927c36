"""Questions about a repository's past and about what differs from it, by plumbing commands only.

Whatever a caller names is data: a revision is resolved to an id first, a path is a literal
pathspec after `--`, a text is glued to its own option.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

from anyio import to_thread

from live_memory.adapters.sandbox.git.commits import LOG, commits_in, marked, pathspec
from live_memory.adapters.sandbox.git.differences import Difference, real_differences
from live_memory.adapters.sandbox.git.excludes import UserExcludes
from live_memory.adapters.sandbox.git.finding import Refused, shallow_ends
from live_memory.adapters.sandbox.git.judging import (
    DIFF,
    LONGEST_TEXT,
    changes_by_commit,
    searched_text,
    told,
)
from live_memory.adapters.sandbox.git.names import Names, names_in
from live_memory.adapters.sandbox.git.objects import ObjectStore
from live_memory.adapters.sandbox.opener import SafeRoot
from live_memory.adapters.sandbox.repository import GitData, PrivateGitDir, locate
from live_memory.adapters.sandbox.runner import Command, Ran, Runner
from live_memory.core.errors import Exhausted, InvalidRequest, refuse_exhausted
from live_memory.core.reading.lookup import (
    ChangedFiles,
    Commit,
    CommitSearch,
    FirstCommit,
    History,
    HistoryQuery,
    LogQuery,
)
from live_memory.core.reading.redaction import DEFAULT, Redactor

__all__ = ["Git", "bounded"]

_MOST_COMMITS, _MOST_CHANGED = 200, 5_000
# A pickaxe over a long history takes minutes; what was found by then is shown, marked as cut.
_QUERY_S, _PICKAXE_S = 8.0, 6.0
# 200,000 names of 160 bytes.
_NAMES_BYTES = 32 * 1024 * 1024
_ID = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})\n?")


@dataclass(frozen=True, slots=True)
class _Repository:
    data: GitData
    env: Mapping[str, str]


class Git:
    """Reads one work tree's git data."""

    def __init__(
        self,
        root: SafeRoot,
        runner: Runner,
        program: str | None,
        excludes: UserExcludes,
        redactor: Redactor = DEFAULT,
    ) -> None:
        self._root, self._runner, self._program = root, runner, program
        self._excludes, self._redactor = excludes, redactor
        self._private, self._objects = PrivateGitDir(root.root), ObjectStore(root.root)
        # One at a time brings the private git dir up to date.
        self._setup = Lock()

    async def names(self) -> Names:
        """Tracked names and untracked ones that no rule ignores.

        Raises:
            Refused: git cannot say.
            Exhausted: it cannot be asked now.
        """
        repository = await self._repository()
        options = ("-c", "-o", "--exclude-standard", "-z", "--deduplicate")
        ran = await self._git(repository, "ls-files", *options, max_output=_NAMES_BYTES)
        if ran.is_exhausted:
            raise Exhausted("git could not be started: this machine has no room for a process")
        if not ran.is_fine and not ran.is_cut:
            raise Refused("git cannot list: its index is damaged, or of a form it does not know")
        return Names(ran.out, repository.data.problem)

    def told(self) -> tuple[str | None, Sequence[str]]:
        """What is wrong with the git data, and the files that tell git what to list; this blocks.

        They are brought up to date.

        Raises:
            Refused: git cannot say.
        """
        with self._setup:
            data = locate(self._root.root)
            env = self._environment(data)
        private = (f"{env['GIT_DIR']}/{name}" for name in ("info/exclude", "git/ignore", "config"))
        return data.problem, (env["GIT_INDEX_FILE"], *private)

    async def ignored(self, folders: Sequence[str]) -> frozenset[str]:
        """Those of some folders, each ended by a slash, that a rule is about.

        Raises:
            Refused: git cannot say.
        """
        # It takes no literal pathspecs, and a dot in front makes a name one.
        stdin = b"".join(b"./" + os.fsencode(name) + b"\0" for name in folders)
        arguments = ("--no-literal-pathspecs", "check-ignore", "-z", "--stdin")
        ran = await self._git(await self._repository(), *arguments, stdin=stdin)
        return frozenset(name.removeprefix("./") for name in names_in(ran.out))

    async def history(self, query: HistoryQuery) -> History:
        """Answer one question; `problem` says why there is no history.

        Raises:
            InvalidRequest: a revision is unknown, or a text cannot be searched for.
            OutsideWorkspace: a path does not lead into the workspace.
        """
        paths = pathspec(query.path if isinstance(query, LogQuery | CommitSearch) else None)
        text = searched_text(query.text) if isinstance(query, CommitSearch) else ""
        try:
            repository = await self._repository()
            repository.data.must_have_objects()
            match query:
                case LogQuery():
                    found = await self._log(repository, paths, query.limit)
                    return await to_thread.run_sync(marked, found, repository.data.common)
                case CommitSearch():
                    found = await self._searched(repository, text, paths, query.limit)
                    return await to_thread.run_sync(marked, found, repository.data.common)
                case ChangedFiles():
                    return await self._changed(repository, query)
                case FirstCommit():
                    return await self._first(repository, query.known)
        except Refused as problem:
            return History(problem=str(problem))

    async def aclose(self) -> None:
        """Remove the private git dir."""
        await to_thread.run_sync(self._private.close)

    async def _repository(self) -> _Repository:
        return await to_thread.run_sync(self._prepare)

    def _prepare(self) -> _Repository:
        with self._setup:
            data = locate(self._root.root)
            problem = data.problem or self._objects.problem(data.common)
            data = replace(data, objects_problem=problem)
            return _Repository(data, self._environment(data))

    def _environment(self, data: GitData) -> Mapping[str, str]:
        if self._program is None:
            raise Refused("git is not installed")
        excludes = self._excludes.text(self._root.root, own=data.own, common=data.common)
        try:
            return self._private.environment(data, excludes)
        except OSError as problem:
            refuse_exhausted(problem)
            raise Refused("no private folder can be made for git") from problem

    async def _log(self, repository: _Repository, paths: Sequence[str], limit: int) -> History:
        head = await self._resolved(repository, "HEAD")
        if head is None:
            return History()
        limit = bounded(limit, _MOST_COMMITS)
        commits, is_cut = await self._commits(repository, (f"-n{limit + 1}", head, *paths))
        shown = await self._with_files(repository, commits[:limit])
        return History(shown, is_cut=is_cut or len(commits) > limit)

    async def _first(self, repository: _Repository, known: str | None) -> History:
        where = ["-n1", known] if known and await self._resolved(repository, known) else []
        common = repository.data.common
        if not where and await to_thread.run_sync(shallow_ends, common) is None:
            head = await self._resolved(repository, "HEAD")
            where = ["-n1", "--first-parent", "--max-parents=0", head] if head else []
        commits, _ = await self._commits(repository, (*where, "--")) if where else ([], False)
        return History(tuple(commits))

    async def _searched(
        self, repository: _Repository, text: str, paths: Sequence[str], limit: int
    ) -> History:
        head = await self._resolved(repository, "HEAD")
        if head is None:
            return History()
        limit = bounded(limit, _MOST_COMMITS)
        judged = partial(
            told, text=text, paths=paths, redactor=self._redactor, hides=self._root.hides
        )
        shown: list[Commit] = []
        is_cut = False
        # Most searches find nothing that may not be told; where one did, all hits are judged.
        for most in (limit + 1, _MOST_COMMITS + 1):
            by_message = (f"-n{most}", "--fixed-strings", f"--grep={text}", head, *paths)
            by_lines = (f"-n{most}", *DIFF, f"-S{text}", head, *paths)
            found, is_message_cut = await self._commits(repository, by_message)
            more, is_line_cut = await self._commits(repository, by_lines, timeout_s=_PICKAXE_S)
            unique = {commit.id: commit for commit in (*found, *more)}
            may_be_told = await judged(partial(self._git, repository), [*unique])
            commits = sorted((unique[id_] for id_ in may_be_told), key=lambda commit: -commit.at)
            shown, is_cut = commits[:limit], len(commits) > limit or is_message_cut or is_line_cut
            if is_cut or max(len(found), len(more)) < most:
                break
        return History(await self._with_files(repository, shown), is_cut=is_cut)

    async def _changed(self, repository: _Repository, query: ChangedFiles) -> History:
        base = await self._resolved(repository, query.since)
        changed: dict[str, str] = {}
        if base is None and query.since != "HEAD":
            raise InvalidRequest("'since' is not a revision of this repository")
        if base is None:
            tracked = await self._must(repository, "ls-files", "-c", "-z", "--deduplicate")
            changed |= dict.fromkeys(names_in(tracked.out), "A")
        else:
            # Never `git diff`: it refreshes the index, so it locks and writes it.
            diff = ("diff-index", "--raw", "-z", *DIFF, base, "--")
            fields = names_in((await self._must(repository, *diff)).out)
            pairs = zip(fields[::2], fields[1::2], strict=False)
            differences = [Difference.parse(raw, name) for raw, name in pairs]
            real = await to_thread.run_sync(real_differences, self._root, differences)
            changed |= {row.name: row.status for row in real}
        untracked = await self._must(repository, "ls-files", "-o", "--exclude-standard", "-z")
        for name in names_in(untracked.out):
            # In the revision and on disk, only the index does not know it.
            changed[name] = "M" if name in changed else "?"
        rows = sorted((name, status) for name, status in changed.items() if not name.endswith("/"))
        limit = bounded(query.limit, _MOST_CHANGED)
        shown = tuple((status, name) for name, status in rows[:limit])
        return History(changed=shown, is_cut=len(rows) > limit)

    async def _commits(
        self, repository: _Repository, arguments: Sequence[str], *, timeout_s: float = _QUERY_S
    ) -> tuple[list[Commit], bool]:
        """Commits, newest first, and whether git was ended before it was through."""
        ran = await self._git(repository, "log", *LOG, *arguments, timeout_s=timeout_s)
        if not ran.is_fine and not ran.is_late and not ran.is_cut:
            raise Refused("git could not read the history: objects may be missing or damaged")
        return commits_in(ran.out), ran.is_late or ran.is_cut

    async def _with_files(
        self, repository: _Repository, commits: Sequence[Commit]
    ) -> tuple[Commit, ...]:
        """Add the names each commit touched; none for a merge."""
        if not commits:
            return ()
        ids = "".join(f"{commit.id}\n" for commit in commits).encode()
        options = ("--stdin", "--root", "-r", "-z", "--raw", *DIFF)
        ran = await self._git(repository, "diff-tree", *options, stdin=ids)
        files = {id_: [c.name for c in each] for id_, each in changes_by_commit(ran.out).items()}
        return tuple(replace(each, files=tuple(files.get(each.id, ()))) for each in commits)

    async def _resolved(self, repository: _Repository, revision: str) -> str | None:
        """The commit that a revision means, as an id; nothing when there is none."""
        if not revision or "\0" in revision or len(revision) > LONGEST_TEXT:
            return None
        arguments = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        ran = await self._git(repository, "rev-parse", *arguments)
        return ran.out.decode().strip() if ran.is_fine and _ID.fullmatch(ran.out) else None

    async def _must(self, repository: _Repository, *arguments: str) -> Ran:
        ran = await self._git(repository, *arguments, max_output=_NAMES_BYTES)
        if not ran.is_fine:
            raise Refused("git could not compare: its data may be missing or damaged")
        return ran

    async def _git(
        self,
        repository: _Repository,
        *arguments: str,
        stdin: bytes | None = None,
        timeout_s: float = _QUERY_S,
        max_output: int = 4 * 1024 * 1024,
    ) -> Ran:
        assert self._program is not None
        return await self._runner.run(
            Command(
                (self._program, "--no-pager", *arguments),
                cwd=self._root.root,
                env=repository.env,
                stdin=stdin,
                timeout_s=timeout_s,
                max_output=max_output,
            )
        )


def bounded(limit: int, most: int) -> int:
    """A limit that a caller asked for, within what we give."""
    return max(1, min(limit, most))
