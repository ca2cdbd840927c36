"""What was spent counts for the caps after a restart too, and a disk that fails stops no answer."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from live_memory.adapters.store.snapshot_files import DiskSpendLog
from live_memory.core.companion.chat import (
    DAY_S,
    AssistantTurn,
    Caps,
    ModelReply,
    ModelRequest,
    ModelUsage,
    Payment,
    ReplyStop,
)
from live_memory.core.errors import SpendCapped, StoreUnavailable
from live_memory.core.values import Instant
from live_memory.flow.model_slot import SpendLimiter
from live_memory.ports import PaymentBook
from tests.support.memory import House

NOW = House().now()
HOURLY, DAILY = Caps(tokens_an_hour=1_000), Caps(usd_a_day=1.0)
REQUEST = ModelRequest((), ())


def _reply(tokens: int, cost_usd: float) -> ModelReply:
    usage = ModelUsage(tokens, 0, 0, 0)
    return ModelReply(AssistantTurn("text"), ReplyStop.END, usage, "m", cost_usd)


def _purse(caps: Caps, book: PaymentBook | None) -> SpendLimiter:
    return SpendLimiter(caps, clock=House(), book=book)


@pytest.mark.promise("spend-capped")
@pytest.mark.parametrize("caps", [HOURLY, DAILY])
async def test_a_restart_does_not_begin_the_caps_anew(tmp_path: Path, caps: Caps) -> None:
    purse = _purse(caps, DiskSpendLog(tmp_path))
    await purse.check()
    purse.pay(REQUEST, _reply(1_000, 1.0))
    await purse.keep()
    again = _purse(caps, DiskSpendLog(tmp_path))
    for _ in range(2):
        with pytest.raises(SpendCapped):
            await again.check()
    assert not again.spend.by_cause
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


async def test_what_was_paid_longer_ago_than_a_day_is_left_out(tmp_path: Path) -> None:
    book = DiskSpendLog(tmp_path)
    old, new = Payment(Instant(NOW - DAY_S - 1), 9, 9.0), Payment(Instant(NOW - 5), 1, 0.5)
    await book.add(old)
    await book.add(new)
    assert await book.load(since=Instant(NOW - DAY_S)) == [new]
    assert (tmp_path / "spend.jsonl").read_text().count("\n") == 1
    await _purse(DAILY, book).check()


async def test_the_file_stays_small_however_long_the_server_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from live_memory.adapters.store import snapshot_files as payments

    monkeypatch.setattr(payments, "_TIDY_AFTER", 10)
    book = DiskSpendLog(tmp_path)
    for n in range(45):
        await book.add(Payment(Instant(NOW + n * DAY_S), 1, 0.0))
    assert (tmp_path / "spend.jsonl").read_text().count("at") <= 12


@pytest.mark.parametrize("torn", [b'{"at": 1', b"\0" * 40, b"[" * 50_000, b"[]", b"\xff\n{}"])
async def test_a_torn_line_loses_no_other(tmp_path: Path, torn: bytes) -> None:
    book = DiskSpendLog(tmp_path)
    paid = [Payment(Instant(NOW - n), n, 0.1) for n in (3, 2)]
    await book.add(paid[0])
    with (tmp_path / "spend.jsonl").open("ab") as file:
        file.write(torn)
    await book.add(paid[1])
    assert await book.load(since=Instant(NOW - DAY_S)) == paid


@pytest.mark.promise("no-overwrite-of-unreadable")
async def test_a_link_in_its_place_is_set_aside_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("not ours")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/spend.jsonl").symlink_to(target)
    book = DiskSpendLog(tmp_path / "data")
    with pytest.raises(StoreUnavailable):
        await book.add(Payment(NOW, 1, 1.0))
    assert await book.load(since=Instant(0.0)) == []
    await book.add(Payment(NOW, 1, 1.0))
    assert target.read_text() == "not ours"


class _Full:
    """A book on a disk that fails until it is freed."""

    def __init__(self) -> None:
        self.is_full = True
        self.paid: list[Payment] = []

    async def load(self, *, since: Instant) -> Sequence[Payment]:
        if self.is_full:
            raise StoreUnavailable("no space left")
        return self.paid

    async def add(self, payment: Payment) -> None:
        if self.is_full:
            raise StoreUnavailable("no space left")
        self.paid.append(payment)


@pytest.mark.promise("always-something-true", "spend-capped")
async def test_a_full_disk_stops_no_call_and_is_told_until_it_heals() -> None:
    book = _Full()
    purse = _purse(HOURLY, book)
    await purse.check()
    assert "not known" in str(purse.problem)
    purse.pay(REQUEST, _reply(10, 0.1))
    await purse.keep()
    assert "not kept" in str(purse.problem)
    book.is_full = False
    await purse.check()
    purse.pay(REQUEST, _reply(10, 0.1))
    await purse.keep()
    assert purse.problem is None
    assert len(book.paid) == 2
    purse.pay(REQUEST, _reply(1_000, 0.1))
    await purse.keep()
    with pytest.raises(SpendCapped):
        await purse.check()
