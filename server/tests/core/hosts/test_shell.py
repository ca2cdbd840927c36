"""What a command tells: the files and lines it showed, and whether it may change any."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.hosts.commands import Grep
from live_memory.core.hosts.events import lines_shown
from live_memory.core.hosts.notices import read_command

_TOTAL = 100


def seen(command: str, *, cwd: str | None = "/p") -> list[tuple[str, int, int]]:
    """Path, first and last line of each view, of files that have 100 lines."""
    found = []
    for view in read_command(command, cwd=cwd).views:
        lines = lines_shown(view.cuts, _TOTAL)
        found.append((view.path, lines[0], lines[-1]) if lines else (view.path, 0, 0))
    return found


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat f", [("/p/f", 1, 100)]),
        ("cat -n a/b.ts", [("/p/a/b.ts", 1, 100)]),
        ("/bin/cat f g", [("/p/f", 1, 100), ("/p/g", 1, 100)]),
        (
            "cat 'a b.py' \"c d\" e\\ f",
            [("/p/a b.py", 1, 100), ("/p/c d", 1, 100), ("/p/e f", 1, 100)],
        ),
        ("cat -- -odd", [("/p/-odd", 1, 100)]),
        ("cat f | head -40", [("/p/f", 1, 40)]),
        ("cat f | head -60 | tail -n 21", [("/p/f", 40, 60)]),
        ("head f", [("/p/f", 1, 10)]),
        ("head -n 20 f", [("/p/f", 1, 20)]),
        ("head -n20 f", [("/p/f", 1, 20)]),
        ("head --lines=20 f", [("/p/f", 1, 20)]),
        ("head -n -5 f", [("/p/f", 1, 95)]),
        ("head -c 20 f", []),
        ("tail f", [("/p/f", 91, 100)]),
        ("tail -3 a b", [("/p/a", 98, 100), ("/p/b", 98, 100)]),
        ("tail -n +90 f", [("/p/f", 90, 100)]),
        ("tail -20 < f", [("/p/f", 81, 100)]),
        ("sed -n '36,105p' f", [("/p/f", 36, 100)]),
        ("sed -n 5p f", [("/p/f", 5, 5)]),
        ("sed -n '10,20p;30p' f", [("/p/f", 10, 20), ("/p/f", 30, 30)]),
        ("sed -n -e '1,3p' -e '90,$p' f", [("/p/f", 1, 3), ("/p/f", 90, 100)]),
        ("sed -ne '7,+2p' f", [("/p/f", 7, 9)]),
        ("sed 20q f", [("/p/f", 1, 20)]),
        ("sed 's/a/b/' f", []),
        ("sed -n '/a/,/b/p' f", []),
        ("nl -ba f | sed -n '10,20p'", [("/p/f", 10, 20)]),
        ("awk 'NR>=10 && NR<=20' f", [("/p/f", 10, 20)]),
        ("awk 'NR>=10&&NR<=20{print NR\": \"$0}' f", [("/p/f", 10, 20)]),
        ("awk 'NR==10,NR==20' f", [("/p/f", 10, 20)]),
        ("awk 'FNR<5' f", [("/p/f", 1, 4)]),
        ("awk '{print $1}' f", []),
        ("less -N f", [("/p/f", 1, 100)]),
        ("bat -r 10:20 f", [("/p/f", 10, 20)]),
        ("bat --line-range 10: --style plain f", [("/p/f", 10, 100)]),
        ("bat f", [("/p/f", 1, 100)]),
        ("bat -r 1:2 -r 5:6 f", []),
        ("tail -c 20 f", []),
        ("head -n", []),
        ("head", []),
        ("tail", []),
        ("tail -n +3 | head", []),
        ("sed -n '1,5p;5q' f", [("/p/f", 1, 5)]),
        ("sed -n '$p' f", [("/p/f", 100, 100)]),
        ("awk -f look.awk f", []),
        ('cat "`ls`"', []),
        (") cat f", [("/p/f", 1, 100)]),
        ("cat a b | head -5", [("/p/a", 1, 5)]),
        ("cat a b | tail -5", [("/p/b", 96, 100)]),
        (
            "cd src && head -20 a.py; tail -n +50 b.py",
            [("/p/src/a.py", 1, 20), ("/p/src/b.py", 50, 100)],
        ),
        ("cd /q\ncat f", [("/q/f", 1, 100)]),
        ("(cd x && cat f); cat g", [("/p/x/f", 1, 100), ("/p/g", 1, 100)]),
        ("cd ../r && cat ./f", [("/r/f", 1, 100)]),
        ("wc -l f && head -100 f", [("/p/f", 1, 100)]),
        ("cat f 2>/dev/null || cat g", [("/p/f", 1, 100)]),
        ("cat f 2>&1 | head -3", [("/p/f", 1, 3)]),
        ("LANG=C time cat f  # a look", [("/p/f", 1, 100)]),
        ("cat f > g", []),
        ("cat f | sort", []),
        ("cat f | python3 -c 'x'", []),
        ('cat $HOME/f ~/f "$X"', []),
        ("cd $X && cat f", []),
        ("cd && cat f", []),
        ("cat $(git ls-files)", []),
        ("cat `ls`", []),
        ("cat <(ls)", []),
        ("for f in a b; do cat $f; done", []),
        ("git show HEAD:f", []),
        ("echo cat f", []),
        ("cat 'f", []),
        ("", []),
    ],
)
def test_a_look_at_a_file_is_told_with_its_lines(
    command: str, expected: list[tuple[str, int, int]]
) -> None:
    """X5."""
    assert seen(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        # Which of the files that a glob means comes first is not told by the command.
        ("cat *.py | head -20", []),
        ("cat {a,b}.py | tail -3", []),
        ("cat src/?.py | sed -n '5,9p'", []),
        ("sed -n '5,9p' *.py", []),
        ("awk 'NR<5' *.py", []),
        ("cat a *.py | head -5", [("/p/a", 1, 5)]),
        ("cat *.py a | tail -5", [("/p/a", 96, 100)]),
        ("cat *.py", [("/p/*.py", 1, 100)]),
        ("head -5 *.py", [("/p/*.py", 1, 5)]),
        ("sed -s -n '5,9p' *.py", [("/p/*.py", 5, 9)]),
        ("awk 'FNR<5' *.py", [("/p/*.py", 1, 4)]),
        # In another order, no number leads to a line.
        ("tac a", [("/p/a", 1, 100)]),
        ("tac a | head -5", []),
        ("tac a | tail -5", []),
        ("tac a | sed -n '5,9p'", []),
        ("tac a | cat", [("/p/a", 1, 100)]),
        ("head -20 a | tac", [("/p/a", 1, 20)]),
        ("head -20 a | tac | head -5", []),
        ("cat -s a | sed -n '5,9p'", []),
        # Behind the lines of another file, neither.
        ("cat a b | head -20 | tail -5", []),
        ("cat a b | tail -20 | head -5", []),
        ("cat a b | head -20 | head -5", [("/p/a", 1, 5)]),
        ("cat a b | tail -20 | tail -5", [("/p/b", 96, 100)]),
        ("head -5 a b | head -3", []),
        ("head -5 *.py | head -3", []),
        ("head -q -n 5 a b | head -3", [("/p/a", 1, 3)]),
        ("head -v -n 5 a | head -3", []),
        ("cat a | cat b - | tail -5", [("/p/a", 96, 100)]),
        ("cat a | cat - b | tail -5", [("/p/b", 96, 100)]),
        ("cat a | head -5 b -", []),
    ],
)
def test_lines_of_several_files_or_in_another_order_are_not_counted(
    command: str, expected: list[tuple[str, int, int]]
) -> None:
    """X5: it is never told that the agent saw what it did not."""
    assert seen(command) == expected


def test_a_glob_is_left_for_the_workspace_to_expand() -> None:
    (view,) = read_command("head -5 src/*.py", cwd="/p").views
    assert (view.path, view.is_glob) == ("/p/src/*.py", True)
    (quoted,) = read_command("cat 'a*.py'", cwd="/p").views
    assert not quoted.is_glob


@pytest.mark.parametrize(
    ("command", "path", "grep"),
    [
        ('grep -n "a\\|b" f | head -30', "/p/f", Grep("a|b", limit=30)),
        ("grep -rn foo src --include='*.ts'", "/p/src", Grep("foo", glob="*.ts")),
        ("rg -n -A3 'x+' src/a.py", "/p/src/a.py", Grep("x+", after=3)),
        ("rg -i foo", "/p", Grep("foo", ignore_case=True)),
        ("grep -F 'a.b(' f", "/p/f", Grep(r"a\.b\(")),
        ("grep 'f(x)' f", "/p/f", Grep(r"f\(x\)")),
        ("grep -E 'f(x|y)' f", "/p/f", Grep("f(x|y)")),
        ("grep -wC2 foo f", "/p/f", Grep(r"\b(?:foo)\b", before=2, after=2)),
        ("grep -e a -e b f", "/p/f", Grep("a|b")),
        ("grep -A2 foo f | head -9", "/p/f", Grep("foo", after=2, limit=2)),
        ("grep -C1 foo f | head -3", "/p/f", Grep("foo", before=1, after=1, limit=1)),
        ("tac f | grep foo", "/p/f", Grep("foo")),
        ("cat f | grep -m 3 '[[:space:]]x'", "/p/f", Grep(r"[\s]x", limit=3)),
    ],
)
def test_a_search_is_told_so_that_it_can_be_made_again(command: str, path: str, grep: Grep) -> None:
    (search,) = read_command(command, cwd="/p").searches
    assert (search.path, search.grep) == (path, grep)


@pytest.mark.parametrize(
    "command",
    [
        "grep -l x f",
        "grep -c x f",
        "grep -v x f",
        "grep -q x f",
        "grep -f list f",
        "grep x f | wc -l",
        "head -50 f | grep x",
        "grep x f | tail -3",
        "grep -A5 x f | head -3",
        "grep x f g | head -3",
        "tac f | grep x | head -3",
        "find . -name x | xargs grep x",
        "rg --files",
        "grep",
    ],
)
def test_a_search_that_shows_no_lines_of_its_own_tells_nothing(command: str) -> None:
    reading = read_command(command, cwd="/p")
    assert (reading.views, reading.searches) == ((), ())


@pytest.mark.parametrize(
    ("command", "may_change"),
    [
        ("cat f | head -3; ls -la && git status", False),
        ("grep -rn x . 2>/dev/null | sort | uniq -c", False),
        ("git log --oneline -5 && git diff HEAD~1", False),
        ("find . -name '*.py' | xargs wc -l", False),
        ("sed -i s/a/b/ f", True),
        ("sed -ni 1p f", True),
        ("sed -n 'w out' f", True),
        ("awk 'NR>1 {print > \"x\"}' f", True),
        ("cat a > b", True),
        ("echo x >> b", True),
        ("sort -o f f", True),
        ("find . -delete", True),
        ("find . -name x | xargs rm", True),
        ("git checkout main", True),
        ("git diff --output=x", True),
        ("npm test", True),
        ("python x.py", True),
        ("$EDITOR f", True),
        ("cat <<EOF > f\nx\nEOF", True),
        ("echo $(rm f)", True),
        ("cat 'f", True),
        ("x" * 20_000, True),
        ("", False),
        ("< f", False),
    ],
)
def test_only_what_is_known_to_change_nothing_is_trusted(command: str, *, may_change: bool) -> None:
    assert read_command(command, cwd="/p").may_change is may_change


_WORDS = [
    "cat",
    "head",
    "tail",
    "sed",
    "awk",
    "grep",
    "rg",
    "bat",
    "cd",
    "git",
    "xargs",
    "f",
    "-n",
    "-5",
    "1,3p",
    "NR>2",
    "'",
    '"',
    "\\",
    "|",
    "||",
    "&&",
    ";",
    "\n",
    "(",
    ")",
    "<",
    ">",
    ">>",
    "2>&1",
    "$(",
    "`",
    "#",
    "*",
    "{a,b}",
    "~",
    "--",
    "-e",
    "\0",
    "\ud800",
    "é",
]


@given(
    st.lists(st.sampled_from(_WORDS) | st.text(max_size=6), max_size=40), st.sampled_from(["", " "])
)
def test_nothing_that_is_typed_can_break_it(words: list[str], between: str) -> None:
    reading = read_command(between.join(words), cwd="/p")
    assert all(view.path.startswith("/") for view in reading.views)
    assert all(search.path.startswith("/") for search in reading.searches)
    for view in reading.views:
        assert set(lines_shown(view.cuts, 50)) <= set(range(1, 51))


@pytest.mark.parametrize(
    "piece",
    [
        "'",
        '"',
        '"a',
        "\\",
        "(",
        ")",
        "a",
        "1",
        "$",
        "a;",
        "a|",
        "cat f;",
        "<",
        "2>",
        "-",
        "{,",
        "[",
        "#",
        "\n",
        "awk 'NR>1' f;",
        "sed -n '1p;' f;",
        "grep '\\|' f;",
        '"\\',
        "sed -n 1p;",
        "x=1 ",
        "a&&",
        "(a&&",
        "a&&(b)&&",
    ],
)
def test_hostile_length_costs_no_more_than_its_length(piece: str) -> None:
    """Sixteen thousand characters are read within pytest's own timeout thousands of times over."""
    for _ in range(3):
        read_command(piece * (16_000 // len(piece)), cwd="/p")
