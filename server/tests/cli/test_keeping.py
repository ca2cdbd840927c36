"""`export`, `import FILE`, `purge`, `pause` and `resume` in a person's shell, a real server."""

import json
from pathlib import Path

import pytest

from tests.cli.shell import Done, Shell


def told(shell: Shell, project: Path, *texts: str, **more: object) -> list[str]:
    """Bring notes; their ids."""
    file = shell.folder / "told.jsonl"
    file.write_text(
        "".join(f"{json.dumps({'text': text, 'kind': 'note', **more})}\n" for text in texts)
    )
    brought(shell, project, file)
    lines = exported(shell, project).splitlines()
    kept = {one["text"]: one["id"] for one in map(json.loads, lines) if "text" in one}
    return [kept[text] for text in texts]


def exported(shell: Shell, project: Path, *options: str) -> str:
    done = shell.run("export", str(project), *options)
    assert done.code == 0, done
    return done.out


def brought(shell: Shell, project: Path, source: Path, *options: str) -> Done:
    done = shell.run("import", str(source), "--cwd", str(project), "--json", *options)
    assert done.code == 0, done
    return done


def test_what_is_exported_is_taken_in_elsewhere_and_a_second_time_adds_nothing(
    running: Shell, project: Path, tmp_path: Path
) -> None:
    told(running, project, "We retry 7 times.", "é\u2028line", category="decision", pinned=True)
    file = tmp_path / "memory.jsonl"
    done = running.run("export", str(project), "--out", str(file))
    assert "2 records" in done.out
    assert file.read_text() == exported(running, project)
    other = tmp_path / "other"
    other.mkdir()
    dry = brought(running, other, file, "--dry-run").json
    assert (dry["notes"], dry["dry_run"]) == (2, True)
    assert exported(running, other).count("\n") == 1
    assert brought(running, other, file).json["notes"] == 2
    assert exported(running, other) == file.read_text()
    assert brought(running, other, file).json["known"] == 2
    assert exported(running, other) == file.read_text()
    assert running.run("purge", str(other), "--all", "--yes").code == 0
    assert exported(running, other).count("\n") == 1


def test_a_bad_line_is_named_by_its_number_and_the_others_count(
    running: Shell, project: Path, tmp_path: Path
) -> None:
    file = tmp_path / "some.jsonl"
    lines = [
        '{"kind": "note", "text": "One."}',
        "torn {",
        "",
        "[1]",
        '{"text": ""}',
        '{"text":"2"}',
    ]
    file.write_text("\n".join(lines))
    outcome = brought(running, project, file).json
    assert (outcome["notes"], outcome["skipped"]) == (2, 3)
    problems = outcome["problems"]
    assert isinstance(problems, list)
    assert [one["where"] for one in problems] == ["line 2", "line 4", "line 5"]
    shown = running.run("import", str(file), "--cwd", str(project)).out
    assert "line 2: it is no JSON object" in shown
    assert "2 were here before" in shown


def test_pages_are_the_same_bytes_until_something_changes(
    running: Shell, project: Path, tmp_path: Path
) -> None:
    told(running, project, "# We retry\n---\n7 times.", category="decision")
    out = tmp_path / "pages"
    options = ("export", str(project), "--format", "md", "--out", str(out))
    assert "6 pages" in running.run(*options).out
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in out.iterdir()}
    assert b"\\# We retry\\\n  \\---\\\n  7 times." in before["decisions.md"][0]
    assert ", 0 of them changed" in running.run(*options).out
    assert before == {f.name: (f.read_bytes(), f.stat().st_mtime_ns) for f in out.iterdir()}
    told(running, project, "Test it.", category="todo")
    assert ", 1 of them changed" in running.run(*options).out
    done = running.run("import", str(out), "--cwd", str(project), "--json")
    assert (done.json["notes"], done.json["skipped"]) == (0, 6)


def test_a_person_may_have_templates_of_their_own(
    running: Shell, project: Path, tmp_path: Path
) -> None:
    told(running, project, "Blue is nicer.", category="preference")
    own = tmp_path / "own"
    own.mkdir()
    (own / "all.md").write_text("# All\n{{ notes }}\n")
    shown = exported(running, project, "--format", "md", "--templates", str(own))
    assert "# All\n- Blue is nicer." in shown
    (own / "bad.md").write_text("{{ poems }}\n")
    done = running.run("export", str(project), "--format", "md", "--templates", str(own))
    assert done.code == 2
    assert "bad.md:1" in done.err
    assert running.run("export", "--templates", str(own)).code == 2


@pytest.mark.parametrize(
    "value",
    [
        {"results": [{"id": "1", "memory": "Uses uv.", "user_id": "a"}]},
        [{"id": "1", "memory": "Uses uv.", "user_id": "a"}],
        {"memories": [{"id": "1", "content": "Uses uv.", "state": "active"}]},
    ],
)
def test_exports_of_other_tools_are_taken_in(
    running: Shell, project: Path, tmp_path: Path, value: object
) -> None:
    file = tmp_path / "memories.json"
    file.write_text(json.dumps(value, indent=2))
    assert brought(running, project, file).json["notes"] == 1
    assert "Uses uv." in exported(running, project)


def test_a_memory_bank_is_taken_in(running: Shell, project: Path, tmp_path: Path) -> None:
    bank = tmp_path / "bank"
    (bank / "more").mkdir(parents=True)
    (bank / ".hidden").mkdir()
    (bank / "progress.md").write_text("# Done\n- Retries\n")
    (bank / "more/decisionLog.md").write_text("- Postgres\n")
    (bank / ".hidden/x.md").write_text("- Not this\n")
    (bank / "link.md").symlink_to(bank / "progress.md")
    outcome = brought(running, project, bank).json
    assert (outcome["notes"], outcome["skipped"]) == (2, 1)
    found = [json.loads(line) for line in exported(running, project).splitlines()[1:]]
    assert {(one["text"], one["category"]) for one in found} == {
        ("Done: Retries", "progress"),
        ("Postgres", "decision"),
    }


def test_what_is_nothing_that_is_known_is_refused(
    running: Shell, project: Path, tmp_path: Path
) -> None:
    file, empty = tmp_path / "x.json", tmp_path / "empty"
    empty.mkdir()
    file.write_text('{"format": "live-memory", "version": 9}\n{"text": "x"}\n')
    for source, says in (
        (file, "version 9"),
        (empty, "no markdown file"),
        (tmp_path / "no", "no such"),
    ):
        done = running.run("import", str(source), "--cwd", str(project))
        assert done.code == 2
        assert says in done.err.lower()
    file.write_text("words")
    assert "neither" in running.run("import", str(file)).err
    assert running.run("import", str(file), "--days", "3").code == 2
    assert running.run("import", "--scope", "user").code == 2


def test_what_is_purged_is_gone_and_what_is_not_there_is_said(
    running: Shell, project: Path
) -> None:
    gone, kept = told(running, project, "A canary in a note.", "Something else.")
    asked = running.run("purge", str(project), "--ids", gone)
    assert asked.code == 1
    assert gone in exported(running, project)
    assert running.run("purge", str(project), "--ids", gone, "--yes").out.startswith("removed 1")
    files = [file for file in running.data_dir.rglob("*") if file.is_file()]
    assert not any(b"A canary in a note" in file.read_bytes() for file in files)
    assert kept in exported(running, project)
    again = running.run("purge", str(project), "--ids", gone, "--yes")
    assert (again.code, gone in again.err) == (2, True)
    assert running.run("purge", str(project), "--yes").code == 2
    assert running.run("purge", str(project), "--all", "--forgotten", "--yes").code == 2


def test_learning_is_paused_until_it_is_resumed(running: Shell, project: Path) -> None:
    assert "nothing is learned" in running.run("pause", str(project)).out
    file = project / "n.jsonl"
    file.write_text('{"kind": "note", "text": "x"}\n')
    refused = running.run("import", str(file), "--cwd", str(project))
    assert refused.code == 2
    assert "live-memory resume" in refused.err
    assert "nothing is learned" in running.run("stats", "--cwd", str(project)).out
    assert "learning is paused" in running.run("status").out
    assert "retry_delay" in running.run("ask", "where is retry_delay", "--cwd", str(project)).out
    assert running.run("resume", str(project), "--json").json["is_paused"] is False
    assert "nothing is learned" not in running.run("stats", "--cwd", str(project)).out
    assert brought(running, project, file).json["notes"] == 1


def test_notes_for_all_codebases_leave_and_come_by_themselves(
    running: Shell, project: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"kind": "note", "text": "Short answers.", "category": "preference"}\n')
    assert brought(running, project, file, "--scope", "user").json["notes"] == 1
    assert "Short answers." in exported(running, project, "--scope", "user")
    assert "Short answers." not in exported(running, project)
    assert running.run("purge", "--scope", "user", "--all", "--yes").code == 0
    assert "Short answers." not in exported(running, project, "--scope", "user")
