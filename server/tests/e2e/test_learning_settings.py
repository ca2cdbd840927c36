"""The settings `passive` and `ignore` in a real server, and in the file that holds them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from live_memory.core.errors import InvalidRequest
from live_memory.settings import load
from tests.support.learning import entries, figure, make_project, notify, tool, wait_for
from tests.support.server import a_free_port, environment_for, running_server

_QUESTION = "Where is RETRY_LIMIT set?"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path.resolve() / "project", a__py="RETRY_LIMIT = 3\n")


@pytest.mark.promise("never-falsely-fresh")
def test_with_passive_off_events_are_counted_nothing_is_learned_and_answers_stay_fresh(
    project: Path, tmp_path: Path
) -> None:
    with running_server(tmp_path / "server", LIVE_MEMORY_PASSIVE="off") as server:
        events: list[dict[str, object]] = [
            tool(project, "Read", file_path=f"{project}/a.py"),
            tool(project, "Edit", file_path=f"{project}/a.py"),
            tool(project, "Bash", command="cat a.py && git checkout x"),
            {"hook_event_name": "FileChanged", "cwd": str(project), "event": "change",
             "file_path": f"{project}/a.py"},
        ]  # fmt: skip
        notify(server, project, *events)
        wait_for(server, project, "hook_events", len(events))
        for value in (3, 7):
            (project / "a.py").write_text(f"RETRY_LIMIT = {value}\n")
            assert f"RETRY_LIMIT = {value}" in json.dumps(server.ask(_QUESTION, project))
        assert figure(server, project, "known_files") == 0
        assert {entry["kind"] for entry in entries(server, project)} == {"question"}
        refused = server.request("POST", "/notify", {"events": [{"cwd": "/nowhere/at/all"}]})
        assert refused.status == 400


def test_what_is_ignored_is_in_no_answer_and_is_not_learned(project: Path, tmp_path: Path) -> None:
    (project / "generated").mkdir()
    for name in ("generated/b.py", "c.gen.py"):
        (project / name).write_text("RETRY_LIMIT = 99\nONLY_THERE = 1\n")
    with running_server(tmp_path / "server", LIVE_MEMORY_IGNORE="generated *.gen.py") as server:
        read = [f"{project}/generated/b.py", f"{project}/c.gen.py", f"{project}/a.py"]
        looks = [tool(project, "Read", file_path=path) for path in read]
        notify(server, project, *looks, tool(project, "Bash", command="cat generated/b.py *.py"))
        wait_for(server, project, "known_files", 1)
        answers = [server.ask(q, project) for q in (_QUESTION, "Where is ONLY_THERE set?")]
        assert "RETRY_LIMIT = 99" not in json.dumps([answer["answer"] for answer in answers])
        assert "gen" not in json.dumps(answers)
        assert {entry["path"] for entry in entries(server, project) if "path" in entry} == {"a.py"}
        assert figure(server, project, "indexed_files") == 1


@pytest.mark.parametrize(
    ("text", "globs"),
    [
        ("*.csv", ("*.csv",)),
        ("*.csv  fixtures/**", ("*.csv", "fixtures/**")),
        ('["with blank/*", "[ab].py"]', ("with blank/*", "[ab].py")),
        ("[ab].py", ("[ab].py",)),
        ("{a,b}.py", ("{a,b}.py",)),
    ],
)
def test_globs_are_written_as_words_or_as_json(
    text: str, globs: tuple[str, ...], tmp_path: Path
) -> None:
    found = load({}, {"LIVE_MEMORY_IGNORE": text}, tmp_path / "none.toml")
    assert found.settings.ignore == globs


@pytest.mark.parametrize(
    "value", ["[", "a{b", "/etc/*", "../x", '["ok", "["]', '["ok", 5]', '["torn', "x" * 2_000]
)
def test_a_bad_glob_is_refused_by_its_setting(value: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"'ignore' \(environment\)"):
        load({}, {"LIVE_MEMORY_IGNORE": value}, tmp_path / "none.toml")


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "live_memory", *words],
        env=environment_for(folder, port=a_free_port(), **more),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_command_line_writes_globs_shows_them_and_refuses_bad_ones(tmp_path: Path) -> None:
    assert run(tmp_path, "config", "set", "ignore=*.csv fixtures/**", "passive=off").returncode == 0
    shown = json.loads(run(tmp_path, "config", "show", "--json").stdout)["settings"]
    assert shown["ignore"]["value"] == ["*.csv", "fixtures/**"]
    assert shown["passive"]["value"] is False
    assert "ignore = [" in (tmp_path / "config/live-memory/config.toml").read_text()
    refused = run(tmp_path, "config", "set", "ignore=ok [")
    assert refused.returncode == 2
    assert "'ignore'" in refused.stderr
    assert "'['" in refused.stderr
    assert "ok" not in (tmp_path / "config/live-memory/config.toml").read_text()
    served = run(tmp_path, "serve", LIVE_MEMORY_IGNORE="[")
    assert served.returncode == 2
    assert "ignore" in served.stderr


def test_events_that_are_not_understood_are_counted(project: Path, tmp_path: Path) -> None:
    """N36."""
    with running_server(tmp_path / "server") as server:
        notify(
            server,
            project,
            tool(project, "MultiEdit", file_path=f"{project}/a.py"),
            tool(project, "PowerShell", command="Get-Content a.py"),
            tool(project, "Rename", path=f"{project}/a.py"),
        )
        wait_for(server, project, "known_files", 1)
        assert figure(server, project, "hook_events") == 3
        assert figure(server, project, "hook_events_not_understood") == 2
