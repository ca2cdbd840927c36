"""Why no server runs is told in one line to whoever asks."""

from tests.cli.shell import Shell


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
