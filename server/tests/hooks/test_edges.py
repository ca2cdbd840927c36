"""The end of a session leaves a handoff in a real server; the start of the next one hears of it."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from live_memory.adapters.workspace.disk import DiskWorkspaces, RootMode
from live_memory.adapters.workspace.ripgrep import Runner, find_programs
from live_memory.client import session_start
from live_memory.core.values import WorkspaceKey
from tests.hooks.test_hook import Desk, desk, is_silent  # noqa: F401  (a fixture)
from tests.support.learning import notify
from tests.support.server import RunningServer, running_server

_ONE = "Live Memory: 1 open handoff for this workspace; `handoff` with action list shows it."
_TWO = "Live Memory: 2 open handoffs for this workspace; `handoff` with action list shows them."
_LATER = 4_000_000_000.0


def said(desk: Desk, payload: object = b"", **environ: str) -> str | None:  # noqa: F811
    """What a session that begins is told of handoffs."""
    outcome = desk.run(payload, "session_start.py", **environ)
    assert outcome.code == 0
    output = json.loads(outcome.said or b"{}").get("hookSpecificOutput", {})
    assert set(output) <= {"hookEventName", "watchPaths", "additionalContext"}
    line = output.get("additionalContext")
    assert line is None or isinstance(line, str)
    return line


def told(name: str, session: str = "s", **fields: object) -> dict[str, object]:
    return {"hook_event_name": name, "session_id": session, "cwd": "/p", **fields}


def wrote(desk: Desk, session: str = "s") -> dict[str, object]:  # noqa: F811
    given = {"file_path": str(desk.project / "a.py"), "content": "CANARY"}
    return told("PostToolUse", session, tool_name="Write", tool_input=given)


def counted(folder: Path) -> list[float]:
    """Until when the open handoffs of the only workspace count."""
    files = list((folder / "workspaces").glob("*/handoffs.json"))
    if not files:
        return []
    (file,) = files
    assert file.stat().st_mode & 0o777 == 0o600
    found = json.loads(file.read_text())
    assert isinstance(found, list)
    return found


def wait_until_counted(server: RunningServer, count: int) -> None:
    until = time.monotonic() + 30
    while len(found := counted(server.data_dir)) != count:
        assert time.monotonic() < until, found
        time.sleep(0.05)  # there is nothing to wait on in another process


def wait_until_left(server: RunningServer, project: Path, count: int) -> None:
    until, asked = time.monotonic() + 30, {"action": "list", "cwd": str(project)}
    while True:
        found = server.request("POST", "/v1/handoff", asked).json["handoffs"]
        assert isinstance(found, list)
        if len(found) == count:
            return
        assert time.monotonic() < until, found
        time.sleep(0.05)  # there is nothing to wait on in another process


def a_count(desk: Desk, root: Path, *until: object) -> Path:  # noqa: F811
    """A file as the server keeps it."""
    file = desk.data_dir / "workspaces" / WorkspaceKey.of_root(str(root)).text / "handoffs.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(until))
    file.chmod(0o600)
    return file


def test_what_a_session_leaves_the_next_one_hears_of_in_one_line(
    desk: Desk,  # noqa: F811
    tmp_path: Path,
) -> None:
    environ = {"LIVE_MEMORY_DATA_DIR": str(tmp_path / "server/data")}
    with running_server(tmp_path / "server") as server:
        for one in (told("SessionStart"), wrote(desk), told("SessionEnd")):
            assert is_silent(desk.run(one, **environ))
        wait_until_counted(server, 1)
        assert said(desk, told("SessionStart", "t"), **environ) == _ONE
        notify(server, desk.project, wrote(desk, "t"), told("SessionEnd", "t"))
    # It was stopped at once.
    assert len(counted(server.data_dir)) == 2
    assert said(desk, **environ) == _TWO
    with running_server(tmp_path / "server") as server:
        server.request("POST", "/clear", {"cwd": str(desk.project)})
        assert counted(server.data_dir) == []
    assert said(desk, **environ) is None
    left = [file for file in server.data_dir.rglob("*") if file.is_file()]
    assert [file for file in left if "sessions" in file.name] == []


def test_the_events_of_a_session_without_a_server_leave_it_when_one_comes(
    desk: Desk,  # noqa: F811
    tmp_path: Path,
) -> None:
    environ = {"LIVE_MEMORY_DATA_DIR": str(tmp_path / "server/data")}
    with running_server(tmp_path / "server"):
        pass
    asked = told("UserPromptSubmit", prompt="Raise the limit.")
    for one in (told("SessionStart"), asked, wrote(desk), told("SessionEnd")):
        assert is_silent(desk.run(one, **environ))
    with running_server(tmp_path / "server") as server:
        wait_until_counted(server, 1)
    assert said(desk, **environ) == _ONE


@pytest.mark.promise("nothing-lost")
def test_a_server_that_is_killed_at_the_end_of_a_session_leaves_it_once_it_is_back(
    desk: Desk,  # noqa: F811
    tmp_path: Path,
) -> None:
    environ = {"LIVE_MEMORY_DATA_DIR": str(tmp_path / "server/data")}
    with running_server(tmp_path / "server") as server:
        for one in (told("SessionStart"), wrote(desk), told("SessionEnd")):
            assert is_silent(desk.run(one, **environ))
        server.process.kill()
    # It is told before it is there.
    assert said(desk, **environ) == _ONE
    for _ in range(2):
        with running_server(tmp_path / "server") as server:
            assert is_silent(desk.run(told("SessionStart", "t"), **environ))
            wait_until_left(server, desk.project, 1)
            assert len(counted(server.data_dir)) == 1


@pytest.mark.parametrize("where", ["server", "client"])
def test_where_it_is_off_nothing_is_left_or_told(
    desk: Desk,  # noqa: F811
    tmp_path: Path,
    where: str,
) -> None:
    setting = {"LIVE_MEMORY_HANDOFFS": "no"}
    environ = {"LIVE_MEMORY_DATA_DIR": str(tmp_path / "server/data")}
    with running_server(tmp_path / "server", **(setting if where == "server" else {})) as server:
        for one in (told("SessionStart"), wrote(desk), told("SessionEnd")):
            assert is_silent(desk.run(one, **environ))
        if where == "client":
            wait_until_counted(server, 1)
    if where == "server":
        assert counted(server.data_dir) == []
        assert said(desk, **environ) is None
    else:
        assert said(desk, **environ, **setting) is None
        assert said(desk, **environ) == _ONE


def test_who_has_no_tool_to_take_it_over_hears_of_none(desk: Desk) -> None:  # noqa: F811
    a_count(desk, desk.project, _LATER)
    assert said(desk) == _ONE
    assert said(desk, LIVE_MEMORY_TOOLS='["ask_live_memory", "handoff"]') == _ONE
    assert said(desk, LIVE_MEMORY_TOOLS='["ask_live_memory"]') is None


def test_what_expired_never_counts(desk: Desk) -> None:  # noqa: F811
    a_count(desk, desk.project, 1.0, _LATER, 1_780_000_000.0)
    assert said(desk) == _ONE
    a_count(desk, desk.project, 1.0)
    assert said(desk) is None


@pytest.mark.parametrize("junk", ["", "{}", '"' + "x" * 90 + '"', "[" * 9_000, "7", "[[9e9]]"])
def test_junk_where_the_count_is_is_no_count(desk: Desk, junk: str) -> None:  # noqa: F811
    a_count(desk, desk.project).write_text(junk)
    assert said(desk) is None


def test_a_count_that_others_can_have_written_is_none(desk: Desk) -> None:  # noqa: F811
    file = a_count(desk, desk.project, _LATER)
    file.chmod(0o644)
    assert said(desk) is None
    file.rename(file.with_name("elsewhere"))
    file.with_name("elsewhere").chmod(0o600)
    file.symlink_to(file.with_name("elsewhere"))
    assert said(desk) is None


def test_no_repository_sets_the_number(desk: Desk) -> None:  # noqa: F811
    planted = desk.project / "workspaces" / WorkspaceKey.of_root(str(desk.project)).text
    planted.mkdir(parents=True)
    for folder in (desk.project, planted):
        (folder / "handoffs.json").write_text(f"[{_LATER}, {_LATER}]")
        (folder / "handoffs.json").chmod(0o600)
    assert said(desk) is None


@pytest.mark.parametrize(
    "payload",
    [
        {"hook_event_name": "SessionStart", "turn_id": "1"},
        {"hook_event_name": "SessionStart", "cursor_version": "3"},
        {"hookEventName": "SessionStart", "timestamp": "2026-01-01"},
        {"hook_event_name": "SessionStart", "transcript_path": "/x/rollout-1.jsonl"},
    ],
)
def test_only_claude_code_is_told(desk: Desk, payload: object) -> None:  # noqa: F811
    a_count(desk, desk.project, _LATER)
    assert said(desk, payload) is None
    assert said(desk, told("SessionStart")) == _ONE


def test_a_project_without_folders_to_watch_is_told_all_the_same(desk: Desk) -> None:  # noqa: F811
    a_count(desk, Path("/nowhere/at/all"), _LATER)
    assert said(desk, CLAUDE_PROJECT_DIR="/nowhere/at/all") == _ONE


# Which workspace a project is, is told without the server as the server tells it.


def _made(folder: Path) -> dict[str, Path]:
    """Work trees of several kinds, and folders in them."""
    tree, other = folder / "tree", folder / "tree/clones/other"
    for path in (tree, other):
        path.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(path)], check=True)
    (tree / "src/deep").mkdir(parents=True)
    (other / "src").mkdir()
    module, data = tree / "module", tree / ".git/modules/module"
    (module / "inner").mkdir(parents=True)
    (data / "objects").mkdir(parents=True)
    (data / "refs").mkdir()
    (data / "HEAD").write_text("ref: refs/heads/main\n")
    (data / "config").write_text("[core]\n\tworktree = ../../../module\n")
    (module / ".git").write_text("gitdir: ../.git/modules/module\n")
    plain, hg = folder / "plain/sub", folder / "mercurial/sub"
    plain.mkdir(parents=True)
    hg.mkdir(parents=True)
    (hg.parent / ".hg").mkdir()
    (folder / "link").symlink_to(tree / "src")
    (plain / ".git").mkdir()  # nothing is in it
    return {
        "root": tree, "below": tree / "src/deep", "clone": other / "src", "module": module,
        "in module": module / "inner", "plain": plain, "above": plain.parent, "other": hg,
        "link": folder / "link",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "mode"),
    [
        ("", RootMode.NEAREST),
        ('repo_root_mode = "outermost"', RootMode.OUTERMOST),
        ("canonicalize_workspace = false", RootMode.NONE),
    ],
    ids=["nearest", "outermost", "none"],
)
async def test_the_workspace_of_a_project_is_the_server_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, mode: RootMode
) -> None:
    config = tmp_path / "config/live-memory/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"{setting}\n")
    config.chmod(0o600)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    theirs = DiskWorkspaces(
        home=str(tmp_path / "home"),
        runner=Runner(),
        programs=find_programs(os.environ["PATH"]),
        root_mode=mode,
    )
    for name, project in _made(tmp_path / "made").items():
        expected = await theirs.resolve(str(project))
        assert session_start.workspace_of(str(project)) == expected.key.text, name
