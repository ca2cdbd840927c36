"""The processes that take files apart: several at a time, none left behind."""

import os
import select
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from threading import Barrier, Thread

import anyio
import pytest

from live_memory.adapters.index.digest import Digester, digest
from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.adapters.index.worker_pool import SyntaxWorkers, spare_processors
from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.question import terms_of
from live_memory.core.values import RelPath
from tests.support.observing import observed

_CODE = "import os\n\n\nclass A:\n    def save(self):\n        return os.sep\n"


class _ByLook:
    definitions_in = staticmethod(outline)


@pytest.mark.parametrize("name", ["a.py", "notes.md", "a.unknown", "größe.py"])
def test_a_worker_takes_a_file_apart_as_it_would_be_here(name: str) -> None:
    seen = observed(name, _CODE)
    told, here = Digester(SyntaxWorkers()).digest(seen), digest(seen, _ByLook())
    assert [d.name for d in told.definitions] == [d.name for d in here.definitions]
    assert [(u.start, u.end) for u in told.units] == [(u.start, u.end) for u in here.units]
    assert [u.definition and u.definition.name for u in told.units] == [
        u.definition and u.definition.name for u in here.units
    ]
    assert told.words == here.words
    assert told.uses == here.uses


class _Liar:
    """A worker that replies with something else."""

    def __init__(self, reply: bytes) -> None:
        self._reply = reply

    def first(self) -> AbstractContextManager[None]:
        return nullcontext()

    def exchange(self, request: bytes, *, is_first: bool = False) -> bytes:
        return self._reply


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"null",
        b"[[], [], [3], []]",
        b'[[], [[1, 2, null, 0]], [["a"], [2], [0], [1]], [[], []]]',
        b'[[], [[1, 2, null, 0]], [["a"], [1], [1], [1]], [[], []]]',
        b'[[], [[1, 2, null, 0]], [["a"], [1], [0], [4294967296]], [[], []]]',
        b'[[], [], [[], [], [], []], [["a"], []]]',
        b'[[["a", "function", 0, 1, ""]], [], [], []]',
        b"[[], [[1, 2, 5]], [{}], []]",
    ],
)
def test_what_a_worker_tells_is_looked_at_before_it_is_believed(reply: bytes) -> None:
    seen = observed("a.py", _CODE)
    assert Digester(_Liar(reply)).digest(seen) == digest(seen, _ByLook())


def test_as_many_run_as_are_asked_at_once_and_no_more() -> None:
    workers, together = SyntaxWorkers(2), Barrier(4)
    digester = Digester(workers)

    def take_apart(number: int) -> None:
        together.wait(10)
        for _ in range(20):
            digester.digest(observed(f"f{number}.py", _CODE))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(take_apart, range(4)))
    free = [worker for _, worker in workers.free]
    assert len(free) == 2
    assert sum(len(worker._running) for worker in free) in (1, 2)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells of strangers' ends")
def test_all_of_them_end_with_the_server_however_it_ends() -> None:
    """Killed at once, it can close nothing; each worker finds that nobody asks any more."""
    program = (
        "import sys; from threading import Thread\n"
        "from live_memory.adapters.index.worker_pool import SyntaxWorkers\n"
        "workers = SyntaxWorkers(2)\n"
        "both = [worker for _, worker in workers.free]\n"
        "for one in both: one.exchange(b'[\"a.py\", [], false]\\n')\n"
        "print(*(one._running[0].pid for one in both), flush=True)\n"
        "sys.stdin.read()\n"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    ends: list[int] = []
    assert server.stdout is not None
    with ExitStack() as held:
        for pid in server.stdout.readline().split():
            descriptor = os.pidfd_open(int(pid))
            held.callback(os.close, descriptor)
            ends.append(descriptor)
        server.kill()
        server.communicate()
        assert len(ends) == 2
        assert all(select.select([end], [], [], 10)[0] for end in ends)


def test_one_caller_needs_one_process_and_one_that_is_not_needed_ends_soon() -> None:
    workers = SyntaxWorkers(2)
    for _ in range(3):
        Digester(workers).digest(observed("a.py", _CODE))
    (_, first), (_, other) = sorted(workers.free)
    assert len(first._running) == 1
    assert not other._running
    other.exchange(b'["a.py", [], false]\n')
    other._running[0].wait(20)
    assert first._running[0].poll() is None


def test_the_machine_keeps_a_processor_for_the_server() -> None:
    assert 1 <= spare_processors() <= 4


def test_a_few_files_go_before_many() -> None:
    """While a question's files are taken apart, a pass leaves the only worker to them."""
    workers, order = SyntaxWorkers(1), list[str]()
    digester = Digester(workers)

    def take(names: list[str]) -> None:
        for each in digester.digest_all([observed(name, _CODE) for name in names]):
            assert each.definitions
        order.append(names[0])

    many = Thread(target=take, args=([f"many{n}.py" for n in range(400)],))
    with workers.first():
        many.start()
        few = Thread(target=take, args=(["few.py"],))
        few.start()
        few.join(30)
        assert order == ["few.py"]
        assert many.is_alive()
    many.join(60)
    assert order == ["few.py", "many0.py"]


async def test_several_processes_make_the_index_that_one_makes() -> None:
    """Also where one of them is killed on the way."""
    files = {f"part{n % 7}/f{n}.py": _CODE.replace("save", f"save_{n % 50}") for n in range(300)}
    said = []
    for most in (1, 3):
        workers = SyntaxWorkers(most)
        index = SqliteIndex.in_memory(parsing=workers)
        seen = [observed(name, text) for name, text in files.items()]
        async with anyio.create_task_group() as tasks:
            for at in range(0, len(seen), 50):
                tasks.start_soon(partial(index.update, seen[at : at + 50], textless={}, gone=()))
            while most > 1 and not (running := _running(workers)):
                await anyio.sleep(0.001)
            if most > 1:
                running[0].kill()
        places = [await index.definitions(f"save_{n}") for n in range(50)]
        found = await index.search(terms_of("where is save_7 of A"), limit=300)
        outlines = [await index.outline(RelPath(name)) for name in files]
        uses = await index.references("save_3")
        ranked = sorted((file.path, round(file.score, 9)) for file in found.files)
        said.append([[sorted(map(str, each)) for each in places], ranked, outlines, uses])
        await index.aclose()
    assert said[0] == said[1]


def _running(workers: SyntaxWorkers) -> "list[subprocess.Popen[bytes]]":
    return [each for _, worker in sorted(workers.free) for each in worker._running]
