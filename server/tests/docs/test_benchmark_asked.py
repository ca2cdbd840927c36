"""The suite `asked`: its scores are those that come with the data, and its dry run works."""

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.harness import part, run

REPOSITORY = Path(__file__).parents[3]
JUDGE = REPOSITORY.parent / "shared" / "lab" / "asked_eval.py"
TOKENS = 2_000
LIMITS = "def limit(card):\n    if card.old:\n        return 5\n    return MAX_LIMIT\n\n\n)\n"
MUST = [["app/limits.py", 1, 4], ["Makefile", 2, 2]]
ROW: dict[str, Any] = {
    "kind": "where",
    "must": MUST,
    "also": [["app/rest.py", 40, 41]],
    "facts": ["MAX_LIMIT", "card.old"],
}
WHOLE = "app/limits.py:1-4\n1|def limit(card):\n2:    if card.old:\n3\t        return 5\n"
ANSWERS = {
    "everything": f"{WHOLE}4|    return MAX_LIMIT\n2|\t./check everything\n",
    "a part": WHOLE,
    "in a fence": "The limit.\n```py\ndef limit(card):\n    if card.old:\n…\n)\nfar = 1\n```\nrest",
    "beside the point": "1|rest = 0\n40|at_forty = 1\n300|far_away = 1\n",
    "in the middle of a line": "`return MAX_LIMIT` and `return 5` stand there.",
    "a denial": "\n\nThere is no match for this.\n1|def limit(card):",
    "a denial too late": "The limit:\nnothing here denies it, 12 5",
    "nothing": "",
    "long": f"{'x' * 7_190}\n4|return MAX_LIMIT\n",
    "cut within a character": f"{'é' * 3_599}\n\nreturn 5",
}
CITED = {
    "none": [],
    "first": [["app/limits.py", 4, 9], ["app/rest.py", 1, 1]],
    "later": [["app/rest.py", 1, 400], ["Makefile", 1, 2], ["app/limits.py", 5, 9]],
    "beside it": [["app/limits.py", 5, 9]],
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "limits.py").write_text(LIMITS)
    rest = ["rest = 0", *("" for _ in range(38)), "at_forty = 1", *("" for _ in range(300))]
    (tmp_path / "app" / "rest.py").write_text("\n".join([*rest, "far_away = 1"]))
    (tmp_path / "Makefile").write_text("check:\n\t./check everything\n")
    return tmp_path


def scores(
    tree: Path, row: dict[str, Any], text: str, cited: list[Any], grounding: str
) -> dict[str, float | None]:
    scoring, place = part("asked.scoring"), part("scores").Place
    wanted = scoring.Wanted(
        row["kind"],
        tuple(place(*one) for one in row["must"]),
        tuple(place(*one) for one in row["also"]),
        tuple(row["facts"]),
    )
    reply = scoring.Reply(text, [place(*one) for one in cited], grounding)
    found: dict[str, float | None] = scoring.scored(
        reply, wanted, part("views").Lines(tree), tokens=TOKENS
    )
    return found


@pytest.mark.skipif(not JUDGE.exists(), reason="no ../shared/lab/asked_eval.py to compare with")
@pytest.mark.parametrize("kind", ["where", "absent"])
@pytest.mark.parametrize("grounding", ["verified", "ungrounded"])
@pytest.mark.parametrize("cited", CITED)
@pytest.mark.parametrize("answer", ANSWERS)
def test_a_score_is_that_of_the_script_that_comes_with_the_data(
    tree: Path, answer: str, cited: str, grounding: str, kind: str
) -> None:
    spec = importlib.util.spec_from_file_location("asked_eval", JUDGE)
    assert spec is not None
    assert spec.loader is not None
    judge = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(judge)
    text, places = ANSWERS[answer], CITED[cited]
    citations = [{"path": path, "start": a, "end": b} for path, a, b in places]
    reply = {"answer": text, "citations": citations, "grounding": grounding}
    row = ROW | {"kind": kind}
    theirs = judge.score(row, reply, tree)
    ours = scores(tree, row, text, places, grounding)
    assert ours == {name: value for name, value in theirs.items() if name in ours}
    assert set(theirs) - set(ours) == {"kind", "denies"}


def test_an_answer_is_complete_when_it_shows_what_has_to_be_seen(tree: Path) -> None:
    found = scores(tree, ROW, ANSWERS["everything"], CITED["first"], "verified")
    assert {name: found[name] for name in ("lead", "file1", "found", "shown")} == {
        "lead": 1,
        "file1": 1,
        "found": 1 / 2,
        "shown": 1,
    }
    assert (found["facts"], found["complete"], found["noise"], found["false"]) == (1, 1, 0, 0)
    less = scores(tree, ROW, ANSWERS["a part"], CITED["later"], "verified")
    assert (less["lead"], less["found"], less["shown"]) == (0, 1 / 2, 3 / 5)
    assert (less["facts"], less["complete"]) == (1 / 2, 0)


def test_what_is_read_of_an_answer_ends_at_its_tokens(tree: Path) -> None:
    text = f"{'x' * int(3.6 * TOKENS)}\nMAX_LIMIT card.old"
    assert scores(tree, ROW, text, [], "verified")["facts"] == 0


def test_noise_is_a_shown_line_that_is_near_nothing_needed(tree: Path) -> None:
    found = scores(tree, ROW, ANSWERS["beside the point"], [], "verified")
    assert found["noise"] == 2 / 3
    assert scores(tree, ROW, "only words", [], "verified")["noise"] is None


@pytest.mark.parametrize(
    ("text", "grounding", "owns"),
    [
        ("Nothing here names it.", "verified", 1),
        ("It is at a.py:3.", "ungrounded", 1),
        ("It is at a.py:3.\nThe rest was not found.", "partial", 0),
    ],
)
def test_an_absence_is_owned_by_the_first_line_or_the_grounding(
    tree: Path, text: str, grounding: str, owns: float
) -> None:
    row = {"kind": "absent", "must": [], "also": [], "facts": []}
    assert scores(tree, row, text, [], grounding)["owns"] == owns
    assert scores(tree, ROW, text, [], grounding)["false"] == owns


def test_a_baseline_is_rendered_as_an_answer_is(tree: Path) -> None:
    showing, place = part("asked.showing"), part("scores").Place
    files = part("baselines").files_of(tree)
    text = showing.rendered([place("Makefile", 1, 6), place("app/limits.py", 3, 4)], files)
    assert text.splitlines() == [
        "Makefile:1-6",
        "1|check:",
        "2|\t./check everything",
        "",
        "app/limits.py:3-4",
        "3|        return 5",
        "4|    return MAX_LIMIT",
    ]
    assert scores(tree, ROW, showing.rendered([], files), [], "verified")["false"] == 1


def test_the_places_that_a_request_shows_are_read_in_order() -> None:
    place = part("scores").Place
    text = (
        "=== evidence\n"
        "|`limit` (app/limits.py:1-4) is called at `app/rest.py:40`.\n"
        "=== file app/limits.py (version 1), lines 1-2, 9-11 of 30\n"
        "1|def limit(card):\n"
        "|    if card.old: # app/no.py:7\n"
        "9|    return\n"
        "10:\n"
        "11\tx\n"
        "=== file Makefile, lines 2 of 2\n"
        "2|\t./check everything\n"
        "src/new.rs:5-6 limit\n"
        "5|fn limit\n"
    )
    assert part("asked.showing").places_in(text) == (
        place("app/limits.py", 1, 4),
        place("app/rest.py", 40, 40),
        place("app/limits.py", 1, 2),
        place("app/limits.py", 9, 11),
        place("Makefile", 2, 2),
        place("src/new.rs", 5, 6),
    )


@pytest.mark.real("git")
def test_a_dry_run_scores_answers_and_the_first_request_and_keeps_no_text(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    arguments = ["asked", "--dry-run", "--json", str(file), "--out", str(tmp_path)]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    there, absent = json.loads(file.read_text())["rows"]
    assert there["server"]["lead"] == 1
    assert there["first request"]["complete"] == 1
    assert there["BM25 whole files"]["found"] == 1
    assert set(absent["server"]) == {"tokens", "owns", "seconds"}
    assert "return owner" not in file.read_text()
    assert (tmp_path / "asked.md").exists()
