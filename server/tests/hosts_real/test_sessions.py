"""A host that `live-memory connect` was told of: its agent asks us, and all it does is learned.

Real hosts, real hooks, the real bridge; only their models are played.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.claude.stage import set_stage as set_claude_stage
from tests.hosts_real.hosts import CODEX, GEMINI, OPENCODE, Host, Turn, called
from tests.hosts_real.stage import Stage, set_stage

_PARTS = "".join(f"value_{n} = {n}\n" for n in range(1, 41))
_AGAIN = "How many attempts are made before giving up?"
_CONCLUSION = (
    "Failed calls are repeated as often as `RETRY_LIMIT` says, a module constant that is 7 "
    "(`settings.py:4`). `send` hands it to whoever calls it (client.py:4), so nothing in the "
    "client itself counts attempts."
)
each_host = pytest.mark.parametrize(
    "host",
    [
        pytest.param(host, id=host.name, marks=pytest.mark.real(host.name))
        for host in (CODEX, GEMINI, OPENCODE)
    ],
)


def _work(stage: Stage) -> Sequence[Turn]:
    """What the agent does by the host's own tools: it reads, looks in the shell, and edits."""
    at = str(stage.project)
    look = stage.host.shell("sed -n '10,20p' values.py")
    match stage.host.name:
        case "codex":
            patch = ("*** Begin Patch", "*** Update File: notes.md", "@@", "-# Notes", "+# Kept")
            return [
                stage.host.shell("cat settings.py client.py"),
                stage.host.shell("sed -n 5,7p part.py"),
                look,
                ("apply_patch", "\n".join((*patch, "*** End Patch", ""))),
            ]
        case "gemini":
            edit = {"old_string": "# Notes", "new_string": "# Kept", "instruction": "Name it."}
            return [
                called("read_file", file_path="settings.py"),
                called("read_file", file_path=f"{at}/client.py"),
                called("read_file", file_path="part.py", start_line=5, end_line=7),
                look,
                called("replace", file_path="notes.md", **edit),
            ]
        case _:
            edit = {"oldString": "# Notes", "newString": "# Kept"}
            return [
                called("read", filePath=f"{at}/settings.py"),
                called("read", filePath="client.py"),
                called("read", filePath=f"{at}/part.py", offset=5, limit=3),
                look,
                called("edit", filePath=f"{at}/notes.md", **edit),
            ]


@each_host
@pytest.mark.promise("ingest-is-free")
def test_a_connected_host_asks_its_work_is_learned_and_disconnected_its_files_are_as_before(
    host: Host, tmp_path: Path
) -> None:
    stage = set_stage(tmp_path, host)
    more = {"part.py": _PARTS, "values.py": _PARTS, "notes.md": "# Notes\n"}
    stage.write({f"project/{name}": text for name, text in more.items()})
    before = _configuration(stage)

    outcome = stage.play(
        ["live-memory", "connect", host.name, "--yes"],
        stage.session("Ask."),
        stage.session("How often is a failed call repeated?"),
        stage.session("Ask again."),
        ["live-memory", "disconnect", host.name, "--yes"],
        turns=[
            # No server runs yet, and the project is not named: the bridge sees to both.
            called(host.tool, question="Where is RETRY_LIMIT set?"),
            "done",
            *_work(stage),
            _CONCLUSION,
            # A file that is edited is read when it rests.
            host.shell("sleep 2.5"),
            called(host.tool, question=_AGAIN),
            "done",
        ],
        then=["/stats", "/v1/timeline"],
    )

    assert [run.returncode for run in outcome.runs] == [0, 0, 0, 0, 0], outcome.runs
    _, first, _, third, _ = outcome.runs
    assert "4|RETRY_LIMIT = 7" in first.said()
    stats, timeline = outcome.told
    seen = {
        (entry["path"], entry["start"], entry["end"])
        for entry in timeline["entries"]
        if entry["kind"] == "file"
    }
    looked_at = {("settings.py", 1, 4), ("client.py", 1, 4), ("part.py", 5, 7)}
    assert looked_at | {("values.py", 10, 20)} <= seen, stage.server_log()
    assert "notes.md" in {path for path, *_ in seen}
    assert (stats["model_calls"], stats["dropped_events"], stats["questions"]) == (0, 0, 2)
    assert stats["hook_events_not_understood"] == 0
    assert "Established " in third.said()
    assert 'asked: "How often is a failed call repeated?"' in third.said()
    after = _configuration(stage)
    assert {name: after[name] for name in before} == before
    assert [name for name, held in after.items() if b"live-memory" in held] == []


@pytest.mark.real("codex")
def test_codex_with_our_plugin_asks_about_its_project_and_is_learned_from(tmp_path: Path) -> None:
    """It takes a Claude Code plugin as it is, and starts its server in the plugin's folder."""
    stage = set_stage(tmp_path, CODEX)
    plugin = set_claude_stage(tmp_path / "claude").plugin

    outcome = stage.play(
        ["codex", "plugin", "marketplace", "add", str(plugin)],
        ["codex", "plugin", "add", "live-memory@live-memory"],
        stage.session("Ask."),
        turns=[
            CODEX.shell("sed -n 2,4p settings.py"),
            called(CODEX.tool, question="Where is RETRY_LIMIT set?"),
            _CONCLUSION,
        ],
        then=["/stats", "/v1/timeline"],
    )

    assert [run.returncode for run in outcome.runs] == [0, 0, 0], outcome.runs
    assert "4|RETRY_LIMIT = 7" in outcome.runs[-1].said()
    stats, timeline = outcome.told
    assert stats["findings"] >= 1, stage.server_log()
    assert {"settings.py"} == {e["path"] for e in timeline["entries"] if e["kind"] == "file"}


def _configuration(stage: Stage) -> Mapping[str, bytes]:
    """The files below home, but for our own, the project's, and what hosts write of sessions."""
    diaries = ("sessions", "log", "tmp", "opencode.db", "sqlite", "snapshot", "node_modules")
    ours = ("data/live-memory/", ".config/live-memory/", "project/")
    names = {file: str(file.relative_to(stage.home)) for file in stage.home.rglob("*")}
    return {
        name: file.read_bytes()
        for file, name in names.items()
        if file.is_file()
        and not name.startswith(ours)
        and not any(diary in name for diary in diaries)
    }
