"""Why no server runs: written down by the session that got none, shown to who asks, then gone."""

import os
import stat

from live_memory.cli.environment import ExitCode, forget_trouble, note_trouble, trouble_of
from tests.cli.shell import Shell


def test_what_kept_a_session_from_its_server_is_shown_later_until_one_runs(shell: Shell) -> None:
    """C03."""
    shell.data_dir.mkdir(mode=0o700)
    note_trouble(shell.data_dir, "a disk that is full")
    stats, doctor = shell.run("stats"), shell.run("doctor")

    assert stats.code == ExitCode.UNREACHABLE
    assert stats.err == "live-memory: no Live Memory server runs: a disk that is full\n"
    assert "a disk that is full" in doctor.out
    assert shell.run("start").code == 0
    assert shell.run("stop").code == 0
    assert shell.run("stats").err.endswith("run `live-memory start`\n")


def test_a_server_that_ends_at_once_says_why_in_the_first_line(shell: Shell) -> None:
    """Its own reason, not that there is a log."""
    shell.data_dir.mkdir(mode=0o700)
    (shell.data_dir / "lock").mkdir()
    done = shell.run("start")

    first, second = done.err.splitlines()[:2]
    assert done.code == 2
    assert first.startswith("live-memory: the server ended at once: lock file '")
    assert "make its folder writable" in first
    assert second.startswith("Its log '")


def test_a_note_is_one_line_for_its_owner_and_follows_no_link(shell: Shell) -> None:
    folder = shell.data_dir
    folder.mkdir(mode=0o700)
    note_trouble(folder, "it is so\nand a log that nobody needs")
    assert trouble_of(folder) == "it is so"
    assert stat.S_IMODE((folder / "not-started").stat().st_mode) == 0o600

    forget_trouble(folder)
    assert trouble_of(folder) is None
    victim = shell.folder / "victim"
    victim.write_text("mine")
    (folder / "not-started").symlink_to(victim)
    note_trouble(folder, "elsewhere")
    assert victim.read_text() == "mine"
    assert trouble_of(folder) is None
    (folder / "not-started").unlink()
    os.mkfifo(folder / "not-started")
    assert trouble_of(folder) is None


def test_where_nothing_can_be_written_nothing_is(shell: Shell) -> None:
    note_trouble(shell.folder / "nowhere", "it is so")
    assert not (shell.folder / "nowhere").exists()
