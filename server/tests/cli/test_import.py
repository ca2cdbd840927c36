"""`import` as a shell runs it: what it counts, sends, notes and leaves alone."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import Done, Shell
from tests.support.past_sessions import (
    CLAUDE,
    CODEX,
    claude_turn,
    lay_made_up_records,
    lay_opencode,
    write_lines,
)


@pytest.fixture
def home(shell: Shell) -> Path:
    return shell.folder / "home"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A codebase that sessions were about."""
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "src/cart.py").write_text("".join(f"LINE_{n} = {n}\n" for n in range(1, 91)))
    return root


def dry(shell: Shell, *more: str) -> dict[str, object]:
    done = shell.run("import", "--dry-run", "--json", *more)
    assert done.code == 0, done
    return done.json


def workspaces(outcome: dict[str, object]) -> list[dict[str, object]]:
    found = outcome["workspaces"]
    assert isinstance(found, list)
    return found


def counts(outcome: dict[str, object]) -> tuple[object, ...]:
    """Sessions, files, edits, commands, questions, conclusions, those with lines, bad lines."""
    (one,) = workspaces(outcome)
    names = "sessions files_seen edits commands questions conclusions conclusions_with_lines"
    return tuple(one[name] for name in [*names.split(), "lines_skipped"])


# Sessions, files, edits, commands, questions, conclusions, those with lines, lines skipped.
@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("claude", (1, 1, 1, 0, 1, 3, 1, 0)),
        ("codex", (2, 1, 1, 2, 2, 3, 0, 0)),
        ("opencode", (1, 1, 1, 1, 1, 0, 0, 0)),
        ("cursor", (1, 0, 0, 0, 1, 0, 0, 0)),
    ],
)
def test_a_dry_run_counts_the_made_up_records_and_writes_nothing(
    host: str, expected: tuple[int, ...], shell: Shell, home: Path, shop: Path
) -> None:
    lay_made_up_records(home, shop)
    assert counts(dry(shell, "--host", host)) == expected
    assert not shell.data_dir.exists()


def test_hosts_add_up_to_one_workspace(shell: Shell, home: Path, shop: Path) -> None:
    lay_made_up_records(home, shop)
    (home / CLAUDE / "in-a-subfolder.jsonl").write_text(
        "".join(f"{json.dumps(line)}\n" for line in claude_turn(shop / "src", "where?", "Here."))
    )
    outcome = dry(shell)
    assert counts(outcome) == (6, 1, 3, 3, 6, 7, 1, 0)
    assert workspaces(outcome)[0]["root"] == str(shop)


def test_a_table_is_for_people(shell: Shell, home: Path, shop: Path) -> None:
    lay_made_up_records(home, shop)
    said = shell.run("import", "--dry-run").out.splitlines()
    assert said[0].split()[:4] == ["sessions", "files", "edits", "commands"]
    assert said[1].split() == ["5", "1", "3", "3", "5", "6", "1", "0", str(shop)]
    assert said[2] == "nothing was sent: without --dry-run it is"


def test_folders_that_are_gone_are_counted_and_kept_for_later(
    shell: Shell, home: Path, shop: Path, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    for n in range(3):
        turn = claude_turn(gone if n else shop, f"why {n}?", "So.", session=f"s{n}")
        write_lines(home / CLAUDE / f"{n}.jsonl", turn)
    outcome = dry(shell)
    assert (outcome["logs_gone"], outcome["folders_gone"]) == (2, 1)
    assert counts(outcome)[0] == 1
    assert "2 logs of 1 folders that are gone" in shell.run("import").out
    gone.mkdir()
    assert counts(dry(shell))[0] == 2


def test_the_home_folder_is_no_project(shell: Shell, home: Path) -> None:
    write_lines(home / CLAUDE / "s.jsonl", claude_turn(home, "why?", "So."))
    assert workspaces(dry(shell)) == []


def test_only_what_was_asked_for_is_read(
    shell: Shell, home: Path, shop: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    old = write_lines(home / CLAUDE / "old.jsonl", claude_turn(shop, "old?", "So.", session="old"))
    os.utime(old, (1_000_000_000, 1_000_000_000))
    write_lines(home / CLAUDE / "new.jsonl", claude_turn(shop, "new?", "So."))
    write_lines(home / CLAUDE / "other.jsonl", claude_turn(other, "other?", "So."))
    write_lines(home / CODEX / "rollout-1.jsonl", [])
    roots = [one["root"] for one in workspaces(dry(shell))]
    assert roots == [str(other), str(shop)]
    assert counts(dry(shell, "--cwd", str(shop / "src")))[0] == 1
    assert counts(dry(shell, "--cwd", str(shop), "--all"))[0] == 2
    assert counts(dry(shell, "--cwd", str(shop), "--days", "36500"))[0] == 2
    assert workspaces(dry(shell, "--host", "codex", "--host", "gemini")) == []


@pytest.mark.parametrize(
    "arguments",
    [("--days", "0"), ("--days", "x"), ("--host", "vim"), ("--cwd", "/nowhere/at/all")],
)
def test_what_cannot_be_meant_is_refused_in_a_line(
    arguments: tuple[str, ...], shell: Shell
) -> None:
    done = shell.run("import", "--dry-run", *arguments)
    assert done.code == 2
    assert "Traceback" not in done.err


def test_nothing_there_is_said(shell: Shell) -> None:
    done = shell.run("import", "--dry-run")
    assert (done.code, done.out) == (
        0,
        "nothing new: there is no session, or all was imported (--again takes it again)\n",
    )


def test_control_characters_are_shown_and_not_sent_to_the_terminal(
    shell: Shell, home: Path, tmp_path: Path
) -> None:
    names = ("a\u202eb", "a\x1b[2Jb", "a\x1b[2Jb\nc", "a\r\n X-More: c")
    for n, name in enumerate(names):
        (tmp_path / name).mkdir()
        turn = claude_turn(tmp_path / name, "why?", "So (a.py:1).", session=f"s{n}")
        write_lines(home / CLAUDE / f"{n}.jsonl", turn)
    for arguments in (("--dry-run",), ()):
        said = shell.run("import", *arguments)
        assert said.code == 0, said
        assert not {"\x1b", "\u202e", "\r"} & {*said.out, *said.err}
        assert "3 logs of 3 folders" in said.out


def test_a_copy_of_a_session_counts_once(shell: Shell, home: Path, shop: Path) -> None:
    """A session that goes on from another begins with all of that."""
    turn = claude_turn(shop, "why?", "So (src/cart.py:1).")
    write_lines(home / CLAUDE / "one.jsonl", turn)
    write_lines(home / CLAUDE / "two.jsonl", [*turn, *claude_turn(shop, "and?", "No.")])
    assert counts(dry(shell))[4:7] == (2, 2, 1)


def test_links_are_left_out_and_said(shell: Shell, home: Path, tmp_path: Path, shop: Path) -> None:
    outside = write_lines(tmp_path / "s.jsonl", claude_turn(shop, "why?", "So."))
    (home / CLAUDE).mkdir(parents=True)
    (home / CLAUDE / "s.jsonl").symlink_to(outside)
    outcome = dry(shell)
    assert workspaces(outcome) == []
    assert sum(outcome["left_out"].values()) == 1  # type: ignore[attr-defined]


# With a server.


@pytest.fixture
def learned(shell: Shell, home: Path, shop: Path) -> Shell:
    """A shell in which everything was imported once."""
    lay_made_up_records(home, shop)
    said = "It counts to ninety: `LINE_90` is `90` (src/cart.py:90)."
    write_lines(home / CLAUDE / "s2.jsonl", claude_turn(shop, "how far?", said, session="s2"))
    return shell


def imported(shell: Shell, *more: str) -> dict[str, object]:
    done = shell.run("import", "--json", *more)
    assert done.code == 0, done
    return done.json


def test_a_second_run_adds_nothing_and_a_grown_log_only_what_is_new(
    learned: Shell, home: Path, shop: Path
) -> None:
    first = imported(learned)
    assert counts(first) == (6, 1, 3, 3, 6, 7, 2, 0)
    (one,) = workspaces(first)
    assert (one["findings"], one["events_dropped"]) == (1, 0)
    cursor = learned.data_dir / "imported.json"
    assert cursor.stat().st_mode & 0o777 == 0o600
    before = cursor.read_bytes()
    assert workspaces(imported(learned)) == workspaces(dry(learned)) == []
    assert cursor.read_bytes() == before
    write_lines(
        home / CLAUDE / "s1.jsonl",
        [b"broken\n", *claude_turn(shop, "and now?", "Yes.", session="s1")],
    )
    lay_opencode(
        home,
        {"id": "ses_1", "directory": str(shop)},
        [({"role": "user"}, [{"type": "text", "text": "more?"}])],
    )
    (home / CODEX / "rollout-2026-11-30T10-00-00-01aa-root.jsonl").rename(home / "moved.jsonl")
    (home / ".codex/archived_sessions").mkdir()
    (home / "moved.jsonl").rename(home / ".codex/archived_sessions/moved.jsonl")
    assert counts(imported(learned)) == (2, 0, 0, 0, 2, 1, 0, 1)
    assert workspaces(imported(learned)) == []


def test_a_log_that_was_written_anew_is_read_anew(shell: Shell, home: Path, shop: Path) -> None:
    first = claude_turn(shop, "first?", "So.")
    file = write_lines(
        home / CLAUDE / "s.jsonl", [*first, *claude_turn(shop, "a long one?", "So.")]
    )
    assert counts(imported(shell))[4] == 2
    file.write_text("")
    write_lines(file, [*first, *claude_turn(shop, "new?", "So.")])
    assert counts(imported(shell))[4] == 2
    file.write_text("")
    write_lines(file, claude_turn(shop, "another with the same number?", "And more of it."))
    assert counts(imported(shell))[4] == 1
    assert counts(imported(shell, "--again"))[4] == 1
    assert workspaces(imported(shell)) == []


@pytest.mark.parametrize(
    "text", ["a link", "{", "[]", '{"a": 1}', '{"a": ["x", 1]}', "[" * 100_000]
)
def test_a_cursor_that_cannot_be_read_is_left_and_said(text: str, shell: Shell) -> None:
    shell.data_dir.mkdir(mode=0o700)
    file = shell.data_dir / "imported.json"
    file.write_text(text)
    if text == "a link":
        file.unlink()
        file.symlink_to("/etc/passwd")
    done = shell.run("import")
    assert done.code == 2
    assert "import all with --again" in done.err
    assert file.is_symlink() or file.read_text() == text
    assert not (shell.data_dir / "server.json").exists()


def test_an_import_that_is_ended_begins_again_where_nothing_was_taken(
    shell: Shell, home: Path, shop: Path
) -> None:
    """A log is noted once all of it was accepted."""
    write_lines(home / CLAUDE / "a.jsonl", claude_turn(shop, "first?", "So (src/cart.py:1)."))
    many = [
        line
        for n in range(3_000)
        for line in claude_turn(shop, f"why {n}?", f"So {n} (src/cart.py:1).")
    ]
    write_lines(home / CLAUDE / "b.jsonl", many)
    os.utime(home / CLAUDE / "a.jsonl", (1_790_000_000, 1_790_000_000))
    assert shell.run("start").code == 0
    with shell.begin("import", "--all") as process:
        assert process.stderr is not None
        while not (shell.data_dir / "workspaces").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (1, "", "stopped")
    cursor = shell.data_dir / "imported.json"
    taken = json.loads(cursor.read_text()) if cursor.exists() else {}
    assert len(taken) < 2
    assert workspaces(imported(shell, "--host", "codex")) == []
    left = counts(dry(shell, "--all"))[4]
    assert left in (3_000, 3_001)


def test_a_cursor_that_cannot_be_written_is_said(shell: Shell, home: Path, shop: Path) -> None:
    write_lines(home / CLAUDE / "s.jsonl", claude_turn(shop, "why?", "So (src/cart.py:1)."))
    assert shell.run("start").code == 0
    full = 'ulimit -f 0; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", full, "sh", sys.executable, "-m", "live_memory", "import"],
        env=dict(shell.environ),
        cwd=shell.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "imported.json' cannot be written" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert counts(dry(shell))[4] == 1


def test_while_nothing_may_be_learned_nothing_is_sent(shell: Shell, home: Path, shop: Path) -> None:
    write_lines(home / CLAUDE / "s.jsonl", claude_turn(shop, "why?", "So (src/cart.py:1)."))
    done = shell.run("import", environ={"LIVE_MEMORY_PASSIVE": "no"})
    assert done.code == 2
    assert "`passive`" in done.err
    assert not (shell.data_dir / "server.json").exists()


_PEAK = """
import resource, sys
from live_memory.cli.main import run
code = run(["import", "--dry-run", "--json"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def _measured(shell: Shell) -> Done:
    done = subprocess.run(
        [sys.executable, "-c", _PEAK],
        env=dict(shell.environ),
        cwd=shell.folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_a_million_lines_take_as_much_memory_as_a_thousand(
    shell: Shell, home: Path, shop: Path
) -> None:
    quiet = b'{"type":"attachment"}\n' * 980
    turns = [
        line for n in range(10) for line in claude_turn(shop, f"why {n}?", "So (src/cart.py:1).")
    ]
    block = b"".join(json.dumps(line).encode() + b"\n" for line in turns) + quiet
    file = write_lines(home / CLAUDE / "s.jsonl", [block])
    few = _measured(shell)
    assert counts(few.json)[4:6] == (10, 1)
    with file.open("ab") as out:
        out.writelines(block for _ in range(999))
    many = _measured(shell)
    assert many.code == 0, many
    assert counts(many.json)[0] == 1
    assert int(many.err) < int(few.err) + 8 * 1024  # kilobytes
