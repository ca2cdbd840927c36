"""Opening a name below a folder so that the kernel itself keeps it there: Linux `openat2`."""

import ctypes
import errno
import os
import sys

__all__ = ["BENEATH", "NO_LINKS", "has_openat2", "openat2"]

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
    """Open `name` below the descriptor `folder`.

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
