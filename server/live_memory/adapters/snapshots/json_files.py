"""One JSON file a workspace: `<data>/workspaces/<key>/snapshot.json`, replaced in one step."""

import contextlib
import itertools
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import anyio.to_thread

from live_memory.core.errors import Corrupt, SnapshotUnreadable, StoreUnavailable
from live_memory.core.memory.snapshot import from_form, root_of, to_form
from live_memory.core.memory.window import Window
from live_memory.core.values import WorkspaceKey

__all__ = ["JsonFiles"]

_NAME, _NEW, _ASIDE = "snapshot.json", "snapshot.json.new", "snapshot.json.unreadable"


class JsonFiles:
    """A `SnapshotStore`; folders are 0700 and files 0600 whatever the umask."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def load(self, key: WorkspaceKey) -> Window | None:
        """Read the snapshot; one that cannot be read is set aside and reported."""
        return await anyio.to_thread.run_sync(self._load, key)

    async def save(self, key: WorkspaceKey, root: str, window: Window) -> None:
        """Write beside, sync, rename, sync the folder."""
        await anyio.to_thread.run_sync(self._save, key, root, window)

    async def forget(self, key: WorkspaceKey) -> None:
        """Remove the workspace's folder."""
        await anyio.to_thread.run_sync(self._forget, key)

    async def roots(self) -> Mapping[WorkspaceKey, str]:
        """Read every snapshot's root; unreadable ones are left out."""
        return await anyio.to_thread.run_sync(self._roots)

    def _load(self, key: WorkspaceKey) -> Window | None:
        file = self._folder / key.text / _NAME
        try:
            return from_form(_read(file))
        except FileNotFoundError:
            return None
        except Corrupt as problem:
            aside = _free_name(file.with_name(_ASIDE))
            file.rename(aside)
            raise type(problem)(f"{problem} (kept as {aside})") from problem
        except OSError as problem:
            raise StoreUnavailable(f"{file} cannot be read: {problem.strerror}") from problem

    def _save(self, key: WorkspaceKey, root: str, window: Window) -> None:
        folder = self._folder / key.text
        data = json.dumps(to_form(window, root=root), ensure_ascii=True).encode()
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            new = folder / _NEW
            new.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(new, flags, 0o600), "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            new.replace(folder / _NAME)
            _sync_folder(folder)
        except OSError as problem:
            with contextlib.suppress(OSError):
                (folder / _NEW).unlink(missing_ok=True)
            raise StoreUnavailable(f"{folder} cannot be written: {problem.strerror}") from problem

    def _forget(self, key: WorkspaceKey) -> None:
        folder = self._folder / key.text
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            return
        except OSError as problem:
            raise StoreUnavailable(f"{folder} cannot be removed: {problem.strerror}") from problem

    def _roots(self) -> dict[WorkspaceKey, str]:
        found: dict[WorkspaceKey, str] = {}
        for file in sorted(self._folder.glob(f"*/{_NAME}")):
            with contextlib.suppress(Corrupt, OSError):
                found[WorkspaceKey(file.parent.name)] = root_of(_read(file))
        return found


def _read(file: Path) -> object:
    try:
        value: object = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as problem:
        raise SnapshotUnreadable(f"{file.name} is torn or no JSON") from problem
    return value


def _free_name(file: Path) -> Path:
    numbered = (file.with_name(f"{file.name}.{n}") for n in itertools.count(1))
    return next(name for name in itertools.chain([file], numbered) if not name.exists())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
