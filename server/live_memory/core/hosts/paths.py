"""Paths as hosts write them, on any system: pure text, nothing is looked up."""

import posixpath
import re

__all__ = ["as_absolute", "inside", "joined"]

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SHARE = re.compile(r"\\\\[^\\/]+[\\/]")


def as_absolute(path: str) -> str | None:
    """An absolute path with `/` between parts and no `.` or `..`; nothing for any other text.

    A Windows path keeps its drive, in upper case: `c:\\a\\b` is `C:/a/b`.
    """
    if "\0" in path or any("\ud800" <= char <= "\udfff" for char in path):
        return None
    if _DRIVE.match(path):
        return path[0].upper() + ":" + posixpath.normpath(path[2:].replace("\\", "/"))
    if _SHARE.match(path):
        return "/" + posixpath.normpath("/" + path[2:].replace("\\", "/"))
    if not path.startswith("/"):
        return None
    return "/" + posixpath.normpath(path).lstrip("/")


def joined(folder: str | None, path: str) -> str | None:
    """The absolute path that `path` means in `folder`."""
    whole = as_absolute(path)
    if whole is not None or folder is None:
        return whole
    return as_absolute(f"{folder}/{path}")


def inside(root: str, path: str) -> str | None:
    """The name of an absolute path below `root`; nothing outside, or for the root itself.

    Windows does not tell upper from lower case.
    """
    start = root.rstrip("/") + "/"
    if _DRIVE.match(path):
        is_below = path.casefold().startswith(start.casefold())
    else:
        is_below = path.startswith(start)
    return path[len(start) :] or None if is_below else None
