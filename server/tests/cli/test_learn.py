"""`learn` makes the index before anybody asks, and says how far it is."""

from pathlib import Path

from tests.cli.shell import Shell
from tests.cli.test_terminal import on_terminal


def test_afterwards_every_file_is_indexed_and_none_was_seen(running: Shell, tmp_path: Path) -> None:
    for n in range(300):
        (tmp_path / f"m{n}.py").write_text(f"def f{n}():\n    return {n}\n")
    done = running.run("learn", str(tmp_path))

    assert done.code == 0, done
    assert done.out.startswith(f"300 files of {tmp_path} are known (")
    assert done.err == ""
    figures = running.run("stats", "--json", "--cwd", str(tmp_path)).json
    assert (figures["indexed_files"], figures["known_files"]) == (300, 0)
    assert running.run("learn", str(tmp_path), "--json").json["files"] == 300


def test_a_folder_that_is_none_is_refused_in_a_line(running: Shell, tmp_path: Path) -> None:
    done = running.run("learn", str(tmp_path / "none"))

    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "none" in done.err


def test_it_starts_the_server_and_on_a_terminal_only_the_outcome_stays(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/a.py").write_text("A = 1\n")
    shown = on_terminal(shell, "learn", cwd=tmp_path / "code")

    assert f"1 files of {tmp_path}/code are known" in shown
