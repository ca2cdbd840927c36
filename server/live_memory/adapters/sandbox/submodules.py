"""A repository together with its submodules, for who wants them to be one workspace."""

import os
from collections.abc import Iterator
from dataclasses import replace

from anyio import to_thread

from live_memory.adapters.sandbox.disk import DiskSandbox
from live_memory.adapters.sandbox.git.excludes import UserExcludes
from live_memory.adapters.sandbox.git.finding import Refused, git_folders
from live_memory.adapters.sandbox.listing import MOST_ENTRIES
from live_memory.adapters.sandbox.opener import Opening
from live_memory.adapters.sandbox.runner import Programs, Runner
from live_memory.core.errors import InvalidRequest, OutsideWorkspace
from live_memory.core.reading.hiding import Hiding
from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import FileRead, ListedFile
from live_memory.core.reading.redaction import DEFAULT, Redactor
from live_memory.core.values import RelPath

__all__ = ["SandboxWithSubmodules", "is_submodule"]

_MOST_MODULES = 100
_LARGEST_LIST = 256 * 1024


def is_submodule(folder: str, *, of: str) -> bool:
    """Whether the git data of a work tree lie among the modules of the one around it.

    A linked worktree's lie in `worktrees`, another repository's in its own `.git`.
    """
    try:
        own, modules = git_folders(folder)[0], os.path.join(git_folders(of)[0], "modules")
    except Refused:
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
        hiding: Hiding | None = None,
        excludes: UserExcludes | None = None,
        redactor: Redactor = DEFAULT,
    ) -> None:
        """Open the real path `root`.

        Raises:
            InvalidRequest: it is not a folder that can be read.
        """
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
