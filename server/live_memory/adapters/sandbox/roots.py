"""Which folder a workspace is: the nearest work tree, by real path, or the folder itself."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise

from anyio import to_thread

from live_memory.adapters.sandbox.disk import DiskSandbox
from live_memory.adapters.sandbox.git.excludes import UserExcludes
from live_memory.adapters.sandbox.git.folders import is_marked, is_repository_data
from live_memory.adapters.sandbox.opener import Opening
from live_memory.adapters.sandbox.runner import Programs, Runner
from live_memory.adapters.sandbox.submodules import SandboxWithSubmodules, is_submodule
from live_memory.core.errors import InvalidRequest, refuse_exhausted
from live_memory.core.hosts.paths import inside
from live_memory.core.reading.hiding import Hiding, is_version_control
from live_memory.core.reading.names import CREDENTIAL_FOLDERS
from live_memory.core.reading.redaction import DEFAULT, Redactor
from live_memory.core.values import RelPath, WorkspaceKey
from live_memory.ports import Sandbox, WorkspaceIdentity

__all__ = ["DiskWorkspaces", "RootMode"]

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
        Hiding(self._ignore)
        self._home = os.path.realpath(home)
        self._root_mode, self._excludes = root_mode, excludes
        self._runner, self._programs, self._redactor = runner, programs, redactor
        self._opening = opening or Opening.best()

    async def resolve(self, cwd: str) -> WorkspaceIdentity:
        """The work tree around `cwd`, else the folder itself, by real path.

        Raises:
            InvalidRequest: not absolute, no folder, or not fit to be a workspace.
        """
        root = await to_thread.run_sync(self._root_of, cwd)
        return WorkspaceIdentity(root, WorkspaceKey.of_root(root))

    async def open(self, workspace: WorkspaceIdentity) -> Sandbox:
        """Open the root for reading.

        Raises:
            InvalidRequest: the root is gone.
        """
        hiding = Hiding(self._ignore, private=self._own_folders(workspace.root))
        is_whole = self._root_mode is RootMode.OUTERMOST
        make = SandboxWithSubmodules if is_whole else DiskSandbox
        return await to_thread.run_sync(
            lambda: make(
                workspace.root,
                runner=self._runner,
                programs=self._programs,
                opening=self._opening,
                hiding=hiding,
                excludes=self._excludes,
                redactor=self._redactor,
            )
        )

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
            raise InvalidRequest("'cwd' is not an existing folder") from problem
        if not is_folder:
            raise InvalidRequest("'cwd' is not an existing folder")
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


def _is_system(folder: str) -> bool:
    is_one = any(folder == each or folder.startswith(each + "/") for each in _SYSTEM)
    return is_one or _LIBRARY.match(folder) is not None


def _is_of_credentials(folder: str) -> bool:
    parts = folder.casefold().split("/")  # as systems that do not tell upper from lower case
    if not _CREDENTIALS.isdisjoint(parts):
        return True
    return any(holder == ".config" and name in _CONFIGURED for holder, name in pairwise(parts))
