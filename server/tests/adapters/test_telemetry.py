"""Signals become lines by their level, and a log file stays bounded whatever happens to it."""

import io
import json
import os
import resource
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import pytest

from live_memory.adapters.telemetry import LEVELS, Level, LogFile, LogSink
from live_memory.core.errors import InvalidRequest
from live_memory.core.signals import (
    EventsSkipped,
    QuestionFinished,
    SaveFailed,
    Signal,
    WatchLimited,
)
from live_memory.core.values import Instant, WorkspaceKey

KEY = WorkspaceKey.of_root("/w")
ONE_OF_EACH: list[Signal] = [
    EventsSkipped(KEY, "ignored", 1),
    QuestionFinished(KEY, "evidence", "verified", "answered", 0.1, 2),
    WatchLimited(KEY, 1, 2, "no more watches"),
    SaveFailed(KEY, "no space left"),
]


def test_every_signal_has_a_level() -> None:
    assert LEVELS.keys() == {*get_args(Signal)}


@pytest.mark.parametrize(("least", "lines"), [*zip(Level, (4, 3, 2, 1), strict=True)])
def test_what_is_less_severe_than_the_setting_is_not_written(least: Level, lines: int) -> None:
    out = io.StringIO()
    sink = LogSink(out, now=lambda: Instant(1.0), least=least)
    for signal in ONE_OF_EACH:
        sink.emit(signal)
    written = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [each["event"] for each in written] == [
        type(signal).__name__ for signal in ONE_OF_EACH[-lines:]
    ]
    assert all(Level[each["level"].upper()] >= least for each in written)


def test_a_line_is_its_fields() -> None:
    out = io.StringIO()
    LogSink(out, now=lambda: Instant(1.5)).emit(SaveFailed(KEY, "disk\nfull\x1b\x7f\x9b\u202e"))
    assert json.loads(out.getvalue()) == {
        "at": 1.5,
        "event": "SaveFailed",
        "level": "error",
        "workspace": KEY.text,
        "problem": "disk\nfull\x1b\x7f\x9b\u202e",
    }
    assert out.getvalue().removesuffix("\n").isprintable()


def test_a_stream_that_is_gone_is_no_reason_to_stop() -> None:
    out = io.StringIO()
    out.close()
    LogSink(out, now=lambda: Instant(1.0)).emit(SaveFailed(KEY, "x"))


@contextmanager
def log_file(path: Path, *, largest_bytes: int = 100, older: int = 2) -> Iterator[LogFile]:
    log = LogFile(path, largest_bytes=largest_bytes, older=older)
    try:
        yield log
    finally:
        log.close()


def lines_in(folder: Path) -> dict[str, list[str]]:
    return {file.name: file.read_text().splitlines() for file in sorted(folder.iterdir())}


def test_a_full_file_is_followed_by_a_new_one_and_the_oldest_goes(tmp_path: Path) -> None:
    """C10."""
    with log_file(tmp_path / "log") as log:
        for number in range(20):
            log.write(f"line {number:02} {'x' * 31}\n")
    assert {name: [line[:7] for line in lines] for name, lines in lines_in(tmp_path).items()} == {
        "log": ["line 18", "line 19"],
        "log.1": ["line 16", "line 17"],
        "log.2": ["line 14", "line 15"],
    }


def test_a_line_beyond_the_bound_is_whole_and_alone(tmp_path: Path) -> None:
    with log_file(tmp_path / "log") as log:
        for line in ("a\n", "b" * 500 + "\n", "c\n"):
            log.write(line)
    assert lines_in(tmp_path) == {"log": ["c"], "log.1": ["b" * 500], "log.2": ["a"]}


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_log_is_its_owner_s_alone_before_and_after_rotation(tmp_path: Path, mask: int) -> None:
    (tmp_path / "old").touch(0o644)
    before = os.umask(mask)
    try:
        for path in (tmp_path / "old", tmp_path / "deep/new"):
            with log_file(path) as log:
                for _ in range(4):
                    log.write("x" * 60 + "\n")
    finally:
        os.umask(before)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) == 6
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) == 0o700


def test_lines_of_many_threads_stay_whole(tmp_path: Path) -> None:
    with log_file(tmp_path / "log", largest_bytes=2_000, older=50) as log:

        def write(name: int) -> None:
            for number in range(50):
                log.write(f"{name} {number} {'x' * 20}\n")

        threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = [line for lines in lines_in(tmp_path).values() for line in lines]
    assert len(found) == 200
    assert all(line.endswith("x" * 20) for line in found)


def test_a_log_that_is_taken_away_is_begun_again(tmp_path: Path) -> None:
    with log_file(tmp_path / "log") as log:
        log.write("one\n")
        (tmp_path / "log").rename(tmp_path / "log.by-hand")
        log.write("two\n")
    assert lines_in(tmp_path) == {"log": ["two"], "log.by-hand": ["one"]}


def test_on_a_full_disk_lines_are_lost_whole_and_counted(tmp_path: Path) -> None:
    """C10: a limit on the size of files stands in for the disk; both fail a write the same way."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with log_file(tmp_path / "log", largest_bytes=10_000) as log:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (150, hard))
            for number in range(5):
                log.write(f"line {number} {'x' * 60}\n")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        log.write("after\n")
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line[:6] for line in lines[:2]] == ["line 0", "line 1"]
    assert json.loads(lines[2]) == {"event": "LogLinesLost", "level": "warning", "lines": 3}
    assert lines[3:] == ["after"]


def test_where_no_new_file_can_be_made_the_bound_still_holds(tmp_path: Path) -> None:
    (tmp_path / "log.1").mkdir()
    (tmp_path / "log.1/in the way").touch()
    with log_file(tmp_path / "log", older=1) as log:
        for number in range(20):
            log.write(f"line {number:02} {'x' * 31}\n")
    assert (tmp_path / "log").stat().st_size <= 100
    assert (tmp_path / "log").read_text().startswith("line 18")


def test_standard_error_goes_on_into_each_new_file(tmp_path: Path) -> None:
    """So that what a crash prints is in the file that a person opens."""
    kept = os.dup(2)
    target = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(target, 2)
        with log_file(tmp_path / "log") as log:
            for _ in range(3):
                log.write("x" * 60 + "\n")
            os.write(2, b"crash\n")
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(target)
    assert lines_in(tmp_path)["log"] == ["x" * 60, "crash"]


def test_what_is_no_file_is_refused_by_the_setting_s_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "there").touch()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    bad = ["pipe", "folder", "link", "there/below", "a\0b", "x" * 300]
    for path in (*(tmp_path / name for name in bad), Path("/dev/full")):
        with pytest.raises(InvalidRequest, match="setting 'log_file'"):
            LogFile(path)


def test_a_problem_that_goes_on_is_told_once_in_a_while() -> None:
    out, now = io.StringIO(), 1.0
    sink = LogSink(out, now=lambda: Instant(now))
    for second in range(130):
        now = 1.0 + second
        sink.emit(SaveFailed(KEY, "no space left"))
        sink.emit(QuestionFinished(KEY, "evidence", "verified", "answered", 0.1, 2))
    sink.emit(SaveFailed(KEY, "no permission"))
    written = [json.loads(line)["event"] for line in out.getvalue().splitlines()]
    assert written.count("SaveFailed") == 4
    assert written.count("QuestionFinished") == 130
