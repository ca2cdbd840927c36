"""The thread that writes: in order, to its end, and gone with its owner."""

import gc
import threading

import anyio
import pytest

from live_memory.adapters.store.snapshot_files import WritingThread


def _writers() -> int:
    return sum(thread.name.startswith("writer") for thread in threading.enumerate())


async def test_one_thing_is_done_after_the_other_in_one_thread() -> None:
    writer, done = WritingThread(), list[tuple[int, int]]()
    async with anyio.create_task_group() as tasks:
        for n in range(20):
            tasks.start_soon(writer.run, lambda n=n: done.append((n, threading.get_ident())))
    assert [n for n, _ in done] == [*range(20)]
    assert len({thread for _, thread in done}) == 1


async def test_what_fails_is_raised_where_it_is_waited_for_and_the_next_goes_on() -> None:
    writer = WritingThread()

    def fail() -> None:
        raise OSError(28, "no space left")

    with pytest.raises(OSError, match="no space left"):
        await writer.run(fail)
    await writer.run(lambda: None)


@pytest.mark.promise("nothing-lost")
async def test_who_is_cancelled_meanwhile_waits_for_the_end() -> None:
    """Two who write to one file at once would spoil it."""
    writer, may_end, ended = WritingThread(), threading.Event(), list[str]()

    def write() -> None:
        assert may_end.wait(5)
        ended.append("written")

    async def wait() -> None:
        try:
            await writer.run(write)
        finally:
            ended.append("cancelled")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
        may_end.set()
    assert ended == ["written", "cancelled"]


async def test_the_thread_ends_with_its_owner() -> None:
    gc.collect()
    before, writer = _writers(), WritingThread()
    await writer.run(lambda: None)
    assert _writers() == before + 1
    del writer
    with anyio.fail_after(5):
        while _writers() > before:
            await anyio.sleep(0.001)
