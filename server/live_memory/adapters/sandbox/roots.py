"""Which folder a workspace is: the nearest git work tree, by real path, or the folder itself."""

import os
import stat

from anyio import to_thread

from live_memory.adapters.sandbox.disk import DiskSandbox
from live_memory.adapters.sandbox.opener import Opening
from live_memory.adapters.sandbox.runner import Programs, Runner
from live_memory.core.errors import InvalidRequest
from live_memory.core.values import WorkspaceKey
from live_memory.ports import Sandbox, WorkspaceIdentity

__all__ = ["DiskWorkspaces"]

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


class DiskWorkspaces:
    """Finds and opens workspaces on this machine's disk."""

    def __init__(
        self, *, home: str, runner: Runner, programs: Programs, opening: Opening | None = None
    ) -> None:
        """Take the user's home folder, which never becomes a workspace."""
        self._home = os.path.realpath(home)
        self._runner, self._programs = runner, programs
        self._opening = opening or Opening.best()

    async def resolve(self, cwd: str) -> WorkspaceIdentity:
        """The git work tree around `cwd`, else the folder itself, by real path.

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
        return await to_thread.run_sync(
            lambda: DiskSandbox(
                workspace.root, runner=self._runner, programs=self._programs, opening=self._opening
            )
        )

    def _root_of(self, cwd: str) -> str:
        folder = self._real_folder(cwd)
        if self._is_unfit(folder):
            raise InvalidRequest(
                "'cwd' is a system, home or shared folder: send a project's folder"
            )
        if ".git" in folder.split("/"):
            raise InvalidRequest("'cwd' lies inside '.git': send the project's folder")
        around = folder
        while not self._is_unfit(around):
            if _has_git_data(around):
                return around
            around = os.path.dirname(around)
        return folder

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


def _has_git_data(folder: str) -> bool:
    """Whether a folder is a work tree: `.git` is a folder with HEAD, or a pointer file."""
    dot = os.path.join(folder, ".git")
    try:
        mode = os.lstat(dot).st_mode
        return stat.S_ISREG(mode) or (
            stat.S_ISDIR(mode) and stat.S_ISREG(os.lstat(os.path.join(dot, "HEAD")).st_mode)
        )
    except OSError:
        return False
