"""`ask`, `stats` and `empty` against a real server."""

from pathlib import Path

import pytest

from live_memory.cli.facts import told
from tests.cli.shell import Shell

_QUESTION = "What does retry_delay compute?"


@pytest.mark.promise("citations-checked")
def test_json_is_exactly_the_published_object(running: Shell, project: Path) -> None:
    answer = running.run("ask", _QUESTION, "--cwd", str(project), "--json").json

    assert set(answer) >= {
        *("answer", "mode", "grounding", "citations", "model", "elapsed_s", "usage"),
        *("workspace", "notice"),
    }
    assert answer["mode"] == "evidence"
    assert answer["model"] is None
    workspace = answer["workspace"]
    assert isinstance(workspace, dict)
    assert workspace["root"] == str(project)
    citations = answer["citations"]
    assert isinstance(citations, list)
    assert citations[0]["path"] == "net/retry.py"
    assert citations[0]["start"] == 1
    assert citations[0]["status"] == "verified"


def test_json_says_why_each_cited_file_ranked_and_the_text_does_not(
    running: Shell, project: Path
) -> None:
    (project / "tests").mkdir()
    (project / "tests/test_retry.py").write_text("def test_it():\n    assert retry_delay(1) == 2\n")
    asked = running.run("ask", _QUESTION, "--cwd", str(project), "--json").json
    text = running.run("ask", _QUESTION, "--cwd", str(project)).out

    why = asked["why"]
    assert isinstance(why, list)
    assert [(place["path"], place["defines"], place["factors"]) for place in why] == [
        ("net/retry.py", ["retry_delay"], {"name": 1.15}),
        ("tests/test_retry.py", [], {"test": 0.6, "name": 1.05}),
    ]
    assert why[0]["words"] == ["retry_delay"]
    assert why[0]["score"] > why[1]["score"] > 0
    assert "0.6" not in text


def test_without_json_the_rendered_answer_is_all_there_is(running: Shell, project: Path) -> None:
    done = running.run("ask", _QUESTION, "--cwd", str(project))

    assert done.code == 0
    assert done.err == ""
    assert "net/retry.py:1" in done.out
    assert "\n1|def retry_delay" in done.out
    assert done.out.endswith("free]\n")


@pytest.mark.parametrize(
    ("cwd", "given", "root"),
    [("net", ".", "net"), (".", "net", "net"), (".", "", "."), ("net", "..", ".")],
)
def test_a_relative_folder_is_seen_from_where_the_shell_is(
    running: Shell, project: Path, cwd: str, given: str, root: str
) -> None:
    arguments = ["--cwd", given] if given else []

    figures = running.run("stats", *arguments, "--json", cwd=project / cwd).json

    workspace = figures["workspace"]
    assert isinstance(workspace, dict)
    assert workspace["root"] == str(project / root)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["ask", ""], "question is empty"),
        (["ask", " \n"], "question is empty"),
        (["ask"], "QUESTION"),
        (["ask", "x" * 30_000], "characters"),
        (["ask", _QUESTION, "--timeout", "1"], "timeout"),
        (["ask", _QUESTION, "--timeout", "soon"], "timeout"),
        (["ask", _QUESTION, "--timeout", "nan"], "timeout"),
        (["ask", _QUESTION, "--cwd", "/"], "cwd"),
        (["ask", _QUESTION, "--cwd", "does/not/exist"], "cwd"),
        (["stats", "--cwd", "/dev/null"], "cwd"),
        (["empty", "everything"], "everything"),
        (["foo"], "foo"),
        (["status", "--port", "70000"], "port"),
    ],
)
def test_bad_input_is_refused_with_a_text_that_names_it(
    running: Shell, project: Path, arguments: list[str], named: str
) -> None:
    done = running.run(*arguments, "--json", cwd=project)

    assert (done.code, done.error[0]) == (2, "invalid"), done
    assert named in done.error[1]
    assert "Traceback" not in done.err


def test_what_was_asked_is_counted_and_emptied(running: Shell, project: Path) -> None:
    running.run("ask", _QUESTION, "--cwd", str(project))
    before = running.run("stats", "--cwd", str(project), "--json").json
    emptied = running.run("empty", "--cwd", str(project))
    after = running.run("stats", "--cwd", str(project), "--json").json

    assert before["questions"] == 1
    assert emptied.out == f"forgot {project}\n"
    assert after["questions"] == 0


@pytest.mark.parametrize("everything", ["all", "--all"])
def test_everything_can_be_emptied_at_once(running: Shell, project: Path, everything: str) -> None:
    running.run("ask", _QUESTION, "--cwd", str(project))
    emptied = running.run("empty", everything, "--json")

    assert emptied.code == 0
    assert running.run("stats", "--cwd", str(project), "--json").json["questions"] == 0


def test_figures_are_told_in_words(running: Shell, project: Path) -> None:
    running.run("ask", _QUESTION, "--cwd", str(project))
    told_saved = int(str(running.run("stats", "--json", cwd=project).json["tokens_saved"]))
    done = running.run("stats", "--cwd", str(project))

    assert done.out.splitlines()[:8] == [
        f"codebase  {project}",
        "knows     1 file, 0 of them from your agent's work",
        "learned   0 findings of agents, 0 other facts",
        "told      0 notes, 0 open handoffs",
        "answered  1 question",
        "cost      nothing: no model was called",
        f"saved     {_saving(told_saved)}",
        "agent     nothing heard of its work since the server started",
    ]


@pytest.mark.parametrize(
    ("passed_s", "said"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7_199, "1 hour ago"),
        (3 * 86_400, "3 days ago"),
        (-5, "just now"),
    ],
)
def test_a_moment_is_told_as_people_say_it(passed_s: int, said: str) -> None:
    figures = {"last_hook_at": 1e9 - passed_s, "hook_events": 2, "problems": ["it is so"]}
    rows = told(figures, now=1e9)
    assert ("agent", f"last activity {said}, 2 events") in rows
    assert rows[-1] == ("problem", "it is so")


@pytest.mark.parametrize(
    ("caps", "spent", "said", "added"),
    [
        (
            {"tokens_an_hour": 2_000_000, "usd_a_day": 5.0},
            {"tokens_an_hour": 12_345, "usd_a_day": 0.25},
            "12,345 of 2,000,000 tokens in the last hour, $0.2500 of $5.00 in the last day",
            "",
        ),
        (
            {"tokens_an_hour": 0, "usd_a_day": 0.0},
            {"tokens_an_hour": 7, "usd_a_day": 0.0},
            "7 tokens (no cap) in the last hour, $0.0000 (no cap) in the last day",
            "",
        ),
        (
            {"tokens_an_hour": 0, "usd_a_day": 1.0},
            {"tokens_an_hour": 7, "usd_a_day": 1.0},
            "7 tokens (no cap) in the last hour, $1.0000 of $1.00 in the last day",
            ": reached, so no model is asked now",
        ),
    ],
)
def test_what_models_took_is_told_against_the_caps(
    caps: object, spent: object, said: str, added: str
) -> None:
    rows = dict(told({"caps": caps, "spent_lately": spent}, now=0.0))
    assert rows["caps"] == f"{said}, in all codebases{added}"
    assert "caps" not in dict(told({"caps": None, "spent_lately": None}, now=0.0))


def test_a_saving_below_nothing_is_told_as_what_it_cost() -> None:
    rows = dict(told({"questions": 1, "tokens_saved": -1_234}, now=0.0))
    assert dict(told({"tokens_saved": 0}, now=0.0))["saved"] == "nothing yet: nobody asked"
    assert rows["saved"] == "nothing: answers and models took 1,234 tokens more than reading"


def test_a_terminal_that_knows_few_characters_still_gets_the_answer(
    running: Shell, project: Path
) -> None:
    (project / "net/retry.py").write_text("def retry_delay():  # später → nie\n    pass\n")
    done = running.run(
        "ask", _QUESTION, "--cwd", str(project), environ={"PYTHONIOENCODING": "ascii:strict"}
    )

    assert done.code == 0, done
    assert "retry_delay" in done.out


@pytest.mark.parametrize("live", ["\x1b]0;x\x07", "\x9b31m", "\u202e", "\r"])
def test_a_folder_whose_name_acts_on_a_terminal_is_shown_as_text(
    running: Shell, project: Path, live: str
) -> None:
    """F6 of security-2: a repository may hold another that is called so."""
    folder = project / f"odd{live}name"
    (folder / ".git").mkdir(parents=True)
    (folder / "a.py").write_text("LIMIT = 3\n")
    given = ("--cwd", str(folder))
    missing = ("--cwd", f"{folder}/none")
    for arguments in (
        ("ask", "What is LIMIT?", *given),
        ("stats", *given),
        ("facts", "list", *given),
        ("empty", *given),
        ("ask", "What is LIMIT?", *missing),
        ("stats", *missing),
        ("facts", "forget", f"x{live}", *given),
    ):
        done = running.run(*arguments)
        assert live not in (done.out + done.err).replace("\r\n", "\n"), arguments


def _saving(tokens: int) -> str:
    if tokens < 0:
        return f"nothing: answers and models took {-tokens:,} tokens more than reading"
    return f"about {tokens:,} tokens: what reading would take, less answers and models"
