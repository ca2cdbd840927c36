"""Worker threads share few heaps, so that what one of them freed serves the next."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.server import running_server

# An arena of the C library is a reserved stretch of 64 MiB, or the rest of one.
_ARENA = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) [rwxp-]+ 00000000 00:00 0 *$", re.MULTILINE)
_ARENA_BYTES = 64 * 1024 * 1024
# The main heap lies elsewhere; one beside it is all that threads share.
_MOST = 2


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc")
def test_questions_at_once_do_not_give_each_thread_a_heap_of_its_own(tmp_path: Path) -> None:
    projects = []
    for number in range(8):
        folder = tmp_path / f"project_{number}"
        folder.mkdir()
        (folder / "limits.py").write_text(f"LIMIT_{number} = {number}\n")
        projects.append(folder)
    with running_server(tmp_path / "server") as server, ThreadPoolExecutor(16) as pool:
        for _ in range(3):
            list(pool.map(lambda project: server.ask("Where is LIMIT_3?", project), projects * 2))
        maps = Path(f"/proc/{server.pid}/maps").read_text()

    starts = {int(start, 16) for start, _ in _ARENA.findall(maps)}
    assert sum(start % _ARENA_BYTES == 0 for start in starts) <= _MOST
