"""The benchmark harness: its scoring is right, its dry run works, and it never looks inside."""

import ast
import importlib
import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.harness import BENCHMARK, run

MODULES = sorted(BENCHMARK.rglob("*.py"))


def bench(name: str) -> ModuleType:
    """A module of the harness, which is no package of the server's."""
    if str(BENCHMARK) not in sys.path:
        sys.path.append(str(BENCHMARK))
    return importlib.import_module(f"bench.{name}")


def imported(module: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.relative_to(BENCHMARK).as_posix())
def test_the_harness_needs_nothing_but_python_and_fits_its_page(module: Path) -> None:
    """It measures any server that offers the tool, so it may not know ours."""
    foreign = imported(module) - set(sys.stdlib_module_names) - {"bench"}
    assert foreign == set()
    source = module.read_text(encoding="utf-8")
    assert source.count("\n") <= 300
    assert ast.get_docstring(ast.parse(source))
    functions = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef))
    assert [f.name for f in functions if (f.end_lineno or 0) - f.lineno >= 60] == []


@pytest.mark.real("git")
def test_a_dry_run_goes_through_every_part_of_a_suite(tmp_path: Path) -> None:
    """With real servers, the scripted models, and a switch of the work tree."""
    file = tmp_path / "found.json"
    done = run(
        "freshness", "--dry-run", "--limit", "4", "--json", str(file), "--out", str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    answered = {(row["mode"], row["answer_mode"]) for row in found["rows"]}
    assert ("evidence", "evidence") in answered
    assert ("repeats the newest", "companion") in answered
    assert found["run"]["seed"] == 1
    assert str(tmp_path) not in file.read_text()
    assert "not results" in (tmp_path / "freshness.md").read_text()
    assert ET.fromstring((tmp_path / "freshness-rates.svg").read_text()).tag.endswith("svg")


@pytest.mark.parametrize(
    "suite", ["retrieval", "asked", "replay", "freshness", "checking", "conclusions"]
)
def test_a_suite_without_its_data_says_so_and_is_no_failure(tmp_path: Path, suite: str) -> None:
    nowhere = str(tmp_path / "nowhere")
    done = run(suite, "--data", nowhere, "--repos", nowhere, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Skipped: " in done.stdout


def test_ranks_are_scored_by_the_first_citation_of_each_file() -> None:
    scores = bench("scores")
    places = [scores.Place(path, 1, 9) for path in ("b", "a", "b", "c")]
    files = scores.files_in_order(places)
    assert files == ["b", "a", "c"]
    assert scores.hit_at(files, ["a"], 1) == 0
    assert scores.hit_at(files, ["a"], 2) == 1
    assert scores.reciprocal_rank(files, ["c", "a"]) == 1 / 2
    assert scores.recall_at(files, ["a", "z"], 10) == 1 / 2


def test_a_gold_range_is_found_when_a_citation_touches_it() -> None:
    scores = bench("scores")
    places = [scores.Place("a", 5, 9)]
    assert scores.line_overlap(places, {"a": [[9, 20], [1, 5], [10, 20]], "b": [[5, 9]]}) == 1 / 2
    assert scores.line_overlap(places, {}) is None


def test_percentiles_and_intervals() -> None:
    scores = bench("scores")
    assert scores.percentile(list(range(1, 101)), 0.95) == 95
    assert scores.percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    low, high = scores.bootstrap([0.0, 1.0] * 50, seed=1)
    assert low < 0.5 < high
    assert (low, high) == scores.bootstrap([0.0, 1.0] * 50, seed=1)
    assert scores.bootstrap([None], seed=1) is None


def test_what_changed_is_asked_about_only_where_its_old_wording_is_gone() -> None:
    history = bench("source.history")
    before = {
        "a.py": "LIMIT_OF_ROWS = 5\nSIZE_OF_PAGE = 10\n\ndef charge(card, retries=3):\n    pass\n",
        "b.py": "def wandering_rule():\n    pass\n",
    }
    after = {
        "a.py": "LIMIT_OF_ROWS = 6\nSIZE_OF_PAGE = 20\n\ndef charge(card, retries=4):\n    pass\n",
        "b.py": "",
        "c.py": "def wandering_rule():\n    pass\n",
        "notes.md": "It used to be SIZE_OF_PAGE = 10.",
    }
    found = {(i.kind, i.name, i.old, i.new) for i in history.items_between(before, after)}
    assert found == {
        ("constant", "LIMIT_OF_ROWS", "LIMIT_OF_ROWS = 5", "LIMIT_OF_ROWS = 6"),
        ("default", "charge", "def charge(card, retries=3)", "def charge(card, retries=4)"),
        ("moved", "wandering_rule", "b.py:", "c.py:"),
    }


def judged(text: str, **citation: object) -> tuple[bool, bool]:
    scores, server = bench("scores"), bench("talk.server")
    history, suite = bench("source.history"), bench("suites.freshness")
    item = history.Item("constant", "a.py", "LIMIT", "LIMIT = 5000", "LIMIT = 6000", "?")
    status = str(citation.get("status", "verified"))
    place = scores.Place(str(citation.get("path", "a.py")), 1, 1)
    answer = server.Answer(text, (place,), (status,), 0.1)
    gone = suite.Gone({"a.py": "LIMIT = 6000\n"}, frozenset({"return LIMIT - 5000"}))
    verdict = suite.judged(item, answer, gone)
    return verdict.is_stale, verdict.is_current


def test_an_answer_is_stale_when_it_states_or_cites_what_is_no_more() -> None:
    assert judged("`LIMIT = 6000` (a.py:1)") == (False, True)
    assert judged("`LIMIT = 5000` (a.py:1)") == (True, False)
    assert judged("`LIMIT = 6000`\n```\n    return LIMIT - 5000\n```\n") == (True, True)
    assert judged("`LIMIT = 6000`", path="gone.py") == (True, True)
    assert judged("`LIMIT = 5000` (not found there)", status="unsupported") == (False, False)


def test_a_moved_definition_is_stale_where_its_old_file_is_named() -> None:
    """A new path may end like the old one."""
    scores, server = bench("scores"), bench("talk.server")
    history, suite = bench("source.history"), bench("suites.freshness")
    item = history.Item("moved", "app/a.py", "rule", "app/a.py:", "src/app/a.py:", "?")
    gone = suite.Gone({"src/app/a.py": "def rule(): ...\n", "app/a.py": ""}, frozenset())
    for text, is_stale in (("`rule` (src/app/a.py:1)", False), ("`rule` (app/a.py:1)", True)):
        answer = server.Answer(text, (scores.Place("src/app/a.py", 1, 1),), ("verified",), 0.1)
        assert suite.judged(item, answer, gone).is_stale is is_stale


def test_a_reader_sees_numbered_lines_fences_and_notes() -> None:
    """Whatever server wrote the prompt; the scripted models stand on this."""
    view = bench("model.in_view")
    prompt = (
        "=== file app/a.py (version 1), lines 3-4 of 9\n"
        "3|LIMIT = 1\n"
        "|def open_it(x):\n"
        "=== evidence\n"
        "     | `Box` (app/b.py:7-9): a box\n"
        "     |   - line 8: `LIMIT = 2`\n"
        "     | app/c.py:20-21\n"
        "     | ```\n"
        "     | # how many\n"
        "     | LIMIT: int = 3\n"
        "     | ```\n"
        "app/d.py:30-31 LIMIT\n"
        "30|# how many\n"
        "31|LIMIT = 4\n"
        "     | What is the value of `LIMIT`?\n"
    )
    assert view.asked_name(prompt) == "LIMIT"
    found = [(line.path, line.number, line.text) for line in view.in_view(prompt, "LIMIT")]
    assert found == [
        ("app/a.py", 3, "LIMIT = 1"),
        ("app/b.py", 8, "LIMIT = 2"),
        ("app/c.py", 21, "LIMIT: int = 3"),
        ("app/d.py", 31, "LIMIT = 4"),
    ]


@pytest.mark.parametrize(
    ("command", "is_run"),
    [
        ("cat -n a.ts | head -40", True),
        ("cd src && grep -rn 'x\\|y' a.ts 2>/dev/null | tail -3", True),
        ("sed -n '3,9p' a.ts; sed -n '20p' b.ts", True),
        ("sed -i 's/a/b/' a.ts", False),
        ("sed -n 'w stolen' a.ts", False),
        ("cat a.ts > b.ts", False),
        ("cat a.ts & rm b.ts", False),
        ("grep x a.ts | xargs rm", False),
        ("cat $(rm a.ts)", False),
        ("cat `rm a.ts`", False),
        ("cat /etc/passwd", False),
        ("cat ../secret", False),
        ("rg --pre ./run x", False),
        ("find src -name '*.ts' -type f | sort | head -3 && grep -n x a.ts", True),
        ("find . -delete", False),
        ("find . -name a -exec rm {} +", False),
        ("find . -fprint stolen", False),
        ("sort -uo b.ts a.ts", False),
    ],
)
def test_recorded_commands_run_again_only_where_they_just_show_text(
    command: str, is_run: bool
) -> None:
    assert bench("views").is_harmless(command) is is_run


def test_output_is_traced_to_the_lines_that_it_shows(tmp_path: Path) -> None:
    views = bench("views")
    (tmp_path / "a.ts").write_text("one\ntwo\nthree\n")
    lines = views.Lines(tmp_path)
    output = "a.ts:2:two\n3\tthree\nnothing of it\n"
    assert views.placed(lines, output, ["a.ts"]) == views.View({"a.ts": frozenset({2, 3})}, 14)
    assert views.shown_by_read(lines, "a.ts", 2, 1).lines == {"a.ts": frozenset({2})}
    shown = views.shown_by_command(lines, "cat a.ts | head -1")
    assert shown == views.View({"a.ts": frozenset({1})}, 0)


def test_a_first_request_is_searched_for_gold_lines_and_files(tmp_path: Path) -> None:
    replay, views = bench("head_start"), bench("views")
    (tmp_path / "a.ts").write_text("export const first = 1\nexport const second = 2\n")
    (tmp_path / "b.ts").write_text("export const third = 3\nexport const fourth = 4\n")
    prompt = "=== file a.ts\n    1| export const first = 1\n    2| export const second = 2\nb.ts"
    gold = [("a.ts", 2, 2), ("b.ts", 1, 1)]
    found = replay.head_start(prompt, gold, views.Lines(tmp_path))
    assert found == {"files": 1 / 2, "lines": 1 / 2}


@pytest.mark.real("git")
def test_a_dry_run_says_an_answer_and_then_makes_it_wrong_in_every_way(tmp_path: Path) -> None:
    """But one: nowhere is a tiny file free of what is said of it."""
    file = tmp_path / "found.json"
    done = run("checking", "--dry-run", "--json", str(file), "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    first, *others = json.loads(file.read_text())["rows"]
    assert (first["mode"], first["right"], first["kept"]) == ("companion", 2, 2)
    kinds = set(bench("checking.spoiling").KINDS) - {"lines"}
    assert {row["kind"] for row in others} == kinds


def test_a_verdict_is_worth_what_the_place_is() -> None:
    scoring, scores, server = bench("checking.scoring"), bench("scores"), bench("talk.server")
    places = tuple(scores.Place("a.py", n, n) for n in (1, 2, 3))
    statuses = ("verified", "corrected", "unsupported")
    answer = server.Answer("", places, statuses, 0.1, mode="companion")
    assert scoring.verdicts(answer, places) == {"kept": 1, "moved": 1, "denied": 1}
    assert [scoring.is_caught(answer, [place]) for place in places] == [False, True, True]
    assert not scoring.is_caught(answer, places)
    assert not scoring.is_thrown(answer, right=5, wrong=0)
    instead = server.Answer("", places, statuses, 0.1, mode="evidence")
    assert scoring.verdicts(instead, places) == {"kept": 0, "moved": 0, "denied": 3}
    assert scoring.is_caught(instead, places)
    assert scoring.is_thrown(instead, right=4, wrong=1)
    assert not scoring.is_thrown(instead, right=3, wrong=1)


WRONG = {
    "lines": ("LIMIT = 5` is what `charge(card)` returns, if `ok` (a.py:63)", ["a.py:63"]),
    "value": ("`LIMIT = 56` is what `charge(card)` returns, if `ok` (a.py:3)", ["a.py:3"]),
    "file": ("`charge(card)` returns, if `ok` (b.py:3)", ["b.py:3"]),
    "next definition": ("`charge(card)` returns, if `ok` (a.py:4)", ["a.py:4"]),
    "name": ("is what `refund(card)` returns, if `ok` (a.py:3)", ["a.py:3"]),
    "stale value": ("`LIMIT = 6` is what", ["a.py:3"]),
    "negation": ("`LIMIT = 5` is not what `charge(card)`", ["a.py:3"]),
}


@pytest.mark.parametrize("kind", WRONG)
def test_one_thing_in_an_answer_is_made_wrong(tmp_path: Path, kind: str) -> None:
    prose, spoiling = bench("checking.prose"), bench("checking.spoiling")
    rest = "rest = 0\n" * 60
    code = "\n\ndef charge(card): return LIMIT = 5\ndef refund(card): ...\n"
    for name, text in (("a.py", code + rest), ("b.py", rest)):
        (tmp_path / name).write_text(text)
    said = "It has `LIMIT` (a.py:3). `LIMIT = 5` is what `charge(card)` returns, if `ok` (a.py:3)."
    (made,) = spoiling.spoiled(spoiling.Original(said, bench("views").Lines(tmp_path)), kind)
    assert WRONG[kind][0] in made.text
    assert [prose.written(place) for place in made.places] == WRONG[kind][1]


def test_a_clause_ends_at_its_places_and_begins_behind_those_of_another() -> None:
    prose = bench("checking.prose")
    text = "So `a` (x.py:1) is `f, g`, and `b.c` has `d, e` (`x.py:2`, `x.py:3-4`)."
    clauses = [text[slice(*prose.clause_around(text, one))] for one in prose.citations(text)]
    assert clauses == ["So `a` (", "and `b.c` has `d, e` (`", "and `b.c` has `d, e` (`"]
