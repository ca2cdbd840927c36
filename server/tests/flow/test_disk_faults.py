"""Every fault of a save or an append is told, is gone when it heals, and loses nothing."""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from live_memory.adapters.index import database
from live_memory.adapters.store.snapshot_files import DiskSpendLog, JsonFiles
from live_memory.core.companion.chat import (
    AssistantTurn,
    Caps,
    ModelReply,
    ModelRequest,
    ModelUsage,
    ReplyStop,
)
from live_memory.core.errors import StoreUnavailable
from live_memory.core.hosts.notices import FileInterest
from live_memory.core.saving.snapshot import Memory
from live_memory.core.signals import SaveFailed, Signal
from live_memory.core.values import WorkspaceKey
from live_memory.flow import persist
from live_memory.flow.model_slot import SpendLimiter
from live_memory.flow.persist import Persister
from live_memory.ports import WorkspaceIdentity
from tests.support.memory import House

_HERE = WorkspaceIdentity("/app", WorkspaceKey.of_root("/app"))
_FAULTS = [errno.EIO, errno.ENOSPC, errno.EACCES, errno.EXDEV, errno.EROFS, errno.EDQUOT]
# What a journal and a snapshot are written with; a link that is not to be had is no fault.
_CALLS = ["pwrite", "fdatasync", "fsync", "fchmod", "rename", "open"]


@pytest.fixture
def anyio_backend() -> str:
    """The journal's thread needs this one."""
    return "asyncio"


@contextmanager
def _broken(monkeypatch: pytest.MonkeyPatch, call: str, code: int) -> Iterator[None]:
    real = getattr(os, call)

    def broken(*arguments: object, **more: object) -> object:
        writes = call != "open" or bool(int(str(arguments[1])) & os.O_WRONLY)
        if writes and "workspaces" in str(arguments[0]) + _name_of(arguments[0]):
            raise OSError(code, os.strerror(code))
        return real(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, broken)
        yield


def _name_of(descriptor: object) -> str:
    if not isinstance(descriptor, int):
        return ""
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


@dataclass
class _Signals:
    signals: list[Signal] = field(default_factory=list)

    def emit(self, signal: Signal) -> None:
        self.signals.append(signal)


async def _until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not is_so():
            await anyio.sleep(0.01)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads /proc")
@pytest.mark.promise("nothing-lost")
@pytest.mark.parametrize("call", _CALLS)
@pytest.mark.parametrize("code", _FAULTS, ids=errno.errorcode.get)
async def test_a_fault_is_told_heals_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    monkeypatch.setattr(persist, "_RETRIES_S", (0.01,))
    monkeypatch.setattr(persist, "_QUIET_S", 0.01)
    store, signals = JsonFiles(tmp_path / "workspaces"), _Signals()
    heard: list[FileInterest] = []
    await store.load(_HERE.key)
    kept = Persister(_HERE, store=store, memory=lambda: Memory(heard=tuple(heard)), signals=signals)

    async def hear(name: str) -> None:
        heard.append(FileInterest(f"/app/{name}"))
        await kept.heard([heard[-1]])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kept.run)
        await hear("before.py")
        with _broken(monkeypatch, call, code):
            for number in range(4):
                try:
                    await hear(f"while_{number}.py")
                except StoreUnavailable:
                    break
            await _until(lambda: kept.problem is not None)
            assert os.strerror(code) in str(kept.problem)
        await _until(lambda: kept.problem is None)
        await hear("after.py")
        tasks.cancel_scope.cancel()
    assert any(isinstance(signal, SaveFailed) for signal in signals.signals)
    found = (await JsonFiles(tmp_path / "workspaces").load(_HERE.key)).memory
    assert found is not None
    assert {one.path for one in heard} == {one.path for one in _notices(found)}


def _notices(memory: Memory) -> Sequence[FileInterest]:
    return [one for one in memory.heard if isinstance(one, FileInterest)]


@pytest.mark.promise("nothing-lost")
@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM, errno.EMLINK])
async def test_a_disk_without_second_names_keeps_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store = JsonFiles(tmp_path)
    await store.load(_HERE.key)

    def link(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", link)
    for number in range(3):
        memory = Memory(heard=(FileInterest(f"/app/{number}.py"),))
        await store.save(_HERE.key, _HERE.root, partial(replace, memory))
    folder = tmp_path / _HERE.key.text
    assert {"snapshot.json", "snapshot.previous.json"} <= {p.name for p in folder.iterdir()}


@pytest.mark.promise("spend-capped")
async def test_a_payment_that_was_not_kept_is_kept_when_the_disk_heals(tmp_path: Path) -> None:
    book, house = DiskSpendLog(tmp_path / "data"), House()
    (tmp_path / "data").mkdir()
    purse = SpendLimiter(Caps(tokens_an_hour=1_000), clock=house, book=book)
    await purse.check()
    usage = ModelUsage(600, 0, 0, 0)
    reply = ModelReply(AssistantTurn("text"), ReplyStop.END, usage, "m", 0.1)
    (tmp_path / "data").rename(tmp_path / "away")
    for _ in range(2):
        purse.pay(ModelRequest((), ()), reply)
        await purse.keep()
    assert "not kept" in str(purse.problem)
    (tmp_path / "away").rename(tmp_path / "data")
    await purse.keep()
    assert purse.problem is None
    again = SpendLimiter(
        Caps(tokens_an_hour=1_000), clock=house, book=DiskSpendLog(tmp_path / "data")
    )
    await again.keep()
    assert sum(payment.tokens for payment in again.spend.recent) == 1_200


def test_a_damaged_index_that_cannot_be_removed_is_told(tmp_path: Path) -> None:
    (tmp_path / "index.sqlite").mkdir()
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        database.remove(tmp_path / "index.sqlite")
