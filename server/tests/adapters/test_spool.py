"""The spool on disk: each event is given once, and again where a server was killed over it."""

import json
from pathlib import Path

import pytest

from live_memory.adapters.hooks.spool import DiskSpool


def _write_down(data_dir: Path, *numbers: int, name: str = "spool.jsonl") -> None:
    """As the hook does."""
    lines = [json.dumps({"project": "/p", "payload": {"n": number}}) for number in numbers]
    with (data_dir / name).open("a") as spool:
        spool.write("".join(f"{line}\n" for line in lines))


async def _given(spool: DiskSpool) -> list[object]:
    return [missed.payload["n"] for missed in await spool.take() if missed.payload is not None]


async def test_all_are_given_once_and_the_older_half_first(tmp_path: Path) -> None:
    spool = DiskSpool(tmp_path)
    _write_down(tmp_path, 3, 4)
    _write_down(tmp_path, 1, 2, name="spool.old.jsonl")

    assert await _given(spool) == [1, 2, 3, 4]
    _write_down(tmp_path, 5)
    assert await _given(spool) == [5]
    assert await _given(spool) == []
    assert await _given(DiskSpool(tmp_path)) == []


@pytest.mark.promise("nothing-lost")
async def test_what_a_killed_server_had_taken_is_given_to_the_next_one_before_all_else(
    tmp_path: Path,
) -> None:
    _write_down(tmp_path, 1, 2)
    await _given(DiskSpool(tmp_path))  # and it is killed before it asks again
    _write_down(tmp_path, 3)
    killed_too = await _given(DiskSpool(tmp_path))
    _write_down(tmp_path, 4)
    spool = DiskSpool(tmp_path)

    assert killed_too == [1, 2, 3]
    assert await _given(spool) == [1, 2, 3, 4]
    assert await _given(spool) == []
    assert [file for file in tmp_path.iterdir() if file.stat().st_size] == []


async def test_where_there_is_no_room_to_keep_it_it_is_given_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "spool.taken.jsonl").mkdir()
    _write_down(tmp_path, 1)
    spool = DiskSpool(tmp_path)

    assert await _given(spool) == [1]
    assert await _given(spool) == []


async def test_what_is_kept_is_for_its_owner_and_follows_no_link(tmp_path: Path) -> None:
    _write_down(tmp_path, 1)
    kept = tmp_path / "spool.taken.jsonl"
    await DiskSpool(tmp_path).take()
    assert kept.stat().st_mode & 0o777 == 0o600

    victim = tmp_path / "victim"
    victim.write_text("mine")
    kept.unlink()
    kept.symlink_to(victim)
    _write_down(tmp_path, 2)
    assert await _given(DiskSpool(tmp_path)) == [2]
    assert victim.read_text() == "mine"


async def test_what_is_of_a_folder_is_gone_from_each_file_and_the_rest_is_given(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    (home / "p/below").mkdir(parents=True)
    (home / "link").symlink_to(home / "p")
    folders = ["p", "p/below", "link", "p2", "gone"]
    lines = [json.dumps({"project": str(home / name), "payload": {"n": name}}) for name in folders]
    for name in ("spool.jsonl", "spool.old.jsonl", "spool.taken.jsonl"):
        (tmp_path / name).write_text("\n".join([*lines, "torn"]) + "\n")
    spool = DiskSpool(tmp_path)
    await spool.forget(str(home / "p"))
    assert await _given(spool) == ["p2", "gone"] * 3
    assert not any("link" in file.read_text() for file in tmp_path.glob("spool*"))


async def test_where_there_is_no_spool_there_is_nothing_to_forget(tmp_path: Path) -> None:
    await DiskSpool(tmp_path).forget("/p")
    assert list(tmp_path.iterdir()) == []
