"""What a person sees of an answer on a terminal, in how many lines, at which widths."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from live_memory.cli.facts import told
from live_memory.cli.terminal import show_answer, show_rows
from tests.cli.shell import Shell

_CODE = "\n".join(f"{n}|    line_{n} = {'x' * 90!r}" for n in range(7, 60))
_PLACES = [{"path": f"src/long/folder/module_{n}.py", "start": n} for n in range(1, 30)]
_ANSWER = {
    "mode": "evidence",
    "grounding": "verified",
    "answer": f"Best fit: a.py:7-60 `f`: {'what it does ' * 40}\n\na.py:7-70 f, g\n{_CODE}\n",
    "citations": _PLACES,
    "model": None,
    "cost_usd": 0.0,
    "elapsed_s": 0.21,
    "notice": None,
    "workspace": {"root": "/srv/my project", "key": "k"},
}
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")


def on_terminal(shell: Shell, *words: str, cwd: Path, columns: int = 80, **environ: str) -> str:
    """What a command prints where its output is a terminal."""
    code, shown = shell.show(*words, cwd=cwd, environ=environ, columns=columns)
    assert code == 0, shown
    return shown.decode().replace("\r\n", "\n")


def test_on_a_terminal_the_finding_comes_coloured_with_places_as_links(
    running: Shell, project: Path
) -> None:
    shown = on_terminal(running, "ask", "What", "does", "retry_delay", "compute?", cwd=project)
    plain = _ESCAPES.sub("", shown)

    assert f"\x1b]8;;file://{project}/net/retry.py" in re.sub(r"id=\d+", "", shown)
    assert re.search(r"\x1b\[[\d;]*9\d", shown), "nothing is coloured"
    assert "retry_delay" in plain.splitlines()[0]
    assert "1 │ def retry_delay" in plain
    assert "checked just now" in plain.splitlines()[-1]
    assert "[mode evidence" not in plain


def test_no_color_is_obeyed_and_long_shows_what_a_pipe_gets(running: Shell, project: Path) -> None:
    words = ("ask", "What does retry_delay compute?", "--long")
    shown = on_terminal(running, *words, cwd=project, NO_COLOR="1")

    assert not re.search(r"\x1b\[(?:\d+;)*(?:3|4|9)\d", shown)
    assert "[mode evidence · model none" in _ESCAPES.sub("", shown)


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("notice", [None, "The model rests until 10:00."])
@pytest.mark.parametrize("kind", [(m, n) for m in ("evidence", "companion") for n in (0, 1, 3)])
def test_it_fits_ten_lines_and_the_width(
    columns: int,
    notice: str | None,
    kind: tuple[str, int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    mode, notes = kind
    told = "\n".join([f"decision, by codex, 2 days ago, n1: {'wait ' * 40}"] * notes)
    shown = {**_ANSWER, "notice": notice, "mode": mode, "told": told}
    show_answer(shown, text="", is_long=False)

    lines = capsys.readouterr().out.splitlines()
    filled = [line.rstrip() for line in lines if line.strip()]
    assert 3 <= len(filled) <= 10 + bool(notice)
    head = [line for line in filled if line.startswith("Told, not checked")]
    assert head == {0: [], 1: ["Told, not checked:"], 3: ["Told, not checked, 2 more:"]}[notes]
    assert any("by codex, 2 days ago" in line for line in filled) == bool(notes)
    assert max(map(len, lines)) <= columns
    assert lines[-1].startswith("checked just now · 0.2 s · free")


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"answer": "", "citations": None, "workspace": None},
        {"answer": "[bold]no markup[/bold] [link=https://x]", "mode": "evidence"},
        {"answer": "a.py:1-2 f\n1|x\n… (3 lines)\n5|y", "mode": "evidence"},
        {"answer": "1|x\n2|y", "mode": "cached", "model": "m", "cost_usd": None},
        {"answer": "# Head\n\n| a | b |\n|---|---|\n| [x](http://e) | `b` |", "mode": "companion"},
    ],
)
@pytest.mark.parametrize("is_long", [False, True])
def test_whatever_an_answer_holds_is_shown_as_text(
    odd: dict[str, object], capsys: pytest.CaptureFixture[str], *, is_long: bool
) -> None:
    show_answer(odd, text=f"{odd.get('answer') or ''}\n\n[mode x]\n", is_long=is_long)

    shown = capsys.readouterr().out
    assert shown.strip()
    if "[bold]" in str(odd.get("answer")):
        assert "[bold]no markup[/bold]" in shown


def test_bash_completes_commands_by_what_completion_prints(shell: Shell) -> None:
    script = shell.run("completion", "bash").out
    command = shell.folder / "live-memory"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m live_memory "$@"\n')
    command.chmod(0o700)
    asked = (
        f"{script}\nCOMP_WORDS=(live-memory sta) COMP_CWORD=1\n"
        f'_live_memory_completion "{command}"; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", asked],
        env=dict(shell.environ),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.split() == ["start", "status", "stats"]


_FIGURES: dict[str, object] = {
    "workspace": {"root": "/srv/" + "a long folder/" * 6 + "project"},
    "indexed_files": 123_456,
    "known_files": 12_345,
    "findings": 4_000,
    "facts": 5_000,
    "stale_facts": 1_234,
    "questions": 98_765,
    "questions_answered_by_findings": 54_321,
    "cost_usd": 1234.5678,
    "model_calls": 123_456,
    "caps": {"tokens_an_hour": 2_000_000_000, "usd_a_day": 1_000.0},
    "spent_lately": {"tokens_an_hour": 2_000_000_000, "usd_a_day": 999.9999},
    "tokens_saved": -1_234_567_890,
    "last_hook_at": 0.0,
    "hook_events": 1_234_567,
    "files_waiting": 12_345,
    "dropped_events": 12_345,
    "hook_events_not_understood": 12_345,
    "listing": {"way": "walk", "problem": "git is not there, and no other way is, either"},
    "watch": {"state": "PARTIAL", "problem": "the system allows 8,192 watches, and 10,000 are due"},
    "problems": [f"trouble {n} of the disk, which takes nothing more" for n in range(20)],
}


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("troubles", [0, 1, 20])
def test_stats_fit_a_screen_with_everything_there(
    columns: int,
    troubles: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    figures = {**_FIGURES, "problems": _FIGURES["problems"][:troubles]}  # type: ignore[index]  # a list
    rows = told(figures, now=1e9)
    show_rows(rows, more="more")

    shown = capsys.readouterr().out
    lines, words = shown.splitlines(), " ".join(shown.split())
    assert len(lines) <= 23
    assert max(map(len, lines)) <= columns
    left = re.search(r"(\d+) more$", words)
    said = [value for name, value in rows if name != "codebase"]
    whole = said[: len(said) - int(left[1])] if left else said
    assert all(" ".join(value.split()) in words for value in whole)
    assert "reached, so no model is asked now" in words
    assert words.count("problem ") >= 1


def test_stats_on_a_terminal_are_the_rows_of_a_pipe(running: Shell, project: Path) -> None:
    shown = _ESCAPES.sub("", on_terminal(running, "stats", cwd=project, columns=60))
    piped = running.run("stats", cwd=project).out

    assert "".join(shown.split()) == "".join(piped.split())
    assert max(map(len, shown.splitlines())) <= 60
    assert not any(line.endswith(" ") for line in shown.splitlines())
