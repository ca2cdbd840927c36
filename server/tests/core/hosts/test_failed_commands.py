"""What a command showed that failed, was interrupted, or left early."""

import pytest

from live_memory.core.hosts.events import Ending
from live_memory.core.hosts.notices import read_command


def shown(command: str, ending: Ending) -> list[str]:
    reading = read_command(command, cwd="/app", ending=ending)
    return [view.path for view in reading.views] + [search.path for search in reading.searches]


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cat a.py; pytest -q", ["/app/a.py"]),
        ("cat a.py && pytest -q", ["/app/a.py"]),
        ("cat a.py\nsed -n 1,5p b.py\npytest", ["/app/a.py", "/app/b.py"]),
        ("grep -n X a.py; false", ["/app/a.py"]),
        ("cd sub && cat a.py && pytest", ["/app/sub/a.py"]),
        ("cd /elsewhere && cd sub && head -3 a.py && make", ["/elsewhere/sub/a.py"]),
        ("cat a.py && pytest; cat b.py; false", ["/app/a.py", "/app/b.py"]),
        # What failed showed nothing for sure, and neither did what may not have run.
        ("cat a.py", []),
        ("cat a.py | grep x", []),
        ("pytest && cat a.py", []),
        ("cat missing.py && cat a.py && false", ["/app/missing.py"]),
        ("cd sub && make && cat a.py; false", []),
        ("pytest || cat a.py; false", []),
        ("cd sub || cat a.py && cat b.py; false", []),
        ("(cat a.py; false)", []),
        ("true && (cd x; cat a.py); false", []),
        ("set -e; cat a.py; cat b.py; false", []),
        ("test -f x || exit 1; cat a.py; false", []),
        ("echo a && cat a.py; false", ["/app/a.py"]),
        ("cat a.py; exit 3; cat b.py", ["/app/a.py"]),
        ("for f in *; do cat $f; done; false", []),
    ],
)
def test_of_a_command_that_failed_only_what_ran_for_sure_counts(
    command: str, paths: list[str]
) -> None:
    """X5."""
    assert shown(command, Ending.FAILED) == paths


@pytest.mark.parametrize("command", ["cat a.py", "cat a.py; sleep 600", "sleep 600; cat a.py"])
def test_a_command_that_was_interrupted_showed_nothing_for_sure(command: str) -> None:
    assert shown(command, Ending.INTERRUPTED) == []


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cat a.py; exit 0; cat b.py", ["/app/a.py"]),
        ("exec cat a.py\ncat b.py", []),
        ("cd x || exit 1; cat a.py", ["/app/x/a.py"]),
        # Whether the chain went on to its end is not told where something else followed it.
        ("false && cat b.py; echo x", []),
        ("test -f b.py && cat b.py || echo none", []),
        ("make && cat b.py\ncat a.py", ["/app/a.py"]),
        ("make && cat b.py & cat a.py", ["/app/a.py"]),
        ("(make && cat b.py); cat a.py", ["/app/a.py"]),
        ("(make && cat b.py); (cat a.py)", ["/app/a.py"]),
        ("make && (make && cat b.py; cat a.py)", ["/app/a.py"]),
        ("cat a.py; (make && cat b.py && echo x)", ["/app/a.py", "/app/b.py"]),
        ("make && cat a.py && (echo x; ls)", ["/app/a.py"]),
        ("make && cat a.py;", ["/app/a.py"]),
        ("echo '== a' && cat a.py; echo '== b' && cat b.py", ["/app/a.py", "/app/b.py"]),
        ("cat a.py || true; cat b.py", ["/app/a.py", "/app/b.py"]),
        # A folder that may not have been entered is not known.
        ("make && cd sub; cat a.py", []),
        ("make || cd sub; cat a.py", []),
        ("make && cd sub && cat a.py", ["/app/sub/a.py"]),
        ("(make && cd sub; cat b.py); cat a.py", ["/app/a.py"]),
        # One that may have left with success left what follows out.
        ("test -f x && exit; cat a.py", []),
        ("test -f x && exit 0; cat a.py", []),
        ("test -f x && exit 1; cat a.py", ["/app/a.py"]),
        ("test -f x && exit 256; cat a.py", []),
        ("test -f x || exit; cat a.py", ["/app/a.py"]),
        ("test -f x || exit 0; cat a.py", []),
        ("test -f x || exit $?; cat a.py", []),
        ("test -f x && exec make; cat a.py", []),
        ("(exit 0; cat b.py); cat a.py", ["/app/a.py"]),
        ("(make || exit 1; cat b.py); cat a.py", ["/app/a.py"]),
        ("(cat a.py; exit 0); cat b.py", ["/app/a.py", "/app/b.py"]),
        ("true || (cat a.py; cat b.py); cat c.py", ["/app/c.py"]),
        ("true && (cat a.py; cat b.py) && cat c.py", ["/app/a.py", "/app/b.py", "/app/c.py"]),
        ("cat a.py); cat b.py", ["/app/a.py", "/app/b.py"]),
    ],
)
def test_of_a_command_that_succeeded_what_ran_counts(command: str, paths: list[str]) -> None:
    assert shown(command, Ending.SUCCEEDED) == paths


@pytest.mark.parametrize("ending", [*Ending])
@pytest.mark.parametrize("command", ["sed -i s/3/7/ a.py && false", "pytest -q", "(make; cat x)"])
def test_however_it_ended_it_may_have_changed_files(command: str, ending: Ending) -> None:
    assert read_command(command, cwd="/app", ending=ending).may_change
