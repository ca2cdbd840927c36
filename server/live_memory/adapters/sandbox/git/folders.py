"""Folders that version control keeps its data in, known by their shape, and what they mark."""

import os
import stat

from live_memory.core.errors import refuse_exhausted

__all__ = ["is_marked", "is_repository_data"]

_GIT_DATA = ("HEAD", "objects", "refs")
# What stands in the folder's top where one of the other systems keeps a repository; the newer
# Subversion alone has no such folder in every folder below.
_OTHERS = (".jj", ".hg", ".sl", ".bzr", ".pijul", ".svn/wc.db")


def is_repository_data(folder: str) -> bool:
    """Whether a folder is itself git data, whatever its name: HEAD, objects and refs."""
    head, *folders = (os.path.join(folder, name) for name in _GIT_DATA)
    # An old HEAD is a link, and folders are linked where work trees share them.
    return os.path.lexists(head) and not os.path.isdir(head) and all(map(os.path.isdir, folders))


def is_marked(folder: str) -> bool:
    """Whether a folder is the root of something under version control."""
    return has_git(folder) or any(os.path.lexists(os.path.join(folder, name)) for name in _OTHERS)


def has_git(folder: str) -> bool:
    """Whether a folder is a work tree of git: `.git` leads to data, or is a pointer file."""
    dot = os.path.join(folder, ".git")
    try:
        if stat.S_ISREG(os.lstat(dot).st_mode):
            return True
        return stat.S_ISREG(os.stat(os.path.join(dot, "HEAD")).st_mode)
    except (OSError, ValueError) as problem:
        refuse_exhausted(problem)
        return False
