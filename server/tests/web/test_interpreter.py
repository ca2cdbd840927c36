"""When all objects are looked through for garbage: at rest, and not while anybody waits."""

import gc
import sys
from collections.abc import Iterator

import anyio
import pytest
import trio.testing

from live_memory.web import serving
from live_memory.web.serving import collect_at_rest, set_gil_interval


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.fixture
def as_before() -> Iterator[None]:
    turn, thresholds = sys.getswitchinterval(), gc.get_threshold()
    yield
    sys.setswitchinterval(turn)
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("as_before")
def test_a_look_through_everything_does_not_come_by_itself() -> None:
    set_gil_interval()
    assert gc.get_threshold()[2] > 100_000
    assert sys.getswitchinterval() < 0.005


@pytest.mark.parametrize(
    ("looks", "collected"),
    [
        ([30, 60, 90, 90, 90], 1),  # at work, then at rest
        ([3, 3, 3, 3, 3], 0),  # nothing to speak of
        ([60, 120, 180, 240, 300], 3),  # never at rest
    ],
)
async def test_all_is_looked_through_at_rest_and_where_too_much_came(
    monkeypatch: pytest.MonkeyPatch, looks: list[int], collected: int
) -> None:
    counts, found = iter(looks), list[int]()
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, next(counts)))
    monkeypatch.setattr(gc, "collect", lambda: found.append(1))
    with anyio.move_on_after(5.0 * len(looks) + 2.0):
        await collect_at_rest()
    assert len(found) == collected


@pytest.mark.parametrize(("long_s", "spared"), [(-1.0, 1), (1.0, 0)])
async def test_what_a_long_look_has_left_is_not_gone_through_again(
    monkeypatch: pytest.MonkeyPatch, long_s: float, spared: int
) -> None:
    found = list[int]()
    monkeypatch.setattr(serving, "_LONG_S", long_s)
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, 200))
    monkeypatch.setattr(gc, "collect", lambda: None)
    monkeypatch.setattr(gc, "freeze", lambda: found.append(1))
    with anyio.move_on_after(7.0):
        await collect_at_rest()
    assert len(found) == spared
