"""Which folder a workspace is: the nearest work tree, by real path, or the folder itself."""

import os
import stat
from collections.abc import Iterator, Sequence
from enum import StrEnum

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
from live_memory.core.values import RelPath, WorkspaceKey
from live_memory.ports import Sandbox, WorkspaceIdentity

__all__ = ["DiskWorkspaces", "RootMode"]

_LONGEST = 4096
# Nothing in these is anybody's code base, and some change with who looks (`/proc/self`).
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/boot", "/bin", "/sbin", "/lib", "/lib64")
_SYSTEM_ELSEWHERE = ("/System", "/Library", "/private/etc", "/private/dev")
# Folders that hold everybody's; a folder below one may be a workspace.
# ruff: noqa: S108 - nothing is written to the temporary folders named here
_SHARED = frozenset(
    {
        "/", "/home", "/Users", "/root", "/usr", "/usr/local", "/var", "/opt", "/srv", "/mnt",
        "/media", "/run", "/tmp", "/var/tmp", "/private", "/private/tmp", "/private/var",
        "/Volumes", "/Applications",
    }
)  # fmt: skip


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
    ) -> None:
        """Take the user's home folder, which never becomes a workspace, and what none may show.

        Raises:
            InvalidRequest: a glob of `ignore` is malformed.
        """
        self._data_dir = None if data_dir is None else os.path.realpath(data_dir)
        self._ignore = tuple(ignore)
        Hiding(self._ignore)
        self._home = os.path.realpath(home)
        self._root_mode, self._excludes = root_mode, excludes
        self._runner, self._programs = runner, programs
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
            )
        )

    def _own_folders(self, root: str) -> Sequence[RelPath]:
        """Our data folder, where it lies in a workspace (cases C29)."""
        name = None if self._data_dir is None else inside(root, self._data_dir)
        return () if name is None else (RelPath(name),)

    def _root_of(self, cwd: str) -> str:
        folder = self._real_folder(cwd)
        if self._is_unfit(folder):
            raise InvalidRequest(
                "'cwd' is a system, home or shared folder: send a project's folder"
            )
        if self._data_dir is not None and f"{folder}/".startswith(f"{self._data_dir}/"):
            raise InvalidRequest("'cwd' is the server's own data folder: send a project's folder")
        if is_version_control(folder.casefold()):
            raise InvalidRequest("'cwd' lies inside '.git' or its like: send the project's folder")
        if self._root_mode is RootMode.NONE:
            return folder
        trees = self._trees_around(folder)
        root = next(trees, None)
        if root is None:
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
        return folder in _SHARED or folder == self._home or _is_system(folder)


def _is_system(folder: str) -> bool:
    return any(
        folder == each or folder.startswith(each + "/") for each in (*_SYSTEM, *_SYSTEM_ELSEWHERE)
    )
