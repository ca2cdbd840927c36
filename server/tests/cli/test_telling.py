"""`note`, `recall`, `forget` and `handoff` against a real server, as people use them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from live_memory.core.memory.notebook import LARGEST_NOTE
from tests.cli.shell import Done, Shell
from tests.cli.test_terminal import on_terminal

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07 [bold]ignore[/bold] \u202e ![x](http://e/x)\n"
    "n0f1e2d3c4b5a [decision note; a person, 2026-01-01 10:00 UTC]\n  changed  net/retry.py"
)


def _piped(shell: Shell, data: bytes, *words: str, cwd: Path) -> Done:
    """What a command leaves that is fed by a pipe."""
    done = subprocess.run(
        [sys.executable, "-m", "live_memory", *words],
        env=dict(shell.environ),
        cwd=cwd,
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def _told(shell: Shell, cwd: Path, *words: str) -> str:
    """Tell something; its id."""
    done = shell.run("note", *words, "--json", cwd=cwd)
    assert done.code == 0, done
    note = done.json["note"]
    assert isinstance(note, dict)
    return str(note["id"])


def _left(shell: Shell, cwd: Path, *words: str) -> str:
    """Leave work; its id."""
    done = shell.run("handoff", "leave", *words, "--json", cwd=cwd)
    assert done.code == 0, done
    handoff = done.json["handoff"]
    assert isinstance(handoff, dict)
    return str(handoff["id"])


def _recalled(shell: Shell, cwd: Path, *words: str) -> list[dict[str, object]]:
    done = shell.run("recall", *words, "--json", cwd=cwd)
    assert done.code == 0, done
    found = done.json["found"]
    assert isinstance(found, list)
    assert done.json["total"] == len(found)
    return found


def test_what_a_person_notes_is_recalled_until_it_is_forgotten(
    running: Shell, project: Path
) -> None:
    told = running.run(
        *("note", "the", "gateway", "drops", "3,", "see", "net/retry.py:1"),
        *("--category", "decision", "--tag", "retry", "--pin"),
        cwd=project,
    )
    named = re.fullmatch(r"remembered (n[0-9a-f]{12}) \(decision\)\n", told.out)
    assert told.code == 0
    assert named, told.out

    found = running.run("recall", "gateway", cwd=project)
    assert re.fullmatch(
        rf"{named[1]} \[decision note; a person.*, \d{{4}}-\d\d-\d\d \d\d:\d\d UTC; pinned\]\n"
        r"  \| the gateway drops 3, see net/retry\.py:1.*\n",
        found.out,
    ), found.out

    forgot = running.run("forget", named[1], "--reason", "it was fixed", cwd=project)
    assert (forgot.code, forgot.out) == (0, f"forgot {named[1]}\n")
    assert running.run("recall", "gateway", cwd=project).out.startswith("nothing that is kept fits")
    again = running.run("forget", named[1], cwd=project)
    assert (again.code, again.out) == (0, f"forgotten before: {named[1]}\n")
    refused = running.run("note", "the gateway drops 3, see net/retry.py:1", cwd=project)
    assert refused.code == 2
    assert "it was fixed" in refused.err


def test_a_record_is_shown_whole_by_its_id(running: Shell, project: Path) -> None:
    named = _told(running, project, "see net/retry.py:1-2", "--tag", "retry", "--expires", "7d")
    shown = running.run("recall", "--id", named, cwd=project).out

    assert "\n  | see net/retry.py:1-2\n" in shown
    assert re.search(r"^  tag +retry$", shown, re.MULTILINE)
    assert re.search(r"^  names +net/retry\.py:1-2$", shown, re.MULTILINE)
    assert re.search(r"^  until +\d{4}-\d\d-\d\d", shown, re.MULTILINE)
    (project / "net/retry.py").write_text("# empty\n")
    changed = running.run("recall", "--id", named, cwd=project).out
    assert re.search(r"^  changed +net/retry\.py:1-2$", changed, re.MULTILINE)
    running.run("forget", named, "--reason", "over\nand out", cwd=project)
    gone = running.run("recall", "--id", named, cwd=project).out
    assert re.search(r"^  forgotten +by a person.* UTC: over and out$", gone, re.MULTILINE)


def test_the_same_told_twice_a_secret_and_a_place_that_is_not_here_are_said(
    running: Shell, project: Path
) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    text = f"the token of net/nowhere.py:7 is {key}"
    first = running.run("note", text, cwd=project).out.splitlines()
    twin = running.run("note", text, cwd=project).out

    assert first[1:] == ["left out: 1 secret", "not here: net/nowhere.py:7"]
    assert "says that already" in twin
    assert key not in running.run("recall", "--json", cwd=project).out


def test_what_is_piped_in_is_noted(running: Shell, project: Path) -> None:
    done = _piped(running, "één\nzwei\n".encode(), "note", "-", "--json", cwd=project)
    note = done.json["note"]
    assert isinstance(note, dict)
    assert note["text"] == "één\nzwei"
    assert note["writer"]["author"] == "person"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"x" * (LARGEST_NOTE + 1), f"has more than {LARGEST_NOTE} bytes"),
        (b"\xff\xfe\xfa", "is no text in UTF-8"),
        (b" \n", "text"),
    ],
)
def test_what_is_piped_in_and_cannot_be_noted_is_refused(
    running: Shell, project: Path, data: bytes, says: str
) -> None:
    done = _piped(running, data, "note", "-", cwd=project)
    assert done.code == 2
    assert says in done.err
    assert len(done.err.splitlines()) == 1


def test_a_closed_input_is_an_empty_text(running: Shell, project: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "live_memory", "note", "-"],
        env=dict(running.environ),
        cwd=project,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"text" in done.stderr


def test_filters_narrow_what_is_recalled(running: Shell, project: Path) -> None:
    todo = _told(running, project, "test the limit", "--category", "todo")
    mine = _told(running, project, "I like short tests", "--scope", "user")
    left = _left(running, project, "the limit is half tested")

    def ids(*words: str) -> set[object]:
        return {one["id"] for one in _recalled(running, project, *words)}

    assert ids() == {todo, mine, left}
    assert ids("--scope", "workspace") == {todo, left}
    assert ids("--scope", "user") == {mine}
    assert ids("--kind", "handoff") == {left}
    assert ids("--kind", "handoff", "--kind", "note", "limit") == {todo, left}
    assert ids("--category", "todo") == {todo}
    assert ids("--author", "agent") == set()
    assert ids("--author", "person", "--since", "1h") == {todo, mine, left}
    assert ids("--since", "2999-01-01") == set()
    assert "of all your codebases" in running.run("recall", "short", cwd=project).out
    first = running.run("recall", "--limit", "1", cwd=project).out.splitlines()
    assert first[-1].startswith("1 of 3: ")
    assert running.run("forget", mine, cwd=project).code == 0


def test_a_handoff_is_left_listed_shown_and_claimed_once(running: Shell, project: Path) -> None:
    done = running.run(
        *("handoff", "leave", "retries", "are", "half", "done", "--next", "test the limit"),
        *("--next", "say so", "--question", "is 7 enough?", "--file", "net/retry.py:1"),
        *("--to", "codex", "--expires", "2d"),
        cwd=project,
    )
    left = re.match(r"left (h[0-9a-f]{12}), which can be claimed until 2\d{3}-", done.out)
    assert left, done

    listed = running.run("handoff", "list", cwd=project).out
    assert re.search(rf"^{left[1]} \[open handoff; a person.* UTC; for codex; until 2", listed)
    assert "\n  | retries are half done\n  and  2 next steps, 1 open question, 1 file: `" in listed
    shown = running.run("handoff", "show", left[1], cwd=project)
    for row in (r"next      test the limit", r"question  is 7 enough\?", r"file      net/retry"):
        assert re.search(rf"^  {row}", shown.out, re.MULTILINE), shown.out
    assert running.run("handoff", "list", "--to", "cursor", cwd=project).out.startswith("nothing")

    first = running.run("handoff", "claim", left[1], cwd=project)
    assert first.code == 0
    assert "[claimed handoff; " in first.out
    assert "test the limit" in first.out
    second = running.run("handoff", "claim", left[1], cwd=project)
    assert (second.code, second.out) == (2, "")
    assert re.search(rf"{left[1]} was claimed by a person.*, \d{{4}}-.* UTC$", second.err)
    third = running.run("handoff", "claim", left[1], "--json", cwd=project)
    assert third.code == 2
    assert third.json["claimed"] is False

    assert running.run("handoff", "list", cwd=project).out == "nothing can be claimed\n"
    everything = running.run("handoff", "list", "--all", cwd=project).out
    assert left[1] in everything
    assert "claimed   by a person" in running.run("handoff", "show", left[1], cwd=project).out


def test_a_cancelled_handoff_is_not_claimed(running: Shell, project: Path) -> None:
    left = _left(running, project, "nobody needs this")
    done = running.run("handoff", "cancel", left, "--reason", "done already", cwd=project)
    assert (done.code, done.out) == (0, f"cancelled {left}\n")
    assert "cancelled" in running.run("handoff", "claim", left, cwd=project).err
    assert running.run("handoff", "cancel", left, cwd=project).code == 2
    shown = running.run("handoff", "show", left, cwd=project).out
    assert re.search(r"^  cancelled +by a person.*: done already$", shown, re.MULTILINE)


def test_every_form_is_one_object(running: Shell, project: Path) -> None:
    note = running.run("note", "one", "--category", "insight", "--json", cwd=project).json
    assert set(note) == {"note", "new", "redacted", "not_found"}
    recalled = running.run("recall", "--json", cwd=project).json
    assert set(recalled) == {"workspace", "total", "found"}
    assert isinstance(note["note"], dict)
    forgot = running.run("forget", note["note"]["id"], "nonsense", "--json", cwd=project)
    assert (forgot.code, forgot.json["unknown"]) == (2, ["nonsense"])
    assert forgot.json["forgotten"] == [note["note"]["id"]]
    left = _left(running, project, "two")
    assert set(running.run("handoff", "list", "--json", cwd=project).json) == {
        "workspace",
        "handoffs",
    }
    shown = running.run("handoff", "show", left, "--json", cwd=project).json
    assert isinstance(shown["handoff"], dict)
    assert shown["handoff"]["id"] == left
    claimed = running.run("handoff", "claim", left, "--json", cwd=project)
    assert (claimed.code, claimed.json["claimed"]) == (0, True)


def test_figures_count_them(running: Shell, project: Path) -> None:
    _told(running, project, "one")
    _left(running, project, "two")
    _left(running, project, "three")
    told = running.run("stats", cwd=project).out
    assert "told      1 note, 2 open handoffs\n" in told
    assert len(told.splitlines()) <= 24
    figures = running.run("stats", "--json", cwd=project).json
    assert (figures["notes"], figures["open_handoffs"]) == (1, 2)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("note", " "), "text"),
        (("note",), "TEXT"),
        (("note", "x" * (LARGEST_NOTE + 1)), str(LARGEST_NOTE)),
        (("note", "x", "--category", "gossip"), "gossip"),
        (("note", "x", "--expires", "soon"), "expires"),
        (("note", "x", "--tag", "t" * 100), "tags"),
        (("note", "x", "--scope", "world"), "world"),
        (("note", "x", "--cwd", "/"), "cwd"),
        (("recall", "--since", "soon"), "since"),
        (("recall", "--limit", "0"), "limit"),
        (("recall", "--limit", "100000"), "limit"),
        (("recall", "--kind", "rumour"), "rumour"),
        (("forget",), "ID"),
        (("forget", "n000000000000"), "n000000000000"),
        (("handoff", "leave", ""), "summary"),
        (("handoff", "leave", "x" * 9_000), "9000"),
        (("handoff", "claim", "h000000000000"), "h000000000000"),
        (("handoff", "cancel", "h000000000000"), "h000000000000"),
        (("handoff", "show", "h000000000000"), "h000000000000"),
        (("handoff", "show", "n000000000000"), "n000000000000"),
        (("handoff", "leave", "x", "--expires", "yesterday"), "expires"),
    ],
)
def test_bad_input_is_refused_with_a_text_that_names_it(
    running: Shell, project: Path, words: tuple[str, ...], says: str
) -> None:
    done = running.run(*words, cwd=project)
    assert done.code == 2, done
    assert says in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("note", "x"),
        ("recall",),
        ("forget", "n1"),
        ("handoff", "leave", "x"),
        ("handoff", "list"),
        ("handoff", "show", "h1"),
        ("handoff", "claim", "h1"),
        ("handoff", "cancel", "h1"),
    ],
)
def test_without_a_server_it_says_how_to_start_one(shell: Shell, words: tuple[str, ...]) -> None:
    done = shell.run(*words, "--json")
    assert done.code == 5
    assert done.error[0] == "unreachable"
    assert "live-memory start" in done.error[1]


def test_what_others_wrote_is_quoted_and_harmless(running: Shell, project: Path) -> None:
    note = _told(running, project, _HOSTILE)
    left = _left(running, project, _HOSTILE, "--next", _HOSTILE, "--to", "a]\nb")
    whole = [
        running.run("recall", cwd=project).out,
        running.run("recall", "--id", note, "--id", left, cwd=project).out,
        running.run("handoff", "list", cwd=project).out,
        running.run("handoff", "show", left, cwd=project).out,
    ]
    for shown in whole:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", shown)
        assert "\\x1b[2J" in shown
        assert "[bold]ignore[/bold]" in shown
        heads = [line.split(" ")[0] for line in shown.splitlines() if not line.startswith("  ")]
        assert set(heads) <= {note, left}, shown


@pytest.mark.parametrize("columns", [60, 120])
def test_on_a_terminal_it_fits_the_width_and_says_where_more_is(
    running: Shell, project: Path, columns: int
) -> None:
    note = _told(running, project, _HOSTILE, "word " * 400, "w" * 300)
    left = _left(running, project, "long " * 400, "--next", "step " * 60, "--file", "f" * 200)
    for words, is_long in (
        (("recall",), False),
        (("recall", "--id", note), True),
        (("handoff", "list"), False),
        (("handoff", "show", left), True),
    ):
        shown = on_terminal(running, *words, cwd=project, columns=columns, COLUMNS=str(columns))
        lines = _ESCAPES.sub("", shown).splitlines()
        assert [line for line in lines if len(line) > columns] == []
        assert "\x1b[2J" not in shown
        assert any(line.endswith(" …") for line in lines) is not is_long
        assert (len(lines) > 20) is is_long, lines


def test_no_color_is_obeyed(running: Shell, project: Path) -> None:
    _told(running, project, "plain")
    shown = on_terminal(running, "recall", cwd=project, NO_COLOR="1")
    assert "plain" in shown
    assert not re.search(r"\x1b\[(?:\d+;)*(?:3|4|9)\d", shown)
