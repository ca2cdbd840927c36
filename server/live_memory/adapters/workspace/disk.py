"""A workspace on disk, behind the `Sandbox` port."""

import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from itertools import pairwise
from typing import TypeVar, TypeVarTuple

from anyio import CancelScope, CapacityLimiter, create_task_group, to_thread

from live_memory.adapters.workspace.git_history import Git, bounded
from live_memory.adapters.workspace.git_ignore import UserExcludes, omitted
from live_memory.adapters.workspace.git_repository import (
    GitDataRefused,
    Names,
    git_folders,
    is_marked,
    is_repository_data,
)
from live_memory.adapters.workspace.git_state import GitState
from live_memory.adapters.workspace.listing import MOST_ENTRIES, Lister
from live_memory.adapters.workspace.patterns import compile_expression
from live_memory.adapters.workspace.ripgrep import Programs, Runner, Searcher, searchable
from live_memory.adapters.workspace.safe_open import OpenedFile, Opening, SafeRoot
from live_memory.core.errors import (
    InvalidRequest,
    LiveMemoryError,
    OutsideWorkspace,
    refuse_exhausted,
)
from live_memory.core.evidence.text_matches import Mentions
from live_memory.core.hosts.events import inside
from live_memory.core.reading.lookup import (
    History,
    HistoryQuery,
    Listing,
    Matches,
    NamePattern,
    Omission,
    Omitted,
    TextPattern,
)
from live_memory.core.reading.observation import (
    CREDENTIAL_FOLDERS,
    FileRead,
    ListedFile,
    Skipped,
    SkipReason,
    visible,
)
from live_memory.core.reading.redaction import (
    DEFAULT,
    HiddenFiles,
    Redactor,
    compile_glob,
    is_version_control,
)
from live_memory.core.values import RelPath, WorkspaceKey
from live_memory.ports import Sandbox, WorkspaceIdentity

__all__ = [
    "MOST_MATCHES",
    "MOST_NAMES",
    "DiskSandbox",
    "DiskWorkspaces",
    "RootMode",
    "is_submodule",
]

MOST_MATCHES, MOST_NAMES = 1_000, 5_000
T = TypeVar("T")
Given = TypeVarTuple("Given")
# Reads of one workspace at a time; more threads only wait for the same disk.
_THREADS = 4
# Names a thread reads before it looks whether anyone still waits.
_NAMES_AT_ONCE = 32


class DiskSandbox:
    """Reads one workspace; everything that waits for the disk runs in a thread."""

    def __init__(
        self,
        root: str,
        *,
        runner: Runner,
        programs: Programs,
        opening: Opening,
        hiding: HiddenFiles | None = None,
        excludes: UserExcludes | None = None,
        redactor: Redactor = DEFAULT,
    ) -> None:
        """Open the real path `root`.

        Raises:
            InvalidRequest: it is not a folder that can be read.
        """
        self._root = SafeRoot(root, opening, hiding=hiding)
        excludes = excludes or UserExcludes()
        self._lister = Lister(self._root, excludes)
        self._threads = CapacityLimiter(_THREADS)
        programs = _trusted(programs, root)
        self._git = Git(self._root, runner, programs.git, excludes, redactor)
        self._standing = GitState(self._git, root)
        # No part refers back to the whole, which is free then as soon as nobody has it.
        self._read = partial(_read, self._root, self._threads)
        self._searcher = Searcher(root, runner, programs, read=self._read, redactor=redactor)

    async def is_same_root(self) -> bool:
        """Whether the root is still the folder that was opened."""
        return await to_thread.run_sync(self._root.is_same, limiter=self._threads)

    async def list(self) -> Listing:
        """Regular files that git's ignore rules keep, with their signatures; no links followed."""
        same = await self._in_thread(self._as_before)
        if same is not None:
            return same
        names: Names | GitDataRefused | None = None
        unlooked: LiveMemoryError | None = None
        asked_ns = time.time_ns()

        async def ask_git() -> None:
            nonlocal names, unlooked
            try:
                names = await self._git.names()
            except GitDataRefused as why:
                names = why
            except LiveMemoryError as exhausted:
                unlooked = exhausted

        # Git nearly always says what it said the last time, so both are looked at meanwhile.
        plan, listing = self._lister.plan, Listing(())
        async with create_task_group() as tasks:
            tasks.start_soon(ask_git)
            try:
                listing = await self._in_thread(self._lister.look, plan)
            except LiveMemoryError as exhausted:
                unlooked = exhausted
        if unlooked is not None:
            raise unlooked
        match names:
            case Names(plan.said, plan.problem):
                await self._in_thread(self._standing.found_same, plan.said, asked_ns)
                return listing
            case Names(said, problem):
                return await self._in_thread(self._lister.by_names, said, problem)
        return await self._in_thread(self._lister.by_walk, str(names))

    def _as_before(self) -> Listing | None:
        """Look at the names from before, where git would say them again."""
        plan = self._lister.plan
        return self._lister.look(plan) if self._standing.is_of(plan.said, plan.problem) else None

    async def omitted(self, listing: Listing) -> Sequence[Omitted]:
        """What the last listing leaves out that no rule ignores, and repositories below."""
        return await self._in_thread(self._omitted, listing)

    async def read(self, names: Sequence[str], *, max_bytes: int) -> Sequence[FileRead | Skipped]:
        """Open, hash and read the head of each name; one outcome a name, in the same order."""
        return await self._read(names, max_bytes)

    async def locate(self, paths: Sequence[str]) -> Sequence[RelPath | None]:
        """The name of each absolute path below the root; nothing for what lies elsewhere."""
        return await to_thread.run_sync(
            lambda: [self._root.locate(path) for path in paths], limiter=self._threads
        )

    async def search(self, pattern: TextPattern) -> Matches:
        """Find lines, within what `list` gives."""
        expression = compile_expression(pattern.regex, ignore_case=pattern.ignore_case)
        limit = bounded(pattern.limit, MOST_MATCHES)
        if pattern.among is not None:
            return await self._searcher.search(pattern.among, expression, limit=limit)
        is_named = compile_glob(pattern.glob) if pattern.glob is not None else None
        place = await to_thread.run_sync(self._place, pattern.under, limiter=self._threads)
        if isinstance(place, OpenedFile):
            names = searchable([ListedFile(place.path, place.signature)])
        else:
            names = searchable((await self.list()).files, below=place, is_named=is_named)
        return await self._searcher.search(names, expression, limit=limit)

    async def mentions(self, texts: Sequence[str], *, among: Sequence[ListedFile]) -> Mentions:
        """How often each of these files holds each of these texts."""
        return await self._searcher.mentions(texts, [file.path for file in among])

    async def find(self, pattern: NamePattern) -> Sequence[RelPath]:
        """Find names of regular files, in path order."""
        is_named = compile_glob(pattern.glob)
        listing = await self.list()
        found = [listed.path for listed in listing.files if is_named(listed.path)]
        return found[: bounded(pattern.limit, MOST_NAMES)]

    async def history(self, query: HistoryQuery) -> History:
        """Read git's history without the repository's own configuration."""
        found = await self._git.history(query)
        commits = tuple(
            replace(each, files=tuple(filter(self._is_told, each.files))) for each in found.commits
        )
        changed = tuple(row for row in found.changed if self._is_told(row[1]))
        return replace(found, commits=commits, changed=changed)

    async def aclose(self) -> None:
        """Let go of descriptors and private folders."""
        with CancelScope(shield=True):
            await self._git.aclose()
            self._root.close()

    async def _in_thread(self, work: Callable[[*Given], T], *given: *Given) -> T:
        return await to_thread.run_sync(work, *given, limiter=self._threads)

    def _omitted(self, listing: Listing) -> Sequence[Omitted]:
        listed = [file.path for file in listing.files]
        found = omitted(self._root, self._lister.unlisted(), listed=listed)
        if listing.problem is None:
            return found
        # An index that may be another work tree's tells nothing of what is not here.
        return [each for each in found if each.why is not Omission.ABSENT]

    def _is_told(self, name: str) -> bool:
        try:
            return not self._root.hides(RelPath(name))
        except OutsideWorkspace:
            return False

    def _place(self, under: str) -> OpenedFile | RelPath | None:
        """What `under` names: a file, a folder by its real name, or (nothing) the root."""
        if under in (".", "./"):
            return None
        opened = self._root.open_file(under)
        if isinstance(opened, OpenedFile):
            os.close(opened.descriptor)
            return opened
        if opened.reason is SkipReason.NOT_REGULAR:
            try:
                return self._root.real_folder(RelPath.parse(under))
            except OSError as problem:
                raise InvalidRequest("'under' is neither a regular file nor a folder") from problem
        if opened.reason is SkipReason.UNREADABLE:
            raise InvalidRequest("'under' cannot be read")
        raise OutsideWorkspace("not a path in this workspace")


async def _read(
    root: SafeRoot, threads: CapacityLimiter, names: Sequence[str], max_bytes: int
) -> Sequence[FileRead | Skipped]:
    """Read files, a few in a row at a time."""

    def read(some: Sequence[str]) -> Sequence[FileRead | Skipped]:
        return [root.read(name, max_bytes=max_bytes) for name in some]

    outcomes: list[FileRead | Skipped] = []
    for start in range(0, len(names), _NAMES_AT_ONCE):
        some = names[start : start + _NAMES_AT_ONCE]
        outcomes += await to_thread.run_sync(read, some, limiter=threads)
    return outcomes


def _trusted(programs: Programs, root: str) -> Programs:
    """Leave out programs that the workspace could replace; our own installation is trusted."""
    return replace(programs, git=_outside(programs.git, root), rg=_outside(programs.rg, root))


def _outside(program: str | None, root: str) -> str | None:
    if program is None or os.path.dirname(program) == os.path.dirname(sys.executable):
        return program
    return None if os.path.realpath(program).startswith(root + "/") else program


_MOST_MODULES = 100
_LARGEST_LIST = 256 * 1024


def is_submodule(folder: str, *, of: str) -> bool:
    """Whether the git data of a work tree lie among the modules of the one around it.

    A linked worktree's lie in `worktrees`, another repository's in its own `.git`.
    """
    try:
        own, modules = git_folders(folder)[0], os.path.join(git_folders(of)[0], "modules")
    except GitDataRefused:
        return False
    return own.startswith(modules + "/")


class SandboxWithSubmodules(DiskSandbox):
    """Lists the files of submodules too, each by its own ignore rules; history is the outer's."""

    def __init__(
        self,
        root: str,
        *,
        runner: Runner,
        programs: Programs,
        opening: Opening,
        hiding: HiddenFiles | None = None,
        excludes: UserExcludes | None = None,
        redactor: Redactor = DEFAULT,
    ) -> None:
        """Open the real path `root`, as a `DiskSandbox` does."""
        super().__init__(
            root,
            runner=runner,
            programs=programs,
            opening=opening,
            hiding=hiding,
            excludes=excludes,
            redactor=redactor,
        )
        self._runner, self._programs, self._opening = runner, programs, opening
        self._excludes, self._redactor = excludes, redactor
        self._modules: dict[str, SandboxWithSubmodules] = {}

    async def list(self) -> Listing:
        """Regular files that git's ignore rules keep, with their signatures; no links followed."""
        listing = await super().list()
        files, is_cut = [*listing.files], listing.is_cut
        for name in await to_thread.run_sync(lambda: [*self._names_of_modules()]):
            module = await self._opened(name)
            if module is not None:
                below = await module.list()
                files += self._below(name, below)
                is_cut = is_cut or below.is_cut
        files.sort(key=lambda file: file.path.text)
        is_cut = is_cut or len(files) > MOST_ENTRIES
        return replace(listing, files=tuple(files[:MOST_ENTRIES]), is_cut=is_cut)

    async def aclose(self) -> None:
        """Let go of descriptors and private folders."""
        for module in self._modules.values():
            await module.aclose()
        await super().aclose()

    def _below(self, name: str, listing: Listing) -> Iterator[ListedFile]:
        for file in listing.files:
            try:
                path = RelPath(f"{name}/{file.path.text}")
            except OutsideWorkspace:
                continue  # too long by now
            if not self._root.hides(path):
                yield ListedFile(path, file.signature)

    async def _opened(self, name: str) -> "SandboxWithSubmodules | None":
        module = self._modules.get(name)
        if module is not None and not await module.is_same_root():
            await self._modules.pop(name).aclose()
            module = None
        if module is None:
            try:
                module = await to_thread.run_sync(self._open, name)
            except InvalidRequest:
                return None
            self._modules[name] = module
        return module

    def _open(self, name: str) -> "SandboxWithSubmodules":
        return SandboxWithSubmodules(
            f"{self._root.root}/{name}",
            runner=self._runner,
            programs=self._programs,
            opening=self._opening,
            excludes=self._excludes,
            redactor=self._redactor,
        )

    def _names_of_modules(self) -> Iterator[str]:
        """The folders that `.gitmodules` names and that are modules of this very repository."""
        read = self._root.read(".gitmodules", max_bytes=_LARGEST_LIST)
        if not isinstance(read, FileRead):
            return
        found = 0
        for line in read.data.decode("utf-8", "replace").splitlines():
            key, equals, value = line.partition("=")
            if key.strip() != "path" or not equals or found >= _MOST_MODULES:
                continue
            name = value.strip().strip('"')
            folder = f"{self._root.root}/{name}"
            if self._is_real(name) and is_submodule(folder, of=self._root.root):
                found += 1
                yield name

    def _is_real(self, name: str) -> bool:
        """Whether a folder has this name without any link on the way."""
        try:
            path = RelPath(name)
            return self._root.real_folder(path) == path
        except (OSError, OutsideWorkspace):
            return False


_LONGEST = 4096


def _words(text: str) -> Sequence[str]:
    return text.split()


# Nothing in these is anybody's code base, and some change with who looks (`/proc/self`).
_SYSTEM = tuple(
    _words(
        """
        /proc /sys /dev /etc /boot /bin /sbin /lib /lib32 /lib64 /libx32 /snap /lost+found /run /efi
        /usr/bin /usr/sbin /usr/lib /usr/lib32 /usr/lib64 /usr/libexec /usr/share /usr/include
        /usr/games /usr/local/bin /usr/local/sbin /usr/local/lib /usr/local/etc /usr/local/share
        /var/log /var/cache /var/spool /var/mail /var/backups /var/crash /var/db /var/run /var/lock
        /var/root /var/lib/docker /var/lib/dpkg /var/lib/apt /var/lib/kubelet /var/lib/mysql
        /var/lib/postgresql /nix/store /System /Library /private/etc /private/dev /private/var/log
        /private/var/db /private/var/root /private/var/run /opt/homebrew/Cellar /opt/homebrew/etc
        """
    )
)
# Folders that hold everybody's; a folder below one may be a workspace.
_SHARED = frozenset(
    _words(
        """
        / /home /Users /root /usr /usr/local /usr/src /usr/local/src /var /var/lib /var/www /opt
        /opt/homebrew /srv /mnt /media /tmp /var/tmp /private /private/tmp /private/var /Volumes
        /Applications /nix
        """
    )
)
_LIBRARY = re.compile(r"/Users/[^/]+/Library(?:/|\Z)")  # what programs keep, on macOS
_HOMES = re.compile(r"/(?:home|Users|export/home|var/home)/[^/]+|/root")
# Folders of credentials, wherever a copy of them lies, also in a repository of their own.
_CREDENTIALS = CREDENTIAL_FOLDERS | frozenset(
    _words(
        """
        .docker .pki .mozilla .thunderbird .bitcoin .ethereum .electrum .netrc.d .cert .1password
        .bitwarden .vault .dropbox .filezilla .irssi .weechat .purple keyrings
        """
    )
)
_CONFIGURED = frozenset(
    _words(
        """
        gh glab-cli gcloud rclone doctl hub op heroku fly stripe configstore google-chrome chromium
        bitwarden keepassxc keepass sops age filezilla remmina containers helm netlify
        ngrok pulumi snowflake wrangler .wrangler flyctl
        """
    )
)
# In a home, programs keep their own in these; a repository below one is somebody's project, the
# folder itself and these in it are not.
_PROGRAMS_OWN = frozenset(
    _words(".config .local .local/share .local/state .local/bin .cache .var .snap")
)


class RootMode(StrEnum):
    """Which folder stands for what lies below it."""

    NEAREST = "nearest"  # the nearest work tree, also where that is a submodule
    OUTERMOST = "outermost"  # the work tree that holds the submodules
    NONE = "none"  # the folder itself


class DiskWorkspaces:
    """Finds and opens workspaces on this machine's disk."""

    def __init__(
        self,
        *,
        home: str,
        runner: Runner,
        programs: Programs,
        opening: Opening | None = None,
        data_dir: str | None = None,
        ignore: Sequence[str] = (),
        root_mode: RootMode = RootMode.NEAREST,
        excludes: UserExcludes | None = None,
        redactor: Redactor = DEFAULT,
    ) -> None:
        """Take the user's home folder, which never becomes a workspace, and what none may show.

        Neither do system trees, folders of credentials, and what programs keep in a home; of that
        last, a repository (`~/.dotfiles`, `~/.config/nvim`) may.

        Raises:
            InvalidRequest: a glob of `ignore` is malformed.
        """
        self._data_dir = None if data_dir is None else os.path.realpath(data_dir)
        self._ignore = tuple(ignore)
        HiddenFiles(self._ignore)
        self._home = os.path.realpath(home)
        self._root_mode = root_mode
        make = SandboxWithSubmodules if root_mode is RootMode.OUTERMOST else DiskSandbox
        self._open: Callable[..., Sandbox] = partial(
            make,
            runner=runner,
            programs=programs,
            opening=opening or Opening.best(),
            excludes=excludes,
            redactor=redactor,
        )

    async def resolve(self, cwd: str) -> WorkspaceIdentity:
        """The work tree around `cwd`, else the folder itself, by real path."""
        root = await to_thread.run_sync(self._root_of, cwd)
        return WorkspaceIdentity(root, WorkspaceKey.of_root(root))

    async def open(self, workspace: WorkspaceIdentity) -> Sandbox:
        """Open the root for reading.

        Raises:
            InvalidRequest: the root is gone.
        """
        hiding = HiddenFiles(self._ignore, private=self._own_folders(workspace.root))
        return await to_thread.run_sync(partial(self._open, workspace.root, hiding=hiding))

    def _own_folders(self, root: str) -> Sequence[RelPath]:
        """Our data folder, where it lies in a workspace."""
        name = None if self._data_dir is None else inside(root, self._data_dir)
        return () if name is None else (RelPath(name),)

    def _root_of(self, cwd: str) -> str:
        folder = self._real_folder(cwd)
        if self._is_unfit(folder):
            raise InvalidRequest(
                "'cwd' is a system, home or shared folder: send a project's folder"
            )
        if _is_of_credentials(folder):
            raise InvalidRequest("'cwd' is a folder of credentials: it is never read")
        if self._data_dir is not None and f"{folder}/".startswith(f"{self._data_dir}/"):
            raise InvalidRequest("'cwd' is the server's own data folder: send a project's folder")
        if is_version_control(folder.casefold()):
            raise InvalidRequest("'cwd' lies inside '.git' or its like: send the project's folder")
        trees = self._trees_around(folder)
        root = next(trees, None)
        if root is None and self._is_programs_own(folder):
            raise InvalidRequest(
                "'cwd' is a hidden folder of a home and no repository: send a project's folder"
            )
        if root is None or self._root_mode is RootMode.NONE:
            return folder
        if self._root_mode is RootMode.OUTERMOST:
            for around in trees:
                if not is_submodule(root, of=around):
                    break
                root = around
        return root

    def _trees_around(self, folder: str) -> Iterator[str]:
        """The work trees that a folder lies in, the nearest first.

        Raises:
            InvalidRequest: there is none before a repository without a work tree.
        """
        is_in_one = False
        while not self._is_unfit(folder):
            if is_marked(folder):
                is_in_one = True
                yield folder
            elif not is_in_one and is_repository_data(folder):
                raise InvalidRequest("'cwd' lies in a repository without files: send a work tree")
            folder = os.path.dirname(folder)

    def _real_folder(self, cwd: str) -> str:
        if not cwd.startswith("/") or "\0" in cwd or len(cwd) > _LONGEST:
            raise InvalidRequest("'cwd' must be an absolute path: send the project's folder")
        # `/proc/self/cwd` would be a folder of the server's, so it is refused unfollowed.
        if _is_system(os.path.normpath("/" + cwd.lstrip("/"))):
            raise InvalidRequest("'cwd' is a system folder: send a project's folder")
        try:
            folder = os.path.realpath(cwd, strict=True)
            is_folder = stat.S_ISDIR(os.stat(folder).st_mode)
            folder.encode()
        except (OSError, ValueError) as problem:
            refuse_exhausted(problem)
            raise InvalidRequest(_no_folder(cwd)) from problem
        if not is_folder:
            raise InvalidRequest(_no_folder(cwd))
        return folder

    def _is_unfit(self, folder: str) -> bool:
        is_home = folder == self._home or _HOMES.fullmatch(folder) is not None
        below = self._below_home(folder)
        return folder in _SHARED or is_home or below in _PROGRAMS_OWN or _is_system(folder)

    def _is_programs_own(self, folder: str) -> bool:
        below = self._below_home(folder)
        return below is not None and below.startswith(".")

    def _below_home(self, folder: str) -> str | None:
        """The name of a folder below the home of whoever it is; nothing elsewhere."""
        found = _HOMES.match(folder)
        for home in (self._home, found[0] if found else self._home):
            if folder.startswith(home + "/"):
                return folder[len(home) + 1 :]
        return None


def _no_folder(cwd: str) -> str:
    return f"'cwd' is not an existing folder: '{visible(cwd[:200])}'"


def _is_system(folder: str) -> bool:
    is_one = any(folder == each or folder.startswith(each + "/") for each in _SYSTEM)
    return is_one or _LIBRARY.match(folder) is not None


def _is_of_credentials(folder: str) -> bool:
    parts = folder.casefold().split("/")  # as systems that do not tell upper from lower case
    if not _CREDENTIALS.isdisjoint(parts):
        return True
    return any(holder == ".config" and name in _CONFIGURED for holder, name in pairwise(parts))
