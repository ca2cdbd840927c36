"""Which process listens on a port of this machine, as far as the system shows it to us."""

from contextlib import suppress
from pathlib import Path

__all__ = ["listener"]

_PROC = Path("/proc")
_LISTENS = "0A"
# Columns of a line in /proc/net/tcp: the address here, the state, and the socket's number.
_HERE, _STATE, _INODE = 1, 3, 9


def listener(port: int) -> str | None:
    """The process with its name, or nothing where that cannot be seen."""
    sockets = {f"socket:[{number}]" for name in ("tcp", "tcp6") for number in _on(port, name)}
    if not sockets:
        return None
    for process in _PROC.glob("[0-9]*"):
        # Of other users nothing is shown, and processes come and go.
        with suppress(OSError):
            if any(str(file.readlink()) in sockets for file in (process / "fd").iterdir()):
                # Not its arguments, which may hold what nobody should see.
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"process {process.name} ({name})"
    return None


def _on(port: int, name: str) -> list[str]:
    try:
        rows = (_PROC / "net" / name).read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []
    columns = [row.split() for row in rows]
    wanted = f"{port:04X}"
    return [c[_INODE] for c in columns if c[_STATE] == _LISTENS and c[_HERE].endswith(wanted)]
