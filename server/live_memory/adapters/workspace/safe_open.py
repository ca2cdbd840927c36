"""The one opener of workspace files: works on descriptors, never on checked strings.

The rule for links: a link is another spelling of a name. Where the kernel can keep it beneath
the root it is followed and the answer carries the real name; elsewhere it is refused. Listing
shows each file once, under its real name.
"""

import ctypes
import errno
import hashlib
import os
import stat
import sys
import time
from dataclasses import dataclass
from enum import Enum
from typing import Self

from live_memory.core.errors import InvalidRequest, OutsideWorkspace, refuse_exhausted
from live_memory.core.reading.observation import FileRead, Skipped, SkipReason
from live_memory.core.reading.redaction import HiddenFiles, is_version_control
from live_memory.core.values import ContentHash, RelPath, StatSignature

__all__ = [
    "BENEATH",
    "MAX_HASHED_BYTES",
    "NO_LINKS",
    "OpenedFile",
    "Opening",
    "SafeRoot",
    "is_git_data",
    "openat2",
    "signature_of",
]

# <linux/openat2.h>. NO_MAGICLINKS refuses /proc/*/fd and its like even where they lead inside.
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
BENEATH = _BENEATH | _NO_MAGICLINKS
NO_LINKS = BENEATH | _NO_SYMLINKS

# The same number on every architecture Python runs on but alpha, which reports ENOSYS.
_SYS_OPENAT2 = 437
# A rename or mount elsewhere can make the kernel unsure; it then asks to try again.
_ATTEMPTS = 8


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def openat2(folder: int, name: str, *, flags: int, resolve: int) -> int:
    """Open `name` so that the kernel itself keeps it below the descriptor `folder`.

    Raises:
        OSError: as `open` does; also when the name leads out or holds a forbidden link.
    """
    if _libc is None:
        raise OSError(errno.ENOSYS, "this system has no openat2")
    how = _OpenHow(flags | os.O_CLOEXEC, 0, resolve)
    raw = ctypes.c_char_p(os.fsencode(name))
    for _ in range(_ATTEMPTS):
        found = int(_libc.syscall(_SYS_OPENAT2, folder, raw, ctypes.byref(how), ctypes.sizeof(how)))
        if found >= 0:
            return found
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code))


def has_openat2() -> bool:
    """Whether the kernel has it and no filter forbids it."""
    try:
        here = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.close(openat2(here, ".", flags=os.O_RDONLY | os.O_DIRECTORY, resolve=NO_LINKS))
    except OSError:
        return False
    finally:
        os.close(here)
    return True


# Hashing runs at 0.5 to 1.5 GB/s, so the largest file takes about a tenth of a second; larger
# ones are dumps and media that no answer rests on.
MAX_HASHED_BYTES = 64 * 1024 * 1024
_CHUNK = 1024 * 1024
# Kernels before 6.13 stamp ctime with their tick, up to 10 ms. Younger files wait that long, so
# that a second edit in the same tick cannot leave an equal signature on other bytes.
_TICK_NS = 12_000_000
# O_NONBLOCK: opening a FIFO returns at once; O_NOCTTY: a terminal never becomes ours.
_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EIO})
# Opening a socket, or a device without driver.
_NOT_OPENABLE = frozenset({errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP})


class Opening(Enum):
    """How names are kept beneath the root."""

    KERNEL = "openat2"
    WALK = "component walk"

    @classmethod
    def best(cls) -> Self:
        """What this system can do."""
        return cls.KERNEL if has_openat2() else cls.WALK


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A regular file that is open; whoever took it closes it."""

    path: RelPath
    descriptor: int
    signature: StatSignature


def signature_of(status: os.stat_result) -> StatSignature:
    """What the file system says of a file."""
    return StatSignature(
        status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
    )


def is_git_data(path: RelPath) -> bool:
    """Whether a name lies in a `.git` or its like, whose config may hold credentials."""
    folded = path.text.casefold()
    return (folded.startswith(".") or "/." in folded) and is_version_control(folded)


class SafeRoot:
    """A workspace's root, held open."""

    def __init__(self, root: str, opening: Opening, *, hiding: HiddenFiles | None = None) -> None:
        """Open the folder `root`.

        Raises:
            InvalidRequest: it is not a folder, or cannot be read.
            Exhausted: the system has no descriptor left.
        """
        self.root = root
        self._hiding = hiding or HiddenFiles()
        self._opening = opening
        try:
            self._folder = os.open(root, _FOLDER_FLAGS | os.O_NOFOLLOW)
        except (OSError, ValueError) as problem:
            refuse_exhausted(problem)
            raise InvalidRequest("the workspace's root is not a folder we can read") from problem
        status = os.fstat(self._folder)
        self._identity = (status.st_dev, status.st_ino)

    def close(self) -> None:
        """Let go of the root; closing twice is harmless."""
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def hides(self, path: RelPath) -> bool:
        """Whether a name is one that nobody is told of."""
        return is_git_data(path) or self._hiding.covers(path)

    def is_same(self) -> bool:
        """Whether the root's path still leads to the folder that was opened."""
        try:
            status = os.stat(self.root, follow_symlinks=False)
        except OSError as problem:
            refuse_exhausted(problem)
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def open_file(self, name: str) -> OpenedFile | Skipped:
        """Open a regular file; missing and outside look the same. Raises what `read` does."""
        try:
            path = RelPath.parse(name)
        except OutsideWorkspace:
            return Skipped(name, SkipReason.OUTSIDE)
        if self.hides(path):
            return Skipped(name, SkipReason.IGNORED)
        try:
            descriptor, is_link = self._descend(path, _FILE_FLAGS)
        except (OSError, ValueError) as problem:
            refuse_exhausted(problem)
            return Skipped(name, self._refusal(path, problem))
        try:
            return self._regular(name, path, descriptor, is_link)
        except BaseException:
            os.close(descriptor)
            raise

    def open_folder(self, path: RelPath | None) -> int:
        """Open a folder by its real name, or the root; the caller closes it.

        Raises:
            OSError: there is no such folder, or a link is in the way.
        """
        if path is None:
            return os.open(".", _FOLDER_FLAGS, dir_fd=self._folder)
        if self._opening is Opening.KERNEL:
            return openat2(self._folder, path.text, flags=_FOLDER_FLAGS, resolve=NO_LINKS)
        return self._walk(path, _FOLDER_FLAGS)

    def real_folder(self, path: RelPath) -> RelPath | None:
        """The real name of a folder, the root being nothing.

        Raises:
            OSError: there is no such folder in the workspace.
        """
        descriptor, is_link = self._descend(path, _FOLDER_FLAGS)
        try:
            return self._real_name(descriptor) if is_link else path
        finally:
            os.close(descriptor)

    def read(self, name: str, *, max_bytes: int) -> FileRead | Skipped:
        """Hash a whole file and keep its head.

        Raises:
            Exhausted: it cannot be looked at now.
        """
        opened = self.open_file(name)
        if isinstance(opened, Skipped):
            return opened
        try:
            return _read(name, opened, max_bytes=max_bytes)
        except OSError as problem:
            refuse_exhausted(problem)
            return Skipped(name, SkipReason.UNREADABLE)
        finally:
            os.close(opened.descriptor)

    def locate(self, path: str) -> RelPath | None:
        """The name below the root that an absolute path means, its folder's links followed."""
        folder, _, name = path.rpartition("/")
        try:
            whole = os.path.join(os.path.realpath(folder or "/"), name)
        except (OSError, ValueError):
            return None
        prefix = self.root.rstrip("/") + "/"
        if not whole.startswith(prefix):
            return None
        try:
            return RelPath.parse(whole[len(prefix) :])
        except OutsideWorkspace:
            return None

    def link_text(self, name: str) -> bytes | None:
        """What a link says, not where it leads; nothing when it is no link."""
        folder, _, last = RelPath(name).text.rpartition("/")
        try:
            descriptor = self.open_folder(RelPath(folder) if folder else None)
        except OSError as problem:
            refuse_exhausted(problem)
            return None
        try:
            return os.fsencode(os.readlink(last, dir_fd=descriptor))
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _regular(
        self, name: str, path: RelPath, descriptor: int, is_link: bool
    ) -> OpenedFile | Skipped:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            return Skipped(name, SkipReason.NOT_REGULAR)
        try:
            real = self._real_name(descriptor) if is_link else path
        except OSError as problem:
            refuse_exhausted(problem)
            real = None
        if real is None or self.hides(real):
            os.close(descriptor)
            return Skipped(name, SkipReason.OUTSIDE if real is None else SkipReason.IGNORED)
        return OpenedFile(real, descriptor, signature_of(status))

    def _descend(self, path: RelPath, flags: int) -> tuple[int, bool]:
        """Open a name, and say whether a link was followed on the way."""
        if self._opening is Opening.WALK:
            return self._walk(path, flags), False
        try:
            return openat2(self._folder, path.text, flags=flags, resolve=NO_LINKS), False
        except OSError as problem:
            if problem.errno != errno.ELOOP:
                raise
        return openat2(self._folder, path.text, flags=flags, resolve=BENEATH), True

    def _walk(self, path: RelPath, flags: int) -> int:
        *folders, last = path.text.split("/")
        here = os.open(".", _FOLDER_FLAGS, dir_fd=self._folder)
        try:
            for folder in folders:
                below = os.open(folder, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=here)
                os.close(here)
                here = below
            return os.open(last, flags | os.O_NOFOLLOW, dir_fd=here)
        finally:
            os.close(here)

    def _real_name(self, descriptor: int) -> RelPath | None:
        """The name below the root that a descriptor has now; only used with `openat2`."""
        root = os.readlink(f"/proc/self/fd/{self._folder}")
        found = os.readlink(f"/proc/self/fd/{descriptor}")
        if found == root:
            return None
        prefix = root.rstrip("/") + "/"
        if not found.startswith(prefix) or found.endswith(" (deleted)"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return RelPath(found[len(prefix) :])

    def _refusal(self, path: RelPath, problem: OSError | ValueError) -> SkipReason:
        if isinstance(problem, OSError):
            if problem.errno in _NOT_OPENABLE:
                return SkipReason.NOT_REGULAR
            if problem.errno in _DENIED and self._is_inside(path):
                return SkipReason.UNREADABLE
        return SkipReason.OUTSIDE

    def _is_inside(self, path: RelPath) -> bool:
        """Whether the name itself, links not followed, stands in a folder of the workspace."""
        parent, _, name = path.text.rpartition("/")
        try:
            folder = self.open_folder(RelPath(parent) if parent else None)
        except OSError as problem:
            refuse_exhausted(problem)
            return False
        try:
            return not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        except OSError:
            return False
        finally:
            os.close(folder)


def _read(name: str, opened: OpenedFile, *, max_bytes: int) -> FileRead | Skipped:
    signature = _settled(opened)
    if signature.size > MAX_HASHED_BYTES:
        return Skipped(name, SkipReason.TOO_LARGE)
    digest, head, seen = hashlib.sha256(), bytearray(), 0
    while chunk := os.read(opened.descriptor, _CHUNK):
        seen += len(chunk)
        if seen > MAX_HASHED_BYTES:
            return Skipped(name, SkipReason.TOO_LARGE)
        digest.update(chunk)
        if len(head) < max_bytes:
            head += chunk[: max_bytes - len(head)]
    return FileRead(opened.path, signature, ContentHash(digest.hexdigest()), bytes(head))


def _settled(opened: OpenedFile) -> StatSignature:
    """The signature, taken before the first byte and after the tick of the last change."""
    age = time.clock_gettime_ns(time.CLOCK_REALTIME) - opened.signature.changed_ns
    if not 0 <= age < _TICK_NS:
        return opened.signature
    time.sleep((_TICK_NS - age) / 1e9)
    return signature_of(os.fstat(opened.descriptor))
