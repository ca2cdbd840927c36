"""An index is looked through once when it is opened, and once more when it is made anew."""

import functools
import sqlite3
from pathlib import Path

import pytest

from live_memory.adapters.index.database import open_again, open_file
from live_memory.adapters.index.sqlite import SqliteIndex

_CHECK = "PRAGMA quick_check"


class _Recording(sqlite3.Connection):
    """A real connection that keeps what it was asked."""

    asked: list[str] = []  # noqa: RUF012  (one list for all)

    def execute(self, sql: str, *more: object) -> sqlite3.Cursor:
        self.asked.append(sql)
        return super().execute(sql, *more)  # type: ignore[arg-type]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What all connections were asked from here on."""
    recording = functools.partial(sqlite3.connect, factory=_Recording)
    monkeypatch.setattr(sqlite3, "connect", recording)
    monkeypatch.setattr(_Recording, "asked", [])
    return _Recording.asked


def _checks(asked: list[str]) -> int:
    return sum(each.startswith(_CHECK) for each in asked)


async def test_a_file_that_is_there_is_looked_through_once(
    tmp_path: Path, asked: list[str]
) -> None:
    await (await SqliteIndex.open(tmp_path)).aclose()
    assert _checks(asked) == 0
    for n in (1, 2):
        await (await SqliteIndex.open(tmp_path)).aclose()
        assert _checks(asked) == n


async def test_a_file_that_is_damaged_is_made_anew_and_then_not_looked_through(
    tmp_path: Path, asked: list[str]
) -> None:
    (tmp_path / "index.sqlite").write_bytes(b"no database" * 100)
    await (await SqliteIndex.open(tmp_path)).aclose()
    assert _checks(asked) == 0


def test_the_second_connection_sees_what_the_first_one_writes(tmp_path: Path) -> None:
    first = open_file(tmp_path / "index.sqlite")
    second = open_again(tmp_path / "index.sqlite")
    with first.transaction() as db:
        db.execute("INSERT INTO run(level) VALUES (7)")
    with second.transaction() as db:
        assert db.execute("SELECT level FROM run").fetchall() == [(7,)]
    first.close()
    second.close()
