"""How many descriptors this process may have, and how many workspaces that is room for.

macOS gives a process 256 descriptors by default and Linux 1,024; both let it ask for more.
"""

from contextlib import suppress

__all__ = ["raise_limit", "room_for_workspaces"]

# More than 16 workspaces with 200 clients ever need; beyond 10,240 macOS refuses.
_WANTED = 4_096
# A workspace holds its root, two connections to its index, a journal and a watcher: nine (Linux).
# The rest is for the server itself, 128 clients that wait, programs and the processes that parse.
_EACH, _OTHERS = 10, 160
_LEAST, _MOST = 4, 256


def raise_limit() -> None:
    """Take as many descriptors as we may, up to what we can use."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def room_for_workspaces() -> int:
    """How many workspaces may be in use at a time."""
    with suppress(ImportError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            return max(_LEAST, min(_MOST, (soft - _OTHERS) // _EACH))
    return _MOST
