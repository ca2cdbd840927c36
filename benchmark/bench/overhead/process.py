"""What the system says of a server's process: its memory and its processor time."""

import os
from pathlib import Path

from bench.talk.server import Server

__all__ = ["megabytes", "processor_s"]


def megabytes(server: Server) -> float | None:
    """Resident memory of the server and of what it started; nothing where that cannot be seen."""
    if server.pid is None:
        return None
    total = 0.0
    for pid in (server.pid, *_children(server.pid)):
        lines = _read(f"/proc/{pid}/status").splitlines()
        total += sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
    return total / 1_024 or None


def processor_s(server: Server) -> float | None:
    """Seconds that the server has computed, ended children too; load does not change them much."""
    found = "" if server.pid is None else _read(f"/proc/{server.pid}/stat")
    if not found:
        return None
    # The name before it may hold anything: user, system, and both of ended children.
    fields = found.rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _children(pid: int) -> list[int]:
    """What any of its threads started."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(one) for thread in threads for one in _read(str(thread)).split()]


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
